"""Throughput over the number of GPUs: tables with a row for each number, and statements of a speed-up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.gpu_models import models
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_number

NAME = "gpu-scaling"
LONGEST = 400
MOST_ROWS = 40
MOST_LINES = 300
LONGEST_SENTENCE = 1_000

_COUNT_COLUMN = later(
    r"(?i)^#?\s?(?:n(?:um(?:ber)?)?[ _-]?(?:of )?)?(?:gpus?|ranks?|cards?|devices?|world[ _-]?size|workers|nodes"
    r"|nproc\w{0,10})(?: \(n\))?$"
)
_RATE_COLUMN = later(
    r"(?i)(?:img|imgs|image|images|samples?|tokens?|tok|seq|sequences|examples?|frames?|it|iters?"
    r"|steps?)\s?(?:/\s?(?:s|sec|second)|per sec\w{0,4})"
    r"|throughput|\bfps\b|\btps\b|\bqps\b"
)
_PER_GPU = later(r"(?i)per[ _-]?(?:gpu|device|card|rank)|/\s?(?:gpu|device)")
_TIME_COLUMN = later(
    r"(?i)(?:time|seconds|sec|min|minutes|hours|s|ms)\b.{0,24}\bepoch"
    r"|epoch\b.{0,16}\b(?:time|s|sec|seconds"
    r"|min)\b|time to train|total time"
)
_ROW_COUNT = later(r"(?i)^(?P<count>[1-9][0-9]{0,3})\s?(?:x\s?(?:[A-Z]{1,4}[0-9]{2,4}\w{0,12})?|gpus?|ranks?)?$")
_STATED = later(
    r"(?i)\b(?:speed-?up|scale-?up|scaling(?: factor)?)\b[^.\n]{0,60}?\b(?P<count>[2-9]|[1-9][0-9]{1,2}|two|four"
    r"|eight)[ -]?gpus?\b"
    r"[^\n]{0,80}?(?P<ratio>[0-9]{1,3}(?:\.[0-9]{1,3})?)\s?(?:x|×|times)"
    r"|\b(?P<count2>[2-9]|[1-9][0-9]{1,2}|two|four|eight)[ -]?gpus?\b[^.\n]{0,60}?\b(?:speed-?up"
    r"|scale-?up)\b[^\n]{0,40}?"
    r"(?P<ratio2>[0-9]{1,3}(?:\.[0-9]{1,3})?)\s?(?:x|×|times)"
)
_WORDS = {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "eight": 8}
_COUNT = later(
    r"(?i)(?<![\w.])(?P<count>[1-9][0-9]{0,3}|one|single|two|three|four|eight)(?: or \w{1,5})?(?:[ -]?x)?[ -]?"
    r"(?:A?[A-Z]?[0-9]{2,4} )?(?P<unit>GPUs?|cards?|nodes?|machines?)\b"
)
_PACE = later(
    rf"(?i)(?<![\w.])(?P<value>{NUMBER})\s?(?:(?:img|image|sample|token|tok|seq|sequence|example|frame)s?\s?)?"
    r"(?:/\s?s(?:ec(?:ond)?)?\b|per second\b)(?P<each>\s?(?:/|per )\s?(?:GPU|card|device)\b)?"
)
_WISHED = later(r"(?i)\b(?:expect\w{0,3}|should|would|theor\w{1,7}|ideal\w{0,2}|linear)\b")
_EACH = later(r"(?i)per[ _-](?:gpu|device|card)\b[^\n]{0,12}\Z")


@dataclass(frozen=True)
class _Row:
    """One number of GPUs, and the throughput of all of them together (or its inverse, of times of the same work)."""

    count: int
    throughput: float
    line: Line


def scan(text: Text) -> Iterator[Extract]:
    """One extract; it claims no line, since other formats read the same ones."""
    rows = _best(list(_tables(text.lines)))
    readings = [*_told(rows)] if rows else [*_stated(text.lines)] or [*_said(text.lines)]
    if readings:
        yield Extract(NAME, tuple(readings))


def _cells(text: str) -> list[str]:
    if text.count("|") >= 2:
        return [cell.strip(" *`") for cell in text.strip().strip("|").split("|")]
    return [cell for cell in re.split(r"\s{2,}|\t|,\s?(?=\S)", text.strip()) if cell]


def _tables(lines: Sequence[Line]) -> Iterator[list[_Row]]:
    """Tables with a column that counts GPUs and one of throughput, or of time for the same work."""
    columns: Mapping[str, int] = {}
    rows: list[_Row] = []
    for line in lines:
        cells = _cells(line.text) if len(line.text) <= LONGEST else []
        found = _columns(cells)
        if found:
            if rows:
                yield rows
            columns, rows = found, []
        elif columns and (row := _row(columns, cells, line)) and len(rows) < MOST_ROWS:
            rows.append(row)
        elif cells and rows and not set(line.text) <= set("|-: +="):
            yield rows
            columns, rows = {}, []
    if rows:
        yield rows


def _columns(cells: Sequence[str]) -> Mapping[str, int]:
    counts = [index for index, cell in enumerate(cells) if _COUNT_COLUMN.match(cell)]
    if not counts or len(cells) < 2:
        return {}
    for kind, pattern in (("rate", _RATE_COLUMN), ("time", _TIME_COLUMN)):
        places = [index for index, cell in enumerate(cells) if pattern.search(cell) and index not in counts]
        if places:
            each = bool(_PER_GPU.search(cells[places[0]]))
            return {"count": counts[0], kind: places[0], "width": len(cells), **({"each": 1} if each else {})}
    return {}


def _row(columns: Mapping[str, int], cells: Sequence[str], line: Line) -> _Row | None:
    if len(cells) != columns["width"]:
        return None
    count = _ROW_COUNT.match(cells[columns["count"]])
    printed = re.match(rf"[~≈]?({NUMBER})(?=\s|$|[A-Za-z])", cells[columns.get("rate", columns.get("time", 0))])
    value = parse_number(printed[1]) if printed else None
    if count is None or not value:
        return None
    number = int(count["count"])
    throughput = 1.0 / value if "time" in columns else value * (number if "each" in columns else 1)
    return _Row(number, throughput, line)


def _best(tables: Sequence[list[_Row]]) -> list[_Row]:
    """The first table that has one GPU and more."""
    for rows in tables:
        counts = {row.count for row in rows}
        if 1 in counts and len(counts) >= 2:
            return rows
    return []


def _told(rows: Sequence[_Row]) -> Iterator[Reading]:
    one = next(row for row in rows if row.count == 1)
    most = max(rows, key=lambda row: row.count)
    for row in rows:
        said = row.line.text.strip()[:200]
        yield Reading(
            "reading.value",
            row.throughput,
            row.line.number,
            said,
            Entity("measurement", f"throughput of {row.count} GPUs", JOB),
        )
    yield from _facts(most.count, most.throughput / one.throughput, most.line)


def _stated(lines: Sequence[Line]) -> Iterator[Reading]:
    for line in lines:
        lowered = line.text.lower() if len(line.text) <= LONGEST else ""
        found = _STATED.search(line.text) if "speed" in lowered or "scal" in lowered else None
        if found:
            printed = found["count"] or found["count2"]
            count = _WORDS.get(printed.lower()) or int(printed)
            ratio = float(found["ratio"] or found["ratio2"])
            if 0 < ratio <= 2 * count:
                yield from _facts(count, ratio, line)
                return


def _said(lines: Sequence[Line]) -> Iterator[Reading]:
    """Sentences that give one throughput for few and one for many: `40 images/s on one node, on two nodes 55`."""
    for line in lines[:MOST_LINES]:
        if len(line.text) > LONGEST_SENTENCE or not ("/" in line.text or "per second" in line.text.lower()):
            continue
        paces = _paces(line.text)
        if len(paces) < 2 or len({name for _, name in models(line.text)}) > 1:
            continue
        for unit in ("gpu", "node"):
            told = {count: rate for kind, count, rate in reversed(paces) if kind == unit}
            if len(told) >= 2:
                few, many = min(told), max(told)
                speedup = told[many] / told[few]
                said = line.text.strip()[:200]
                if unit == "gpu":
                    yield Reading("bench.scaling_gpu_count", many, line.number, said, JOB)
                yield Reading("bench.scaling_speedup", speedup, line.number, said, JOB)
                yield Reading("bench.scaling_efficiency_share", speedup * few / many, line.number, said, JOB)
                return


def _paces(text: str) -> list[tuple[str, int, float]]:
    """For each throughput of a sentence: what was counted last before it, how many, and what all of them did."""
    found: list[tuple[str, int, float]] = []
    counts = list(_COUNT.finditer(text))
    taken = 0
    for pace in _PACE.finditer(text):
        before = [one for one in counts if taken <= one.start() < pace.start()]
        value = parse_number(pace["value"])
        if not before or not value or _WISHED.search(text[max(taken, pace.start() - 40) : pace.start()]):
            continue
        each = pace["each"] or _EACH.search(text[taken : pace.start()])
        for one in before:
            count = _WORDS.get(one["count"].lower()) or int(one["count"])
            unit = "gpu" if one["unit"].lower()[0] in "gc" else "node"
            found.append((unit, count, value * (count if each else 1)))
        taken = pace.end()
    return found


def _facts(count: int, speedup: float, line: Line) -> Iterator[Reading]:
    said = line.text.strip()[:200]
    yield Reading("bench.scaling_gpu_count", count, line.number, said, JOB)
    yield Reading("bench.scaling_speedup", speedup, line.number, said, JOB)
    yield Reading("bench.scaling_efficiency_share", speedup / count, line.number, said, JOB)


FORMAT = TextFormat(
    NAME,
    "Throughput over the number of GPUs",
    (
        "gpus",
        "node",
        "gpu ",
        "gpu\t",
        "gpu|",
        "gpu,",
        "ranks",
        "world",
        "speedup",
        "speed-up",
        "scaleup",
        "scale-up",
        "nodes",
        "devices",
    ),
    scan,
)
