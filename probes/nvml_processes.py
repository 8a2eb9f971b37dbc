"""Processes on a GPU: what the driver lists, their memory and use, and what can be known about them from here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import HOST, Entity
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes import process_names
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Answer, Code, Device, Nvml, reason, text_of
from gpuwhy.probes.nvml_signal import NOTHING_READ, Signal, Span, fold_gauge

_LISTS = {
    "compute": ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2"),
    "graphics": ("nvmlDeviceGetGraphicsRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses_v2"),
    "mps": ("nvmlDeviceGetMPSComputeRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses_v2"),
}
_NO_INSTANCE = 0xFFFFFFFF
_NO_NUMBER = 0xFFFFFFFFFFFFFFFF
_HIDDEN = "the driver lists no process, but inside a container it may hide those of others"
_FOREIGN = "the process id is the host's, and this process namespace is another (a container)"


@dataclass
class Seen:
    """One process as it was seen over the window: kinds of use, MIG instance, memory in bytes at each listing."""

    kinds: set[str] = field(default_factory=set)
    instance: int | None = None
    memory: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Row:
    pid: int
    kind: str
    memory: float | None
    instance: int | None


class Processes(Signal):
    """The processes of a GPU; those of its MIG slices are listed by the slices."""

    period = 1.0

    def __init__(self, nvml: Nvml, device: Device, slices: Sequence[Device] = ()) -> None:
        super().__init__(nvml, device)
        self._slices = slices
        self._seen: dict[int, Seen] = {}
        self._last: list[_Row] | None = None
        self._by_slice: dict[Entity, int] = {}
        self._graphics_known = False
        self._code: int | None = None
        self._names: dict[int, str] = {}
        self._use = _ProcessUse(nvml, device)

    def read(self) -> None:
        rows = self._list()
        if rows is None:
            return
        self._last = rows
        for row in rows:
            seen = self._seen.setdefault(row.pid, Seen())
            seen.kinds.add(row.kind)
            seen.instance = row.instance if row.instance is not None else seen.instance
        for pid, own in _by_pid(rows).items():
            total = _sum(own)
            if total is not None:
                self._seen[pid].memory.append(total)
            if pid not in self._names:
                self._ask_name(pid)
        self._use.read()

    def _ask_name(self, pid: int) -> None:
        answer = self.nvml.ask(("nvmlSystemGetProcessName",), pid)
        name = text_of(answer.value) if answer.ok else None
        if name is not None and not name.startswith("["):  # "[Not Found]" and the like are no names
            self._names[pid] = name

    def _list(self) -> list[_Row] | None:
        """All rows at this moment, each once; None if the driver does not list compute processes."""
        rows: dict[tuple[int, str, int | None], _Row] = {}
        listed = False
        for device in (*self._slices, self.device):
            own = {}
            for kind, names in _LISTS.items():
                answer = self.nvml.of(device, names)
                if answer.ok:
                    listed = listed or kind == "compute"
                    self._graphics_known = self._graphics_known or kind == "graphics"
                    own.update({(row.pid, row.kind, row.instance): row for row in _rows(answer, kind)})
                elif kind == "compute" and not listed:
                    self._code = answer.code
            if device is not self.device:
                self._by_slice[device.entity] = len({row.pid for row in own.values()})
            rows = own | rows
        return list(rows.values()) if listed else None

    def clear(self) -> None:
        self._names = {pid: name for pid, name in self._names.items() if pid in self._seen}
        self._seen.clear()
        self._last = None
        self._use.clear()

    def roll(self) -> None:
        self.clear()

    def close(self) -> None:
        self.read()

    def fold(self, readings: Readings, span: Span) -> None:
        entity = self.device.entity
        if self._last is None:
            why = NOTHING_READ if self._code is None else reason(self._code)
            for fact in ("gpu.process_count", "gpu.compute_process_count", "gpu.processes_memory_bytes"):
                readings.lack(fact, entity, why)
            return
        if not self._seen and process_names.in_initial_namespace() is not True:
            for fact in ("gpu.process_count", "gpu.compute_process_count", "gpu.processes_memory_bytes"):
                readings.lack(fact, entity, _HIDDEN)
            return
        is_foreign = process_names.foreign((row.pid for row in self._last), self._names)
        if is_foreign is not None and readings.get("host.process_ids_foreign", HOST) is not True:
            text = "compared with the processes that are visible here"
            readings.put("host.process_ids_foreign", HOST, is_foreign, text)
        present = {row.pid for row in self._last}
        for pid, seen in self._seen.items():
            self._fold_one(readings, span, pid, seen, pid in present, is_foreign)
        self._fold_sums(readings, span, self._last)

    def _fold_one(
        self, readings: Readings, span: Span, pid: int, seen: Seen, present: bool, is_foreign: bool | None
    ) -> None:
        entity = Entity("process", str(pid), self.device.entity)
        readings.put("process.pid", entity, pid)
        readings.put("process.type", entity, _type_of(seen.kinds))
        readings.put("process.exited", entity, not present)
        if present and is_foreign is False:
            readings.put("process.running", entity, process_names.exists(pid), "looked up here")
        name = self._names.get(pid) or (process_names.command(pid) if is_foreign is False else None)
        if name is not None:
            readings.put("process.name", entity, name)
        else:
            readings.lack("process.name", entity, _FOREIGN if is_foreign else "neither driver nor system tells it")
        if seen.instance is not None:
            readings.put("process.gpu_instance", entity, seen.instance)
        if seen.memory:
            fold_gauge(readings, span, "process.gpu_memory_bytes", entity, seen.memory)
        else:
            readings.lack("process.gpu_memory_bytes", entity, "the driver does not tell the memory of this process")
        self._use.fold(readings, span, pid, entity)

    def _fold_sums(self, readings: Readings, span: Span, rows: Sequence[_Row]) -> None:
        entity = self.device.entity

        def put(fact: str, of: Entity, value: int | float) -> None:
            readings.put(fact, of, value, "the last list", at=span.ended_at)

        put("gpu.process_count", entity, len({row.pid for row in rows}))
        put("gpu.compute_process_count", entity, len({row.pid for row in rows if row.kind != "graphics"}))
        for slice_entity, count in self._by_slice.items():
            put("partition.process_count", slice_entity, count)
        sums = [("gpu.processes_memory_bytes", [one for own in _by_pid(rows).values() for one in own])]
        if self._graphics_known:
            compute = {row.pid for row in rows if row.kind != "graphics"}
            sums.append(("gpu.graphics_processes_memory_bytes", [row for row in rows if row.pid not in compute]))
        for fact, own in sums:
            total = _sum(own)
            if total is None:
                readings.lack(fact, entity, "the driver does not tell the memory of every process")
            else:
                put(fact, entity, total)


class _ProcessUse:
    """What share of time each process ran kernels and used memory, from the driver's own samples."""

    _PARTS = (
        ("process.sm_share", "smUtil"),
        ("process.memory_utilization_share", "memUtil"),
        ("process.encoder_share", "encUtil"),
        ("process.decoder_share", "decUtil"),
    )

    def __init__(self, nvml: Nvml, device: Device) -> None:
        self._nvml = nvml
        self._device = device
        self._since = int(time.time() * 1e6)
        self._shares: dict[tuple[int, str], list[float]] = {}
        self._code: int | None = None

    def read(self) -> None:
        answer = self._nvml.of(self._device, ("nvmlDeviceGetProcessUtilization",), self._since)
        if not answer.ok:
            # Success without samples comes as an error of value 0, and 6 says that nothing is new.
            self._code = self._code if answer.code in (Code.SUCCESS, Code.NOT_FOUND) else answer.code
            return
        newest = self._since
        for sample in answer.value:
            stamp = int(sample.timeStamp)
            if stamp <= self._since or not int(sample.pid):
                continue  # of an earlier time: some drivers hand out their whole buffer each time
            newest = max(newest, stamp)
            for fact, member in self._PARTS:
                percent = float(getattr(sample, member))
                if 0 <= percent <= 100:
                    self._shares.setdefault((int(sample.pid), fact), []).append(percent / 100)
        self._since = newest

    def clear(self) -> None:
        self._shares.clear()

    def fold(self, readings: Readings, span: Span, pid: int, entity: Entity) -> None:
        for fact, _ in self._PARTS:
            values = self._shares.get((pid, fact))
            if values:
                fold_gauge(readings, span, fact, entity, values)
            else:
                why = "the driver has no sample of this process" if self._code is None else reason(self._code)
                readings.lack(fact, entity, why)


def _rows(answer: Answer, kind: str) -> Iterator[_Row]:
    for one in answer.value:
        memory = getattr(one, "usedGpuMemory", None)
        instance = getattr(one, "gpuInstanceId", None)
        yield _Row(
            int(one.pid),
            kind,
            None if memory is None or int(memory) >= _NO_NUMBER else float(memory),
            None if instance is None or int(instance) >= _NO_INSTANCE else int(instance),
        )


def memory_by_process(nvml: Nvml, gpus: Sequence[Device]) -> dict[int, float | None]:
    """Processes that compute on GPUs now, with the bytes that they hold on all of them, None where that is not told.

    Empty where the driver lists processes of another namespace: none of them can be named from here.
    """
    rows: dict[int, list[_Row]] = {}
    for gpu in gpus:
        answer = nvml.of(gpu, _LISTS["compute"])
        for pid, own in _by_pid(list(_rows(answer, "compute")) if answer.ok else ()).items():
            rows.setdefault(pid, []).extend(own)
    return {} if process_names.foreign(rows, {}) else {pid: _sum(own) for pid, own in rows.items()}


def _by_pid(rows: Sequence[_Row]) -> dict[int, list[_Row]]:
    """The rows of each process that count its memory: one that computes and draws is listed twice with the same."""
    found: dict[int, dict[int | None, _Row]] = {}
    for row in rows:
        found.setdefault(row.pid, {}).setdefault(row.instance, row)
    return {pid: list(own.values()) for pid, own in found.items()}


def _sum(rows: Sequence[_Row]) -> float | None:
    known = [row.memory for row in rows if row.memory is not None]
    return float(sum(known)) if len(known) == len(rows) else None


def _type_of(kinds: set[str]) -> str:
    if "mps" in kinds:
        return "mps"
    if kinds == {"compute", "graphics"}:
        return "compute-and-graphics"
    return "graphics" if "graphics" in kinds else "compute"
