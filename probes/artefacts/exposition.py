"""Samples of the Prometheus text exposition format, wherever they stand in a text, scrape by scrape.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/ .
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Line

_SAMPLE = re.compile(
    r"[\s>|]{0,40}([a-zA-Z_:][a-zA-Z0-9_:]{0,200})(?:\{([^\n]{0,4000}?)\})?\s{1,20}"
    r"([-+]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][-+]?[0-9]{1,3})?|Inf|inf|NaN|nan))(?:\s{1,20}(-?[0-9]{1,20}))?\s{0,40}\Z"
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]{0,100})\s?=\s?"((?:[^"\\\n]|\\.){0,1000})"')
_HEADER = re.compile(r"[\s>|]{0,40}#\s?(HELP|TYPE)\s([a-zA-Z_:][a-zA-Z0-9_:]{0,200})\b")
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r"\\.")


@dataclass(frozen=True)
class Sample:
    """One line: `name{labels} value`. `value` may be NaN or infinite, as printed; `at` in seconds since the epoch."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float
    line: int
    text: str
    at: float | None = None

    def label(self, name: str) -> str | None:
        """The value of a label."""
        return next((value for key, value in self.labels if key == name), None)

    @property
    def known(self) -> bool:
        """False for NaN and infinity: an empty window, not a reading."""
        return math.isfinite(self.value)


@dataclass
class Scrape:
    """The samples of one read of an endpoint. `first` is its first line; `lines` are all lines that belong to it."""

    first: int
    samples: list[Sample] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)

    def named(self, name: str) -> Iterator[Sample]:
        """Samples of this name."""
        return (one for one in self.samples if one.name == name)


def sample(line: Line) -> Sample | None:
    """The sample of a line, if it is one."""
    found = _SAMPLE.match(line.text)
    if not found:
        return None
    name, labels, value, at = found.groups()
    pairs = tuple((key, _unescaped(text)) for key, text in _LABEL.findall(labels)) if labels else ()
    return Sample(name, pairs, float(value), line.number, line.text.strip()[:300], int(at) / 1000 if at else None)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found.group(0), found.group(0)), text) if "\\" in text else text


def scrapes(lines: Iterable[Line], prefix: str) -> list[Scrape]:
    """The scrapes of a text, in order; only metrics whose name begins with `prefix`.

    A new one begins where a series, or the heading of a family, comes again.
    """
    found: list[Scrape] = []
    seen: set[object] = set()
    for line in lines:
        if prefix not in line.text:
            continue
        header = _HEADER.match(line.text)
        one = None if header else sample(line)
        key: object = (header.group(1), header.group(2)) if header else one and (one.name, one.labels)
        if not key or not (header.group(2) if header else one.name if one else "").startswith(prefix):
            continue
        if not found or key in seen:
            found.append(Scrape(line.number))
            seen = set()
        seen.add(key)
        found[-1].lines.add(line.number)
        if one is not None:
            found[-1].samples.append(one)
    return [one for one in found if one.samples]
