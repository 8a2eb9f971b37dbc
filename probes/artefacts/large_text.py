"""The parts worth reading of a very large text: both ends, the places that look like a failure, samples in between.

The file is never held in memory, and never walked line by line: blocks are searched and counted as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.cleaning import numbered
from gpuwhy.probes.artefacts.contract import Line, Text

LARGE_BYTES = 4 * 2**20
"""Texts larger than this are worth selecting from."""

_BLOCK = 2**19
_HEAD = 16 * 2**10
_TAIL = 24 * 2**10
_SAMPLES = 40
_SAMPLE = 512
_BEFORE, _AFTER = 2 * 2**10, 4 * 2**10
_MOST_HITS = 12

_PROGRAM_FAILURES = (b"ut of memory", b"Traceback (most recent call")
_KERNEL_FAILURES = (b"ut of memory", b"NVRM", b"Xid", b"oom-kill")
_KERNEL_MARKS = (b"kernel:", b"NVRM", b"systemd[", b"] nvidia", b"] pci ")


@dataclass(frozen=True)
class LargeText:
    """The selected lines with their numbers in the file, the line ranges left out, and the size of the whole.

    `skipped` are inclusive ranges of line numbers, rising.
    """

    text: Text
    skipped: tuple[tuple[int, int], ...]
    total_lines: int
    total_bytes: int


@dataclass
class _Search:
    """One failure word on its way through the file: where it was found, and from where to look on."""

    word: bytes
    hits: list[int] = field(default_factory=list)
    resume: int = 0

    def feed(self, block: bytes, offset: int) -> None:
        """Look through a block that starts at `offset`; the part in a window already chosen is passed over."""
        position = max(0, self.resume - offset)
        while len(self.hits) < _MOST_HITS:
            position = block.find(self.word, position)
            if position < 0:
                return
            self.hits.append(offset + position)
            position += _AFTER
            self.resume = offset + position


def select(path: Path, name: str) -> LargeText:
    """The parts of the text file at `path` worth reading, as a text called `name`.

    Raises OSError if the file cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        size = file.seek(0, 2)
        head, tail = _read(file, 0, _HEAD), _read(file, max(0, size - _TAIL), size)
        searches = [_Search(word) for word in _failure_words(head + tail)]
        newlines = _scan(file, searches)
        wanted = _merge([(0, _HEAD), (size - _TAIL, size), *_windows(searches), *_sample_spans(size)], size)
        utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))
        lines = _lines(file, wanted[:1] if utf16 else wanted, newlines, size)
    total = newlines[-1] + (0 if not size or tail.endswith(b"\n") else 1)
    return LargeText(Text(name, tuple(lines)), tuple(_gaps(lines, total)), total, size)


def _failure_words(ends: bytes) -> tuple[bytes, ...]:
    """The words to look for: those of a kernel log, or of a program's. Long words are found faster than short ones."""
    return _KERNEL_FAILURES if any(mark in ends for mark in _KERNEL_MARKS) else _PROGRAM_FAILURES


def _scan(file: BinaryIO, searches: Sequence[_Search]) -> list[int]:
    """Newlines before each block (and in all), while the searches run over the blocks."""
    newlines = [0]
    longest = max((len(search.word) for search in searches), default=1) - 1
    file.seek(0)
    offset, carried = 0, b""
    while block := file.read(_BLOCK):
        newlines.append(newlines[-1] + block.count(b"\n"))
        seam = carried + block[:longest]
        for search in searches:
            if len(search.hits) < _MOST_HITS:
                search.feed(seam, offset - len(carried))
                search.feed(block, offset)
        offset += len(block)
        carried = block[-longest:] if longest else b""
    return newlines


def _windows(searches: Sequence[_Search]) -> Iterator[tuple[int, int]]:
    for search in searches:
        for hit in search.hits:
            yield max(0, hit - _BEFORE), hit + _AFTER


def _sample_spans(size: int) -> Iterator[tuple[int, int]]:
    """Short stretches spread evenly over the middle."""
    stride = max(_SAMPLE * 4, size // (_SAMPLES + 1))
    for start in range(stride, size - _TAIL, stride):
        yield start, start + _SAMPLE


def _merge(spans: Sequence[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted((max(0, start), min(end, size)) for start, end in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged


def _read(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _lines(file: BinaryIO, spans: Sequence[tuple[int, int]], newlines: Sequence[int], size: int) -> list[Line]:
    """The whole lines within each span; a line longer than its span is left out."""
    lines: list[Line] = []
    for start, end in spans:
        raw = _read(file, start, end)
        first = raw.find(b"\n") + 1 if start else 0
        last = len(raw) if end >= size else raw.rfind(b"\n") + 1
        if last <= first or (start and not first):
            continue
        block = start // _BLOCK
        before = newlines[block] + _read(file, block * _BLOCK, start).count(b"\n") + (1 if start else 0)
        lines.extend(numbered(raw[first:last], before + 1))
    return lines


def _gaps(lines: Sequence[Line], total: int) -> Iterator[tuple[int, int]]:
    numbers = [0, *(line.number for line in lines), total + 1]
    for before, after in pairwise(numbers):
        if after - before > 1:
            yield before + 1, after - 1
