"""Watches the GPUs of this host through NVML for a while, and says what was seen as facts.

One thread asks the driver, each signal at its own period and never so often that asking takes most of the time. A
call may hang in the kernel: the caller waits no longer than `GRACE_SECONDS` beyond the time asked for, and reports what
there is.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from gpuwhy.kb.facts import HOST
from gpuwhy.kb.model import FactSpec
from gpuwhy.probes.gathering import Gathering, Readings
from gpuwhy.probes.nvml_access import Device, Nvml, load_binding, reason
from gpuwhy.probes.nvml_clock_events import ClockEvents
from gpuwhy.probes.nvml_events import XidEvents
from gpuwhy.probes.nvml_fields import Fields, number_of, throughput
from gpuwhy.probes.nvml_gauges import Load, gauges
from gpuwhy.probes.nvml_gpm import Gpm
from gpuwhy.probes.nvml_host import note_binding, note_failure, open_devices, read_host
from gpuwhy.probes.nvml_nvlink import NvLinks
from gpuwhy.probes.nvml_partitions import find_slices, read_slice, slice_signals
from gpuwhy.probes.nvml_processes import Processes
from gpuwhy.probes.nvml_signal import Signal, Span
from gpuwhy.probes.nvml_state import read_health, read_identity, read_standing

SOURCE = "nvml"

WARM_UP_SHARE = 0.1
MAX_WARM_UP_SECONDS = 3.0
"""The first tenth of the time is not counted: waking the driver up shows in its readings."""

REST = 4.0
"""A signal rests at least this many times as long as its last reading took."""

GRACE_SECONDS = 60.0
"""How much longer than asked for the driver may take; its first start without the persistence daemon is slow."""

_TICK_SECONDS = 0.1
_UTILIZATION_SAMPLES = 1
"""NVML_GPU_UTILIZATION_SAMPLES"""


def sample(
    seconds: float,
    progress: Callable[[float], None] | None = None,
    stop: threading.Event | None = None,
    *,
    specs: Mapping[str, FactSpec] | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> Gathering:
    """Facts about all GPUs, watched for so many seconds, in the vocabulary `specs` (by default the shipped one).

    `progress` is called from this thread with the share of the time that has passed. Setting `stop`, or Ctrl-C, ends
    the watch early; what was seen is given. Whatever the driver does is a fact or an absent reading, no exception.
    """
    if specs is None:
        from gpuwhy.kb.load import load

        specs = load().facts
    readings = Readings(SOURCE)
    binding = load_binding()
    note_binding(binding, readings)
    if binding.module is None:
        return readings.gathering(specs, 0.0, False)
    watch = _Watch(Nvml(binding.module), readings, seconds, stop or threading.Event())
    interrupted = _run(watch, seconds, progress, grace_seconds)
    watch.fold()
    return readings.gathering(specs, watch.watched_seconds, interrupted)


def _run(watch: _Watch, seconds: float, progress: Callable[[float], None] | None, grace: float) -> bool:
    """Runs the watch in a thread of its own. True if it was interrupted."""
    thread = threading.Thread(target=watch.run, name="nvml", daemon=True)
    interrupted = False
    deadline = time.monotonic() + seconds + grace
    thread.start()
    while True:
        try:
            _wait(watch, deadline, progress)
            break
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            watch.stop.set()
            deadline = min(deadline, time.monotonic() + grace)
    if watch.failure is not None:
        raise watch.failure
    return interrupted or watch.ended_early


def _wait(watch: _Watch, deadline: float, progress: Callable[[float], None] | None) -> None:
    """Waits for the end of the watch. One that has not ended at `deadline` is noted: a call of the driver hangs."""
    while not watch.ended.is_set():
        watch.running.acquire(timeout=_TICK_SECONDS)
        if progress is not None:
            progress(watch.progress)
        if time.monotonic() > deadline:
            watch.note_hang()
            return


def signals_of(nvml: Nvml, device: Device, readings: Readings) -> list[Signal]:
    """The signals of a GPU and of its slices; notes on the way what they are and how they are."""
    read_identity(nvml, device, readings)
    read_health(nvml, device, readings)
    slices = find_slices(nvml, device, readings)
    load = Load()
    fields = Fields(nvml, device)
    signals = [ClockEvents(nvml, device, load), *gauges(nvml, device, load), fields, *throughput(nvml, device, fields)]
    signals += [Processes(nvml, device, slices), NvLinks(nvml, device), Gpm(nvml, device)]
    for part in slices:
        read_slice(nvml, part, readings)
        signals += slice_signals(nvml, device, part, readings)
    return signals


def poll(
    polled: Sequence[Signal | XidEvents], until: float, stop: threading.Event, devices: int, early: float = 0.0
) -> bool:
    """Reads each signal at its period until the moment `until` on the monotonic clock. False if `stop` was set.

    What is due within `early` seconds is read together with what is due now: waking up costs more than a reading.
    """
    begin = time.monotonic()
    due = [(begin + one.period, place) for place, one in enumerate(polled)]
    heapq.heapify(due)
    while not stop.is_set():
        now = time.monotonic()
        if now >= until:
            return True
        at, place = due[0]
        if at > now + early:
            stop.wait(min(at, until) - now)
            continue
        polled[place].read()
        took = time.monotonic() - now
        rest = max(polled[place].period, took * REST * devices)
        heapq.heapreplace(due, (max(now, at) + rest, place))
    return False


class _Watch:
    """One watch: the thread that asks runs `run`; after it has ended, or hangs, `fold` gives what was seen."""

    def __init__(self, nvml: Nvml, readings: Readings, seconds: float, stop: threading.Event) -> None:
        self._nvml = nvml
        self._readings = readings
        self._seconds = seconds
        self._devices: list[Device] = []
        self._signals: list[Signal] = []
        self._xids: XidEvents | None = None
        self._opened: float | None = None
        self._opened_at = 0.0
        self._closed: float | None = None
        self._closed_at = 0.0
        self._started = time.monotonic()
        self.stop = stop
        self.ended = threading.Event()
        # held until the end: to wait for an event is Python code, which keeps the lock of the event where it is
        # interrupted at the wrong moment, and then the end could never be told
        self.running = threading.Lock()
        self.running.acquire()
        self.failure: BaseException | None = None
        self.ended_early = False

    @property
    def progress(self) -> float:
        """The share of the time that has passed."""
        return min(1.0, (time.monotonic() - self._started) / self._seconds) if self._seconds else 1.0

    @property
    def watched_seconds(self) -> float:
        """The length of the window."""
        if self._opened is None:
            return 0.0
        return (time.monotonic() if self._closed is None else self._closed) - self._opened

    def run(self) -> None:
        """Asks until the time is over or `stop` is set."""
        try:
            if self._open():
                self._watch()
                self._close()
            self._nvml.end()
        except BaseException as failure:  # noqa: BLE001 - a defect: it is raised again in the thread that asked
            self.failure = failure
        finally:
            self.ended.set()
            self.running.release()

    def _open(self) -> bool:
        started = self._nvml.start()
        if not started.ok:
            note_failure(started.code or 0, self._readings)
            return False
        read_host(self._nvml, self._readings)
        self._devices = open_devices(self._nvml, self._readings)
        for device in self._devices:
            self._signals += signals_of(self._nvml, device, self._readings)
        if self._devices:
            self._xids = XidEvents(self._nvml, self._devices)
        self._started = time.monotonic()
        return bool(self._devices)

    def _watch(self) -> None:
        warm_up = min(self._seconds * WARM_UP_SHARE, MAX_WARM_UP_SECONDS)
        self._poll(self._started + warm_up)
        self._opened, self._opened_at = time.monotonic(), time.time()
        for signal in self._signals:
            signal.open()
        self._poll(self._started + self._seconds)

    def _poll(self, until: float) -> None:
        polled: list[Signal | XidEvents] = [*self._signals, *([] if self._xids is None else [self._xids])]
        self.ended_early = not poll(polled, until, self.stop, len(self._devices)) or self.ended_early

    def _close(self) -> None:
        for signal in self._signals:
            signal.close()
        self._closed, self._closed_at = time.monotonic(), time.time()
        for device in self._devices:
            read_health(self._nvml, device, self._readings)
            self._read_buffer(device)
        if self._xids is not None:
            self._xids.close()

    def _read_buffer(self, device: Device) -> None:
        """Mean utilisation from the driver's own samples, which are closer together than any polling."""
        since = int(self._opened_at * 1e6)
        answer = self._nvml.of(device, ("nvmlDeviceGetSamples",), _UTILIZATION_SAMPLES, since)
        if not answer.ok:
            why = reason(answer.code or 0)
            self._readings.lack("gpu.utilization_mean_share", device.entity, why)
            return
        value_type, samples = answer.value
        numbers = [number_of(int(value_type), one.sampleValue) for one in samples if int(one.timeStamp) > since]
        shares = [one / 100 for one in numbers if one is not None and 0 <= one <= 100]
        if shares:
            text = f"mean of the driver's own {len(shares)} samples"
            mean = sum(shares) / len(shares)
            seconds = self.watched_seconds
            self._readings.put("gpu.utilization_mean_share", device.entity, mean, text, window_seconds=seconds)

    def note_hang(self) -> None:
        """Notes that the driver does not come back from a question."""
        asking = self._nvml.asking
        name, entity = asking if asking is not None else ("a question", None)
        text = f"the driver does not come back from {name}"
        if self._xids is not None:
            self._xids.abandon()
        if entity is None or entity.kind == "host":
            self._readings.put("host.nvml_error", HOST, "no-answer", text)
        else:
            while entity.kind != "gpu" and entity.parent is not None:
                entity = entity.parent
            self._readings.put("gpu.nvml_error", entity, "no-answer", text)

    def fold(self) -> None:
        """Notes what the signals saw. Asks the driver nothing."""
        if self._opened is None:
            return
        for signal in self._signals:
            signal.fold(self._readings, self._span(signal.device))
        whole = Span(self.watched_seconds, self._closed_at or time.time())
        if self._xids is not None:
            self._xids.fold(self._readings, whole)
        for device in self._devices:
            span = self._span(device)
            self._readings.put(
                "gpu.watched_seconds", device.entity, span.seconds, at=span.ended_at, window_seconds=span.seconds
            )
            if self._closed is not None:
                read_standing(device, self._readings)

    def _span(self, device: Device) -> Span:
        """The window of a device: one that stopped answering was watched until then."""
        assert self._opened is not None
        end = time.monotonic() if self._closed is None else self._closed
        stopped = device.stopped_at
        if stopped is not None and stopped < end:
            end = max(stopped, self._opened)
        return Span(end - self._opened, self._opened_at + end - self._opened)
