"""Why clocks are below their highest: the driver's clock event reasons, read often, folded into shares of samples."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Device, Nvml, reason
from gpuwhy.probes.nvml_gauges import Load
from gpuwhy.probes.nvml_signal import NOTHING_READ, Signal, Span

REASONS = {
    0x1: "idle",
    0x2: "application_clocks",
    0x4: "software_power_cap",
    0x8: "hardware_slowdown",
    0x10: "sync_boost",
    0x20: "software_thermal_slowdown",
    0x40: "hardware_thermal_slowdown",
    0x80: "hardware_power_brake",
    0x100: "display_clocks",
    0x200: "board_limit",
    0x400: "reliability",
}
"""Bits of nvmlClocksEventReasons, and the names of the facts about them."""

HARD = 0x8 | 0x40 | 0x80
"""Hardware slowdowns. They flash up when the performance state changes, so that one reading alone is none."""

_IDLE = 0x1
_KNOWN = sum(REASONS)
_NAMES = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
_SUPPORTED = ("nvmlDeviceGetSupportedClocksEventReasons", "nvmlDeviceGetSupportedClocksThrottleReasons")


class ClockEvents(Signal):
    """The bitmask of clock event reasons of a GPU."""

    period = 0.1

    def __init__(self, nvml: Nvml, device: Device, load: Load) -> None:
        super().__init__(nvml, device)
        self._load = load
        self._masks: list[int] = []
        self._code: int | None = None
        supported = nvml.of(device, _SUPPORTED)
        self._supported: int | None = int(supported.value) if supported.ok else None

    def read(self) -> None:
        answer = self.nvml.of(self.device, _NAMES)
        if answer.ok:
            mask = int(answer.value)
            self._masks.append(mask)
            self._load.saw_idle(bool(mask & _IDLE))
        else:
            self._code = answer.code

    def clear(self) -> None:
        self._masks.clear()

    def fold(self, readings: Readings, span: Span) -> None:
        entity = self.device.entity
        if not self._masks:
            why = NOTHING_READ if self._code is None else reason(self._code)
            for name in (*(f"gpu.event_{one}" for one in REASONS.values()), "gpu.event_bits"):
                readings.lack(name, entity, why)
            return
        seen = 0
        for mask in self._masks:
            seen |= mask
        for bit, name in REASONS.items():
            self._fold_bit(readings, span, bit, name, seen)
        readings.put("gpu.event_bits", entity, f"{self._masks[-1]:#018x}", "the last reading", at=span.ended_at)
        window = span.seconds
        readings.put("gpu.event_bits_seen", entity, f"{seen:#018x}", at=span.ended_at, window_seconds=window)
        readings.put("gpu.event_sample_count", entity, len(self._masks), at=span.ended_at, window_seconds=window)
        if seen & ~_KNOWN:
            text = "no name is known for these bits"
            readings.put("gpu.event_unknown_bits", entity, f"{seen & ~_KNOWN:#018x}", text, at=span.ended_at)

    def _fold_bit(self, readings: Readings, span: Span, bit: int, name: str, seen: int) -> None:
        fact, entity = f"gpu.event_{name}", self.device.entity
        if self._supported is not None and not self._supported & bit and not seen & bit:
            readings.lack(fact, entity, "this GPU does not report this clock event")
            return
        active = [bool(mask & bit) for mask in self._masks]
        count = len(active)
        if bit & HARD:
            if count == 1 and active[0]:
                readings.lack(fact, entity, "seen in a single reading, which may be of a change of performance state")
                return
            active = persistent(active)
        share = sum(active) / count
        holds = share > 0 if bit & HARD else share >= 0.5
        text = f"active in {sum(active)} of {count} samples"
        readings.put(fact, entity, holds, text, at=span.ended_at, window_seconds=span.seconds)
        readings.put(f"{fact}_sample_share", entity, share, text, at=span.ended_at, window_seconds=span.seconds)


def persistent(active: Sequence[bool]) -> list[bool]:
    """The samples in which an event was active that was also active in the sample before or after."""
    last = len(active) - 1
    return [
        one and ((index > 0 and active[index - 1]) or (index < last and active[index + 1]))
        for index, one in enumerate(active)
    ]
