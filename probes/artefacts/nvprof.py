"""nvprof's summary of GPU activities and API calls: all layouts since CUDA 5, and its CSV form."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.kernels import is_device_copy_row
from gpuwhy.probes.artefacts.profile_rows import (
    CALLS,
    COPIES,
    KERNELS,
    OTHER,
    ProfileRow,
    row_readings,
    summary_readings,
)
from gpuwhy.probes.artefacts.quantities import parse_duration, parse_number

_TIME = r"[0-9]{1,12}(?:\.[0-9]{1,9})?(?:ns|us|ms|s|m|h)"
_ROW = re.compile(
    rf"^[\s>|]{{0,80}}(?:(?P<section>[A-Za-z][A-Za-z ()]{{1,40}}):\s{{1,40}})?"
    rf"(?P<share>[0-9]{{1,3}}(?:\.[0-9]{{1,4}})?)%?\s{{1,40}}"
    rf"(?P<total>{_TIME})\s{{1,40}}(?P<calls>[0-9]{{1,15}})\s{{1,40}}(?P<mean>{_TIME})\s{{1,40}}(?P<shortest>{_TIME})"
    rf"\s{{1,40}}(?P<longest>{_TIME})\s{{1,40}}(?P<name>\S[^\n]{{0,4000}})"
)
_HEADER = re.compile(r"Time\(%\)\s{1,40}Time\s{1,40}Calls\s{1,40}Avg\s{1,40}Min\s{1,40}Max\s{1,40}Name")
_BANNER = re.compile(r"==\d{1,10}==\s{1,4}(Profiling result|API calls|Unified Memory profiling result)")
_API_NAME = re.compile(r"(?:cuda|cu|hip)[A-Z]\w{0,80}$")
_SECTIONS = {"gpu activities": KERNELS, "api calls": CALLS}
_CSV_COLUMNS = ("Time(%)", "Time", "Calls", "Avg", "Min", "Max", "Name")


@dataclass
class _Found:
    rows: list[ProfileRow] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)
    section: str = ""


def scan(text: Text) -> Iterable[Extract]:
    """One extract for all summaries of a text: the rows, and the step facts of their sums."""
    found = _Found()
    lines = iter(text.lines)
    for line in lines:
        if _HEADER.search(line.text) or _BANNER.search(line.text):
            found.claimed.add(line.number)
            found.section = _banner_section(line.text, found.section)
        elif _is_csv_header(line.text):
            found.claimed.add(line.number)
            _read_csv(lines, line, found)
        else:
            _take_row(line, found)
    if found.rows:
        readings: list[Reading] = [*row_readings(found.rows), *summary_readings(found.rows)]
        yield Extract("nvprof", tuple(readings), claimed=frozenset(found.claimed))


def _banner_section(text: str, before: str) -> str:
    banner = _BANNER.search(text)
    if banner is None:
        return before
    return {"API calls": CALLS, "Profiling result": ""}.get(banner[1], OTHER)


def _take_row(line: Line, found: _Found) -> None:
    match = _ROW.match(line.text)
    if match is None:
        return
    label = (match["section"] or "").strip().lower()
    if label:
        found.section = _SECTIONS.get(label, OTHER)
    name = match["name"].strip()
    row = ProfileRow(
        line.number,
        line.text.strip()[:200],
        _section_of(name, found.section),
        name,
        float(match["share"]) / 100.0,
        parse_duration(match["total"]),
        int(match["calls"]),
        parse_duration(match["mean"]),
        parse_duration(match["shortest"]),
        parse_duration(match["longest"]),
    )
    found.rows.append(row)
    found.claimed.add(line.number)


def _section_of(name: str, section: str) -> str:
    """Kernels, copies or API calls; where the section's label is cut off, by the look of the name."""
    if is_device_copy_row(name):
        return COPIES
    if section in (KERNELS, CALLS, OTHER):
        return section
    return CALLS if _API_NAME.match(name) else KERNELS


def _is_csv_header(text: str) -> bool:
    return "," in text and '"Time(%)"' in text.replace("Time(%),", '"Time(%)",') and "Name" in text and "Calls" in text


def _read_csv(lines: Iterable[Line], header: Line, found: _Found) -> None:
    columns = _cells(header.text)
    units: dict[str, str] = {}
    for line in lines:
        cells = _cells(line.text)
        if len(cells) < len(columns):
            return
        record = dict(zip(columns, cells, strict=False))
        if not units:
            units = record
            found.claimed.add(line.number)
            continue
        row = _csv_row(line, record, units, found)
        if row is None:
            return
        found.rows.append(row)
        found.claimed.add(line.number)


def _csv_row(line: Line, record: dict[str, str], units: dict[str, str], found: _Found) -> ProfileRow | None:
    share, calls = parse_number(record.get("Time(%)", "")), parse_number(record.get("Calls", ""))
    name = record.get("Name", "").strip()
    if share is None or calls is None or not name:
        return None
    times = [
        parse_duration(f"{record.get(column, '')} {units.get(column, '')}") for column in ("Time", "Avg", "Min", "Max")
    ]
    section = _SECTIONS.get(record.get("Type", "").strip().lower(), found.section)
    text = line.text.strip()[:200]
    return ProfileRow(
        line.number, text, _section_of(name, section), name, share / 100.0, times[0], int(calls), *times[1:]
    )


def _cells(text: str) -> Sequence[str]:
    try:
        return next(csv.reader([text[:8000]]), [])
    except csv.Error:
        return []


FORMAT = TextFormat(
    "nvprof",
    "nvprof summary",
    (
        "gpu activities:",
        "api calls:",
        "==profiling result",
        "profiling result:",
        "time(%)",
        "[cuda memcpy",
        "culaunchkernel",
        "cudalaunch",
    ),
    scan,
)
