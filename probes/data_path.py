"""How fast the user's own data can be read, past the page cache. Files are opened for reading only."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 4 << 20
MAX_BYTES = 2 << 30
MAX_SECONDS = 5.0
MAX_FILES = 64
_MAX_LISTED = 20_000
_ENOUGH_BYTES = 32 << 20
_ENOUGH_SECONDS = 1.0
"""Less than both is a figure of opening files, not of reading."""


@dataclass(frozen=True)
class DataRead:
    """What was read. `direct`: the page cache was left out; else the cache was asked to let go of the files first.

    `files` is how many were read, of at least `listed` that are there; `problem` says why nothing could be read.
    """

    bytes_read: int = 0
    seconds: float = 0.0
    files: int = 0
    listed: int = 0
    direct: bool = False
    interrupted: bool = False
    problem: str | None = None

    @property
    def rate(self) -> float | None:
        """Bytes per second; None if too little was read to tell."""
        enough = self.bytes_read >= _ENOUGH_BYTES or self.seconds >= _ENOUGH_SECONDS
        return self.bytes_read / self.seconds if enough and self.seconds > 0 and self.bytes_read else None


def read(path: Path, seconds: float = MAX_SECONDS, progress: Callable[[float], None] | None = None) -> DataRead:
    """Reads files at a path, spread over what is there, until the time or two gigabytes are over. Never raises."""
    try:
        found = _files(path)
    except OSError as error:
        return DataRead(problem=f"{path} cannot be read: {error.strerror}")
    if not found:
        return DataRead(problem=f"no file of any size is at {path}")
    chosen = found[:: max(1, len(found) // MAX_FILES)]
    buffer = mmap.mmap(-1, BLOCK_BYTES)
    read_bytes, files, direct, problem, interrupted = 0, 0, True, None, False
    start = time.monotonic()
    try:
        for one in chosen:
            amount, straight, trouble = _one(one, buffer, start + seconds, MAX_BYTES - read_bytes)
            problem = problem or trouble
            if trouble is None:
                read_bytes, files, direct = read_bytes + amount, files + 1, direct and straight
            elapsed = time.monotonic() - start
            if progress is not None:
                progress(min(1.0, elapsed / seconds))
            if elapsed >= seconds or read_bytes >= MAX_BYTES:
                break
    except KeyboardInterrupt:
        interrupted = True
    spent = time.monotonic() - start
    return DataRead(read_bytes, spent, files, len(found), direct, interrupted, None if files else problem)


def _files(path: Path) -> list[str]:
    if not path.is_dir():
        os.stat(path)
        return [str(path)]
    os.listdir(path)
    return sorted(_below(str(path)))


def _below(folder: str) -> Iterator[str]:
    count = 0
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(base, name)
            if os.path.isfile(full) and os.path.getsize(full) > 0:
                yield full
                count += 1
                if count >= _MAX_LISTED:
                    return


def _one(path: str, buffer: mmap.mmap, ends: float, most: int) -> tuple[int, bool, str | None]:
    """Bytes read of one file, whether past the page cache, and what kept it from being read."""
    try:
        descriptor, direct = _open(path)
    except OSError as error:
        return 0, False, f"{path} cannot be read: {error.strerror}"
    try:
        return _drain(descriptor, buffer, ends, most), direct, None
    except OSError:
        if not direct:
            return 0, False, f"{path} cannot be read"
    finally:
        os.close(descriptor)
    return _again(path, buffer, ends, most)


def _again(path: str, buffer: mmap.mmap, ends: float, most: int) -> tuple[int, bool, str | None]:
    """The same through the page cache: a file system can take the flag and refuse the read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        return 0, False, f"{path} cannot be read: {error.strerror}"
    try:
        _let_go(descriptor)
        return _drain(descriptor, buffer, ends, most), False, None
    except OSError as error:
        return 0, False, f"{path} cannot be read: {error.strerror}"
    finally:
        os.close(descriptor)


def _open(path: str) -> tuple[int, bool]:
    direct = getattr(os, "O_DIRECT", 0)
    if direct:
        try:
            return os.open(path, os.O_RDONLY | direct), True
        except OSError:
            pass  # tmpfs and some network file systems have no such flag
    descriptor = os.open(path, os.O_RDONLY)
    _let_go(descriptor)
    return descriptor, False


def _let_go(descriptor: int) -> None:
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _drain(descriptor: int, buffer: mmap.mmap, ends: float, most: int) -> int:
    total = 0
    while total < most and time.monotonic() < ends:
        count = os.readv(descriptor, [buffer])
        total += count
        if count < BLOCK_BYTES:
            break
    return total
