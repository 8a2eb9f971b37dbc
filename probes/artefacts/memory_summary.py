"""State of PyTorch's allocator as text: `memory_summary()` tables, `memory_stats()` dumps, lines of labelled sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpuwhy.kb.facts import JOB, Entity, Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.flow import without_prefix
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import parse_number, parse_size

_TITLE = later(r"PyTorch\s+(?:CUDA|HIP|XPU)?\s{0,3}memory summary(?:, device ID (\d{1,4}))?", re.IGNORECASE)
_COUNTERS = later(r"\bOOMs:\s{0,20}(\d{1,12})\s{0,40}\|?\s{0,40}(?:cuda|hip)Malloc retries:\s{0,20}(\d{1,12})", re.I)
_ROW = later(
    r"^\|?\s{0,20}([A-Za-z][A-Za-z \-]{2,40}?)\s{0,20}\|\s{0,20}(-?\d{1,18})\s{0,3}([A-Za-z]{0,3})\s{0,20}"
    r"\|\s{0,20}(-?\d{1,18})\s{0,3}([A-Za-z]{0,3})\s{0,20}(?:\|\s{0,20}(-?\d{1,18})\s{0,3}([A-Za-z]{0,3})\s{0,20})?"
    r"(?:\|\s{0,20}(-?\d{1,18})\s{0,3}([A-Za-z]{0,3})\s{0,20})?\|?\s{0,20}$"
)
_FRAME = later(r"^\|?[\s|=\-]{10,200}\|?$|^\|?\s{0,10}Metric\s{1,20}\|\s{0,20}Cur Usage", re.IGNORECASE)
_COLUMNS = ("now", "peak", "total allocated", "total freed")
_COUNT_SCALE = {"": 1, "K": 1000, "M": 1000_000, "B": 1000_000_000}

# Rows of the table, and keys of memory_stats() without their pool and metric: facts for now and for the peak.
_ROW_FACTS: dict[str, tuple[str | None, str | None]] = {
    "allocated memory": ("allocator.allocated_bytes", "allocator.allocated_peak_bytes"),
    "active memory": ("allocator.active_bytes", "allocator.active_peak_bytes"),
    "requested memory": ("allocator.requested_bytes", None),
    "gpu reserved memory": ("allocator.reserved_bytes", "allocator.reserved_peak_bytes"),
    "non-releasable memory": ("allocator.inactive_split_bytes", None),
    "gpu reserved segments": ("allocator.segment_count", None),
}
_STATS_FACTS = {
    "allocated_bytes.all.current": "allocator.allocated_bytes",
    "allocated_bytes.all.peak": "allocator.allocated_peak_bytes",
    "active_bytes.all.current": "allocator.active_bytes",
    "active_bytes.all.peak": "allocator.active_peak_bytes",
    "requested_bytes.all.current": "allocator.requested_bytes",
    "reserved_bytes.all.current": "allocator.reserved_bytes",
    "reserved_bytes.all.peak": "allocator.reserved_peak_bytes",
    "inactive_split_bytes.all.current": "allocator.inactive_split_bytes",
    "segment.all.current": "allocator.segment_count",
    "num_alloc_retries": "allocator.retry_count",
    "num_ooms": "allocator.oom_count",
}
_STAT = later(
    r"[\"']?\b((?:active|allocation|allocated|inactive_split|requested|reserved|segment|oversize_allocations"
    r"|oversize_segments)(?:_bytes)?(?:\.(?:all|small_pool|large_pool))?\.(?:current|peak|allocated|freed)"
    r"|num_(?:alloc_retries|ooms|sync_all_streams|device_alloc|device_free|oom_rejections)|max_split_size)[\"']?"
    r"\s{0,40}[:=,|]?\s{0,40}(-?\d{1,20})\b"
)
_LABELLED = later(
    r"\b((?:largest_)?(?:allocated|reserved|active|inactive|requested|cached|free|total|used|slack|split|peak|max)"
    r"(?:_(?:allocated|reserved|active|inactive|requested|cached|free|total|used|split|peak|max|memory|mem|block|size)){0,3})"
    r"_?\(?([KMG]i?B|bytes|B)\)?\s{0,3}[=:]\s{0,3}(\d{1,15}(?:\.\d{1,6})?)\b",
    re.IGNORECASE,
)
_SEGMENTS = later(r"\bsegments\s{0,3}[=:]\s{0,3}(\d{1,9})\b", re.IGNORECASE)
_LABEL_FACTS = {
    "allocated": "allocator.allocated_bytes",
    "active": "allocator.active_bytes",
    "requested": "allocator.requested_bytes",
    "reserved": "allocator.reserved_bytes",
    "largest_inactive": "allocator.largest_free_block_bytes",
    "largest_free": "allocator.largest_free_block_bytes",
    "inactive_split": "allocator.inactive_split_bytes",
    "max_allocated": "allocator.allocated_peak_bytes",
    "peak_allocated": "allocator.allocated_peak_bytes",
    "max_reserved": "allocator.reserved_peak_bytes",
    "peak_reserved": "allocator.reserved_peak_bytes",
}
_FEWEST_LABELS = 3


@dataclass
class _Table:
    """One table: its device, its counters, its rows by name; every cell is (value, is bytes, line, text)."""

    device: str | None
    line: int
    counters: tuple[int, int] | None = None
    counter_line: int = 0
    rows: dict[str, list[tuple[float, bool, int, str]]] = field(default_factory=dict)
    claimed: set[int] = field(default_factory=set)
    pool_of: str = ""


def _scan_tables(text: Text) -> Iterable[Extract]:
    tables = _tables(text.lines)
    if not tables:
        return
    readings: list[Reading] = []
    troubles: list[Trouble] = []
    chosen = _chosen(tables)
    for number, table in enumerate(tables, 1):
        if not table.rows:
            troubles.append(Trouble(table.line, "the memory summary has no rows that can be read"))
        label = f"device {table.device}" if table.device is not None else "summary"
        label = label if len(tables) == 1 else f"{label} table {number}"
        if table is chosen:
            readings.extend(_named(table))
        readings.extend(_kept(table, label))
    claimed = frozenset(line for table in tables for line in table.claimed)
    yield Extract(TABLE.name, tuple(readings), claimed=claimed, troubles=tuple(troubles))


def _chosen(tables: Sequence[_Table]) -> _Table:
    """The table that stands for the job: the last with an out-of-memory failure, else the last of all."""
    failed = [table for table in tables if table.counters is not None and table.counters[0] > 0]
    return (failed or list(tables))[-1]


def _tables(lines: Sequence[Line]) -> list[_Table]:
    tables: list[_Table] = []
    for index, line in enumerate(lines):
        text = without_prefix(line.text)[:300]
        title = _TITLE.search(text) if "memory summary" in text.lower() else None
        if title is not None:
            tables.append(_Table(title[1], line.number))
            tables[-1].claimed.add(line.number)
            if index and _FRAME.match(without_prefix(lines[index - 1].text)[:300]):
                tables[-1].claimed.add(lines[index - 1].number)
            continue
        row = _ROW.match(text) if "|" in text else None
        if row is not None and _is_known_row(row[1]):
            if not tables:
                tables.append(_Table(None, line.number))  # the head of the table is cut off
            _take_row(tables[-1], row, line.number)
            continue
        if not tables:
            continue
        counters = _COUNTERS.search(text)
        if counters is not None:
            tables[-1].counters = (int(counters[1]), int(counters[2]))
            tables[-1].counter_line = line.number
            tables[-1].claimed.add(line.number)
        elif _FRAME.match(text):
            tables[-1].claimed.add(line.number)
    return [table for table in tables if table.rows or table.counters or table.device is not None]


def _is_known_row(name: str) -> bool:
    lowered = " ".join(name.lower().split())
    return lowered in _ROW_FACTS or lowered.startswith(
        ("from large pool", "from small pool", "allocations", "active allocs", "non-releasable allocs", "oversize ")
    )


def _take_row(table: _Table, row: re.Match[str], number: int) -> None:
    name = " ".join(row[1].lower().split())
    if name.startswith("from "):
        name = f"{table.pool_of} {name}"
    else:
        table.pool_of = name
    is_bytes = "memory" in name
    cells: list[tuple[float, bool, int, str]] = []
    for digits, unit in zip(row.groups()[1::2], row.groups()[2::2], strict=True):
        if digits is None:
            continue
        value = _cell(digits, unit or "", is_bytes)
        if value is not None:
            cells.append((value, is_bytes, number, " ".join(row[0].split())[:200]))
    table.rows[name] = cells
    table.claimed.add(number)


def _cell(digits: str, unit: str, is_bytes: bool) -> float | None:
    if is_bytes:
        return parse_size(f"{digits} {unit}")
    scale = _COUNT_SCALE.get(unit)
    return None if scale is None else float(int(digits) * scale)


def _named(table: _Table) -> Iterator[Reading]:
    if table.counters is not None:
        yield Reading("allocator.oom_count", table.counters[0], table.counter_line, None, JOB)
        yield Reading("allocator.retry_count", table.counters[1], table.counter_line, None, JOB)
    for name, facts in _ROW_FACTS.items():
        for fact, cell in zip(facts, table.rows.get(name, []), strict=False):
            if fact is not None:
                value, is_bytes, line, text = cell
                yield Reading(fact, value if is_bytes else int(value), line, text, JOB)


def _kept(table: _Table, label: str) -> Iterator[Reading]:
    for name, cells in table.rows.items():
        for column, (value, is_bytes, line, text) in zip(_COLUMNS, cells, strict=False):
            entity = Entity("measurement", f"{label}, {name}, {column}", JOB)
            yield Reading("reading.bytes" if is_bytes else "reading.count", value, line, text, entity)


def _scan_stats(text: Text) -> Iterable[Extract]:
    found = [(line, match) for line in text.lines for match in _STAT.finditer(line.text[:20_000])]
    if not found:
        return
    readings: list[Reading] = []
    for line, match in found:
        key, value = match[1], int(match[2])
        fact = _STATS_FACTS.get(key)
        if fact is not None:
            number: Value = float(value) if fact.endswith("_bytes") else value
            readings.append(Reading(fact, number, line.number, match[0][:200], JOB))
        kind = "reading.bytes" if "_bytes" in key or key == "max_split_size" else "reading.count"
        readings.append(Reading(kind, float(value), line.number, match[0][:200], Entity("measurement", key, JOB)))
    yield Extract(STATS.name, tuple(readings), claimed=frozenset(line.number for line, _ in found))


def _scan_digest(text: Text) -> Iterable[Extract]:
    """Lines such as `segments=9 reserved_MiB=512.0 allocated_MiB=300.5`: several labels that carry their unit."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    for line in text.lines:
        labels = list(_LABELLED.finditer(line.text[:2000]))
        if len(labels) < _FEWEST_LABELS:
            continue
        claimed.add(line.number)
        segments = _SEGMENTS.search(line.text[:2000])
        if segments is not None:
            readings.append(Reading("allocator.segment_count", int(segments[1]), line.number, segments[0], JOB))
        for match in labels:
            readings.extend(_digest_readings(match, line.number))
    if readings:
        yield Extract(DIGEST.name, tuple(readings), claimed=frozenset(claimed))


def _digest_readings(match: re.Match[str], number: int) -> Iterator[Reading]:
    value = parse_number(match[3])
    size = None if value is None else parse_size(f"{match[3]} {match[2]}")
    if size is None:
        return
    label = match[1].lower()
    fact = _LABEL_FACTS.get(label)
    if fact is not None:
        yield Reading(fact, size, number, match[0][:200], JOB)
    yield Reading("reading.bytes", size, number, match[0][:200], Entity("measurement", label, JOB))


TABLE = TextFormat(
    "pytorch-memory-summary",
    "PyTorch memory summary",
    ("memory summary", "gpu reserved memory", "non-releasable memory", "active memory", "allocated memory"),
    _scan_tables,
)
STATS = TextFormat(
    "pytorch-memory-stats",
    "PyTorch memory statistics",
    (".all.", "large_pool.", "small_pool.", "num_alloc_retries", "num_ooms"),
    _scan_stats,
)
DIGEST = TextFormat(
    "allocator-digest",
    "Line of labelled allocator sizes",
    ("reserved_m", "reserved_g", "reserved_b", "allocated_m", "allocated_g", "allocated_b"),
    _scan_digest,
)
FORMATS = (TABLE, STATS, DIGEST)
