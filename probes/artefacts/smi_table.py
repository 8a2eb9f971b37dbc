"""The summary table that `nvidia-smi` prints, in the layouts of all drivers, whole or in pieces.

Every table of a text is a moment of its own. Rows are read where they stand: without their header, without rulers, cut
at either end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import HOST, Entity, gpu
from gpuwhy.probes.artefacts import smi_rows as rows
from gpuwhy.probes.artefacts import smi_values as v
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.gauges import Gauges
from gpuwhy.probes.artefacts.gpu_processes import ListedProcess, process_kind, put_processes
from gpuwhy.probes.artefacts.smi_fields import put_condition
from gpuwhy.probes.artefacts.smi_names import Convert

NAME = "nvidia-smi"
_REACH = 3
"""Lines after a GPU's first row in which its other rows stand."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all summary tables in a text, their gauges folded over the tables."""
    reader = _Reader(Gauges(monitor=False))
    for position, line in enumerate(text.lines):
        reader.take(line, text.lines[max(0, position - 3) : position])
    extract = reader.extract()
    if extract.claimed:
        yield extract


class _Reader:
    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges
        self._claimed: set[int] = set()
        self._troubles: list[Trouble] = []
        self._inside = False
        self._start()

    def _start(self) -> None:
        self._devices: list[int] = []
        self._device: Entity | None = None
        self._left = 0
        self._orphan: tuple[re.Match[str], int] | None = None
        self._partition: Entity | None = None
        self._partitions: dict[int, int] = {}
        self._listed: dict[int, list[ListedProcess]] = {}
        self._in_processes = self._list_begun = self._list_is_whole = False

    def take(self, line: Line, before: Sequence[Line]) -> None:
        """Reads one line; a date may stand in the few lines `before` it."""
        if "NVIDIA-SMI" in line.text and (banner := rows.BANNER.search(line.text)):
            self._banner(banner, line, before)
        elif self._row(line) or self._furniture(line.text):
            self._claimed.add(line.number)
            self._inside = True
        elif line.text.strip():
            self._inside = False
        self._left -= 1

    def extract(self) -> Extract:
        self._finish()
        readings, missing = self._gauges.fold()
        return Extract(NAME, readings, missing, frozenset(self._claimed), (*self._troubles, *self._gauges.set_aside))

    def _banner(self, banner: re.Match[str], line: Line, before: Sequence[Line]) -> None:
        self._finish()
        when = None
        for earlier in before:
            dated = rows.WHEN.search(earlier.text)
            if dated and "|" not in earlier.text:
                when = dated["when"]
                self._claimed.add(earlier.number)
            elif rows.RULER.search(earlier.text):
                self._claimed.add(earlier.number)
        self._gauges.begin(when)
        self._inside = True
        self._claimed.add(line.number)
        for fact, printed in (("smi", banner["smi"]), ("driver", banner["driver"]), ("cuda", banner["cuda"])):
            self._put(f"host.{fact}_version", HOST, v.words, printed, line.number)

    def _row(self, line: Line) -> bool:
        text = line.text
        if "|" not in text and "MiB" not in text:
            return False
        if device := rows.DEVICE.search(text):
            return self._open(device, line)
        if load := rows.LOAD.search(text):
            return self._load(load, line)
        if partition := rows.PARTITION.search(text):
            return self._open_partition(partition, line)
        if self._partition is not None and (bar1 := rows.PARTITION_BAR1.search(text)):
            self._put("partition.bar1_used_bytes", self._partition, v.size, bar1["used"], line.number)
            self._put("partition.bar1_total_bytes", self._partition, v.size, bar1["total"], line.number)
            return True
        if self._device is not None and self._left > 0 and (mig := rows.MIG_MODE.search(text)):
            return self._mig_mode(mig, line)
        process = rows.PROCESS.search(text)
        return process is not None and self._process(process, line)

    def _furniture(self, text: str) -> bool:
        """True if a line is a ruler or a heading of a table of this kind."""
        if "|" not in text and "+" not in text:
            return False
        if rows.PROCESSES_HEADER.search(text):
            self._in_processes = True
            return True
        if rows.NO_PROCESSES.search(text):
            self._in_processes = self._list_is_whole = True
            return True
        if self._inside and rows.RULER.search(text):
            if self._in_processes and "=" in text:
                self._list_begun = True
            elif self._in_processes and (self._list_begun or self._listed):
                self._list_is_whole = True  # it ends here, also where no row stands between the rulers
            return True
        return bool(rows.TITLE.search(text) or (self._inside and rows.HEADING.search(text)))

    def _open(self, row: re.Match[str], line: Line) -> bool:
        index = int(row["index"])
        if index in self._devices:
            self._finish()
            self._gauges.begin()
        if self._orphan is not None:
            self._adopt(gpu(max(index - 1, 0)))
        self._devices.append(index)
        device = self._device = gpu(index)
        self._left = _REACH + 1
        self._put("gpu.name", device, v.words, row["name"], line.number)
        self._put("gpu.bus_id", device, v.words, row["bus"], line.number)
        self._put("gpu.display_active", device, v.switch, row["display"], line.number)
        if v.driver_model(row["mode"]):
            self._put("gpu.driver_model", device, v.driver_model, row["mode"], line.number)
        else:
            self._put("gpu.persistence_mode", device, v.switch, row["mode"], line.number)
        self._ecc(device, (row["ecc"] or "").strip(), line)
        return True

    def _ecc(self, device: Entity, cell: str, line: Line) -> None:
        """The cell holds a count, or `Off`, or `N/A`; `On` there means that MIG is on."""
        if cell.lower() == "on":
            self._gauges.put("gpu.mig_enabled", device, True, line.number, cell)
        elif cell.lower() == "off":
            self._gauges.put("gpu.ecc_enabled", device, False, line.number, cell)
            self._gauges.lack("gpu.ecc_uncorrected_count", device, "ECC is off", line.number)
        elif (number := v.count(cell)) is not None:
            self._gauges.put("gpu.ecc_enabled", device, True, line.number, cell)
            self._gauges.put("gpu.ecc_uncorrected_count", device, number, line.number, cell)
        elif reason := v.absence(cell):
            self._gauges.lack("gpu.ecc_enabled", device, reason, line.number)
            self._gauges.lack("gpu.ecc_uncorrected_count", device, reason, line.number)
            put_condition(self._gauges, device, reason, line.number)

    def _load(self, row: re.Match[str], line: Line) -> bool:
        if self._device is None or self._left <= 0:
            self._orphan = (row, line.number)
        else:
            self._put_load(self._device, row, line.number)
        return True

    def _adopt(self, device: Entity) -> None:
        if self._orphan is not None:
            row, number = self._orphan
            self._orphan = None
            self._put_load(device, row, number)
            self._troubles.append(Trouble(number, f"the row above this one is cut off: read as GPU {device.name}"))

    def _put_load(self, device: Entity, row: re.Match[str], number: int) -> None:
        self._put("gpu.fan_share", device, v.share, row["fan"], number)
        self._put("gpu.temperature_celsius", device, v.celsius, row["temperature"], number)
        self._put("gpu.performance_state", device, v.state, row["state"], number)
        self._put("gpu.power_watts", device, v.watts, row["power"], number)
        self._put("gpu.power_limit_watts", device, v.watts, row["limit"], number)
        used, total = _memory((row["memory"] or "").strip())
        self._put("gpu.memory_used_bytes", device, v.size, used, number)
        self._put("gpu.memory_total_bytes", device, v.size, total, number)
        rest = rows.UTILISATION.match(row["rest"] or "")
        if rest:
            self._put("gpu.utilization_share", device, v.share, rest["share"], number)
            self._put("gpu.compute_mode", device, v.compute_mode, (rest["mode"] or "").strip(), number)

    def _mig_mode(self, row: re.Match[str], line: Line) -> bool:
        device = self._device
        if device is not None:
            self._put("gpu.mig_enabled", device, v.switch, row["mig"], line.number)
            if row["pending"] and (now := v.switch(row["mig"])) is not None:
                self._gauges.put("gpu.mig_pending_enabled", device, not now, line.number, row["mig"] + "*")
        return True

    def _open_partition(self, row: re.Match[str], line: Line) -> bool:
        index = int(row["index"])
        self._partitions[index] = self._partitions.get(index, 0) + 1
        partition = self._partition = Entity("partition", row["device"], gpu(index))
        self._device = None
        self._put("partition.gpu_instance", partition, v.count, row["gi"], line.number)
        self._put("partition.compute_instance", partition, v.count, row["ci"], line.number)
        self._put("partition.memory_used_bytes", partition, v.size, row["used"], line.number)
        self._put("partition.memory_total_bytes", partition, v.size, row["total"], line.number)
        self._put("partition.multiprocessor_count", partition, v.count, row["sms"], line.number)
        self._put("partition.ecc_uncorrected_count", partition, v.count, row["ecc"], line.number)
        names = ("copy_engine", "encoder", "decoder", "optical_flow", "jpeg")
        for name, cell in zip(names, (row["shared"] or "").split(), strict=False):
            self._put(f"partition.{name}_count", partition, v.count, cell, line.number)
        return True

    def _process(self, row: re.Match[str], line: Line) -> bool:
        if row["kind"] is None and not self._in_processes:
            return False
        self._device = self._partition = None
        reason = v.absence(row["memory"])
        size = None if reason else v.size(row["memory"])
        kind = process_kind(row["kind"] or "")
        name = (row["name"] or "").strip() or None
        one = ListedProcess(int(row["pid"]), kind, name, size, reason, line.number)
        self._listed.setdefault(int(row["index"]), []).append(one)
        return True

    def _put(self, fact: str, entity: Entity, convert: Convert, printed: str | None, number: int) -> None:
        if not printed:
            return
        reason = v.absence(printed)
        if reason is not None:
            self._gauges.lack(fact, entity, reason, number)
            if entity.kind == "gpu":
                put_condition(self._gauges, entity, reason, number)
            return
        value = convert(printed)
        if value is None:
            self._troubles.append(Trouble(number, f"{fact}: cannot read {printed[:60]!r}"))
        else:
            self._gauges.put(fact, entity, value, number, printed)

    def _finish(self) -> None:
        """Ends the present table: what can only be said of it as a whole."""
        self._adopt(gpu(max(self._devices, default=-1) + 1 if self._devices else 0))
        last = max(self._claimed, default=None)
        if self._devices and sorted(self._devices) == list(range(len(self._devices))):
            self._gauges.put("gpu.count", HOST, len(self._devices), last)
        for index, number in self._partitions.items():
            self._gauges.put("gpu.partition_count", gpu(index), number, last)
        for index in {*self._listed, *(self._devices if self._list_is_whole else ())}:
            put_processes(
                self._gauges, gpu(index), self._listed.get(index, ()), complete=self._list_is_whole, line=last
            )
        self._start()


def _memory(cell: str) -> tuple[str, str]:
    pair = rows.MEMORY.match(cell)
    return (pair["used"], pair["total"]) if pair else (cell, cell)


FORMAT = TextFormat(
    NAME,
    "nvidia-smi (summary table)",
    (
        "nvidia-smi ",
        "mib /",
        "mib |",
        "pwr:usage/cap",
        "gpu memory",
        "w /",
        "n/a |",
        "| n/a ",
        "disp.a",
        "off |",
        "on |",
    ),
    scan,
)
