"""Throughput over the number of GPUs: tables with a row for each number, and statements of a speed-up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts import stated_scaling
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_number

NAME = "gpu-scaling"
LONGEST = 400
MOST_ROWS = 40

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


@dataclass(frozen=True)
class _Row:
    """One number of GPUs, and the throughput of all of them together (or its inverse, of times of the same work)."""

    count: int
    throughput: float
    line: Line


def scan(text: Text) -> Iterator[Extract]:
    """One extract; it claims no line, since other formats read the same ones."""
    rows = _best(list(_tables(text.lines)))
    readings = [*_told(rows)] if rows else [*stated_scaling.readings(text.lines)]
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
    yield from stated_scaling.facts(most.count, most.throughput / one.throughput, most.line)


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
        "单卡",
        "双卡",
        "多卡",
        "张卡",
        "加速比",
        "卡的",
    ),
    scan,
)
