"""Which series of which exporter give which fact, and how their samples over a window become one value.

GPUs: the tables of dcgm-exporter and nvidia_gpu_exporter that pasted metrics are read with. Hosts: node_exporter,
https://github.com/prometheus/node_exporter . Everything is computed by the server: a fact is one number of each GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum

from gpuwhy.kb.records import dataclass, replace
from gpuwhy.probes.artefacts.gauges import SPREAD
from gpuwhy.probes.artefacts.gpu_metric_names import ANCIENT, DCGM, EXPORTER, VIOLATIONS, Metric

IDENTITY = ("gpu", "minor_number", "UUID", "uuid", "GPU_I_ID")
"""Labels that tell the GPUs and partitions of a machine apart."""


class How(str, Enum):
    """How samples over a window become one value."""

    MEDIAN = "0.5"
    TENTH = "0.1"
    NINETIETH = "0.9"
    LOWEST = "min"
    HIGHEST = "max"
    LAST = "last"
    COUNT = "count"
    GROWTH = "growth"
    RATE = "rate"


@dataclass(frozen=True)
class Source:
    """A fact and the metrics that give it: any of these names, times a factor. `kind` as of `Metric`.

    `labels` tell entities apart beyond the target; `where` are matchers; `divisor` are metrics by whose growth or
    rate it is divided.
    """

    fact: str
    names: tuple[str, ...]
    how: How
    factor: float = 1.0
    kind: str = "number"
    labels: tuple[str, ...] = IDENTITY
    where: str = ""
    limit: str = ""
    divisor: tuple[str, ...] = ()
    count_of: bool = False
    mean_of: bool = False


_QUANTILES = {0.0: How.LOWEST, 0.1: How.TENTH, 0.9: How.NINETIETH, 1.0: How.HIGHEST}
BLANK_32, _BLANK_64 = " < 2147483632", " < 140737488355328"
"""Values from which on DCGM means that there is none: of 32-bit fields, and of those that may be larger."""
_LARGE = ("bytes_per_second",)

_GAUGES = frozenset(
    {
        *SPREAD,
        "gpu.memory_free_bytes",
        "gpu.memory_reserved_bytes",
        "gpu.memory_temperature_celsius",
        "gpu.temperature_margin_celsius",
        "gpu.fan_share",
        "gpu.performance_state",
        "gpu.memory_clock_megahertz",
        "gpu.encoder_share",
        "gpu.decoder_share",
        "gpu.compute_process_count",
        "gpu.graphics_active_share",
        "gpu.sm_active_share",
        "gpu.sm_occupancy_share",
        "gpu.tensor_active_share",
        "gpu.dram_active_share",
        "gpu.nvlink_transmit_bytes_per_second",
        "gpu.nvlink_receive_bytes_per_second",
    }
)
"""Facts that move all the time: the median of the window is told, and the spread where the vocabulary has it."""

_GROWING = {
    "gpu.ecc_uncorrected_count": ("gpu.ecc_uncorrected_new_count", How.GROWTH, "grown"),
    "gpu.ecc_corrected_count": ("gpu.ecc_corrected_new_count", How.GROWTH, "grown"),
    "gpu.link_replays": ("gpu.link_replays_per_second", How.RATE, "number"),
}
"""Counters since the driver was loaded, and what their growth within the window is a fact of."""


def dcgm() -> Iterator[Source]:
    """What dcgm-exporter of any generation gives of GPUs."""
    old: dict[str, list[str]] = {}
    for name, field in ANCIENT.items():
        old.setdefault(field, []).append(f"dcgm_{name}")
    by_fact: dict[Metric, list[str]] = {}
    for field, metric in DCGM.items():
        printed = [f"DCGM_FI_DEV_{field}", f"DCGM_FI_PROF_{field}", *old.get(field, ())]
        by_fact.setdefault(metric, []).extend(printed)
    for metric, names in by_fact.items():
        yield from _of(metric, tuple(names))
    for field, fact in VIOLATIONS.items():
        yield Source(fact, (f"DCGM_FI_DEV_{field}",), How.RATE, 1e-9, "share")


def nvidia_gpu_exporter() -> Iterator[Source]:
    """What nvidia_gpu_exporter gives of GPUs."""
    for name, metric in EXPORTER.items():
        yield from _of(metric, (f"nvidia_smi_{name}",))


def _of(metric: Metric, names: tuple[str, ...]) -> Iterator[Source]:
    fact, limit = metric.fact, _BLANK_64 if metric.fact.endswith(_LARGE) else BLANK_32

    def source(fact: str, how: How, kind: str = metric.kind) -> Source:
        return Source(fact, names, how, metric.factor, kind, limit=limit)

    if metric.kind in ("bits", "xid"):
        return
    if fact == "gpu.link_generation":  # falls at rest: what it reaches is what the link can do
        yield source(fact, How.HIGHEST)
        return
    yield source(fact, How.MEDIAN if fact in _GAUGES else How.LAST)
    for other, share in SPREAD.get(fact, ()):
        yield source(other, _QUANTILES[share])
    if fact == "gpu.utilization_share":
        yield Source("gpu.sample_count", names, How.COUNT, kind="count", limit=limit)
    if fact in _GROWING:
        other, how, kind = _GROWING[fact]
        yield source(other, how, kind)


_CPU = "node_cpu_seconds_total"
_MODES = {
    "user": "host.cpu_user_share",
    "system": "host.cpu_system_share",
    "idle": "host.cpu_idle_share",
    "iowait": "host.cpu_iowait_share",
    "steal": "host.cpu_steal_share",
}
_PRESSURE = {
    "cpu_waiting": "host.cpu_pressure_some_share",
    "memory_waiting": "host.memory_pressure_some_share",
    "memory_stalled": "host.memory_pressure_full_share",
    "io_waiting": "host.io_pressure_some_share",
    "io_stalled": "host.io_pressure_full_share",
    "irq_stalled": "host.irq_pressure_full_share",
}
_MEMORY = {
    "MemTotal": "host.memory_total_bytes",
    "MemFree": "host.memory_free_bytes",
    "MemAvailable": "host.memory_available_bytes",
    "SwapTotal": "host.swap_total_bytes",
}
_LOAD = {"node_load1": "host.load_1_minute", "node_load5": "host.load_5_minutes", "node_load15": "host.load_15_minutes"}
_TASKS = {"node_procs_running": "host.running_tasks", "node_procs_blocked": "host.blocked_tasks"}
_DISK_RATES = {
    "io_time_seconds_total": "disk.busy_share",
    "io_time_weighted_seconds_total": "disk.queue_length",
    "read_bytes_total": "disk.read_bytes_per_second",
    "written_bytes_total": "disk.write_bytes_per_second",
    "reads_completed_total": "disk.read_operations_per_second",
}
_FILE_SYSTEM = {"size": "filesystem.total_bytes", "avail": "filesystem.available_bytes"}
_REAL_DISKS = 'device!~"(loop|ram|zram|sr|fd|dm-|md)[0-9]*.*"'
_REAL_FILE_SYSTEMS = 'fstype!~"ramfs|squashfs|iso9660|autofs|fuse.lxcfs|nsfs"'


def node() -> Iterator[Source]:
    """What node_exporter gives of a host, its disks and file systems."""
    for mode, fact in _MODES.items():
        yield Source(fact, (_CPU,), How.RATE, labels=(), where=f'mode="{mode}"', mean_of=True)
    yield Source("host.cpu_count", (_CPU,), How.LAST, 1.0, "whole", (), 'mode="idle"', count_of=True)
    for name, fact in {**_LOAD, **_TASKS}.items():
        yield Source(fact, (name,), How.MEDIAN, 1.0, "whole" if name in _TASKS else "number", ())
    for name, fact in _MEMORY.items():
        yield Source(fact, (f"node_memory_{name}_bytes",), How.MEDIAN, labels=())
    for name, fact in _PRESSURE.items():
        yield Source(fact, (f"node_pressure_{name}_seconds_total",), How.RATE, 1.0, "share", ())
    yield Source("host.major_page_faults_per_second", ("node_vmstat_pgmajfault",), How.RATE, labels=())
    for fact in ("host.out_of_memory_kills_new", "host.out_of_memory_kills"):
        yield Source(fact, ("node_vmstat_oom_kill",), How.GROWTH, 1.0, "grown", ())
    for name, fact in _DISK_RATES.items():
        kind = "share" if fact == "disk.busy_share" else "number"
        yield Source(fact, (f"node_disk_{name}",), How.RATE, 1.0, kind, ("device",), _REAL_DISKS)
    waited, reads = "node_disk_read_time_seconds_total", ("node_disk_reads_completed_total",)
    yield Source("disk.read_wait_seconds", (waited,), How.GROWTH, 1.0, "number", ("device",), _REAL_DISKS, "", reads)
    for name, fact in _FILE_SYSTEM.items():
        names = (f"node_filesystem_{name}_bytes",)
        yield Source(fact, names, How.LAST, 1.0, "number", ("mountpoint", "fstype"), _REAL_FILE_SYSTEMS)


def within(sources: Iterable[Source], names: frozenset[str]) -> Iterator[tuple[Source, bool]]:
    """Every source with those of its metrics that a server has, and whether they are enough to ask."""
    for one in sources:
        kept = tuple(name for name in one.names if name in names)
        enough = bool(kept) and all(name in names for name in one.divisor)
        yield (replace(one, names=kept) if enough else one), enough


def expression(one: Source, target: Iterable[str], match: str, window: float, step: float) -> str:
    """PromQL that gives the fact of every GPU (host, disk, …) of the targets that match, over a window before now."""
    by = ", ".join((*target, *one.labels))
    span = f"[{window:.0f}s:{step:.0f}s]"
    if one.how in (How.GROWTH, How.RATE):
        made = _grown(one, one.names, by, match, window)
        return f"{made} / ({_grown(one, one.divisor, by, match, window)} > 0)" if one.divisor else made
    inner = f"{'count' if one.count_of else 'max'} by ({by}) ({selector(one.names, match, one.where)}{one.limit})"
    return _OVER[one.how].format(f"({inner}){span}")


_OVER = {
    How.MEDIAN: "quantile_over_time(0.5, {})",
    How.TENTH: "quantile_over_time(0.1, {})",
    How.NINETIETH: "quantile_over_time(0.9, {})",
    How.LOWEST: "min_over_time({})",
    How.HIGHEST: "max_over_time({})",
    How.LAST: "last_over_time({})",
    How.COUNT: "count_over_time({})",
}


def _grown(one: Source, names: tuple[str, ...], by: str, match: str, window: float) -> str:
    """Growth of counters, resets accounted for; of a GPU that several pods used, the growth in all of them."""
    function = "increase" if one.how is How.GROWTH else "rate"
    fold = "avg" if one.mean_of else "sum"
    return f"{fold} by ({by}) ({function}({selector(names, match, one.where)}[{window:.0f}s]))"


def selector(names: Iterable[str], match: str, where: str = "") -> str:
    """A selector of series by name and labels."""
    kept = tuple(names)
    if len(kept) == 1:
        return f"{kept[0]}{{{matchers(match, where)}}}"
    named = '__name__=~"' + "|".join(kept) + '"'
    return f"{{{matchers(named, match, where)}}}"


def matchers(*parts: str) -> str:
    """Matchers of series together; empty ones are left out."""
    return ", ".join(part for part in parts if part)


_SPECIAL = re.compile(r"([.+*?()|\[\]{}^$\\])")


def literal(text: str) -> str:
    """Text as a regular expression of RE2 that fits only it."""
    return _SPECIAL.sub(r"\\\1", text)


def quoted(text: str) -> str:
    """Text as a string of PromQL."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
