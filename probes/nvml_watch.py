"""Watches the GPUs for hours: window after window of facts, at a rate that a busy machine does not feel.

One thread asks the driver. A GPU that stops answering is a fact like any other; now and then all GPUs are opened anew,
so that one that was reset is seen again. A call may hang in the kernel: then no window comes, and `asking` says which.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping

from gpuwhy.kb.facts import Entity, Fact
from gpuwhy.kb.model import FactSpec
from gpuwhy.probes.gathering import Gathering, Readings
from gpuwhy.probes.host_topology import normal
from gpuwhy.probes.host_watch import HostWatch
from gpuwhy.probes.nvml_access import Device, Nvml, load_binding
from gpuwhy.probes.nvml_events import XidEvents
from gpuwhy.probes.nvml_host import note_binding, note_failure, open_devices, read_host
from gpuwhy.probes.nvml_sampler import SOURCE, poll, signals_of
from gpuwhy.probes.nvml_signal import Signal, Span
from gpuwhy.probes.nvml_state import read_health, read_standing

GENTLE = 10.0
"""Signals are read this many times more seldom than in a short look."""

STEP_SECONDS = 0.5
MAX_PERIOD_SECONDS = 5.0
EARLY_SECONDS = 0.2
"""Signals due within so long are read together."""

REST_SECONDS = 60.0
"""A signal that said nothing in a window (most are not supported) is asked again after so long."""

HEALTH_SECONDS = 60.0
"""Counters of errors of memory are asked for this often; they cost many calls."""

HOST_SECONDS = 30.0
"""The host is looked at over windows at least this long."""

REOPEN_SECONDS = 60.0
"""So long after a GPU stopped answering all are opened anew."""

XID_SECONDS = 300.0
"""An Xid is told so long, and then forgotten: what it said may be over."""

_WAITING = 2
"""Windows that wait to be taken; an older one is dropped for a newer one."""


def gentle(period: float) -> float:
    """The period of a signal here: whole steps, so that many signals are read at the same moment."""
    return STEP_SECONDS * max(1, int(min(period * GENTLE, MAX_PERIOD_SECONDS) / STEP_SECONDS))


class GpuWatch:
    """Windows of facts from a thread of its own. `start`, then `take` again and again, then `stop`."""

    def __init__(self, every_seconds: float, specs: Mapping[str, FactSpec], host: bool = True) -> None:
        self._every = every_seconds
        self._specs = specs
        self._stop = threading.Event()
        self._windows: queue.Queue[Gathering | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._run, name="nvml-watch", daemon=True)
        self._source = _Source(every_seconds, specs, self._stop, host)
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Begins to watch."""
        self._thread.start()

    def take(self, seconds: float) -> Gathering | None:
        """The next window; None if none came within so many seconds, or the watch has ended."""
        try:
            found = self._windows.get(timeout=seconds)
        except queue.Empty:
            found = None
        if self._failure is not None:
            raise self._failure
        return found

    @property
    def ended(self) -> bool:
        """True if no more window comes: it was stopped, or no GPU could be opened."""
        return not self._thread.is_alive() and self._windows.empty()

    @property
    def asking(self) -> tuple[str, Entity | None] | None:
        """The question that the driver has not answered yet, and about what."""
        return self._source.asking

    def stop(self, seconds: float = 2.0) -> None:
        """Ends the watch, waiting so long for the driver to answer its last question."""
        self._stop.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            while True:
                window = self._source.window()
                if window is not None:
                    self._put(window)
                if window is None or self._stop.is_set() or not self._source.opened:
                    break
            self._source.end()
        except BaseException as failure:  # noqa: BLE001 - a defect: it is raised again in the thread that takes
            self._failure = failure

    def _put(self, window: Gathering) -> None:
        while True:
            try:
                self._windows.put_nowait(window)
                return
            except queue.Full:
                try:
                    self._windows.get_nowait()
                except queue.Empty:
                    continue


class _Source:
    """Opens the driver and gives one window after another; runs in one thread."""

    def __init__(self, every: float, specs: Mapping[str, FactSpec], stop: threading.Event, host: bool) -> None:
        self._every = every
        self._specs = specs
        self._stop = stop
        self._nvml: Nvml | None = None
        self._standing = Readings(SOURCE)
        self._still = Gathering()
        self._devices: list[Device] = []
        self._signals: list[Signal] = []
        self._xids: XidEvents | None = None
        self._xid_facts: dict[Entity, tuple[float, list[Fact]]] = {}
        self._health_at = 0.0
        self._opened_at = 0.0
        self._active: list[Signal] = []
        self._rolling: set[Signal] = set()
        self._rests_until: dict[Signal, float] = {}
        self._host = HostWatch() if host else None
        self._host_began = time.monotonic()
        self._host_seen = Gathering()
        self._addresses: dict[str, Entity] = {}

    @property
    def opened(self) -> bool:
        """True if there is a GPU to watch."""
        return bool(self._devices)

    @property
    def asking(self) -> tuple[str, Entity | None] | None:
        """The question that is not answered yet."""
        return None if self._nvml is None else self._nvml.asking

    def window(self) -> Gathering | None:
        """The facts of the next window; None if the watch was stopped before one was over."""
        self._open()
        if not self._devices:
            return self._still
        began = time.monotonic()
        self._active = [one for one in self._signals if self._rests_until.get(one, 0.0) <= began]
        for signal in self._active:
            if signal in self._rolling:
                signal.roll()
            else:
                signal.open()
        self._rolling = set(self._active)
        polled: list[Signal | XidEvents] = [*self._active, *([] if self._xids is None else [self._xids])]
        whole = poll(polled, began + self._every, self._stop, len(self._devices), EARLY_SECONDS)
        if not whole:
            return None
        for signal in self._active:
            signal.close()
        return self._fold(began, time.monotonic())

    def end(self) -> None:
        """Closes the driver."""
        if self._xids is not None:
            self._xids.close()
        if self._nvml is not None:
            self._nvml.end()

    def _open(self) -> None:
        """Opens the driver: at first, and anew some time after a GPU stopped answering."""
        now = time.monotonic()
        broken = any(one.stopped is not None for one in self._devices)
        if self._nvml is not None and not (broken and now - self._opened_at >= REOPEN_SECONDS):
            return
        self.end()
        self._opened_at = self._health_at = now
        self._nvml, self._xids = None, None
        known = len(self._devices)
        devices, signals, standing = self._opened_anew()
        if known and not devices:
            return  # the driver refuses as a whole; those that answered before are asked again
        self._devices, self._signals, self._standing = devices, signals, standing
        self._rolling, self._rests_until = set(), {}
        self._still = standing.gathering(self._specs, 0.0, False, reasons=False)
        self._addresses = {
            normal(str(address)): one.entity
            for one in devices
            if (address := standing.get("gpu.bus_id", one.entity)) is not None
        }

    def _opened_anew(self) -> tuple[list[Device], list[Signal], Readings]:
        standing = Readings(SOURCE)
        binding = load_binding()
        note_binding(binding, standing)
        if binding.module is None:
            return [], [], standing
        nvml = self._nvml = Nvml(binding.module)
        started = nvml.start()
        if not started.ok:
            note_failure(started.code or 0, standing)
            return [], [], standing
        read_host(nvml, standing)
        devices = open_devices(nvml, standing)
        signals = [one for device in devices for one in signals_of(nvml, device, standing)]
        for signal in signals:
            signal.period = gentle(signal.period)
        if devices:
            self._xids = XidEvents(nvml, devices)
            self._xids.period = gentle(XidEvents.period)
        return devices, signals, standing

    def _fold(self, began: float, ended: float) -> Gathering:
        assert self._nvml is not None
        readings = Readings(SOURCE, reasons=False)
        if ended - self._health_at >= HEALTH_SECONDS:
            self._health_at = ended
            for device in self._devices:
                read_health(self._nvml, device, self._standing)
            self._still = self._standing.gathering(self._specs, 0.0, False, reasons=False)
        at = time.time()
        for signal in self._active:
            known = len(readings)
            signal.fold(readings, _span(signal.device, began, ended, at))
            if len(readings) == known:
                self._rests_until[signal] = ended + REST_SECONDS
        for device in self._devices:
            span = _span(device, began, ended, at)
            readings.put("gpu.watched_seconds", device.entity, span.seconds, at=at, window_seconds=span.seconds)
            read_standing(device, readings)
        if self._xids is not None:
            self._xids.fold(readings, Span(ended - began, at))
            self._xids.clear()
        seen = self._with_xids(readings.gathering(self._specs, ended - began, False, reasons=False), ended)
        return _overlaid(self._host_now(ended), self._still, seen)

    def _with_xids(self, seen: Gathering, now: float) -> Gathering:
        """The window with the last Xid of each GPU, while it is not long ago."""
        fresh: dict[Entity, list[Fact]] = {}
        for one in seen.facts:
            if one.id.startswith("gpu.xid_event"):
                fresh.setdefault(one.entity, []).append(one)
        for entity, facts in fresh.items():
            if any(one.id == "gpu.xid_event_first" for one in facts):
                self._xid_facts[entity] = (now, facts)
        self._xid_facts = {one: kept for one, kept in self._xid_facts.items() if now - kept[0] <= XID_SECONDS}
        kept = Gathering(tuple(fact for _, facts in self._xid_facts.values() for fact in facts))
        return _overlaid(seen, kept) if kept.facts else seen

    def _host_now(self, now: float) -> Gathering:
        """What the host showed over its last window, which may be longer than that of the GPUs."""
        if self._host is None:
            return Gathering()
        if now - self._host_began >= min(HOST_SECONDS, 6 * self._every) or not self._host_seen.facts:
            self._host.close()
            self._host_seen = self._host.fold(self._addresses).gathering(
                self._specs, self._host.seconds, False, reasons=False
            )
            self._host = HostWatch()
            self._host_began = now
        return self._host_seen


def _overlaid(*parts: Gathering) -> Gathering:
    """All facts as one window; of two readings of one thing the later part has the better one."""
    facts = {(one.id, one.entity): one for part in parts for one in part.facts}
    return Gathering(tuple(facts.values()), (), parts[-1].seconds)


def _span(device: Device, began: float, ended: float, at: float) -> Span:
    """The window of a device: one that stopped answering was watched until then."""
    stopped = device.stopped_at
    end = ended if stopped is None or stopped >= ended else max(stopped, began)
    return Span(end - began, at - (ended - end))
