"""One pass over a large text file: where words of failures stand, and how many lines come before each block.

The pass can be begun ahead, in a process of its own: it takes as long as everything else that a diagnosis does before
it reads the file. Nothing heavy is imported here, so that it begins early.
"""

from __future__ import annotations

import json
import os
import signal
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

LARGE_BYTES = 4 << 20
"""Texts larger than this are worth selecting from."""

BLOCK_BYTES = 2**19
HEAD_BYTES = 12 * 2**10
TAIL_BYTES = 16 * 2**10
AFTER_BYTES = 4 * 2**10

_MOST_HITS = 12
_PROGRAM_FAILURES = (b"ut of memory", b"Traceback (most recent call")
_KERNEL_FAILURES = (b"ut of memory", b"NVRM", b"Xid", b"oom-kill")
_KERNEL_MARKS = (b"kernel:", b"NVRM", b"systemd[", b"] nvidia", b"] pci ")
_NO_TEXT = (b"{", b"[", b"\x1f\x8b", b"PK", b"\x80", b"SQLite")  # traces, packed files, pickles: read by other means


class Scan(NamedTuple):
    """What a pass found: bytes seen, newlines before each block and in all, and offsets of words of failures."""

    size: int
    newlines: list[int]
    hits: list[int]


class _Search:
    """One failure word on its way through the file: where it was found, and from where to look on."""

    def __init__(self, word: bytes) -> None:
        self.word = word
        self.hits: list[int] = []
        self.resume = 0

    def feed(self, block: bytes, offset: int) -> None:
        """Look through a block that starts at `offset`; the part in a window already chosen is passed over."""
        position = max(0, self.resume - offset)
        while len(self.hits) < _MOST_HITS:
            position = block.find(self.word, position)
            if position < 0:
                return
            self.hits.append(offset + position)
            position += AFTER_BYTES
            self.resume = offset + position


def scan(path: str | Path) -> Scan:
    """A pass over a file. Raises OSError if it cannot be read."""
    with open(path, "rb", buffering=0) as file:
        size = file.seek(0, 2)
        searches = [_Search(word) for word in _failure_words(_ends(file, size))]
        file.seek(0)
        seen, newlines = _pass(file, searches)
    return Scan(seen, newlines, [hit for search in searches for hit in search.hits])


def _ends(file: BinaryIO, size: int) -> bytes:
    file.seek(0)
    head = file.read(HEAD_BYTES)
    file.seek(max(0, size - TAIL_BYTES))
    return head + file.read(TAIL_BYTES)


def _failure_words(ends: bytes) -> tuple[bytes, ...]:
    """The words to look for: those of a kernel log, or of a program's. Long words are found faster than short ones."""
    return _KERNEL_FAILURES if any(mark in ends for mark in _KERNEL_MARKS) else _PROGRAM_FAILURES


def _pass(file: BinaryIO, searches: Sequence[_Search]) -> tuple[int, list[int]]:
    newlines = [0]
    longest = max(len(search.word) for search in searches) - 1
    offset, carried = 0, b""
    while block := file.read(BLOCK_BYTES):
        newlines.append(newlines[-1] + len(block) - len(block.replace(b"\n", b"")))  # `count` looks at each byte
        seam = carried + block[:longest]
        for search in searches:
            if len(search.hits) < _MOST_HITS:
                search.feed(seam, offset - len(carried))
                search.feed(block, offset)
        offset += len(block)
        carried = block[-longest:]
    return offset, newlines


class Ahead:
    """Passes over large files that were begun before their results are wanted. Use it as a context manager.

    Among `paths` may be what is no path, or no path of a large file: nothing is begun for it.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._running: dict[str, tuple[int, int]] = {}
        spare = len(os.sched_getaffinity(0)) - 1
        for path in paths:
            if len(self._running) < spare and _large_text(path):
                self._begin(path)

    def _begin(self, path: str) -> None:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _report(path, reading, writing)
        os.close(writing)
        self._running[path] = (child, reading)

    def take(self, path: str | Path) -> Scan:
        """The pass over a file: the one begun ahead, or else made now. Raises OSError if it cannot be read."""
        child, reading = self._running.pop(str(path), (0, -1))
        if not child:
            return scan(path)
        with open(reading, "rb") as answer:
            told = answer.read()
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
        try:
            return Scan(*json.loads(told))
        except (ValueError, TypeError):
            return scan(path)

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: object) -> None:
        for child, reading in self._running.values():
            os.close(reading)
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        self._running.clear()


def _large_text(path: str) -> bool:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size <= LARGE_BYTES:
            return False
        with open(path, "rb", buffering=0) as file:
            return not file.read(64).lstrip().startswith(_NO_TEXT)
    except OSError:
        return False


def _report(path: str, reading: int, writing: int) -> None:
    """The whole life of the child: make the pass, tell it, end without the parent's clean-up."""
    try:
        os.close(reading)
        with open(writing, "wb") as answer:
            answer.write(json.dumps(scan(path)).encode())
    finally:
        os._exit(0)
