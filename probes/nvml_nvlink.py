"""NVLinks of a GPU: how many are up, what went over them, and their errors."""

from __future__ import annotations

from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Code, Device, Nvml, reason
from gpuwhy.probes.nvml_fields import Counter, read_fields
from gpuwhy.probes.nvml_signal import Signal, Span

MAX_LINKS = 18
"""NVML_NVLINK_MAX_LINKS"""

_TRANSMIT, _RECEIVE = 138, 139
_KIBIBYTE = 1024.0
_ERRORS = {
    "gpu.nvlink_crc_errors": (38, 45),
    "gpu.nvlink_replays": (52,),
    "gpu.nvlink_recoveries": (59,),
}
"""Counters over all links: a fact is the sum of these fields."""


class NvLinks(Signal):
    """The NVLinks of a GPU. Traffic fields count data in KiB, one counter for each link."""

    period = 2.0

    def __init__(self, nvml: Nvml, device: Device) -> None:
        super().__init__(nvml, device)
        self._active: list[int] = []
        self._count = 0
        self._code: int = Code.NOT_SUPPORTED
        for link in range(MAX_LINKS):
            state = nvml.of(device, ("nvmlDeviceGetNvLinkState",), link)
            if state.ok:
                self._count += 1
                self._active += [link] if state.value else []
            elif not link:
                self._code = state.code or Code.NOT_SUPPORTED
                break
        self._traffic = {(one, link): Counter() for one in (_TRANSMIT, _RECEIVE) for link in self._active}
        self._errors = {one: Counter() for fields in _ERRORS.values() for one in fields}

    def read(self) -> None:
        if not self._count:
            return
        fields: list[int | tuple[int, int]] = [*self._traffic, *self._errors]
        for one, answer in read_fields(self.nvml, self.device, fields).items():
            counter = self._traffic[one] if isinstance(one, tuple) else self._errors[one]
            counter.take(answer)

    def clear(self) -> None:
        for counter in (*self._traffic.values(), *self._errors.values()):
            counter.restart()

    def roll(self) -> None:
        for counter in (*self._traffic.values(), *self._errors.values()):
            counter.roll()

    def close(self) -> None:
        self.read()

    def fold(self, readings: Readings, span: Span) -> None:
        entity = self.device.entity
        if not self._count:
            readings.lack("gpu.nvlink_active_count", entity, reason(self._code))
            return
        readings.put("gpu.nvlink_count", entity, self._count)
        readings.put("gpu.nvlink_active_count", entity, len(self._active))
        for one, fact in (
            (_TRANSMIT, "gpu.nvlink_transmit_bytes_per_second"),
            (_RECEIVE, "gpu.nvlink_receive_bytes_per_second"),
        ):
            counters = [counter for (field, _), counter in self._traffic.items() if field == one]
            rates = [counter.rate for counter in counters if counter.rate is not None]
            if counters and len(rates) == len(counters):
                value = sum(rates) * _KIBIBYTE
                text = f"{len(rates)} links"
                readings.put(fact, entity, value, text, at=span.ended_at, window_seconds=span.seconds)
            elif counters:
                readings.lack(fact, entity, counters[0].why_empty)
        for fact, fields in _ERRORS.items():
            known = [last for one in fields if (last := self._errors[one].last) is not None]
            if known:
                readings.put(fact, entity, int(sum(last.value for last in known)), at=span.ended_at)
            else:
                readings.lack(fact, entity, self._errors[fields[0]].why_empty)
