"""`nvidia-smi dmon` and `nvidia-smi pmon`: rows of gauges per GPU and per process, columns by the names in the header.

The order and choice of columns follow the options the user gave, and the header comes again every so many rows. Every
row is a sample of its GPU; all rows of a text are folded together, extremes kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gpuwhy.kb.facts import Entity, Value, gpu
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts import smi_values as v
from gpuwhy.probes.artefacts.contract import Extract, Line, Missing, Reading, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.gauges import Gauges
from gpuwhy.probes.artefacts.gpu_processes import process_kind

NAME = "nvidia-smi-dmon"

_HEADER = re.compile(r"#\s{0,4}(?:Date[\s,]{1,20})?(?:Time[\s,]{1,20})?gpu(?:Idx)?[\s,]", re.IGNORECASE)
_UNITS = re.compile(r"#\s{0,4}(?:YYYYMMDD[\s,]{1,20})?(?:HH:MM:SS[\s,]{1,20})?Idx\b", re.IGNORECASE)
_SPLIT = re.compile(r"[\s,]+")
_TIMES = ("date", "time")


def _decimal_rate(text: str) -> float | None:
    number = v.celsius(text)
    return None if number is None else number * 1e6


def _flag_share(text: str) -> float | None:
    """1.0 where a violation flag is set; several rows fold into the share of samples with it."""
    number = v.count(text)
    return None if number is None else min(1.0, float(number))


_DEVICE_COLUMNS: dict[str, tuple[str, Callable[[str], Value | None]]] = {
    "pwr": ("gpu.power_watts", v.watts),
    "temp": ("gpu.temperature_celsius", v.celsius),
    "gtemp": ("gpu.temperature_celsius", v.celsius),
    "mtemp": ("gpu.memory_temperature_celsius", v.celsius),
    "sm": ("gpu.utilization_share", v.share),
    "mem": ("gpu.memory_utilization_share", v.share),
    "enc": ("gpu.encoder_share", v.share),
    "dec": ("gpu.decoder_share", v.share),
    "jpg": ("gpu.jpeg_share", v.share),
    "ofa": ("gpu.optical_flow_share", v.share),
    "mclk": ("gpu.memory_clock_megahertz", v.megahertz),
    "pclk": ("gpu.sm_clock_megahertz", v.megahertz),
    "pviol": ("gpu.power_violation_share", v.share),
    "tviol": ("gpu.thermal_violation_share", _flag_share),
    "fb": ("gpu.memory_used_bytes", v.size),
    "bar1": ("gpu.bar1_used_bytes", v.size),
    "sbecc": ("gpu.ecc_corrected_lifetime_count", v.count),
    "dbecc": ("gpu.ecc_uncorrected_lifetime_count", v.count),
    "pci": ("gpu.link_replays", v.count),
    "rxpci": ("gpu.link_receive_bytes_per_second", _decimal_rate),
    "txpci": ("gpu.link_transmit_bytes_per_second", _decimal_rate),
}
_PROCESS_COLUMNS: dict[str, tuple[str, Callable[[str], Value | None]]] = {
    "sm": ("process.sm_share", v.share),
    "mem": ("process.memory_utilization_share", v.share),
    "enc": ("process.encoder_share", v.share),
    "dec": ("process.decoder_share", v.share),
    "jpg": ("process.jpeg_share", v.share),
    "ofa": ("process.optical_flow_share", v.share),
    "fb": ("process.gpu_memory_bytes", v.size),
}
_UNNAMED = frozenset({*_TIMES, "gpu", "gpuidx", "pid", "type", "command", "ccpm"})


@dataclass(frozen=True)
class Columns:
    """The columns that a header names, and how many words of a log prefix stand before each line."""

    names: tuple[str, ...]
    prefix: int

    @property
    def of_processes(self) -> bool:
        """True for pmon."""
        return "pid" in self.names


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all dmon and pmon output in a text."""
    reader = _Reader(Gauges())
    for line in text.lines:
        reader.take(line)
    if not reader.claimed:
        return
    readings, missing = reader.finish()
    yield Extract(NAME, readings, missing, frozenset(reader.claimed), tuple(reader.troubles))


class _Reader:
    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges
        self._columns: Columns | None = None
        self._unknown: set[str] = set()
        self._pids: dict[Entity, dict[int, str | None]] = {}
        self._idle: dict[Entity, int] = {}
        self.claimed: set[int] = set()
        self.troubles: list[Trouble] = []

    def take(self, line: Line) -> None:
        """Reads one line: a header, its units, or a row below them."""
        if "#" in line.text:
            header = _HEADER.search(line.text)
            if header:
                self._header(line, header.start())
                return
            if self._columns and _UNITS.search(line.text):
                self.claimed.add(line.number)
                return
        if self._columns and self._row(self._columns, line):
            self.claimed.add(line.number)

    def finish(self) -> tuple[tuple[Reading, ...], tuple[Missing, ...]]:
        """The readings; of processes, how many different ones each GPU ran."""
        for device, pids in self._pids.items():
            last = max(self.claimed, default=None)
            self._gauges.put("gpu.process_count", device, len(pids), last)
            if all(kind is not None for kind in pids.values()):
                compute = sum(1 for kind in pids.values() if kind in ("compute", "compute-and-graphics"))
                self._gauges.put("gpu.compute_process_count", device, compute, last)
        for device, line in self._idle.items():
            if device not in self._pids:
                self._gauges.put("gpu.process_count", device, 0, line)
        return self._gauges.fold()

    def _header(self, line: Line, start: int) -> None:
        names = tuple(name.lower() for name in _SPLIT.split(line.text[start:].lstrip("# ").strip(" ,")) if name)
        prefix = len(line.text[:start].split())
        columns = Columns(names, prefix)
        known = _PROCESS_COLUMNS if columns.of_processes else _DEVICE_COLUMNS
        if not columns.of_processes and sum(name in known for name in names) < 2:
            return
        self._columns = columns
        self.claimed.add(line.number)
        new = [name for name in names if name not in known and name not in _UNNAMED and name not in self._unknown]
        if new:
            self._unknown.update(new)
            self.troubles.append(Trouble(line.number, f"unknown columns: {', '.join(new)[:120]}"))

    def _row(self, columns: Columns, line: Line) -> bool:
        cells = self._cells(columns, line.text)
        if cells is None:
            return False
        row = dict(zip(columns.names, cells, strict=True))
        index = v.count(row.get("gpu", row.get("gpuidx", "")))
        if index is None or index < 0:
            return False
        when = " ".join(row[name] for name in _TIMES if name in row) or None
        if columns.of_processes:
            return self._process_row(gpu(index), row, when, line)
        values = {name: cell for name, cell in row.items() if name in _DEVICE_COLUMNS}
        if not all(_fits(_DEVICE_COLUMNS[name], cell) for name, cell in values.items()):
            return False
        self._gauges.begin(when)
        for name, cell in values.items():
            self._put(_DEVICE_COLUMNS[name], gpu(index), cell, line)
        return True

    def _cells(self, columns: Columns, text: str) -> list[str] | None:
        words = [word for word in _SPLIT.split(text.strip(" ,\t")) if word]
        words = words[columns.prefix :]
        wanted = len(columns.names)
        if columns.of_processes and columns.names[-1] == "command" and len(words) > wanted:
            words = [*words[: wanted - 1], " ".join(words[wanted - 1 :])]
        return words if len(words) == wanted else None

    def _process_row(self, device: Entity, row: dict[str, str], when: str | None, line: Line) -> bool:
        pid = v.count(row["pid"])
        values = {name: cell for name, cell in row.items() if name in _PROCESS_COLUMNS}
        if any(cell != "-" and _PROCESS_COLUMNS[name][1](cell) is None for name, cell in values.items()):
            return False
        if pid is None:
            if row["pid"] == "-":
                self._idle[device] = line.number
            return row["pid"] == "-"
        kind = process_kind(row.get("type", ""))
        self._pids.setdefault(device, {})[pid] = kind
        process = Entity("process", str(pid), device)
        self._gauges.begin(when)
        self._gauges.put("process.pid", process, pid, line.number)
        if kind:
            self._gauges.put("process.type", process, kind, line.number)
        if row.get("command", "-") != "-":
            self._gauges.put("process.name", process, row["command"], line.number, row["command"])
        for name, cell in values.items():
            self._put(_PROCESS_COLUMNS[name], process, cell, line)
        return True

    def _put(self, column: tuple[str, Callable[[str], Value | None]], entity: Entity, cell: str, line: Line) -> None:
        fact, convert = column
        value = None if cell == "-" else convert(cell)
        if value is None:
            self._gauges.lack(fact, entity, "shown as -", line.number)
        elif convert is v.share and float(value) > 1.0:
            self._gauges.lack(fact, entity, f"a share of {cell} % cannot be", line.number)
        else:
            self._gauges.put(fact, entity, value, line.number, line.text)


def _fits(column: tuple[str, Callable[[str], Value | None]], cell: str) -> bool:
    """True if a cell can stand in this column of a device row: the rows of another tool are not taken for one."""
    if cell == "-":
        return True
    value = column[1](cell)
    return value is not None and (column[1] is not v.share or float(value) <= 1.0)


FORMAT = TextFormat(
    NAME,
    "nvidia-smi dmon / pmon",
    ("# gpu", "#gpu", "#time", "#date", "# time", "# date"),
    scan,
)
