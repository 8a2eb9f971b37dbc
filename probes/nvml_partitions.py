"""MIG slices of a GPU: what each is, its memory and its activity. Slice numbers may have gaps."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import Entity
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Answer, Code, Device, Nvml, reason, text_of
from gpuwhy.probes.nvml_gauges import Memory
from gpuwhy.probes.nvml_gpm import Gpm
from gpuwhy.probes.nvml_signal import Signal
from gpuwhy.probes.nvml_state import take, whole

_PROFILE = re.compile(r"\bMIG (\S{2,24})\s*\Z")
_MOST = 64
_ATTRIBUTES = (
    ("partition.multiprocessor_count", "multiprocessorCount"),
    ("partition.copy_engine_count", "sharedCopyEngineCount"),
    ("partition.decoder_count", "sharedDecoderCount"),
    ("partition.encoder_count", "sharedEncoderCount"),
    ("partition.jpeg_count", "sharedJpegCount"),
    ("partition.optical_flow_count", "sharedOfaCount"),
)


def find_slices(nvml: Nvml, device: Device, readings: Readings) -> list[Device]:
    """The MIG slices of a GPU on which MIG is on, noting how many there are."""
    if readings.get("gpu.mig_enabled", device.entity) is not True:
        return []
    most = nvml.of(device, ("nvmlDeviceGetMaxMigDeviceCount",))
    if not most.ok:
        readings.lack("gpu.partition_count", device.entity, reason(most.code or 0))
        return []
    found: list[Device] = []
    refused: Answer | None = None
    for index in range(min(int(most.value), _MOST)):
        handle = nvml.of(device, ("nvmlDeviceGetMigDeviceHandleByIndex",), index)
        if handle.ok:
            found.append(Device(handle.value, Entity("partition", str(index), device.entity), device))
        elif handle.code != Code.NOT_FOUND:
            refused = handle
    if refused is None:
        readings.put("gpu.partition_count", device.entity, len(found))
    else:
        readings.lack("gpu.partition_count", device.entity, reason(refused.code or 0))
    return found


def read_slice(nvml: Nvml, part: Device, readings: Readings) -> None:
    """Notes what a slice is."""
    for fact, name in (
        ("partition.gpu_instance", "nvmlDeviceGetGpuInstanceId"),
        ("partition.compute_instance", "nvmlDeviceGetComputeInstanceId"),
    ):
        take(readings, part, fact, nvml.of(part, (name,)), int)
    take(readings, part, "partition.uuid", nvml.of(part, ("nvmlDeviceGetUUID",)), text_of)
    take(readings, part, "partition.profile", nvml.of(part, ("nvmlDeviceGetName",)), _profile)
    errors = nvml.of(part, ("nvmlDeviceGetTotalEccErrors",), 1, 0)
    take(readings, part, "partition.ecc_uncorrected_count", errors, int)
    attributes = nvml.of(part, ("nvmlDeviceGetAttributes",))
    for fact, member in _ATTRIBUTES:
        take(readings, part, fact, attributes, whole(member))


def slice_signals(nvml: Nvml, device: Device, part: Device, readings: Readings) -> Iterator[Signal]:
    """The signals of a slice: its memory, and the hardware counters of its GPU instance."""
    yield Memory(nvml, part)
    instance = readings.get("partition.gpu_instance", part.entity)
    if isinstance(instance, int):
        yield Gpm(nvml, device, instance, about=part)


def _profile(name: object) -> str | None:
    found = _PROFILE.search(text_of(name) or "")
    return found.group(1) if found else None
