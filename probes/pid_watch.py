"""Watches a running training job from outside: its stacks, its processes, its host and its GPUs over one window.

Nothing is changed, and the job is not stopped: stacks are read while they change (see `stack_samples`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from gpuwhy.kb.facts import JOB, Entity, Fact
from gpuwhy.kb.model import FactSpec
from gpuwhy.probes import stack_facts
from gpuwhy.probes.gathering import Gathering, Readings
from gpuwhy.probes.host_tree import Tree, Unread
from gpuwhy.probes.host_watch import HostWatch
from gpuwhy.probes.live import joined, look
from gpuwhy.probes.process_tree import TreeWatch, Usage, data_files, devices, stat
from gpuwhy.probes.source_lines import SourceLines
from gpuwhy.probes.stack_facts import Roles, Window, process
from gpuwhy.probes.stack_samples import StackSampler

SOURCE = "process"
LOOK_SECONDS = 0.1
REFRESH_LOOKS = 20
MAX_PROCESSES = 24
MAX_PATHS = 64


class NoProcess(Exception):
    """There is no such process here, or it may not be seen; the text says so."""


class _Watcher(threading.Thread):
    """Looks at the processes several times a second."""

    def __init__(self, tree: Tree, pid: int) -> None:
        super().__init__(name="processes", daemon=True)
        self._tree = tree
        self._ending = threading.Event()
        self.watch = TreeWatch(tree, pid, time.monotonic())
        self.paths: dict[int, set[str]] = {}
        self.devices: dict[int, list[str] | None] = {}

    def run(self) -> None:
        looks = 0
        while not self._ending.wait(LOOK_SECONDS):
            self.watch.look(time.monotonic())
            looks += 1
            if looks % REFRESH_LOOKS == 1:
                self._refresh()

    def _refresh(self) -> None:
        self.watch.refresh(time.monotonic())
        for pid, usage in list(self.watch.usage.items()):
            if not usage.exited:
                self.devices[pid] = devices(self._tree, pid)
                known = self.paths.setdefault(pid, set())
                if len(known) < MAX_PATHS:
                    known.update(data_files(self._tree, pid)[:MAX_PATHS])

    def close(self) -> None:
        """Ends the looking."""
        self._ending.set()
        self.join()
        self._refresh()


def watch(
    pid: int,
    seconds: float,
    progress: Callable[[float], None] | None = None,
    stop: threading.Event | None = None,
    *,
    specs: Mapping[str, FactSpec],
    tree: Tree | None = None,
    sampler: StackSampler | None = None,
) -> Gathering:
    """Facts about the job that this process and its children are, with those of host and GPUs of the same window.

    Raises `NoProcess` if there is none. Ctrl-C ends the watch early and keeps what was seen.
    """
    tree = Tree(tree.root if tree else Tree().root, str(pid))
    try:
        stat(tree, pid)
    except Unread as error:
        raise NoProcess(f"there is no process {pid} here: {error}") from None
    sampler = sampler or StackSampler(pid, seconds)
    watcher, host = _Watcher(tree, pid), HostWatch(tree)
    begun = time.monotonic()
    sampler.start()
    watcher.start()
    seen = look(seconds, progress, stop, specs=specs, host=host)
    watched, ended_at = time.monotonic() - begun, time.time()
    samples = sampler.stop()
    watcher.close()
    readings = Readings(SOURCE)
    lines: dict[int, SourceLines] = {}
    found = stack_facts.roles(samples.stacks, pid, lambda one: lines.setdefault(one, SourceLines(tree, one)).text)
    stack_facts.fold(samples, found, Window(watched, ended_at), readings)
    _fold_processes(watcher.watch, found, readings)
    _fold_gpus(tree, watcher, found, seen, readings)
    readers = found.workers or found.trainers
    host.read_paths(sorted({one for pid in readers for one in watcher.paths.get(pid, ())}), readings)
    return joined(readings.gathering(specs, watched, seen.interrupted), seen)


def _fold_processes(watch: TreeWatch, found: Roles, readings: Readings) -> None:
    """Notes what trainers, workers and the busiest others use."""
    wanted = [*found.trainers, *found.workers]
    rest = sorted((one for one in watch.usage if one not in wanted), key=lambda one: -_cpu_share(watch.usage[one]))
    for pid in [*wanted, *rest][:MAX_PROCESSES]:
        if pid in watch.usage:
            _note_process(watch.usage[pid], readings)
    usages = [watch.usage[one] for one in found.workers if one in watch.usage and watch.usage[one].seconds > 0]
    for fact, values in (
        ("loader.worker_cpu_share", [_cpu_share(one) for one in usages]),
        ("loader.worker_ready_share", [ready for one in usages if (ready := _ready(one)) is not None]),
        ("loader.worker_blocked_share", [blocked for one in usages if (blocked := _blocked(one)) is not None]),
    ):
        if values:
            readings.put(fact, JOB, sum(values) / len(values), f"mean of {len(values)} workers")
    read = [rate for one in usages if (rate := one.rate("read_bytes")) is not None]
    if read:
        readings.put("loader.worker_read_bytes_per_second", JOB, sum(read), f"sum of {len(read)} workers, from disks")


def _cpu_share(usage: Usage) -> float:
    return max(0.0, usage.last.cpu_seconds - usage.first.cpu_seconds) / usage.seconds if usage.seconds > 0 else 0.0


def _blocked(usage: Usage) -> float | None:
    looks = sum(usage.states.values())
    return usage.states["D"] / looks if looks else None


def _ready(usage: Usage) -> float | None:
    """On a CPU, or waiting for one."""
    queued = usage.rate("queued_ns")
    return None if queued is None else _cpu_share(usage) + queued / 1e9


def _note_process(usage: Usage, readings: Readings) -> None:
    entity = process(usage.pid)
    readings.put("process.name", entity, usage.first.name)
    readings.put("process.pid", entity, usage.pid)
    readings.put("process.resident_bytes", entity, usage.last.resident_bytes)
    if usage.exited:
        readings.put("process.exited", entity, True)
    if usage.seconds <= 0 or not usage.states:
        readings.lack("process.cpu_share", entity, "it ended before it could be watched")
        return
    looks = f"{sum(usage.states.values())} looks"
    values: dict[str, float | None] = {
        "process.cpu_share": _cpu_share(usage),
        "process.blocked_share": _blocked(usage),
        "process.major_faults_per_second": (usage.last.major_faults - usage.first.major_faults) / usage.seconds,
        "process.read_bytes_per_second": usage.rate("read_bytes"),
        "process.write_bytes_per_second": usage.rate("write_bytes"),
    }
    queued = usage.rate("queued_ns")
    values["process.cpu_queue_share"] = None if queued is None else min(1.0, queued / 1e9)
    for fact, value in values.items():
        if value is None:
            readings.lack(fact, entity, f"/proc/{usage.pid}/io or schedstat cannot be read by this user")
        else:
            readings.put(fact, entity, max(0.0, value), looks, window_seconds=usage.seconds)
    readings.put("process.state", entity, usage.states.most_common(1)[0][0], looks)


def _fold_gpus(tree: Tree, watcher: _Watcher, found: Roles, seen: Gathering, readings: Readings) -> None:
    """Notes how busy the GPUs of the job are, and whether the job has one open at all."""
    opened = [watcher.devices.get(one) for one in watcher.watch.usage]
    known = [one for one in opened if one is not None]
    used = sorted({name for one in known for name in one})
    present = any(one.id == "gpu.count" and one.value for one in seen.facts) or bool(_device_files(tree))
    if used:
        readings.put("job.device_is_cpu", JOB, False, f"it has {', '.join(used)} open")
    elif known and len(known) == len(opened) and present:
        with suppress(Unread):
            maps = "\n".join(tree.text(f"/proc/{one}/maps") for one in found.trainers)
            if "libtorch_cpu" in maps:
                text = "the machine has a GPU, and no process of the job has one open"
                readings.put("job.device_is_cpu", JOB, True, text)
    _fold_busy(seen.facts, set(watcher.watch.usage), bool(used), readings)


def _device_files(tree: Tree) -> list[str]:
    return [one for one in tree.names("/dev") if one.startswith("nvidia") and one[6:].isdigit()]


def _fold_busy(facts: Sequence[Fact], pids: set[int], opened: bool, readings: Readings) -> None:
    """The driver's utilisation is the share of time in which a kernel ran; of a shared GPU it is not this job's."""
    fact = "step.gpu_busy_share"
    busy = {one.entity: float(one.value) for one in facts if one.id == "gpu.utilization_share"}
    holders: dict[Entity, set[int]] = {}
    for one in facts:
        if one.id == "process.pid" and one.entity.parent is not None and one.entity.parent.kind == "gpu":
            holders.setdefault(one.entity.parent, set()).add(int(one.value))
    own = [gpu for gpu in busy if holders.get(gpu, set()) & pids]
    if not own and opened and len(busy) == 1 and len(next(iter(holders.values()), set())) <= 1:
        own = list(busy)  # ids of another namespace: the only GPU, and at most one process on it
    if not own:
        readings.lack(fact, JOB, "the driver names no GPU that the job has open")
    elif any(holders.get(gpu, set()) - pids for gpu in own if holders.get(gpu, set()) & pids):
        readings.lack(fact, JOB, "another process uses the same GPU, so that its load is not the job's alone")
    else:
        names = ", ".join(one.name for one in own)
        text = f"the driver's utilisation of GPU {names}, mean of {len(own)}"
        readings.put(fact, JOB, min(1.0, sum(busy[one] for one in own) / len(own)), text)
