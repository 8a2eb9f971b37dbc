"""Counters of the driver, read as field values: shares of time that clocks were cut, energy, traffic and errors.

A counter is read when the window opens, now and then, and when it closes; what it says is the sum of its rises over the
time in which it rose. It may wrap or be reset: a fall is left out together with its time. Field ids: nvml.h.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from gpuwhy.kb.facts import Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Code, Device, Nvml, reason
from gpuwhy.probes.nvml_signal import NOTHING_READ, Gauge, Signal, Span, fold_gauge, scaled

TRANSMIT, RECEIVE = 197, 198
ENERGY, REPLAYS, MEMORY_TEMPERATURE, RECOVERY = 83, 94, 82, 230

SHARES = {
    74: "gpu.power_violation_share",
    75: "gpu.thermal_violation_share",
    76: "gpu.sync_boost_violation_share",
    77: "gpu.board_limit_violation_share",
    78: "gpu.low_utilization_violation_share",
    79: "gpu.reliability_violation_share",
    80: "gpu.application_clocks_violation_share",
    81: "gpu.base_clocks_violation_share",
    269: "gpu.software_thermal_violation_share",
    270: "gpu.hardware_thermal_violation_share",
    271: "gpu.hardware_power_brake_violation_share",
}
"""Counters of nanoseconds in which clocks were cut."""

_TOTALS = {
    74: "gpu.event_software_power_cap_seconds",
    76: "gpu.event_sync_boost_seconds",
    269: "gpu.event_software_thermal_slowdown_seconds",
    270: "gpu.event_hardware_thermal_slowdown_seconds",
    271: "gpu.event_hardware_power_brake_seconds",
}
"""The same counters since the driver was loaded."""

_RATES = {
    ENERGY: ("gpu.power_mean_watts", 1e-3),
    TRANSMIT: ("gpu.link_transmit_bytes_per_second", 1.0),
    RECEIVE: ("gpu.link_receive_bytes_per_second", 1.0),
    REPLAYS: ("gpu.link_replays_per_second", 1.0),
}
_COUNTS = {
    REPLAYS: "gpu.link_replays",
    95: "gpu.link_replay_rollovers",
    169: "gpu.link_recoveries",
    173: "gpu.link_correctable_errors",
    174: "gpu.link_naks_received",
    175: "gpu.link_receiver_errors",
    176: "gpu.link_bad_tlps",
    177: "gpu.link_naks_sent",
    178: "gpu.link_bad_dllps",
    179: "gpu.link_nonfatal_errors",
    180: "gpu.link_fatal_errors",
    181: "gpu.link_unsupported_requests",
    182: "gpu.link_lcrc_errors",
    183: "gpu.link_lane_errors",
    301: "gpu.remapped_rows_correctable_inactive",
    302: "gpu.remapped_rows_uncorrectable_inactive",
}
_MARGINS = {
    193: "gpu.temperature_margin_shutdown_celsius",
    194: "gpu.temperature_margin_slowdown_celsius",
    196: "gpu.temperature_margin_max_operating_celsius",
}
_ACTIONS = ("none", "reset", "reboot", "drain-p2p", "drain-and-reset")

ALL_FIELDS = (*SHARES, *_RATES, *_COUNTS, *_MARGINS, MEMORY_TEMPERATURE, RECOVERY)

_POLICIES = {74: 0, 75: 1, 76: 2, 77: 3, 78: 4, 79: 5, 80: 10, 81: 11}
"""The older question about the same time (nvmlDeviceGetViolationStatus): its policy for a field id."""

MAX_SHARE = 1.05
"""A counter of time that runs faster than time, beyond the jitter of its time stamps, is not what it says it is."""

MIN_SECONDS = 0.1
"""Over a shorter time the jitter of the time stamps is as large as the rise."""

_MEMBERS = MappingProxyType({0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"})


@dataclass(frozen=True)
class FieldValue:
    """One field that the driver answered: when (seconds since the epoch), and its value."""

    at: float
    value: float


def read_fields(nvml: Nvml, device: Device, fields: Iterable[int | tuple[int, int]]) -> dict[Any, FieldValue | int]:
    """Field values by id or (id, scope); where one was not answered, its return code."""
    asked = list(dict.fromkeys(fields))
    answer = nvml.of(device, ("nvmlDeviceGetFieldValues",), asked)
    if not answer.ok:
        code = int(Code.NOT_SUPPORTED if answer.code is None else answer.code)
        return dict.fromkeys(asked, code)
    now = time.time()
    return {one: _field(value, now) for one, value in zip(asked, answer.value, strict=False)}


def _field(one: Any, now: float) -> FieldValue | int:
    if one.nvmlReturn != Code.SUCCESS:
        return int(one.nvmlReturn)
    number = number_of(int(one.valueType), one.value)
    if number is None:
        return int(Code.ARGUMENT_VERSION_MISMATCH)
    stamp = int(one.timestamp)
    return FieldValue(stamp / 1e6 if stamp > 0 else now, number)


def number_of(value_type: int, union: Any) -> float | None:
    """The number in a union of NVML, which only its type tells how to read; None for a type that is not known."""
    member = _MEMBERS.get(value_type)
    return None if member is None else float(getattr(union, member))


@dataclass
class Counter:
    """A counter over the window: how much it rose, over how long, and its latest value."""

    rise: float = 0.0
    seconds: float = 0.0
    last: FieldValue | None = None
    code: int | None = None
    _before: FieldValue | None = None

    def take(self, answer: FieldValue | int) -> None:
        """Takes in one reading, or why there was none. Falls, and readings that are not newer, add nothing."""
        if isinstance(answer, int):
            self.code = answer
            return
        before, self._before, self.last = self._before, answer, answer
        if before is None:
            return
        rise, seconds = answer.value - before.value, answer.at - before.at
        if rise >= 0 and seconds > 0:
            self.rise += rise
            self.seconds += seconds
        elif rise >= 0:
            self._before = before

    def restart(self) -> None:
        """The window opens: what rose before does not count."""
        self.rise = self.seconds = 0.0
        self._before = None

    def roll(self) -> None:
        """The next window opens: it begins with the last reading."""
        self.rise = self.seconds = 0.0

    @property
    def rate(self) -> float | None:
        """Rise per second; None without two readings far enough apart."""
        return self.rise / self.seconds if self.seconds >= MIN_SECONDS else None

    @property
    def why_empty(self) -> str:
        """Why there is no rate."""
        if self.last is not None:
            return "the counter was not read twice, far enough apart, in the watched time"
        return NOTHING_READ if self.code is None else reason(self.code)


class Fields(Signal):
    """The counters of a GPU, with the older questions where the driver does not know a field."""

    def __init__(self, nvml: Nvml, device: Device) -> None:
        super().__init__(nvml, device)
        self._counters = {one: Counter() for one in ALL_FIELDS}
        self._memory: list[float] = []
        self._without_older: set[int] = set()
        self.read()

    def answers(self, one: int) -> bool:
        """True if the driver has answered this field."""
        return self._counters[one].last is not None

    def read(self) -> None:
        for one, answer in read_fields(self.nvml, self.device, ALL_FIELDS).items():
            if isinstance(answer, int) and one not in self._without_older:
                answer = self._older(one, answer)
                if isinstance(answer, int):
                    self._without_older.add(one)
            if isinstance(answer, FieldValue) and one == MEMORY_TEMPERATURE and answer.value > 0:
                self._memory.append(answer.value)
            self._counters[one].take(answer)

    def _older(self, one: int, code: int) -> FieldValue | int:
        """The answer to the older question about the same counter."""
        if one in _POLICIES:
            answer = self.nvml.of(self.device, ("nvmlDeviceGetViolationStatus",), _POLICIES[one])
            if answer.ok:
                return FieldValue(time.time(), float(answer.value.violationTime))
        elif one in (ENERGY, REPLAYS):
            name = "nvmlDeviceGetTotalEnergyConsumption" if one == ENERGY else "nvmlDeviceGetPcieReplayCounter"
            answer = self.nvml.of(self.device, (name,))
            if answer.ok:
                return FieldValue(time.time(), float(answer.value))
        return code

    def clear(self) -> None:
        for counter in self._counters.values():
            counter.restart()
        self._memory.clear()

    def roll(self) -> None:
        for counter in self._counters.values():
            counter.roll()
        self._memory.clear()

    def close(self) -> None:
        self.read()

    def fold(self, readings: Readings, span: Span) -> None:
        for one, fact in SHARES.items():
            self._fold_share(readings, span, fact, self._counters[one])
        for one, (fact, factor) in _RATES.items():
            self._fold_rate(readings, span, fact, self._counters[one], factor)
        self._fold_latest(readings, {one: (fact, 1e-9) for one, fact in _TOTALS.items()})
        self._fold_latest(readings, {one: (fact, 1.0) for one, fact in (_COUNTS | _MARGINS).items()})
        if self._memory:
            fold_gauge(readings, span, "gpu.memory_temperature_celsius", self.device.entity, self._memory)
        else:
            self._lack(readings, "gpu.memory_temperature_celsius", self._counters[MEMORY_TEMPERATURE])
        self._fold_recovery(readings)

    def _lack(self, readings: Readings, fact: str, counter: Counter) -> None:
        readings.lack(fact, self.device.entity, counter.why_empty)

    def _fold_share(self, readings: Readings, span: Span, fact: str, counter: Counter) -> None:
        if counter.rate is None:
            self._lack(readings, fact, counter)
            return
        share = counter.rate * 1e-9
        if share > MAX_SHARE:
            readings.lack(fact, self.device.entity, "the driver's counter ran faster than time")
            return
        text = f"{counter.rise * 1e-9:.3g} s of {counter.seconds:.3g} s"
        readings.put(fact, self.device.entity, min(share, 1.0), text, at=span.ended_at, window_seconds=counter.seconds)

    def _fold_rate(self, readings: Readings, span: Span, fact: str, counter: Counter, factor: float) -> None:
        if counter.rate is None:
            self._lack(readings, fact, counter)
            return
        text = "rise of the driver's counter"
        value = counter.rate * factor
        readings.put(fact, self.device.entity, value, text, at=span.ended_at, window_seconds=counter.seconds)

    def _fold_latest(self, readings: Readings, facts: Mapping[int, tuple[str, float]]) -> None:
        for one, (fact, factor) in facts.items():
            last = self._counters[one].last
            if last is None:
                self._lack(readings, fact, self._counters[one])
            else:
                readings.put(fact, self.device.entity, last.value * factor, at=last.at)

    def _fold_recovery(self, readings: Readings) -> None:
        entity, last = self.device.entity, self._counters[RECOVERY].last
        if last is None or not 0 <= last.value < len(_ACTIONS):
            self._lack(readings, "gpu.recovery_action", self._counters[RECOVERY])
            return
        action: Value = _ACTIONS[int(last.value)]
        readings.put("gpu.recovery_action", entity, action, at=last.at)
        if action in ("none", "reset", "drain-and-reset"):
            readings.put("gpu.reset_required", entity, action != "none", at=last.at)


class Throughput(Gauge):
    """PCIe traffic as the driver measures it over 20 ms, for GPUs without counters of it; a reading takes as long.

    Traffic comes in bursts, so that the mean of many readings is the rate, and their median may be nothing.
    """

    def __init__(self, nvml: Nvml, device: Device, direction: int) -> None:
        self._fact = ("gpu.link_transmit_bytes_per_second", "gpu.link_receive_bytes_per_second")[direction]
        picks = ((self._fact, scaled(1000.0)),)
        super().__init__(nvml, device, ("nvmlDeviceGetPcieThroughput",), picks, (direction,), period=0.25)

    def fold(self, readings: Readings, span: Span) -> None:
        super().fold(readings, span)
        values = self._series[self._fact].values
        if values:
            entity, mean = self.device.entity, sum(values) / len(values)
            text = f"mean of {len(values)} readings of 20 ms"
            readings.put(self._fact, entity, mean, text, at=span.ended_at, window_seconds=span.seconds)
            readings.put("gpu.link_traffic_sample_count", entity, len(values), at=span.ended_at)


def throughput(nvml: Nvml, device: Device, fields: Fields) -> list[Signal]:
    """The signals of PCIe traffic that are needed beside the counters."""
    directions = ((TRANSMIT, 0), (RECEIVE, 1))
    return [Throughput(nvml, device, direction) for one, direction in directions if not fields.answers(one)]
