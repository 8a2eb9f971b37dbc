"""What the arguments of a command name: files, the files of folders, and standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from gpuwhy.probes.artefacts.large_scan import LARGE_BYTES
from gpuwhy.probes.artefacts.read import find_inputs

CHUNK_BYTES = 1 << 20
STANDARD_INPUT = "standard input"


def named(paths: Iterable[str]) -> Iterator[tuple[str, Path | bytes]]:
    """Artefacts with the names that reports show, each name once; `-` is standard input.

    Raises `UnusableInput` for a path that does not exist.
    """
    seen: set[str] = set()
    for argument in paths:
        if argument == "-":
            yield from _streamed(STANDARD_INPUT, sys.stdin.buffer)
            continue
        if Path(argument).is_fifo() or Path(argument).is_char_device():  # <(command): it can be read once only
            with open(argument, "rb") as stream:
                yield from _streamed(argument, stream)
            continue
        for name, path in find_inputs([argument]):
            unique = str(path) if name in seen else name
            seen.add(unique)
            yield unique, path


def _streamed(name: str, stream: BinaryIO) -> Iterator[tuple[str, Path | bytes]]:
    """What is pasted or piped. Where it is large it waits in a temporary file, and is read as a large file is."""
    content = stream.read(LARGE_BYTES + 1)
    if len(content) <= LARGE_BYTES:
        yield name, content
        return
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="gpuwhy-") as file:
        while content:
            file.write(content)
            content = stream.read(CHUNK_BYTES)
        file.flush()
        yield name, Path(file.name)
