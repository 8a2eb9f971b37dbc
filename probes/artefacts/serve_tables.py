"""Tables and key-value rows of measurements at several loads: a row per concurrency, batch size, rate or slots.

A table needs a column for the level and one for what was measured there. A row of keys and values needs a level first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.serve_columns import LEVEL_FACTS, Column, column, number_in
from gpuwhy.probes.artefacts.serve_loads import Loads

NAME = "load-table"
HINTS = (
    "concurren",
    "batch",
    "clients",
    "slots",
    "users",
    "rate",
    "threads",
    "connections",
    "parallel",
    "in-flight",
    "in flight",
)

_PAIR = later(
    r"([A-Za-z][\w./%-]{0,40}?)(?:\s{0,2}[=:]\s{0,14}|\s{1,14})([0-9][0-9,]{0,18}(?:\.[0-9]{1,12})?)(?:\s?(ns|us|"
    r"µs|ms|s)\b)?(?=[\s,;|:)]|\Z)"
)
_RULE = later(r"[\s|:+=-]{3,400}\Z")
_HEADING = later(r"\s{0,4}#{1,6} ([^\n#]{1,80}?)\s{0,4}\Z")
_NOT = later(r"\b(?:epoch|loss|iops|workers)\b", re.I)
MAX_CELLS = 24


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all tables of loads in a text."""
    walk = _Walk()
    for line in text.lines:
        if walk.read(line):
            walk.claimed.add(line.number)
    if walk.loads.all:
        yield Extract(NAME, tuple(walk.loads.readings()), claimed=frozenset(walk.claimed))


class _Walk:
    def __init__(self) -> None:
        self.loads = Loads("row ")
        self.claimed: set[int] = set()
        self.columns: list[Column | None] = []
        self.table = 0
        self.head: Line | None = None

    def read(self, line: Line) -> bool:
        text = line.text
        if (heading := _HEADING.match(text)) is not None:
            self.loads.group, self.columns = heading[1], []
            return False
        if not text.strip():
            self.columns = []
            return False
        if _RULE.match(text):
            return bool(self.columns)
        cells = _cells(text)
        if self.columns and len(cells) >= len(self.columns) - 1:
            return self._row(cells, line)
        return self._header(cells, line) or self._pairs(line)

    def _header(self, cells: list[str], line: Line) -> bool:
        columns = [column(cell) for cell in cells]
        facts = [one.fact for one in columns if one is not None]
        measured = [fact for fact in facts if fact not in LEVEL_FACTS]
        if (
            len(facts) - len(measured) < 1
            or not measured
            or any(number_in(cell, Column("")) is not None for cell in cells)
        ):
            return False
        self.columns, self.head = columns, line
        self.table += 1
        return True

    def _row(self, cells: list[str], line: Line) -> bool:
        values: dict[str, float] = {}
        for of, cell in zip(self.columns, cells, strict=False):
            if of is not None and (number := number_in(cell, of)) is not None:
                values.setdefault(of.fact, number)
        if not _useful(values):
            self.columns = []
            return False
        self._put(values, line)
        if self.head is not None:
            self.claimed.add(self.head.number)
        return True

    def _pairs(self, line: Line) -> bool:
        if _NOT.search(line.text):
            return False
        values: dict[str, float] = {}
        for name, number, unit in _PAIR.findall(line.text)[:MAX_CELLS]:
            of = column(f"{name} {unit}" if unit else name)
            if of is not None and (value := number_in(number, of)) is not None:
                values.setdefault(of.fact, value)
        first = next(iter(values), "")
        if first not in LEVEL_FACTS or len(values) < 3 or not _useful(values):
            return False
        self._put(values, line)
        return True

    def _put(self, values: dict[str, float], line: Line) -> None:
        level = next(fact for fact in values if fact in LEVEL_FACTS)
        name = f"{_WORDS[level]} {values[level]:g}"
        if "serve.queue_seconds" in values and "serve.latency_mean_seconds" in values:
            values["serve.server_latency_seconds"] = values.pop("serve.latency_mean_seconds")
        load = self.loads.start(name if self.table < 2 else f"table {self.table}, {name}")
        for fact, value in values.items():
            whole = fact == "serve.request_batch_size" and value == int(value)
            load.put(fact, int(value) if whole else value, line)


_WORDS = {
    "serve.concurrency": "concurrency",
    "serve.request_batch_size": "batch",
    "serve.offered_per_second": "rate",
    "serve.client_threads": "threads",
}


def _useful(values: dict[str, float]) -> bool:
    return any(fact in LEVEL_FACTS for fact in values) and any(fact not in LEVEL_FACTS for fact in values)


def _cells(text: str) -> list[str]:
    """The cells of a line: between bars, commas or tabs, or between two blanks or more."""
    body = text.strip()
    for sign in ("|", "\t", ","):
        if sign in body:
            return [cell.strip() for cell in body.strip("|").split(sign)][:MAX_CELLS]
    return re.split(r"\s{2,}", body)[:MAX_CELLS]


FORMAT = TextFormat(NAME, "Tables of measurements at several loads", HINTS, scan)
