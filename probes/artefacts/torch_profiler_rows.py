"""Rows of the table that PyTorch's profiler prints: header labels of all versions, values, rows without a header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.quantities import parse_duration, parse_number, parse_size

_DEVICE = r"(?:CUDA|XPU|HPU|MTIA|MPS|NPU|PrivateUse[a-z0-9]{0,12})"
_LABEL = re.compile(
    rf"(?P<self>Self )?(?P<where>CPU|{_DEVICE})(?P<what> Mem| time avg| time total| total| time)?"
    r"(?P<share> ?%)?(?![\w])"
    r"|(?P<calls># of Calls|Number of Calls|Calls)\b"
    r"|(?P<text>Overload Name|Name|Input Shapes|Input shapes|Source Location|Node ID|Total [KMGTP]?FLOPs)"
)
_UNIT = r"(?:%| ?(?:[KMGTP]i?)?[Bb]|(?:us|ms|ns|µs|μs|s|m|h)(?![A-Za-z]))"
_VALUE = rf"(?:-?[0-9][0-9.,]{{0,20}}(?:e[-+]?[0-9]{{1,3}})?{_UNIT}?|nan%?|--)"
_VALUES = re.compile(rf"(?:(?<=\s)|^){_VALUE}(?:\s{{1,200}}{_VALUE}){{1,24}}(?=\s|$)")
_ONE_VALUE = re.compile(rf"(?:(?<=\s)|^){_VALUE}(?=\s|$)")

SHARE, TIME, BYTES, COUNT = "p", "t", "b", "n"

_CPU = ("cpu.self_share", "cpu.self", "cpu.share", "cpu.total", "cpu.mean")
_DEVICE_COLUMNS = ("device.self", "device.self_share", "device.total", "device.mean")
_OLD_DEVICE_COLUMNS = ("device.share", "device.total", "device.mean")
_CPU_MEMORY = ("cpu.memory", "cpu.self_memory")
_DEVICE_MEMORY = ("device.memory", "device.self_memory")
_LAYOUTS = (
    (*_CPU, "calls"),
    (*_CPU, *_CPU_MEMORY, "calls"),
    (*_CPU, *_DEVICE_COLUMNS, "calls"),
    (*_CPU, *_DEVICE_COLUMNS, *_CPU_MEMORY, *_DEVICE_MEMORY, "calls"),
    (*_CPU, *_OLD_DEVICE_COLUMNS, "calls"),
    (*_CPU, *_OLD_DEVICE_COLUMNS, *_CPU_MEMORY, *_DEVICE_MEMORY, "calls"),
)


def kind_of(column: str) -> str:
    """What a column holds: a share, a time, bytes or a count."""
    if column.endswith("share"):
        return SHARE
    if column.endswith("memory"):
        return BYTES
    return COUNT if column in ("calls", "flops") else TIME


_BY_KINDS = {"".join(map(kind_of, layout)): layout for layout in _LAYOUTS}


@dataclass(frozen=True)
class Row:
    """One row: its name and its values by column (`cpu.self`, `device.share`, `calls`): shares of 1, seconds, bytes."""

    line: int
    name: str
    values: dict[str, float]
    text: str


@dataclass
class Table:
    """One table: its columns in order, its rows, and the totals of its last lines by `cpu` and `device`.

    `unknown` counts the lines since the last row that are none: source locations, wrapped names, prose.
    """

    line: int
    columns: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    totals: dict[str, tuple[float, int]] = field(default_factory=dict)
    claimed: set[int] = field(default_factory=set)
    unknown: int = 0

    @property
    def has_device(self) -> bool:
        """True if any column is of the device."""
        return any(column.startswith("device.") for column in self.columns)

    @property
    def is_full(self) -> bool:
        """True if the columns are a standard set, not a person's choice of some."""
        return set(_CPU) <= set(self.columns)

    def find(self, *prefixes: str) -> list[Row]:
        """The rows whose names begin with one of these."""
        return [row for row in self.rows if row.name.startswith(prefixes)]


def header_columns(text: str) -> tuple[str, ...] | None:
    """The value columns of a header line in order, or None if the line is no header of such a table."""
    if "Name" not in text or len(text) > 2000:
        return None
    matches = list(_LABEL.finditer(text))
    if not matches or (matches[0]["text"] != "Name"):
        return None
    columns = [column for column in map(_column, matches) if column]
    return tuple(columns) if len(columns) >= 3 and any(column[:3] in ("cpu", "dev") for column in columns) else None


def _column(match: re.Match[str]) -> str:
    if match["calls"]:
        return "calls"
    if match["text"]:
        return "flops" if "FLOPs" in match["text"] else ""
    where = "cpu" if match["where"] == "CPU" else "device"
    own = "self_" if match["self"] else ""
    what = (match["what"] or "").strip()
    if match["share"]:
        return f"{where}.{own}share"
    if what == "Mem":
        return f"{where}.{own}memory"
    if what in ("time avg", "time") and not own:
        return f"{where}.mean"
    return f"{where}.self" if own else f"{where}.total"


def row_of(line: int, text: str, columns: Sequence[str]) -> Row | None:
    """The row on a line under a header with these columns; a row that is cut off gives the values that are there."""
    found = _cells(text)
    if found is None:
        return None
    name, cells = found
    known = list(columns)
    if len(cells) > len(known):
        cells = cells[len(cells) - len(known) :] if not _fits(cells[: len(known)], known) else cells[: len(known)]
    if len(cells) < len(known):
        flops = [column for column in known if column != "flops"]
        known = flops if len(flops) == len(cells) else known[: len(cells)]
    if not cells or not _fits(cells, known):
        return None
    read = ((column, _value(cell, column)) for column, cell in zip(known, cells, strict=True))
    return Row(line, name, {column: value for column, value in read if value is not None}, text.strip()[:200])


def headless_row(line: int, text: str) -> tuple[Row, tuple[str, ...]] | None:
    """A row that stands without its header, if its values are as many and of the kinds of a standard set of columns."""
    found = _cells(text)
    if found is None or not found[0]:
        return None
    name, cells = found
    layout = _BY_KINDS.get("".join(_cell_kind(cell) for cell in cells))
    if layout is None:
        return None
    row = row_of(line, text, layout)
    return None if row is None else (Row(line, name, row.values, row.text), layout)


def _cells(text: str) -> tuple[str, list[str]] | None:
    """Name and value cells of a line: the longest run of values, the name before it."""
    plain = text.replace("|", " ").replace("\t", "  ").rstrip()
    if len(plain) > 6000:
        return None
    best: re.Match[str] | None = None
    for match in _VALUES.finditer(plain):
        if best is None or match.end() - match.start() > best.end() - best.start():
            best = match
    if best is None:
        return None
    name = plain[: best.start()].strip().removeprefix("> ").strip()
    return (name, [cell[0] for cell in _ONE_VALUE.finditer(best[0])]) if name else None


def _cell_kind(cell: str) -> str:
    if cell.endswith("%"):
        return SHARE
    if cell[-1] in "bB":
        return BYTES
    return TIME if cell[-1] in "smh" and cell != "--" else COUNT


def _fits(cells: Sequence[str], columns: Sequence[str]) -> bool:
    """True if every cell can be a value of its column; a bare 0, `--` and nan fit all."""
    return all(
        cell == "--" or cell.startswith("nan") or parse_number(cell) == 0 or _cell_kind(cell) == kind_of(column)
        for cell, column in zip(cells, columns, strict=False)
    )


def _value(cell: str, column: str) -> float | None:
    if cell == "--" or cell.startswith("nan"):
        return None
    kind = kind_of(column)
    if kind == SHARE:
        value = parse_number(cell.removesuffix("%"))
        return None if value is None else value / 100.0
    if kind == TIME:
        return 0.0 if parse_number(cell) == 0 else parse_duration(cell)
    if kind == BYTES:
        sign = -1.0 if cell.startswith("-") else 1.0
        size = parse_size(cell.lstrip("-").replace("b", "B"))
        return None if size is None else sign * size
    return parse_number(cell)
