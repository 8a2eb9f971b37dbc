"""The table that `key_averages().table()` of PyTorch's profilers prints, of all versions, whole or in part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import parse_duration
from gpuwhy.probes.artefacts.torch_profiler_facts import step_readings
from gpuwhy.probes.artefacts.torch_profiler_rows import Row, Table, header_columns, headless_row, row_of

_TOTAL = re.compile(
    r"(?:Self )?(CPU|CUDA|XPU|HPU|MTIA|MPS|NPU|PrivateUse[a-z0-9]{0,12}) time total:\s{0,20}"
    r"([0-9][0-9.,]{0,20}\s?(?:us|ms|ns|µs|μs|s|m|h))\b"
)
_RULER = re.compile(r"^[\s>|]{0,40}-{4,}[-\s|:]{0,2000}$")
_ROWS_LIMIT = 2000
_UNKNOWN_LINES = 12
_ROW_FACTS = {
    "cpu.total": "profile.total_seconds",
    "cpu.self": "profile.self_seconds",
    "cpu.mean": "profile.mean_seconds",
    "cpu.share": "profile.share",
    "cpu.self_share": "profile.self_share",
    "device.total": "profile.device_total_seconds",
    "device.self": "profile.device_self_seconds",
    "device.self_share": "profile.device_share",
    "device.share": "profile.device_share",
    "calls": "profile.calls",
}
_LABELLED = {
    "device.mean": ("reading.seconds", "device time avg"),
    "cpu.memory": ("reading.bytes", "CPU memory"),
    "cpu.self_memory": ("reading.bytes", "own CPU memory"),
    "device.memory": ("reading.bytes", "device memory"),
    "device.self_memory": ("reading.bytes", "own device memory"),
    "flops": ("reading.value", "FLOPs as printed"),
}


def scan(text: Text) -> Iterable[Extract]:
    """One extract for each table: its rows as a profile, its totals, and what the rows tell about the steps.

    Rows of a further table that has a name again are told apart by the number of the table.
    """
    tables = _tables(text.lines)
    if not tables:
        return
    named: set[str] = set()
    facts = step_readings(tables)
    for number, table in enumerate(tables, 1):
        readings = list(_row_readings(table, number, named))
        own = facts if number == 1 else []
        yield Extract("torch-profiler-table", (*readings, *own), claimed=frozenset(table.claimed))


def _tables(lines: tuple[Line, ...]) -> list[Table]:
    tables: list[Table] = []
    current: Table | None = None
    ruler: int | None = None
    for line in lines:
        columns = header_columns(line.text)
        if columns is not None:
            current = Table(line.number, columns, claimed={line.number} if ruler is None else {ruler, line.number})
            tables.append(current)
        else:
            current = _take(line, current, tables)
        ruler = line.number if _RULER.match(line.text) else None
    return [table for table in tables if table.rows or table.totals]


def _take(line: Line, current: Table | None, tables: list[Table]) -> Table | None:
    """Puts a line to the table it belongs to, and gives the table that goes on after it."""
    total = _TOTAL.search(line.text)
    if total is not None:
        table = tables[-1] if tables else _begin(line, (), tables)
        seconds = parse_duration(total[2])
        if seconds is not None:
            table.totals["cpu" if total[1] == "CPU" else "device"] = (seconds, line.number)
            table.claimed.add(line.number)
        return None
    if current is not None and _RULER.match(line.text):
        current.claimed.add(line.number)
        return current
    row = None if current is None or not current.columns else row_of(line.number, line.text, current.columns)
    if row is not None and current is not None:
        return _keep(current, row)
    found = headless_row(line.number, line.text)
    if found is None:
        return _past_unknown(current, line)
    same = tables[-1] if tables and tables[-1].columns == found[1] else None
    return _keep(same or _begin(line, found[1], tables), found[0])


def _past_unknown(current: Table | None, line: Line) -> Table | None:
    if current is None or not line.text.strip():
        return current
    current.unknown += 1
    return current if current.unknown <= _UNKNOWN_LINES else None


def _begin(line: Line, columns: tuple[str, ...], tables: list[Table]) -> Table:
    table = Table(line.number, columns)
    tables.append(table)
    return table


def _keep(table: Table, row: Row) -> Table:
    if len(table.rows) < _ROWS_LIMIT:
        table.rows.append(row)
    table.claimed.add(row.line)
    table.unknown = 0
    return table


def _row_readings(table: Table, number: int, named: set[str]) -> Iterator[Reading]:
    for row in table.rows:
        name = row.name[:200]
        if name in named:
            name = _free_name(f"{name} (table {number})" if number > 1 else name, named)
        named.add(name)
        entity = Entity("entry", name, JOB)
        for column, value in row.values.items():
            fact = _ROW_FACTS.get(column)
            if fact is not None:
                whole = int(value) if column == "calls" and value == int(value) else value
                yield Reading(fact, whole, row.line, row.text, entity)
            elif column in _LABELLED and value != 0:
                label_fact, label = _LABELLED[column]
                yield Reading(label_fact, value, row.line, row.text, Entity("measurement", f"{name}: {label}", JOB))


def _free_name(name: str, named: set[str]) -> str:
    if name not in named:
        return name
    return next(one for at in range(2, _ROWS_LIMIT * 4) if (one := f"{name} #{at}") not in named)


FORMAT = TextFormat(
    "torch-profiler-table",
    "PyTorch profiler table",
    (
        "self cpu",
        "cpu total",
        "cuda total",
        "cpu time",
        "cuda time",
        "# of calls",
        "number of calls",
        "aten::",
        "autograd::",
        "profilerstep",
        "cudalaunchkernel",
        "evaluate_function",
        "enumerate(dataloader)",
    ),
    scan,
)
