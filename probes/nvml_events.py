"""Xid errors that the driver raises while the GPUs are watched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Code, Device, Nvml, reason
from gpuwhy.probes.nvml_signal import Span

XID = 0x8
"""nvmlEventTypeXidCriticalError"""

_MOST_AT_ONCE = 256


class XidEvents:
    """The events of all GPUs: they come through one queue of the driver."""

    period = 0.25

    def __init__(self, nvml: Nvml, devices: Sequence[Device]) -> None:
        self._nvml = nvml
        self._devices = devices
        self._codes: dict[int, list[int]] = {}
        self._why_not: dict[int, int] = {}
        self._broken: int | None = None
        created = nvml.ask(("nvmlEventSetCreate",))
        self._set: Any = created.value
        for index, device in enumerate(devices):
            code = self._register(device) if created.ok else created.code
            if code is None:
                self._codes[index] = []
            else:
                self._why_not[index] = code

    def _register(self, device: Device) -> int | None:
        supported = self._nvml.of(device, ("nvmlDeviceGetSupportedEventTypes",))
        if supported.ok and not int(supported.value) & XID:
            return int(Code.NOT_SUPPORTED)
        return self._nvml.of(device, ("nvmlDeviceRegisterEvents",), XID, self._set).code

    def read(self) -> None:
        """Takes what has come in since the last time."""
        if self._set is None or self._broken is not None:
            return
        for _ in range(_MOST_AT_ONCE):
            answer = self._nvml.ask(("nvmlEventSetWait",), self._set, 0)
            if not answer.ok:
                self._broken = None if answer.code == Code.TIMEOUT else answer.code
                return
            if int(answer.value.eventType) & XID:
                self._take(answer.value.device, int(answer.value.eventData))

    def _take(self, handle: Any, xid: int) -> None:
        found = self._nvml.ask(("nvmlDeviceGetIndex",), handle)
        for index, device in enumerate(self._devices):
            if found.ok and device.entity.name == str(found.value) and index in self._codes:
                self._codes[index].append(xid)

    def clear(self) -> None:
        """Forgets the events so far."""
        for codes in self._codes.values():
            codes.clear()

    def close(self) -> None:
        """Takes the last events and frees the queue."""
        self.read()
        if self._set is not None:
            self._nvml.ask(("nvmlEventSetFree",), self._set)
            self._set = None

    def abandon(self) -> None:
        """The thread that asks hangs: that no event came in says nothing."""
        self._broken = int(Code.TIMEOUT)

    def fold(self, readings: Readings, span: Span) -> None:
        """Notes the events of each GPU; that there were none only where the driver would have told."""
        for index, device in enumerate(self._devices):
            codes = self._codes.get(index)
            if codes is None:
                readings.lack("gpu.xid_event_count", device.entity, reason(self._why_not[index]))
                continue
            if not codes and self._broken is not None:
                readings.lack("gpu.xid_event_count", device.entity, reason(self._broken))
                continue
            entity = device.entity
            readings.put("gpu.xid_event_count", entity, len(codes), at=span.ended_at, window_seconds=span.seconds)
            if codes:
                readings.put("gpu.xid_event_first", entity, codes[0], at=span.ended_at)
                readings.put("gpu.xid_event_codes", entity, ", ".join(str(one) for one in codes[:20]), at=span.ended_at)
