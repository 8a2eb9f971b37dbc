"""Hardware counters of Hopper and later (GPM): how much of a GPU or MIG slice worked, over the whole window.

The only way to the activity of the multiprocessors without privilege and without DCGM.
"""

from __future__ import annotations

import math
import time
from typing import Any

from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Answer, Code, Device, Nvml, reason
from gpuwhy.probes.nvml_signal import NOTHING_READ, Signal, Span

_METRICS = {
    1: "graphics_active_share",
    2: "sm_active_share",
    3: "sm_occupancy_share",
    5: "tensor_active_share",
    10: "dram_active_share",
}
"""Metric ids of nvml.h (all in percent), and the facts about them."""

MIN_SECONDS = 0.1
"""Samples must lie this far apart (nvml.h)."""

_VERSION = 1


class Gpm(Signal):
    """The counters of a GPU, or of the MIG instance `instance` of it; `entity` is what they are about."""

    period = 3600.0

    def __init__(self, nvml: Nvml, device: Device, instance: int | None = None, about: Device | None = None) -> None:
        super().__init__(nvml, device)
        self._entity = (about or device).entity
        self._instance = instance
        self._samples: list[Any] = []
        self._opened_at = 0.0
        self._values: dict[int, float] = {}
        self._why = NOTHING_READ
        self._usable = self._prepare()
        self._again = False

    def _prepare(self) -> bool:
        support = self.nvml.of(self.device, ("nvmlGpmQueryDeviceSupport",))
        if not support.ok:
            return self._refuse(support)
        if not support.value.isSupportedDevice:
            return self._refuse(Answer(code=int(Code.NOT_SUPPORTED)))
        for _ in range(2):
            sample = self.nvml.ask(("nvmlGpmSampleAlloc",))
            if not sample.ok:
                return self._refuse(sample)
            self._samples.append(sample.value)
        return True

    def _refuse(self, answer: Answer) -> bool:
        self._why = reason(answer.code or 0)
        return False

    def read(self) -> None:
        """Counters are read when the window opens and when it closes only."""

    def clear(self) -> None:
        self._values.clear()

    def open(self) -> None:
        if self._again:  # a second window: the samples of the first are freed
            self._usable, self._again = self._prepare(), False
        if self._usable:
            self._usable = self._sample(0)
            self._opened_at = time.monotonic()

    def _sample(self, which: int) -> bool:
        sample = self._samples[which]
        if self._instance is None:
            answer = self.nvml.of(self.device, ("nvmlGpmSampleGet",), sample)
        else:
            answer = self.nvml.of(self.device, ("nvmlGpmMigSampleGet",), self._instance, sample)
        return answer.ok or self._refuse(answer)

    def close(self) -> None:
        if self._usable and time.monotonic() - self._opened_at < MIN_SECONDS:
            self._usable, self._why = False, "the watched time was too short for hardware counters"
        if self._usable and self._sample(1):
            self._measure()
        for sample in self._samples:
            self.nvml.ask(("nvmlGpmSampleFree",), sample)
        self._samples.clear()
        self._again = self._usable
        self._usable = False

    def _measure(self) -> None:
        request = self.nvml.make("c_nvmlGpmMetricsGet_t")
        if request is None:
            self._refuse(Answer(code=int(Code.FUNCTION_NOT_FOUND)))
            return
        request.version, request.numMetrics = _VERSION, len(_METRICS)
        request.sample1, request.sample2 = self._samples
        for place, metric in enumerate(_METRICS):
            request.metrics[place].metricId = metric
        answer = self.nvml.ask(("nvmlGpmMetricsGet",), request)
        if not answer.ok:
            self._refuse(answer)
            return
        self._why = reason(int(Code.NOT_SUPPORTED))
        for place, metric in enumerate(_METRICS):
            one = request.metrics[place]
            value = float(one.value)
            if one.nvmlReturn == Code.SUCCESS and math.isfinite(value) and 0 <= value <= 100:
                self._values[metric] = value / 100

    def fold(self, readings: Readings, span: Span) -> None:
        for metric, name in _METRICS.items():
            fact = f"{self._entity.kind}.{name}"
            if metric in self._values:
                value = self._values[metric]
                text = "hardware counters over the whole window"
                readings.put(fact, self._entity, value, text, at=span.ended_at, window_seconds=span.seconds)
            else:
                readings.lack(fact, self._entity, self._why)
