"""The parts worth reading of a very large text: both ends, the places that look like a failure, samples in between.

The file is never held in memory, and never walked line by line: blocks are searched and counted as bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.cleaning import numbered
from gpuwhy.probes.artefacts.contract import Line, Text
from gpuwhy.probes.artefacts.large_scan import AFTER_BYTES, BLOCK_BYTES, HEAD_BYTES, TAIL_BYTES, Ahead, scan

_SAMPLES = 24
_SAMPLE = 512
_BEFORE = 2 * 2**10
_WORDS_BETWEEN = re.compile("[^A-Za-z]+")
_TELLS = re.compile("Xid|NVRM|[Ee]rror|ERROR|[Ff]ail|FAIL|Traceback|[Kk]illed|OOM|ut of memory")
_KEPT_AT_START, _KEPT_AT_END, _KEPT_AROUND, _KEPT_OF_SAMPLE = (24, 0), (0, 40), (12, 12), (1, 0)
"""How many lines of one shape are kept of a span: the first and the last of them."""


@dataclass(frozen=True)
class LargeText:
    """The selected lines with their numbers in the file, the line ranges left out, and the size of the whole.

    `skipped` are inclusive ranges of line numbers, rising.
    """

    text: Text
    skipped: tuple[tuple[int, int], ...]
    total_lines: int
    total_bytes: int


def select(path: Path, name: str, ahead: Ahead | None = None) -> LargeText:
    """The parts of the text file at `path` worth reading, as a text called `name`.

    `ahead` may have searched it already. Raises OSError if the file cannot be read.
    """
    size, newlines, hits = ahead.take(path) if ahead is not None else scan(path)
    with path.open("rb", buffering=0) as file:
        head, last = _read(file, 0, HEAD_BYTES), _read(file, max(0, size - 1), size)
        windows = [(hit - _BEFORE, hit + AFTER_BYTES) for hit in hits]
        wanted = _merge([(0, HEAD_BYTES), (size - TAIL_BYTES, size), *windows, *_sample_spans(size)], size)
        utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))
        lines = _lines(file, wanted[:1] if utf16 else wanted, newlines, size)
    total = newlines[-1] + (0 if not size or last == b"\n" else 1)
    return LargeText(Text(name, tuple(lines)), tuple(_gaps(lines, total)), total, size)


def _sample_spans(size: int) -> Iterator[tuple[int, int]]:
    """Short stretches spread evenly over the middle."""
    stride = max(_SAMPLE * 4, size // (_SAMPLES + 1))
    for start in range(stride, size - TAIL_BYTES, stride):
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
        block = start // BLOCK_BYTES
        before = newlines[block] + _read(file, block * BLOCK_BYTES, start).count(b"\n") + (1 if start else 0)
        lines.extend(_thinned(numbered(raw[first:last], before + 1), *_kept(start, end, size)))
    return lines


def _kept(start: int, end: int, size: int) -> tuple[int, int]:
    if end >= size:
        return _KEPT_AT_END
    if not start:
        return _KEPT_AT_START
    return _KEPT_OF_SAMPLE if end - start <= _SAMPLE else _KEPT_AROUND


def _thinned(lines: Sequence[Line], first: int, last: int) -> Iterator[Line]:
    """The lines without the middle ones of each shape: a log says the same of every step, in other numbers.

    Lines that may tell of a failure stay: there the numbers are what matters.
    """
    shapes = [_WORDS_BETWEEN.sub(" ", line.text) for line in lines]
    total, seen = Counter(shapes), Counter[str]()
    for line, shape in zip(lines, shapes, strict=True):
        if seen[shape] < first or total[shape] - seen[shape] <= last or _TELLS.search(line.text):
            yield line
        seen[shape] += 1


def _gaps(lines: Sequence[Line], total: int) -> Iterator[tuple[int, int]]:
    numbers = [0, *(line.number for line in lines), total + 1]
    for before, after in pairwise(numbers):
        if after - before > 1:
            yield before + 1, after - 1
