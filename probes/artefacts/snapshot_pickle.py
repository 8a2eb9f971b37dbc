"""Loading a pickle that may be hostile: containers, numbers and strings only, within a limit of size and of memory."""

from __future__ import annotations

import gc
import io
import pickle
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from gpuwhy.probes.artefacts.packed import DamagedFile, unpacked

LARGEST_BYTES = 512 * 1024 * 1024
"""Largest pickle, decompressed, that is read. One of this size takes several GiB of memory once loaded."""

_MEMORY_PER_BYTE = 48  # a real snapshot takes 5 to 15 bytes of memory per byte; an empty dict takes 64 per opcode
_LEAST_MEMORY_BYTES = 256 * 1024 * 1024


class RefusedPickle(Exception):
    """The file is no pickle of plain data, is cut off, or needs more than the limits allow."""


class _PlainData(pickle.Unpickler):
    """Builds no object of any class: every reference to a global is refused."""

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise RefusedPickle(f"it refers to {module[:60]}.{name[:60]}, and a snapshot holds plain data only")


def load_plain(source: Path | bytes) -> object:
    """The plain data in a pickle, gzip-compressed or not.

    Raises `RefusedPickle` if it holds anything but containers, numbers and strings, if it is damaged, or if it is
    larger than `LARGEST_BYTES`; `OSError` if the file cannot be opened.
    """
    content = _content(source)
    with _without_collection(), _limited_memory(max(_LEAST_MEMORY_BYTES, _MEMORY_PER_BYTE * len(content))):
        try:
            return _PlainData(io.BytesIO(content)).load()
        except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise RefusedPickle(f"it is damaged or cut off ({error})") from error
        except (MemoryError, OverflowError, RecursionError) as error:
            raise RefusedPickle("it needs far more memory than its size explains") from error


def _content(source: Path | bytes) -> bytes:
    try:
        content, whole = unpacked(source, LARGEST_BYTES)
    except DamagedFile as error:
        raise RefusedPickle(str(error)) from error
    if not whole:
        raise RefusedPickle(f"it is larger than {LARGEST_BYTES // 1024**2} MiB")
    return content


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keep the cycle collector out of the way: millions of live containers are made, and none is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _limited_memory(more: int) -> Iterator[None]:
    """Let the address space of this process grow by no more than `more` bytes.

    A pickle of a few bytes can ask for an index of billions of entries; that must end in MemoryError, not in swapping.
    """
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = _address_space_bytes() + more
    if before[0] != resource.RLIM_INFINITY:
        limit = min(limit, before[0])
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _address_space_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()
