"""The gauges of a GPU: use, memory, power, heat, clocks and link, each at its own period.

Units and meanings: the comments of nvml.h. Utilisation is a share of time over the driver's own sample period of 1/6 s
to 1 s, so reading it faster than a few times a second gives repeats.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Answer, Code, Device, Nvml, reason
from gpuwhy.probes.nvml_signal import NOTHING_READ, Gauge, Series, Signal, Span, fold_gauge, scaled

BUSY_SHARE = 0.5
"""From this utilisation on clocks and link are judged (and only while the clocks are not idle)."""

MAX_AGE_SECONDS = 1.5
"""A utilisation reading older than this says nothing about now."""

MIN_LOADED = 2
"""One reading under load may fall into the moment in which clocks and link are still rising."""

_UNKNOWN_STATE = 32
_BUSY = scaled(per=100.0, highest=1.0)
_MEMORY_VERSION_2 = "nvmlMemory_v2"
_OLDER_MEMORY = frozenset({Code.FUNCTION_NOT_FOUND, Code.ARGUMENT_VERSION_MISMATCH, Code.UNKNOWN, Code.NOT_SUPPORTED})


class Load:
    """Whether the GPU is under load now, from its last utilisation and clock events."""

    def __init__(self) -> None:
        self._busy: tuple[float, float] | None = None
        self._idle = False
        self.code: int | None = None

    def saw_utilization(self, share: float | None, code: int | None) -> None:
        """Takes in a reading of utilisation, or why there was none."""
        if share is None:
            self.code = code
        else:
            self._busy = (time.monotonic(), share)

    def saw_idle(self, idle: bool) -> None:
        """Takes in whether clocks are idle."""
        self._idle = idle

    @property
    def known(self) -> bool:
        """True if utilisation could be read at all."""
        return self._busy is not None

    def now(self) -> bool:
        """True if the GPU is at work: busy half of the time or more, and its clocks are not idle."""
        if self._busy is None or self._idle:
            return False
        at, share = self._busy
        return share >= BUSY_SHARE and time.monotonic() - at <= MAX_AGE_SECONDS

    def why_not(self) -> str:
        """Why nothing can be said about the GPU under load."""
        if not self.known:
            return "the load is not known: utilisation " + (NOTHING_READ if self.code is None else reason(self.code))
        return "the GPU was not under load in the watched time"


class Utilization(Gauge):
    """Share of time with a kernel running, and with device memory read or written."""

    def __init__(self, nvml: Nvml, device: Device, load: Load) -> None:
        picks = (
            ("gpu.utilization_share", lambda rates: _BUSY(rates.gpu)),
            ("gpu.memory_utilization_share", lambda rates: _BUSY(rates.memory)),
        )
        super().__init__(nvml, device, ("nvmlDeviceGetUtilizationRates",), picks, period=0.25)
        self._load = load
        self._seen = 0

    def read(self) -> None:
        super().read()
        series = self._series["gpu.utilization_share"]
        fresh = len(series.values) > self._seen
        self._load.saw_utilization(series.values[-1] if fresh else None, series.code)
        self._seen = len(series.values)

    def clear(self) -> None:
        super().clear()
        self._seen = 0


class Memory(Signal):
    """Device memory. The newer question leaves the driver's own reserve out of `used`, as nvidia-smi does."""

    def __init__(self, nvml: Nvml, device: Device) -> None:
        super().__init__(nvml, device)
        self._prefix = device.entity.kind
        self._used, self._free = Series(), Series()
        self._total: float | None = None
        self._reserved: float | None = None

    def read(self) -> None:
        answer = self._ask()
        self._used.take(answer, float(answer.value.used) if answer.ok else None)
        self._free.take(answer, float(answer.value.free) if answer.ok else None)
        if answer.ok:
            self._total = float(answer.value.total)
            reserved = getattr(answer.value, "reserved", None)
            self._reserved = None if reserved is None else float(reserved)

    def _ask(self) -> Answer:
        names = ("nvmlDeviceGetMemoryInfo",)
        version = self.nvml.constant(_MEMORY_VERSION_2)
        if version is None:
            return self.nvml.of(self.device, names)
        answer = self.nvml.of(self.device, names, version)
        return self.nvml.of(self.device, names) if answer.code in _OLDER_MEMORY else answer

    def clear(self) -> None:
        self._used.clear()
        self._free.clear()

    def fold(self, readings: Readings, span: Span) -> None:
        entity, prefix = self.device.entity, self._prefix
        if not self._used.values or self._total is None:
            for part in ("total", "used", "free"):
                readings.lack(f"{prefix}.memory_{part}_bytes", entity, self._used.why_empty)
            return
        readings.put(f"{prefix}.memory_total_bytes", entity, self._total)
        fold_gauge(readings, span, f"{prefix}.memory_used_bytes", entity, self._used.values)
        fold_gauge(readings, span, f"{prefix}.memory_free_bytes", entity, self._free.values)
        if self._reserved is None:
            readings.lack(f"{prefix}.memory_reserved_bytes", entity, "this driver counts its reserve as used memory")
        else:
            readings.put(f"{prefix}.memory_reserved_bytes", entity, self._reserved)


Part = tuple[str, "str | None", Callable[[], Answer]]
"""A fact, the fact of its readings under load where there is one, and the question."""


class UnderLoad(Signal):
    """Gauges that mean something else at rest: all their readings, and apart from them those taken under load."""

    period = 0.5

    def __init__(self, nvml: Nvml, device: Device, load: Load, parts: tuple[Part, ...], whole: bool) -> None:
        super().__init__(nvml, device)
        self._load = load
        self._parts = parts
        self._whole = whole
        self._all = {fact: Series() for fact, _, _ in parts}
        self._loaded = {loaded: Series() for _, loaded, _ in parts if loaded is not None}
        self._moments = self._busy_moments = 0

    def read(self) -> None:
        busy = self._load.now()
        self._moments += 1
        self._busy_moments += busy
        for fact, loaded, ask in self._parts:
            answer = ask()
            value = float(answer.value) if answer.ok and answer.value > 0 else None
            self._all[fact].take(answer, value)
            if busy and loaded is not None:
                self._loaded[loaded].take(answer, value)

    def clear(self) -> None:
        for series in (*self._all.values(), *self._loaded.values()):
            series.clear()
        self._moments = self._busy_moments = 0

    def fold(self, readings: Readings, span: Span) -> None:
        for fact, loaded, _ in self._parts:
            series = self._all[fact]
            if series.values:
                fold_gauge(readings, span, fact, self.device.entity, series.values, self._whole)
            else:
                readings.lack(fact, self.device.entity, series.why_empty)
            if loaded is not None:
                self._fold_loaded(readings, span, loaded, series)

    def _fold_loaded(self, readings: Readings, span: Span, fact: str, every: Series) -> None:
        values = self._loaded[fact].values
        entity = self.device.entity
        if not every.values:
            readings.lack(fact, entity, every.why_empty)
        elif not values:
            readings.lack(fact, entity, self._load.why_not())
        elif len(values) < MIN_LOADED:
            readings.lack(fact, entity, "only one reading was taken under load; it may be of the moment of rising")
        else:
            middle = statistics.median_high(values)
            readings.put(
                fact,
                entity,
                int(middle) if self._whole else middle,
                f"median of {len(values)} readings under load",
                at=span.ended_at,
                window_seconds=span.seconds,
            )


class Clocks(UnderLoad):
    """Clocks, and how often they were read under load."""

    def __init__(self, nvml: Nvml, device: Device, load: Load) -> None:
        clock = "nvmlDeviceGetClockInfo"
        parts: tuple[Part, ...] = (
            ("gpu.sm_clock_megahertz", "gpu.sm_clock_loaded_megahertz", lambda: nvml.of(device, (clock,), 1)),
            ("gpu.graphics_clock_megahertz", None, lambda: nvml.of(device, (clock,), 0)),
            ("gpu.memory_clock_megahertz", None, lambda: nvml.of(device, (clock,), 2)),
            ("gpu.video_clock_megahertz", None, lambda: nvml.of(device, (clock,), 3)),
        )
        super().__init__(nvml, device, load, parts, whole=False)

    def fold(self, readings: Readings, span: Span) -> None:
        super().fold(readings, span)
        entity = self.device.entity
        if not self._load.known or not self._moments:
            readings.lack("gpu.loaded_sample_share", entity, self._load.why_not())
            return
        share = self._busy_moments / self._moments
        text = f"{self._busy_moments} of {self._moments} readings"
        readings.put("gpu.loaded_sample_share", entity, share, text, at=span.ended_at, window_seconds=span.seconds)
        readings.put("gpu.loaded_sample_count", entity, self._busy_moments, at=span.ended_at)


class Link(UnderLoad):
    """The PCIe link, which runs slower at rest to save power."""

    def __init__(self, nvml: Nvml, device: Device, load: Load) -> None:
        generation, width = ("nvmlDeviceGetCurrPcieLinkGeneration",), ("nvmlDeviceGetCurrPcieLinkWidth",)
        parts: tuple[Part, ...] = (
            ("gpu.link_generation", "gpu.link_generation_loaded", lambda: nvml.of(device, generation)),
            ("gpu.link_width", "gpu.link_width_loaded", lambda: nvml.of(device, width)),
        )
        super().__init__(nvml, device, load, parts, whole=True)


def _state(value: Any) -> float | None:
    return None if value == _UNKNOWN_STATE else float(value)


def gauges(nvml: Nvml, device: Device, load: Load) -> Iterator[Signal]:
    """All gauges of a GPU."""

    yield Utilization(nvml, device, load)
    yield Memory(nvml, device)
    yield Clocks(nvml, device, load)
    yield Link(nvml, device, load)

    def one(fact: str, names: tuple[str, ...], pick: Any, period: float, *arguments: Any, whole: bool = False) -> Gauge:
        return Gauge(nvml, device, names, ((fact, pick),), arguments, period, whole)

    yield one("gpu.power_watts", ("nvmlDeviceGetPowerUsage",), scaled(per=1000.0), 0.5)
    yield one("gpu.performance_state", ("nvmlDeviceGetPerformanceState",), _state, 0.5, whole=True)
    temperature = ("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature")
    yield one("gpu.temperature_celsius", temperature, scaled(lowest=-50.0, highest=200.0), 1.0, 0)
    margin = ("nvmlDeviceGetMarginTemperature",)
    yield one("gpu.temperature_margin_celsius", margin, scaled(lowest=-200.0, highest=200.0), 1.0)
    yield one("gpu.fan_share", ("nvmlDeviceGetFanSpeed",), scaled(per=100.0, highest=2.0), 5.0)
    for fact, name in (
        ("gpu.encoder_share", "nvmlDeviceGetEncoderUtilization"),
        ("gpu.decoder_share", "nvmlDeviceGetDecoderUtilization"),
        ("gpu.jpeg_share", "nvmlDeviceGetJpgUtilization"),
        ("gpu.optical_flow_share", "nvmlDeviceGetOfaUtilization"),
    ):
        yield one(fact, (name,), lambda pair: _BUSY(pair[0]), 1.0)
