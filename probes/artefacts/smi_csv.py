"""`nvidia-smi --query-gpu=… --format=csv` and `--query-compute-apps`, with their header or with the command that asked.

The header names the columns; without it (`noheader`) only the command line, where it was pasted too, can name them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import Entity, gpu
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts import smi_values as v
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.gauges import Gauges, instant
from gpuwhy.probes.artefacts.gpu_processes import ListedProcess, put_processes
from gpuwhy.probes.artefacts.smi_fields import put_field, queried
from gpuwhy.probes.artefacts.smi_rows import bus_key, indices_by_bus

NAME = "nvidia-smi-csv"

_COLUMN = re.compile(r"\s{0,4}([a-z][a-z0-9_.]{1,60})(?:\s{0,2}\[([A-Za-z%/]{1,8})\])?\s{0,4}")
_ASKED = re.compile(r"--query-(gpu|compute-apps)[= ][\"']?([a-z0-9_.,]{2,2000})")
_EVENTS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_IDENTITY = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "gpu_serial", "serial")
_PROCESS = ("pid", "process_name", "name", "used_gpu_memory", "used_memory")
_WORD_COLUMNS = frozenset({"index", "name", "timestamp", "count", "pid", "serial", "uuid", "pstate"})
_TICK_SECONDS = 0.08
"""Rows of one query stand closer together than this; the tool's shortest useful period is longer."""
_MOST_DEVICES = 16
"""More rows without any identity than this are samples of one GPU: no host of this family has more."""


@dataclass(frozen=True)
class Columns:
    """The columns of a block: names and units (None where the header shows none)."""

    names: tuple[str, ...]
    units: tuple[str | None, ...]
    line: int | None

    @property
    def processes(self) -> bool:
        """True if the rows are processes, not GPUs."""
        return "pid" in self.names


@dataclass(frozen=True)
class Row:
    """One row: its cells by column name."""

    cells: dict[str, str]
    line: int


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all query output in a text, gauges folded over the rows of each GPU."""
    blocks, claimed = _blocks(text.lines)
    if not blocks:
        return
    reader = _Reader(Gauges(), indices_by_bus(text))
    for columns, rows in blocks:
        if columns.processes:
            reader.processes(rows)
        else:
            reader.devices(columns, rows)
    readings, missing = reader.gauges.fold()
    yield Extract(NAME, readings, missing, frozenset(claimed), tuple(reader.troubles))


def _blocks(lines: Sequence[Line]) -> tuple[list[tuple[Columns, list[Row]]], set[int]]:
    blocks: list[tuple[Columns, list[Row]]] = []
    claimed: set[int] = set()
    columns: Columns | None = None
    gap = 0
    for line in lines:
        if asked := _ASKED.search(line.text) if "--query-" in line.text else None:
            columns = _asked(asked, line)
            if columns:
                blocks.append((columns, []))
                claimed.add(line.number)
            continue
        header = _header(line)
        if header is not None:
            columns, gap = header, 0
            blocks.append((header, []))
            claimed.add(line.number)
            continue
        row = _row(columns, line) if columns else None
        if row is None:
            gap += bool(line.text.strip())
            if columns and gap > 1 and len(columns.names) < 3:
                columns = None  # so few cells would fit other text further down
            continue
        blocks[-1][1].append(row)
        claimed.add(line.number)
    return [(names, rows) for names, rows in blocks if rows], claimed


def _asked(command: re.Match[str], line: Line) -> Columns | None:
    names = tuple(name for name in command[2].split(",") if name)
    if not names or not any(_known(name) for name in names):
        return None
    if command[1] == "compute-apps":
        names = tuple({"used_memory": "used_gpu_memory", "name": "process_name"}.get(name, name) for name in names)
    return Columns(names, (None,) * len(names), line.number)


def _header(line: Line) -> Columns | None:
    text = line.text.strip().removeprefix(">").strip()
    if "." not in text and "_" not in text and "," not in text:
        return None
    parts = [_COLUMN.fullmatch(part) for part in text.split(",")[:100]]
    if not all(parts):
        return None
    names = tuple(part[1] for part in parts if part)
    telling = [name for name in names if name not in _WORD_COLUMNS and _known(name)]
    if not telling or sum(map(_known, names)) * 2 < len(names):
        return None
    return Columns(names, tuple(part[2] for part in parts if part), line.number)


def _known(name: str) -> bool:
    return name in _IDENTITY or name in _PROCESS or name in _EVENTS or name == "timestamp" or queried(name) is not None


def _row(columns: Columns, line: Line) -> Row | None:
    text = line.text.strip().removeprefix(">").strip()
    cells = [cell.strip() for cell in text.split(",")[:200]]
    if columns.processes and len(cells) > len(columns.names) and "process_name" in columns.names:
        at = columns.names.index("process_name")
        extra = len(cells) - len(columns.names)
        cells[at : at + extra + 1] = [", ".join(cells[at : at + extra + 1])]
    if len(cells) != len(columns.names) or not all(map(_fits, columns.names, cells)):
        return None
    printed = {
        name: f"{cell} {unit}" if unit and v.share(cell) is not None and "%" not in cell else cell
        for name, unit, cell in zip(columns.names, columns.units, cells, strict=True)
    }
    return Row(printed, line.number)


def _fits(name: str, cell: str) -> bool:
    """True if a cell can stand in this column, so that other text is not taken for a row."""
    if v.absence(cell) is not None:
        return True
    if name == "timestamp":
        return instant(cell) is not None
    if name in ("index", "pid", "count"):
        return v.count(cell) is not None
    if name in ("uuid", "gpu_uuid"):
        return cell.startswith(("GPU-", "MIG-"))
    if name in ("pci.bus_id", "gpu_bus_id"):
        return cell.count(":") == 2
    if name in ("used_gpu_memory", "used_memory"):
        return v.size(cell) is not None
    if name in _EVENTS:
        return v.events(cell) is not None
    field = queried(name)
    return bool(cell) if field is None else field[0].convert(cell) is not None


class _Reader:
    def __init__(self, gauges: Gauges, by_bus: dict[str, int]) -> None:
        self.gauges = gauges
        self.troubles: list[Trouble] = []
        self._by_bus = by_bus
        self._by_uuid: dict[str, int] = {}

    def devices(self, columns: Columns, rows: Sequence[Row]) -> None:
        """Notes the rows of a `--query-gpu` block: each is a moment of its GPU."""
        owners = self._owners(columns, rows)
        if owners is None:
            self.troubles.append(
                Trouble(columns.line, "these rows cannot be told apart by GPU: no index, uuid or bus id was asked for")
            )
            return
        for device, row in zip(owners, rows, strict=True):
            self.gauges.begin(row.cells.get("timestamp"))
            for name, cell in row.cells.items():
                self._cell(device, name, cell, row.line)

    def processes(self, rows: Sequence[Row]) -> None:
        """Notes the rows of a `--query-compute-apps` block: compute processes by GPU."""
        self.gauges.begin()
        by_device: dict[Entity | None, list[ListedProcess]] = {}
        for row in rows:
            pid = v.count(row.cells["pid"])
            if pid is None:
                continue
            memory = row.cells.get("used_gpu_memory") or row.cells.get("used_memory") or "not asked for"
            reason = v.absence(memory) or (None if v.size(memory) is not None else memory)
            name = row.cells.get("process_name") or row.cells.get("name")
            one = ListedProcess(pid, "compute", name, None if reason else v.size(memory), reason, row.line)
            by_device.setdefault(self._named(row), []).append(one)
        for device, listed in by_device.items():
            put_processes(self.gauges, device, listed, complete=False)

    def _cell(self, device: Entity, name: str, cell: str, line: int) -> None:
        if name in _EVENTS and v.absence(cell) is None:
            self.gauges.put("gpu.event_bits", device, cell.strip(), line, cell)
            for fact, active in (v.events(cell) or {}).items():
                self.gauges.put(fact, device, active, line, cell)
            return
        found = queried(name)
        if found is not None:
            put_field(self.gauges, device, found, cell, line)

    def _owners(self, columns: Columns, rows: Sequence[Row]) -> list[Entity] | None:
        if any(name in columns.names for name in _IDENTITY[:5]):
            named = [self._named(row) for row in rows]
            return [device or gpu(0) for device in named]
        times = [instant(row.cells.get("timestamp")) for row in rows]
        stamps = [time.timestamp() for time in times if time is not None]
        if len(stamps) == len(rows):
            return _by_tick(stamps)
        if len(rows) > _MOST_DEVICES:
            self.troubles.append(Trouble(columns.line, "no GPU index was asked for: the rows are read as one GPU's"))
            return [gpu(0)] * len(rows)
        if len(rows) > 1:
            self.troubles.append(
                Trouble(columns.line, "no GPU index was asked for: each row is read as a GPU, in order")
            )
        return [gpu(number) for number in range(len(rows))]

    def _named(self, row: Row) -> Entity | None:
        """The GPU that a row names: by index, else by bus id or uuid in order of first appearance."""
        cells = row.cells
        uuid = cells.get("uuid") or cells.get("gpu_uuid")
        bus = cells.get("pci.bus_id") or cells.get("gpu_bus_id")
        index = v.count(cells.get("index", ""))
        if index is None and bus and v.absence(bus) is None:
            index = self._by_bus.setdefault(bus_key(bus), len(self._by_bus))
        if index is None and uuid and v.absence(uuid) is None:
            index = self._by_uuid.setdefault(uuid, len(self._by_uuid))
        if index is None:
            return None
        if uuid:
            self._by_uuid.setdefault(uuid, index)
        return gpu(index)


def _by_tick(stamps: Sequence[float]) -> list[Entity] | None:
    """The GPU of each row where only times are known: every tick has all GPUs, in order; None if ticks differ."""
    ticks: list[int] = []
    before: float | None = None
    for stamp in stamps:
        if before is None or abs(stamp - before) > _TICK_SECONDS:
            ticks.append(0)
        ticks[-1] += 1
        before = stamp
    if len(set(ticks[:-1])) > 1 or (len(ticks) > 1 and ticks[-1] > ticks[0]):
        return None
    return [gpu(number) for size in ticks for number in range(size)]


FORMAT = TextFormat(
    NAME,
    "nvidia-smi --query-gpu / --query-compute-apps (CSV)",
    (
        "--query-gpu",
        "--query-compute-apps",
        "utilization.",
        "memory.total",
        "memory.used",
        "memory.free",
        "memory.reserved",
        "temperature.",
        "clocks.",
        "clocks_event_reasons",
        "clocks_throttle_reasons",
        "power.",
        "pcie.link",
        "ecc.",
        "used_gpu_memory",
        "retired_pages.",
        "remapped_rows.",
        "driver_version",
        "pci.bus_id",
        "fan.speed",
        "mig.mode",
        "gpu_uuid",
    ),
    scan,
)
