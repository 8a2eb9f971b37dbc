"""What one signal of a GPU is: read again and again at its own period, and folded into facts when the window closes.

All signals share one window. It opens after a warm-up, because the first readings after the driver has woken up are not
those of the job; counters are read when it opens and when it closes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from gpuwhy.kb.facts import Entity
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.gauges import SPREAD, quantile
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Answer, Device, Names, Nvml, reason

NOTHING_READ = "no reading was taken in the watched time"


@dataclass(frozen=True)
class Span:
    """The window that was really watched: its length, and its end in seconds since the epoch."""

    seconds: float
    ended_at: float


class Signal:
    """One signal of one device. `read` takes a reading, `open` and `close` bound the window, `fold` calls no driver."""

    period = 1.0

    def __init__(self, nvml: Nvml, device: Device) -> None:
        self.nvml = nvml
        self.device = device

    def read(self) -> None:
        """Takes one reading."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forgets what was read so far."""
        raise NotImplementedError

    def open(self) -> None:
        """The window opens: what was read before does not count."""
        self.clear()
        self.read()

    def roll(self) -> None:
        """The next window opens where the last one closed: what was read then need not be read again."""
        self.open()

    def close(self) -> None:
        """The window closes; signals that compare two readings take their last one."""

    def fold(self, readings: Readings, span: Span) -> None:
        """Notes what the readings say, or why there are none."""
        raise NotImplementedError


@dataclass
class Series:
    """Values of one gauge, and the code of the last call that gave none."""

    values: list[float] = field(default_factory=list)
    code: int | None = None

    def take(self, answer: Answer, value: float | None) -> None:
        """Takes in one answer; `value` is what it says, None if it says nothing usable."""
        if value is not None:
            self.values.append(value)
        elif not answer.ok:
            self.code = answer.code

    def clear(self) -> None:
        """Forgets the values; why there were none is still the best reason known."""
        self.values.clear()

    @property
    def why_empty(self) -> str:
        """Why there is no value."""
        return NOTHING_READ if self.code is None else reason(self.code)


_MORE = {
    "gpu.memory_utilization_share": "gpu.memory_utilization_{}_share",
    "gpu.memory_used_bytes": "gpu.memory_used_{}_bytes",
    "gpu.power_watts": "gpu.power_{}_watts",
    "gpu.temperature_celsius": "gpu.temperature_{}_celsius",
    "gpu.sm_clock_megahertz": "gpu.sm_clock_{}_megahertz",
    "gpu.memory_clock_megahertz": "gpu.memory_clock_{}_megahertz",
    "gpu.link_receive_bytes_per_second": "gpu.link_receive_{}_bytes_per_second",
    "gpu.link_transmit_bytes_per_second": "gpu.link_transmit_{}_bytes_per_second",
}
_ALSO_HIGHEST = {
    "gpu.memory_temperature_celsius": (("gpu.memory_temperature_max_seen_celsius", 1.0),),
    "partition.memory_used_bytes": (("partition.memory_used_max_bytes", 1.0),),
}
_COUNTED = {
    "gpu.utilization_share": "gpu.sample_count",
    "gpu.memory_used_bytes": "gpu.memory_sample_count",
    "gpu.power_watts": "gpu.power_sample_count",
    "gpu.temperature_celsius": "gpu.temperature_sample_count",
    "gpu.sm_clock_megahertz": "gpu.clock_sample_count",
    "gpu.link_width": "gpu.link_sample_count",
}
"""Facts that say how many samples a gauge rests on."""


def spread_of(fact: str) -> tuple[tuple[str, float], ...]:
    """Facts given beside the median of a gauge: the quantile each of them is."""
    more = _MORE.get(fact)
    percentiles = () if more is None else ((more.format("p10"), 0.1), (more.format("p90"), 0.9))
    return (*SPREAD.get(fact, ()), *percentiles, *_ALSO_HIGHEST.get(fact, ()))


def fold_gauge(
    readings: Readings, span: Span, fact: str, entity: Entity, values: Sequence[float], whole: bool = False
) -> None:
    """Notes the median of a gauge, its spread, and on how many samples they rest. `whole`: integers, lower median."""
    ordered = sorted(values)
    count = len(ordered)
    middle = statistics.median_low(ordered) if whole else statistics.median(ordered)
    what = "1 sample" if count == 1 else f"median of {count} samples"

    def put(id_: str, value: float, text: str) -> None:
        readings.put(id_, entity, int(value) if whole else value, text, at=span.ended_at, window_seconds=span.seconds)

    put(fact, middle, what)
    for id_, share in spread_of(fact) if count > 1 else ():
        put(id_, quantile(ordered, share), f"of {count} samples")
    if fact in _COUNTED:
        readings.put(_COUNTED[fact], entity, count, at=span.ended_at, window_seconds=span.seconds)


Pick = Callable[[Any], "float | None"]


class Gauge(Signal):
    """A gauge that one call gives; `picks` says which facts are in the answer."""

    def __init__(
        self,
        nvml: Nvml,
        device: Device,
        names: Names,
        picks: Sequence[tuple[str, Pick]],
        arguments: tuple[Any, ...] = (),
        period: float = 1.0,
        whole: bool = False,
    ) -> None:
        super().__init__(nvml, device)
        self.period = period
        self._names = names
        self._arguments = arguments
        self._picks = picks
        self._whole = whole
        self._series = {fact: Series() for fact, _ in picks}

    def read(self) -> None:
        answer = self.nvml.of(self.device, self._names, *self._arguments)
        for fact, pick in self._picks:
            self._series[fact].take(answer, pick(answer.value) if answer.ok else None)

    def clear(self) -> None:
        for series in self._series.values():
            series.clear()

    def fold(self, readings: Readings, span: Span) -> None:
        for fact, series in self._series.items():
            if series.values:
                fold_gauge(readings, span, fact, self.device.entity, series.values, self._whole)
            else:
                readings.lack(fact, self.device.entity, series.why_empty)


def scaled(factor: float = 1.0, per: float = 1.0, lowest: float = 0.0, highest: float = float("inf")) -> Pick:
    """A number times `factor`, `per` so much; results outside the bounds are no readings."""

    def pick(value: Any) -> float | None:
        number = float(value) * factor / per
        return number if lowest <= number <= highest else None

    return pick
