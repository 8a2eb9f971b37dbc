"""NVML of this host: whether it can be asked at all, and if not, why, with what the system says about the versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gpuwhy.kb.facts import HOST, gpu
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Binding, Code, Device, Nvml, reason, text_of
from gpuwhy.probes.nvml_state import DEVICE_ERRORS, take

MODULE_VERSION = Path("/proc/driver/nvidia/version")
OWN_MAPS = Path("/proc/self/maps")

HOST_ERRORS: Mapping[int, str] = {
    Code.NO_PERMISSION: "no-permission",
    Code.INSUFFICIENT_POWER: "insufficient-power",
    Code.DRIVER_NOT_LOADED: "driver-not-loaded",
    Code.INTERRUPT_PROBLEM: "interrupt-problem",
    Code.LIBRARY_NOT_FOUND: "library-missing",
    Code.CORRUPTED_INFOROM: "corrupted-inforom",
    Code.GPU_IS_LOST: "gpu-lost",
    Code.RESET_REQUIRED: "reset-required",
    Code.OPERATING_SYSTEM: "blocked-by-os",
    Code.VERSION_MISMATCH: "version-mismatch",
    Code.HOST_MEMORY: "host-memory",
    Code.UNKNOWN: "unknown-error",
}
"""Return codes with which NVML as a whole refuses, in the words of the vocabulary."""

_KERNEL_MODULE = re.compile(r"Kernel Module\s{1,40}(?:for \S{1,20}\s{1,40})?(\d{3}\.[0-9.]{1,16})")
_LIBRARY_FILE = re.compile(r"libnvidia-ml\.so\.(\d{3}\.[0-9.]{1,16})\b")
_BINDING = {
    "binding-missing": "the Python package nvidia-ml-py is not installed",
    "binding-unusable": "what is imported as pynvml is not nvidia-ml-py",
}
_READ_LIMIT = 1 << 20


def note_binding(binding: Binding, readings: Readings) -> None:
    """Notes the Python binding, and that it cannot be used if so."""
    if binding.version is not None:
        readings.put("host.nvml_binding_version", HOST, binding.version)
    if binding.module is not None:
        readings.put("host.nvml_binding_shadowed", HOST, binding.shadowed)
    if binding.problem is not None:
        readings.put("host.nvml_error", HOST, binding.problem, _BINDING[binding.problem])
        readings.lack("gpu.count", HOST, _BINDING[binding.problem])


def note_failure(code: int, readings: Readings) -> None:
    """Notes that NVML as a whole refused, with the versions where they are what differs."""
    readings.put("host.nvml_error", HOST, HOST_ERRORS.get(code, "other"), reason(code))
    readings.put("host.nvml_error_code", HOST, code)
    readings.lack("gpu.count", HOST, reason(code))
    module = _found(_KERNEL_MODULE, MODULE_VERSION)
    if module is not None:
        readings.put("host.driver_version", HOST, module, source=str(MODULE_VERSION))
    else:
        readings.lack("host.driver_version", HOST, reason(code))
    library = _found(_LIBRARY_FILE, OWN_MAPS) if code == Code.VERSION_MISMATCH else None
    if library is not None:
        readings.put("host.nvml_library_version", HOST, library, "the library that was loaded", source=str(OWN_MAPS))


def _found(pattern: re.Pattern[str], path: Path) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = pattern.search(file.read(_READ_LIMIT))
    except OSError:
        return None
    return found.group(1).rstrip(".") if found else None


def read_host(nvml: Nvml, readings: Readings) -> None:
    """Notes the versions of driver, library and CUDA."""
    host = Device(None, HOST)
    for fact, name in (
        ("host.driver_version", "nvmlSystemGetDriverVersion"),
        ("host.nvml_version", "nvmlSystemGetNVMLVersion"),
    ):
        take(readings, host, fact, nvml.ask((name,)), text_of)
    names = ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")
    take(readings, host, "host.cuda_version", nvml.ask(names), _cuda_version)


def _cuda_version(number: int) -> str | None:
    """12040 is 12.4."""
    return f"{number // 1000}.{number % 1000 // 10}" if number > 0 else None


def open_devices(nvml: Nvml, readings: Readings) -> list[Device]:
    """The GPUs that can be opened; of each other one, why not. One that refuses hides none of the others."""
    count = nvml.ask(("nvmlDeviceGetCount",))
    if not count.ok:
        note_failure(count.code or 0, readings)
        return []
    readings.put("gpu.count", HOST, int(count.value))
    if not count.value:
        readings.put("host.nvml_error", HOST, "no-devices", "the driver answers and knows no GPU")
    devices = []
    for index in range(int(count.value)):
        handle = nvml.ask(("nvmlDeviceGetHandleByIndex",), index)
        if handle.ok:
            devices.append(Device(handle.value, gpu(index)))
        else:
            _note_unopened(index, handle.code or 0, readings)
    return devices


def _note_unopened(index: int, code: int, readings: Readings) -> None:
    entity = gpu(index)
    readings.put("gpu.handle_error", entity, reason(code))
    readings.put("gpu.nvml_error", entity, DEVICE_ERRORS.get(code, "other"), reason(code))
    for fact in ("gpu.name", "gpu.utilization_share", "gpu.memory_total_bytes", "gpu.memory_used_bytes"):
        readings.lack(fact, entity, reason(code))
    if code == Code.GPU_IS_LOST:
        readings.put("gpu.lost", entity, True, reason(code))
    elif code == Code.RESET_REQUIRED:
        readings.put("gpu.reset_required", entity, True, reason(code))
