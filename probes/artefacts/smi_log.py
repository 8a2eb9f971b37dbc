"""Notes what one `nvidia-smi -q` log says, whether it came as text or as XML.

Both are a tree of keys per GPU; a leaf arrives here with its path in normalised names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuwhy.kb.facts import Entity, gpu
from gpuwhy.probes.artefacts import smi_values as v
from gpuwhy.probes.artefacts.contract import Trouble
from gpuwhy.probes.artefacts.gauges import Gauges
from gpuwhy.probes.artefacts.gpu_processes import ListedProcess, process_kind, put_processes
from gpuwhy.probes.artefacts.smi_fields import field_of, put_condition, put_ecc_sums, put_field
from gpuwhy.probes.artefacts.smi_names import Convert
from gpuwhy.probes.artefacts.smi_rows import bus_key

_PROCESS_START = ("process_id", "pid")

_PARTITION: Mapping[str, tuple[str, Convert]] = {
    "gpu_instance_id": ("partition.gpu_instance", v.count),
    "compute_instance_id": ("partition.compute_instance", v.count),
    "multiprocessor_count": ("partition.multiprocessor_count", v.count),
    "copy_engine_count": ("partition.copy_engine_count", v.count),
    "encoder_count": ("partition.encoder_count", v.count),
    "decoder_count": ("partition.decoder_count", v.count),
    "ofa_count": ("partition.optical_flow_count", v.count),
    "jpg_count": ("partition.jpeg_count", v.count),
    "sram_uncorrectable": ("partition.ecc_uncorrected_count", v.count),
    "fb_memory_usage/total": ("partition.memory_total_bytes", v.size),
    "fb_memory_usage/reserved": ("partition.memory_reserved_bytes", v.size),
    "fb_memory_usage/used": ("partition.memory_used_bytes", v.size),
    "fb_memory_usage/free": ("partition.memory_free_bytes", v.size),
    "bar1_memory_usage/total": ("partition.bar1_total_bytes", v.size),
    "bar1_memory_usage/used": ("partition.bar1_used_bytes", v.size),
    "bar1_memory_usage/free": ("partition.bar1_free_bytes", v.size),
}


class DeviceLog:
    """Takes the leaves of a log in order. `open` starts a GPU, `close` ends it, `end` ends the log."""

    def __init__(self, gauges: Gauges, indices: Mapping[str, int] | None = None) -> None:
        self.gauges = gauges
        self.troubles: list[Trouble] = []
        self.device = gpu(0)
        self._indices = dict(indices or {})
        self._opened: set[int] = set()
        self._reset()

    def _reset(self) -> None:
        self._ecc: dict[str, int] = {}
        self._rows: list[dict[str, str]] = []
        self._row_lines: list[int | None] = []
        self._listing = False
        self._partition: Entity | None = None
        self._partitions = 0
        self._last_line: int | None = None
        self._lost = False

    def restart(self, observed_at: str | None = None) -> None:
        """A new log begins: it is a moment of its own. A bus id keeps the index that it had before."""
        self.close(complete=False)
        self._opened = set()
        self.device = gpu(0)
        self.gauges.begin(observed_at)

    def open(self, bus_id: str | None, line: int | None) -> None:
        """The next GPU begins. Its index is its place in the log, unless a table shows another for this bus id."""
        self.close(complete=True)
        index = self._index(bus_id)
        if index in self._opened:
            self.gauges.begin(self.gauges.observed_at)
            self._opened = set()
        self._opened.add(index)
        self.device = gpu(index)
        if bus_id:
            self.gauges.put("gpu.bus_id", self.device, bus_id, line, bus_id)

    def _index(self, bus_id: str | None) -> int:
        if bus_id is None:
            return len(self._opened)
        taken = set(self._indices.values())
        free = next(number for number in range(len(taken) + 1) if number not in taken)
        return self._indices.setdefault(bus_key(bus_id), free)

    def close(self, *, complete: bool) -> None:
        """The present GPU ends; `complete` says that nothing of it is cut off."""
        put_ecc_sums(self.gauges, self.device, self._ecc, self._last_line)
        if self._listing:
            self._put_processes(complete)
        if self._partitions and complete:
            self.gauges.put("gpu.partition_count", self.device, self._partitions, self._last_line)
        self._reset()

    def begin_processes(self) -> None:
        """The list of processes of the present GPU begins (it may stay empty)."""
        self._listing = True

    def leaf(self, path: Sequence[str], printed: str, line: int | None) -> bool:
        """Notes one leaf; True if its name is known here."""
        self._last_line = line
        self._lost |= v.says_lost(printed)
        if any(part in ("mig_device", "mig_devices") for part in path[:-1]):
            return self._partition_leaf(path, printed, line)
        if "processes" in path:
            return self._process_leaf(path, printed, line)
        if path[-1] == "remapped_rows":
            return self._section_without_values(("gpu.remap_pending", "gpu.remap_failed"), printed, line)
        if path[-1] in ("clocks_event_reasons", "clocks_throttle_reasons"):
            return self._section_without_values(("gpu.event_hardware_slowdown",), printed, line)
        found = field_of(path)
        if found is None:
            return False
        if not put_field(self.gauges, self.device, found, printed, line):
            self.troubles.append(Trouble(line, f"{path[-1]}: cannot read {printed[:60]!r}"))
        elif found[0].fact.startswith("gpu.ecc_") and found[0].convert is v.count:
            value = v.count(printed)
            if value is not None:
                self._ecc[found[0].fact] = value
        return True

    def _section_without_values(self, facts: Sequence[str], printed: str, line: int | None) -> bool:
        reason = v.absence(printed)
        if reason is None:
            return False
        for fact in facts:
            self.gauges.lack(fact, self.device, reason, line)
        put_condition(self.gauges, self.device, reason, line)
        return True

    def _process_leaf(self, path: Sequence[str], printed: str, line: int | None) -> bool:
        key = path[-1]
        if key == "processes":
            reason = v.absence(printed)
            if reason is not None:
                self.gauges.lack("gpu.process_count", self.device, reason, line)
            else:
                self._listing = True
            return True
        self._listing = True
        if key in _PROCESS_START:
            self._rows.append({})
            self._row_lines.append(line)
        elif not self._rows or key in ("gpu_instance_id", "compute_instance_id"):
            return True
        self._rows[-1][key] = printed
        return True

    def _put_processes(self, complete: bool) -> None:
        listed = []
        for row, line in zip(self._rows, self._row_lines, strict=True):
            pid = v.count(row.get("pid") or row.get("process_id") or "")
            if pid is None:
                self.troubles.append(Trouble(line, "process without a process id"))
                continue
            memory = row.get("used_memory") or row.get("used_gpu_memory") or ""
            name = row.get("process_name") or row.get("name")
            reason = v.absence(memory) or (None if memory else "not shown")
            size = None if reason else v.size(memory)
            listed.append(ListedProcess(pid, process_kind(row.get("type", "")), name, size, reason, line))
        whole = complete and not self._lost
        put_processes(self.gauges, self.device, listed, complete=whole, line=self._last_line)

    def _partition_leaf(self, path: Sequence[str], printed: str, line: int | None) -> bool:
        key = path[-1]
        if key == "index":
            self._partition = Entity("partition", printed.strip()[:20], self.device)
            self._partitions += 1
            return True
        known = _PARTITION.get(key) or _PARTITION.get("/".join(path[-2:]))
        if known is None or self._partition is None:
            return False
        fact, convert = known
        reason = v.absence(printed)
        value = None if reason else convert(printed)
        if reason:
            self.gauges.lack(fact, self._partition, reason, line)
        elif value is None:
            self.troubles.append(Trouble(line, f"{key}: cannot read {printed[:60]!r}"))
        else:
            self.gauges.put(fact, self._partition, value, line, printed)
        return True
