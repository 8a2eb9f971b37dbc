"""A look at this machine, probe by probe: which run for which trouble, how far each is, what it found, and its end."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from pathlib import Path

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import Fact
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.kb.units import show
from gpuwhy.probes.gathering import Gathering
from gpuwhy.probes.nvml_glance import Glance
from gpuwhy.tui.incident.events import Looked
from gpuwhy.tui.incident.vitals import Recorder, to_text

TRITON_METRICS_PORT = 8002

Specs = Mapping[str, FactSpec]
Run = Callable[[float, Callable[[float], None], threading.Event, Specs], Gathering]


class Unavailable(Exception):
    """A probe has nothing to look at here; the text says why. It is no failure."""


class State(str, Enum):
    """How a probe stands."""

    RUNNING = "running"
    DONE = "done"
    UNAVAILABLE = "not available"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Probe:
    """One thing to look at. `gives` are the facts that tell best what it found.

    `needs` is a fact without which the rest is of little use: why it is missing is told first.
    """

    id: str
    title: str
    run: Run
    gives: tuple[tuple[str, str], ...]
    needs: str = ""


@dataclass(frozen=True)
class Step:
    """How far a probe is; `share` of 1, `found` in a few words."""

    id: str
    title: str
    state: State = State.RUNNING
    share: float = 0.0
    found: str = ""


def plan(symptom: str) -> tuple[Probe, ...]:
    """The probes that serve a trouble, those that cost nothing first."""
    return (GPUS, HOST, TRITON) if symptom == "serve" else (GPUS, HOST)


class Look:
    """Runs probes side by side over one window. `told` is called from their threads whenever one has moved."""

    def __init__(self, probes: tuple[Probe, ...], seconds: float, specs: Specs, told: Callable[[], None]) -> None:
        self._probes = {one.id: one for one in probes}
        self._seconds, self._specs, self._told = seconds, specs, told
        self._steps = {one.id: Step(one.id, one.title) for one in probes}
        self._stops: dict[str, threading.Event] = {}
        self._seen: dict[str, Gathering] = {}
        self._lock = threading.Lock()
        self._recorder, self._begun = Recorder(), time.monotonic()

    def start(self) -> None:
        """All of them begin."""
        for name in self._probes:
            self.retry(name)

    def retry(self, name: str) -> None:
        """One of them begins, or begins anew."""
        with self._lock:
            running = name in self._stops and self._steps[name].state is State.RUNNING
            if running:
                return
            stop = self._stops[name] = threading.Event()
            self._seen.pop(name, None)
            self._steps[name] = Step(name, self._probes[name].title)
        threading.Thread(target=self._run, args=(self._probes[name], stop), name=f"look {name}", daemon=True).start()

    def cancel(self, name: str) -> None:
        """One of them ends, and what it saw does not count."""
        with self._lock:
            if self._steps[name].state is not State.RUNNING:
                return
            self._steps[name] = replace(self._steps[name], state=State.CANCELLED)
        self._stops[name].set()
        self._told()

    def end(self) -> None:
        """All of them end, and what they saw counts."""
        for stop in list(self._stops.values()):
            stop.set()

    def glanced(self, glance: Glance) -> None:
        """Keeps the vital signs of a moment."""
        self._recorder.take(time.monotonic() - self._begun, glance)

    @property
    def steps(self) -> tuple[Step, ...]:
        """How far each is."""
        with self._lock:
            return tuple(self._steps.values())

    @property
    def over(self) -> bool:
        """True if none runs any more."""
        return all(one.state is not State.RUNNING for one in self.steps)

    def result(self) -> Looked | None:
        """What was seen, as an event; None if nothing was."""
        from gpuwhy.probes.live import joined

        seen = list(self._seen.values())
        if not seen:
            return None
        whole = seen[0]
        for one in seen[1:]:
            whole = joined(whole, one)
        return Looked(dump(whole.facts, whole.absent), whole.seconds, to_text(self._recorder.courses()))

    def _run(self, probe: Probe, stop: threading.Event) -> None:
        state, found, seen = State.DONE, "", None
        try:
            seen = probe.run(self._seconds, lambda share: self._moved(probe.id, stop, share), stop, self._specs)
            found = _found(probe, seen)
        except Unavailable as error:
            state, found = State.UNAVAILABLE, str(error)
        except Exception as error:  # noqa: BLE001 - the boundary of a probe: the others go on, and this one can be retried
            state, found = State.FAILED, f"{type(error).__name__}: {error}"[:200]
        with self._lock:
            current = self._stops.get(probe.id) is stop and self._steps[probe.id].state is not State.CANCELLED
            if current:
                self._steps[probe.id] = Step(probe.id, probe.title, state, 1.0, found)
                if seen is not None:
                    self._seen[probe.id] = seen
        if current:
            self._told()

    def _moved(self, name: str, stop: threading.Event, share: float) -> None:
        with self._lock:
            step = self._steps[name]
            current = self._stops.get(name) is stop and step.state is State.RUNNING
            if current:
                self._steps[name] = replace(step, share=share)
        if current and int(share * 20) != int(step.share * 20):
            self._told()


def _found(probe: Probe, seen: Gathering) -> str:
    """The few facts that tell most, of the first entity that has them; or why there are none."""
    first: dict[str, Fact] = {}
    for one in seen.facts:
        first.setdefault(one.id, one)
    missing = next((one.reason for one in seen.absent if one.id == probe.needs), "")
    if missing:
        return missing
    parts = [f"{words} {show(first[name].value, first[name].unit)}" for name, words in probe.gives if name in first]
    if parts:
        return " · ".join(parts[:4])
    reasons = list(dict.fromkeys(one.reason for one in seen.absent))
    return reasons[0] if reasons else f"{len(seen.facts)} fact{'' if len(seen.facts) == 1 else 's'}"


def _gpus(seconds: float, progress: Callable[[float], None], stop: threading.Event, specs: Specs) -> Gathering:
    from gpuwhy.probes.nvml_sampler import sample

    return sample(seconds, progress, stop, specs=specs)


def _host(seconds: float, progress: Callable[[float], None], stop: threading.Event, specs: Specs) -> Gathering:
    from gpuwhy.probes.host_topology import normal
    from gpuwhy.probes.host_watch import HostWatch
    from gpuwhy.probes.nvml_glance import bus_ids

    watch, begun = HostWatch(), time.monotonic()
    while not stop.is_set() and (passed := time.monotonic() - begun) < seconds:
        progress(passed / seconds)
        stop.wait(min(0.2, seconds - passed))
    watch.close()
    known = {normal(address): gpu for address, gpu in bus_ids().items()}
    return watch.fold(known).gathering(specs, watch.seconds, stop.is_set())


def job(pid: int, settings: bool) -> tuple[Probe, ...]:
    """The probes that watch a running job with its machine, and its settings where that is allowed."""
    watched = Probe("job", f"job {pid}", partial(_job, pid), GIVES_OF_A_JOB, needs="step.data_wait_share")
    return (watched, Probe("settings", "its settings", partial(_settings, pid), ())) if settings else (watched,)


def _job(pid: int, seconds: float, progress: Callable[[float], None], stop: threading.Event, specs: Specs) -> Gathering:
    from gpuwhy.probes import pid_watch

    try:
        return pid_watch.watch(pid, seconds, progress, stop, specs=specs)
    except pid_watch.NoProcess as error:
        raise Unavailable(str(error)) from None


def _settings(
    pid: int, _seconds: float, _progress: Callable[[float], None], _stop: threading.Event, specs: Specs
) -> Gathering:
    from gpuwhy.probes.process_environment import gathered, settings

    try:
        found = gathered(settings(Path("/proc"), pid), pid, specs)
    except OSError as error:
        raise Unavailable(f"its environment cannot be read: {error.strerror}") from None
    return Gathering(found.facts, found.absent)


def _triton(seconds: float, progress: Callable[[float], None], stop: threading.Event, specs: Specs) -> Gathering:
    from gpuwhy.probes.triton_http import address
    from gpuwhy.probes.triton_live import Target, look

    where = f"localhost:{TRITON_METRICS_PORT}"
    try:
        socket.create_connection(("127.0.0.1", TRITON_METRICS_PORT), timeout=1.0).close()
    except OSError as error:
        raise Unavailable(f"nothing answers at {where} ({error.strerror or error})") from None

    def moved(share: float) -> None:
        progress(share)
        if stop.is_set():
            raise KeyboardInterrupt  # as a person ends the same watch on the command line: what was seen is kept

    return look(Target(address(where, TRITON_METRICS_PORT, {})), seconds, specs, moved)


GIVES_OF_A_JOB = (
    ("step.data_wait_share", "waiting for data"),
    ("step.sync_share", "waiting for the GPU"),
    ("step.gpu_busy_share", "GPU busy"),
    ("host.cpu_busy_share", "CPUs busy"),
    ("step.stack_samples", "stack samples"),
)
GPUS = Probe(
    "gpus",
    "GPU readings",
    _gpus,
    (
        ("host.nvml_error", "the driver says"),
        ("gpu.utilization_share", "busy"),
        ("gpu.power_watts", "power"),
        ("gpu.temperature_celsius", "temperature"),
        ("gpu.link_width", "link width"),
    ),
)
HOST = Probe(
    "host",
    "host",
    _host,
    (
        ("host.effective_cpu_count", "CPUs"),
        ("host.cpu_busy_share", "busy"),
        ("host.cpu_iowait_share", "waiting for I/O"),
        ("host.memory_available_bytes", "memory left"),
    ),
)
TRITON = Probe(
    "triton",
    "Triton server",
    _triton,
    (
        ("serve.requests_per_second", "requests/s"),
        ("serve.queue_seconds", "queued"),
        ("serve.server_latency_seconds", "latency"),
    ),
)
