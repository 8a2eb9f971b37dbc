"""Facts from stack samples: which share of its time the thread that trains spends in which phase, and at which line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpuwhy.kb.facts import HOST, JOB, Entity
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.stack_phases import RECOGNISED, LineText, Phase, fetches, is_worker, judge
from gpuwhy.probes.stack_samples import Samples, Stack

MIN_SAMPLES = 20
MIN_RECOGNISED_SHARE = 0.05
"""A thread that shows less of a framework than this is not the one that trains, or trains with one not known here."""

MAX_UNKNOWN_SHARE = 0.1
"""Waiting for something that is not known may be waiting for data: beyond this, small shares are not told."""

MAX_LOST_SHARE = 0.2
SITES = 3

_FACTS: Mapping[Phase, str] = {
    Phase.DATA: "step.data_wait_share",
    Phase.SYNC: "step.sync_share",
    Phase.CHECKPOINT: "step.checkpoint_share",
    Phase.LOGGING: "step.logging_share",
    Phase.OPTIMIZER: "step.optimizer_share",
    Phase.TRANSFER: "step.host_transfer_share",
    Phase.COMMUNICATION: "step.host_communication_share",
    Phase.BACKWARD: "step.host_backward_share",
    Phase.FORWARD: "step.host_forward_share",
    Phase.WAITING: "step.host_unknown_wait_share",
    Phase.OTHER: "step.host_other_share",
}
_SITES: Mapping[Phase, str] = {
    Phase.DATA: "step.data_wait_site",
    Phase.SYNC: "step.sync_site",
    Phase.LOGGING: "step.logging_site",
    Phase.OTHER: "step.host_other_site",
    Phase.WAITING: "step.host_unknown_wait_site",
}


@dataclass
class Thread:
    """What the main thread of one process was seen doing."""

    phases: Counter[Phase] = field(default_factory=Counter)
    sites: dict[Phase, Counter[str]] = field(default_factory=dict)
    fetched_here: int = 0

    def add(self, stack: Stack, text_of: LineText) -> None:
        found = judge(stack.frames, text_of)
        self.phases[found.phase] += stack.count
        self.sites.setdefault(found.phase, Counter())[found.site.place] += stack.count
        if fetches(stack.frames):
            self.fetched_here += stack.count

    @property
    def samples(self) -> int:
        """Samples after the start."""
        return sum(self.phases.values()) - self.phases[Phase.STARTUP]

    @property
    def recognised(self) -> int:
        """Samples in which a framework was seen at work."""
        return sum(self.phases[one] for one in RECOGNISED)


@dataclass(frozen=True)
class Window:
    """How long was watched, and when that ended, in seconds since the epoch."""

    seconds: float
    ended_at: float


@dataclass(frozen=True)
class Roles:
    """Which processes train, which load, by process id; and how long each worker was putting samples together."""

    trainers: tuple[int, ...]
    workers: Mapping[int, tuple[int, int]]
    threads: Mapping[int, Thread]


def roles(stacks: Sequence[Stack], pid: int, text_of: Callable[[int], LineText]) -> Roles:
    """Who trains: the process asked for, or where it only launches others, those below it that show a framework."""
    threads: dict[int, Thread] = {}
    workers: dict[int, list[int]] = {}
    for stack in stacks:
        if not stack.main:
            continue
        if is_worker(stack.frames):
            seen = workers.setdefault(stack.pid, [0, 0])
            seen[0] += stack.count if fetches(stack.frames) else 0
            seen[1] += stack.count
        else:
            threads.setdefault(stack.pid, Thread()).add(stack, text_of(stack.pid))
    for worker in workers:
        threads.pop(worker, None)
    able = [one for one, thread in threads.items() if _trains(thread)]
    trainers = (pid,) if pid in able or not able else tuple(sorted(able))
    return Roles(trainers, {one: (busy, whole) for one, (busy, whole) in workers.items()}, threads)


def _trains(thread: Thread) -> bool:
    return thread.recognised > 0 and thread.recognised >= MIN_RECOGNISED_SHARE * max(1, thread.samples)


def fold(samples: Samples, found: Roles, window: Window, readings: Readings) -> None:
    """Notes the shares of the threads that train, taken together."""
    threads = [found.threads[one] for one in found.trainers if one in found.threads]
    whole = sum(one.samples for one in threads)
    startup = sum(one.phases[Phase.STARTUP] for one in threads)
    problem = _problem(samples, threads, whole, startup)
    if startup > whole:
        readings.put("step.warmup_only", JOB, True, f"{startup} of {startup + whole} samples are in the start")
    if samples.lost_share is not None:
        readings.put("step.stack_lost_share", JOB, samples.lost_share, "stacks that changed while they were read")
    if problem is not None:
        for fact in _FACTS.values():
            readings.lack(fact, JOB, problem)
        return
    phases = sum((one.phases for one in threads), Counter[Phase]())
    text = f"of {len(threads)} main thread(s)"
    readings.put("step.stack_samples", JOB, whole, text, at=window.ended_at, window_seconds=window.seconds)
    readings.put("step.window_seconds", JOB, window.seconds, "watched from outside", at=window.ended_at)
    for phase, fact in _FACTS.items():
        _put_share(fact, phase, phases, whole, window, readings)
    for phase, fact in _SITES.items():
        sites = sum((one.sites.get(phase, Counter()) for one in threads), Counter[str]())
        if sites:
            listed = _listed(sites.most_common(SITES), whole)
            readings.put(fact, JOB, listed, at=window.ended_at, window_seconds=window.seconds)
    _fold_loading(found, threads, phases[Phase.DATA], readings)


def _problem(samples: Samples, threads: Sequence[Thread], whole: int, startup: int) -> str | None:
    """Why no shares can be told."""
    if samples.problem is not None:
        return samples.problem
    if not threads:
        return "no stack of a main thread was seen"
    if whole < MIN_SAMPLES:
        more = f", {startup} more in the start of the program" if startup else ""
        return f"only {whole} samples of the main thread{more}: watch for longer"
    if samples.lost_share is not None and samples.lost_share > MAX_LOST_SHARE:
        return f"{samples.lost_share:.0%} of the samples were lost: those left are not a fair picture"
    if not any(_trains(one) for one in threads):
        sites = sum((seen for one in threads for seen in one.sites.values()), Counter[str]())
        return f"no framework was seen on the main thread, which is at {_listed(sites.most_common(1), whole)}"
    return None


def _put_share(fact: str, phase: Phase, phases: Counter[Phase], whole: int, window: Window, readings: Readings) -> None:
    share, unknown = phases[phase] / whole, phases[Phase.WAITING] / whole
    if phase in (Phase.DATA, Phase.SYNC) and unknown > MAX_UNKNOWN_SHARE and share < unknown:
        readings.lack(
            fact, JOB, f"seen in {share:.0%}, but for {unknown:.0%} of the time it waits for something not known"
        )
        return
    margin = 1.96 * math.sqrt(max(share * (1 - share), 0.25 / whole) / whole)
    text = f"{phases[phase]} of {whole} samples, ±{margin:.1%}"
    readings.put(fact, JOB, share, text, at=window.ended_at, window_seconds=window.seconds)


def _listed(sites: Iterable[tuple[str, int]], whole: int) -> str:
    return ", ".join(f"{place} ({count / whole:.0%})" for place, count in sites)


def _fold_loading(found: Roles, threads: Sequence[Thread], waited: int, readings: Readings) -> None:
    """Notes whether samples are put together in the main process, and how busy the workers are with it."""
    fetched = sum(one.fetched_here for one in threads)
    if found.workers:
        count = len(found.workers) / max(1, len(found.trainers))
        readings.put("loader.workers", JOB, round(count), "worker processes seen, per process that trains")
        readings.put("loader.in_main_process", JOB, False, "worker processes were seen")
        shares = [busy / whole for busy, whole in found.workers.values() if whole]
        text = f"of {len(shares)} workers; the rest of the time they wait to be asked"
        readings.put("loader.worker_fetch_share", JOB, sum(shares) / len(shares), text)
    elif fetched:
        text = f"{fetched} samples of the main thread put a batch together"
        readings.put("loader.workers", JOB, 0, text)
        readings.put("loader.in_main_process", JOB, True, text)
    elif waited:
        readings.lack("loader.workers", JOB, "the main thread waits for data, and no worker process was seen")


def process(pid: int) -> Entity:
    """A process of this host."""
    return Entity("process", f"pid {pid}", HOST)
