"""The same work in several precisions: tables and lines with a time or a throughput for FP32, TF32 and half precision.

What counts is how many times faster half precision (FP16, BF16, mixed) and TF32 are than FP32, where all are told in
the same unit and of one GPU model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpuwhy.kb.facts import JOB
from gpuwhy.kb.patterns import later
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.gpu_models import models
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number

NAME = "precision-table"
HINTS = ("fp32", "float32", "full precision", "tf32")
LONGEST = 400
MOST_LINES = 400

_HALF = r"(?:fp16|float16|half|bf16|bfloat16|amp|autocast|mixed)"
_LABEL = (
    rf"(?P<half>{_HALF}(?:[ /+(_-]{{1,2}}(?:precision|{_HALF}|o[12])\)?){{0,2}})"
    r"|(?P<tf32>(?:fp32 ?[(+/] ?)?(?:tf32|tensorfloat-?32)(?: on| enabled)?\)?)"
    r"|(?P<full>(?:fp32|float32|full precision)"
    r"(?: ?\(?(?:no|without) (?:tf32|amp)\)?| ?\(?tf32 (?:off|disabled)\)?| baseline)?)"
)
_TIME = (
    r"(?P<span>ms|milliseconds?|us|µs|s|secs?|seconds?|min|minutes?)"
    r"(?:\s?/\s?(?:it\w{0,8}|steps?|batch|epoch|images?|img))?"
)
_RATE = (
    r"(?P<rate>[kMGTP]?FLOPS?(?:/s)?|fps|qps"
    r"|(?:imgs?|images?|samples?|tokens?|tok|its?|iters?|iterations?|steps?|seqs?|sequences?|examples?|frames?|req\w{0,5})"
    r"\s?(?:/\s?s(?:ec(?:ond)?)?\b|per sec\w{0,4}))"
)
_ROW = later(
    rf"(?i)(?<![\w./-])(?:{_LABEL})(?![\w-])[\s:=|*`,]{{1,40}}"
    rf"(?:(?:is|takes|took|at|gets|gives|reaches|runs|about|around) ){{0,3}}"
    rf"[~≈]?(?P<value>{NUMBER})\s?(?:{_TIME}|{_RATE})(?![A-Za-z0-9])"
)
_WHOLE_LABEL = later(rf"(?i)^(?:pytorch |torch\.)?(?:{_LABEL})$")
_TITLE = later(r"(?i)^(?:precision|d-?type|data ?type|type|mode|format|config\w{0,8}|setting)$")
_TIME_TITLE = later(r"(?i)\b(?:ms|seconds?|secs?|time|latency|s/it|min)\b")
_RATE_TITLE = later(rf"(?i){_RATE}|\bthroughput\b|\bspeed\b")
_CELL = later(rf"(?i)^[~≈*]{{0,2}}(?P<value>{NUMBER})\s?(?:{_TIME}|{_RATE})?\*{{0,2}}$")
_ON_PAPER = later(r"(?i)\b(?:data ?sheet|spec(?:s|ification)?|peak|theoretical|on paper|expected|should)\b")
_HALF_NO_FASTER = later(r"^(?:K80|M60|M40|P4|P40|GTX-10)")
"""Compute capabilities 3.7, 5.2 and 6.1, which compute in 16 bits as fast as in 32 or slower; 6.0 (P100) is faster."""


@dataclass(frozen=True)
class _Pace:
    """One precision: how fast the work is, as a rate, in a dimension that must agree among them."""

    kind: str
    rate: float
    dimension: str
    line: Line


def scan(text: Text) -> Iterator[Extract]:
    """One extract of what half precision and TF32 gain over FP32; it claims no line."""
    lines = [line for line in text.lines[:MOST_LINES] if len(line.text) <= LONGEST and not _ON_PAPER.search(line.text)]
    cards = {name for line in lines for _, name in models(line.text)}
    if len(cards) > 1:
        return
    paces = [pace for line in lines for pace in _inline(line)] or [*_tables(lines)]
    readings = [*_gains(paces)]
    if readings:
        for card in cards:
            if _HALF_NO_FASTER.match(card):
                readings.append(Reading("said.gpu_without_faster_half", card, readings[0].line, card, JOB))
        yield Extract(NAME, tuple(readings))


def _kind(found: re.Match[str]) -> str:
    return next(kind for kind in ("half", "tf32", "full") if found[kind])


def _pace(kind: str, found: re.Match[str], line: Line, dimension: str = "") -> _Pace | None:
    value = parse_number(found["value"])
    if not value or value <= 0:
        return None
    if found["rate"]:
        return _Pace(kind, value, found["rate"].lower().rstrip("s"), line)
    if found["span"]:
        seconds = parse_duration(f"{found['value']} {found['span']}")
        return _Pace(kind, 1.0 / seconds, "time", line) if seconds else None
    if dimension:
        return _Pace(kind, 1.0 / value if dimension == "time" else value, dimension, line)
    return None


def _inline(line: Line) -> Iterator[_Pace]:
    """`fp32: 410 ms/step, fp16: 180 ms/step`, also as rows of a table whose cells have units."""
    for found in _ROW.finditer(line.text):
        if (pace := _pace(_kind(found), found, line)) is not None:
            yield pace


def _cells(text: str) -> list[str]:
    if text.count("|") >= 2:
        return [cell.strip(" *`") for cell in text.strip().strip("|").split("|")]
    return [cell for cell in re.split(r"\s{2,}|\t|,\s?(?=\S)", text.strip()) if cell]


def _tables(lines: Sequence[Line]) -> Iterator[_Pace]:
    """Tables with a row, or a column, for each precision."""
    columns: Mapping[int, str] = {}
    value, dimension, width = -1, "", 0
    for line in lines:
        cells = _cells(line.text)
        kinds = {at: _kind(found) for at, cell in enumerate(cells) if (found := _WHOLE_LABEL.match(cell))}
        if len(cells) >= 2 and _TITLE.match(cells[0]) and not kinds:
            value, dimension = _value_column(cells)
            columns, width = {}, len(cells)
        elif len(kinds) >= 2:
            columns, width, dimension = kinds, len(cells), _dimension(cells[0]) if 0 not in kinds else ""
        elif columns and len(cells) == width:
            yield from _of_columns(columns, cells, dimension or _dimension(cells[0]), line)
        elif 0 < value < len(cells) == width and 0 in kinds:
            yield from _of_columns({value: kinds[0]}, cells, dimension, line)


def _of_columns(columns: Mapping[int, str], cells: Sequence[str], dimension: str, line: Line) -> Iterator[_Pace]:
    for at, kind in columns.items():
        cell = _CELL.match(cells[at])
        pace = _pace(kind, cell, line, dimension) if cell else None
        if pace is not None:
            yield pace


def _dimension(title: str) -> str:
    if (rate := _RATE_TITLE.search(title)) is not None:
        return (rate["rate"] or "rate").lower().rstrip("s")
    return "time" if _TIME_TITLE.search(title) else ""


def _value_column(cells: Sequence[str]) -> tuple[int, str]:
    found = [(at, _dimension(cell)) for at, cell in enumerate(cells) if at and _dimension(cell)]
    return found[0] if found else (-1, "")


def _gains(paces: Sequence[_Pace]) -> Iterator[Reading]:
    """How many times the pace of FP32 the others have; nothing where FP32 has several."""
    full = {pace.rate: pace for pace in paces if pace.kind == "full"}
    if len(full) != 1:
        return
    base = next(iter(full.values()))
    for kind, fact in (("half", "bench.half_speedup_ratio"), ("tf32", "bench.tf32_speedup_ratio")):
        told = [pace for pace in paces if pace.kind == kind and pace.dimension == base.dimension]
        if told:
            best = max(told, key=lambda pace: pace.rate)
            yield Reading(fact, best.rate / base.rate, best.line.number, best.line.text.strip()[:200], JOB)


FORMAT = TextFormat(NAME, "One work in several precisions", HINTS, scan)
