"""What a GPU is and how it is: identity, limits, modes and health, each asked once or at both ends of the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuwhy.kb.facts import Value
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.nvml_access import Answer, Code, Device, Names, Nvml, reason, text_of

Convert = Callable[[Any], "Value | None"]

_ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
}
_VIRTUALIZATION = ("None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA")
_COMPUTE_MODES = ("default", "exclusive-thread", "prohibited", "exclusive-process")
_WORDS_OF_64_CPUS = 64
"""Room for 4096 logical CPUs."""


def _of(words: tuple[str, ...] | Mapping[int, str]) -> Convert:
    known = words if isinstance(words, Mapping) else dict(enumerate(words))
    return lambda value: known.get(int(value))


def _watts(milliwatts: Any) -> float | None:
    return float(milliwatts) / 1000 if milliwatts else None


def _version(pair: Any) -> str:
    return f"{pair[0]}.{pair[1]}"


def _positive(value: Any) -> int | None:
    return int(value) if int(value) > 0 else None


_LIMIT, _CLOCK = ("nvmlDeviceGetTemperatureThreshold",), ("nvmlDeviceGetMaxClockInfo",)

Question = tuple[str, Names, tuple[Any, ...], Convert]

IDENTITY: tuple[Question, ...] = (
    ("gpu.name", ("nvmlDeviceGetName",), (), text_of),
    ("gpu.uuid", ("nvmlDeviceGetUUID",), (), text_of),
    ("gpu.bus_id", ("nvmlDeviceGetPciInfo",), (), lambda info: text_of(info.busId)),
    ("gpu.architecture", ("nvmlDeviceGetArchitecture",), (), _of(_ARCHITECTURES)),
    ("gpu.compute_capability", ("nvmlDeviceGetCudaComputeCapability",), (), _version),
    ("gpu.vbios_version", ("nvmlDeviceGetVbiosVersion",), (), text_of),
    ("gpu.gsp_firmware_version", ("nvmlDeviceGetGspFirmwareVersion",), (), text_of),
    ("gpu.virtualization", ("nvmlDeviceGetVirtualizationMode",), (), _of(_VIRTUALIZATION)),
    ("gpu.compute_mode", ("nvmlDeviceGetComputeMode",), (), _of(_COMPUTE_MODES)),
    ("gpu.persistence_mode", ("nvmlDeviceGetPersistenceMode",), (), bool),
    ("gpu.display_active", ("nvmlDeviceGetDisplayActive",), (), bool),
    ("gpu.numa_node", ("nvmlDeviceGetNumaNodeId",), (), lambda node: int(node) if int(node) >= 0 else None),
    ("gpu.cpu_affinity", ("nvmlDeviceGetCpuAffinity",), (_WORDS_OF_64_CPUS,), lambda mask: cpu_list(list(mask))),
    ("gpu.power_limit_watts", ("nvmlDeviceGetEnforcedPowerLimit",), (), _watts),
    ("gpu.power_requested_limit_watts", ("nvmlDeviceGetPowerManagementLimit",), (), _watts),
    ("gpu.power_default_limit_watts", ("nvmlDeviceGetPowerManagementDefaultLimit",), (), _watts),
    ("gpu.temperature_shutdown_celsius", _LIMIT, (0,), _positive),
    ("gpu.temperature_slowdown_celsius", _LIMIT, (1,), _positive),
    ("gpu.memory_temperature_max_celsius", _LIMIT, (2,), _positive),
    ("gpu.temperature_max_operating_celsius", _LIMIT, (3,), _positive),
    ("gpu.graphics_clock_max_megahertz", _CLOCK, (0,), _positive),
    ("gpu.sm_clock_max_megahertz", _CLOCK, (1,), _positive),
    ("gpu.memory_clock_max_megahertz", _CLOCK, (2,), _positive),
    ("gpu.application_graphics_clock_megahertz", ("nvmlDeviceGetApplicationsClock",), (0,), _positive),
    ("gpu.application_memory_clock_megahertz", ("nvmlDeviceGetApplicationsClock",), (2,), _positive),
    ("gpu.link_generation_max", ("nvmlDeviceGetMaxPcieLinkGeneration",), (), _positive),
    ("gpu.link_generation_device_max", ("nvmlDeviceGetGpuMaxPcieLinkGeneration",), (), _positive),
    ("gpu.link_width_max", ("nvmlDeviceGetMaxPcieLinkWidth",), (), _positive),
)
"""Asked once. A value that the driver gives and that means nothing is left out, with a reason."""

_PAIRS: tuple[tuple[Names, tuple[tuple[str, Convert], ...]], ...] = (
    (("nvmlDeviceGetEccMode",), (("gpu.ecc_enabled", bool), ("gpu.ecc_pending_enabled", bool))),
    (("nvmlDeviceGetMigMode",), (("gpu.mig_enabled", bool), ("gpu.mig_pending_enabled", bool))),
    (
        ("nvmlDeviceGetPowerManagementLimitConstraints",),
        (("gpu.power_limit_min_watts", _watts), ("gpu.power_limit_max_watts", _watts)),
    ),
)
_STRUCTURES: tuple[tuple[Names, tuple[tuple[str, str], ...]], ...] = (
    (
        ("nvmlDeviceGetBAR1MemoryInfo",),
        (
            ("gpu.bar1_total_bytes", "bar1Total"),
            ("gpu.bar1_used_bytes", "bar1Used"),
            ("gpu.bar1_free_bytes", "bar1Free"),
        ),
    ),
    (
        ("nvmlDeviceGetRowRemapperHistogram",),
        tuple((f"gpu.remap_banks_{part}", part) for part in ("max", "high", "partial", "low", "none")),
    ),
)
_REMAPPED: tuple[tuple[str, Convert], ...] = (
    ("gpu.remapped_rows_correctable", int),
    ("gpu.remapped_rows_uncorrectable", int),
    ("gpu.remap_pending", bool),
    ("gpu.remap_failed", bool),
)

_ECC, _ECC_PLACE = ("nvmlDeviceGetTotalEccErrors",), ("nvmlDeviceGetMemoryErrorCounter",)
_DRAM, _SRAM = 2, 7
_NEW = {
    "gpu.ecc_corrected_count": "gpu.ecc_corrected_new_count",
    "gpu.ecc_uncorrected_count": "gpu.ecc_uncorrected_new_count",
}
_HEALTH: tuple[Question, ...] = (
    ("gpu.ecc_corrected_count", _ECC, (0, 0), int),
    ("gpu.ecc_uncorrected_count", _ECC, (1, 0), int),
    ("gpu.ecc_corrected_lifetime_count", _ECC, (0, 1), int),
    ("gpu.ecc_uncorrected_lifetime_count", _ECC, (1, 1), int),
    ("gpu.ecc_dram_corrected_count", _ECC_PLACE, (0, 0, _DRAM), int),
    ("gpu.ecc_dram_uncorrected_count", _ECC_PLACE, (1, 0, _DRAM), int),
    ("gpu.ecc_sram_corrected_count", _ECC_PLACE, (0, 0, _SRAM), int),
    ("gpu.ecc_sram_uncorrected_count", _ECC_PLACE, (1, 0, _SRAM), int),
    ("gpu.ecc_dram_corrected_lifetime_count", _ECC_PLACE, (0, 1, _DRAM), int),
    ("gpu.ecc_dram_uncorrected_lifetime_count", _ECC_PLACE, (1, 1, _DRAM), int),
    ("gpu.ecc_sram_corrected_lifetime_count", _ECC_PLACE, (0, 1, _SRAM), int),
    ("gpu.ecc_sram_uncorrected_lifetime_count", _ECC_PLACE, (1, 1, _SRAM), int),
    ("gpu.retired_pages_single_bit", ("nvmlDeviceGetRetiredPages",), (0,), len),
    ("gpu.retired_pages_double_bit", ("nvmlDeviceGetRetiredPages",), (1,), len),
    ("gpu.retired_pages_pending", ("nvmlDeviceGetRetiredPagesPendingStatus",), (), bool),
)


def take(readings: Readings, device: Device, fact: str, answer: Answer, convert: Convert) -> None:
    """Notes what an answer says, or why it says nothing."""
    value = convert(answer.value) if answer.ok else None
    if value is not None:
        readings.put(fact, device.entity, value)
    else:
        why = "the driver gives a value that means nothing" if answer.code is None else reason(answer.code)
        readings.lack(fact, device.entity, why)


def whole(member: str) -> Convert:
    """The member of this name of a structure, as an integer."""
    return lambda value: int(getattr(value, member))


def read_identity(nvml: Nvml, device: Device, readings: Readings) -> None:
    """Notes what the GPU is, and its limits and modes."""
    for fact, names, arguments, convert in IDENTITY:
        take(readings, device, fact, nvml.of(device, names, *arguments), convert)
    for names, pair in _PAIRS:
        _take_several(readings, device, nvml.of(device, names), pair)
    for names, members in _STRUCTURES:
        answer = nvml.of(device, names)
        for fact, member in members:
            take(readings, device, fact, answer, whole(member))


def _take_several(readings: Readings, device: Device, answer: Answer, facts: tuple[tuple[str, Convert], ...]) -> None:
    for place, (fact, convert) in enumerate(facts):
        part = answer if not answer.ok else Answer(answer.value[place])
        take(readings, device, fact, part, convert)


def read_health(nvml: Nvml, device: Device, readings: Readings) -> None:
    """Notes the errors of memory and what was done about them; a second time, also which are new since the first."""
    for fact, names, arguments, convert in _HEALTH:
        before = readings.get(fact, device.entity)
        answer = nvml.of(device, names, *arguments)
        take(readings, device, fact, answer, convert)
        new = _NEW.get(fact)
        if new is not None and answer.ok and isinstance(before, int):
            readings.put(new, device.entity, max(0, int(answer.value) - before), "since the watch began")
    _take_several(readings, device, nvml.of(device, ("nvmlDeviceGetRemappedRows",)), _REMAPPED)


def read_standing(device: Device, readings: Readings) -> None:
    """Notes whether the GPU still answers: lost, waiting for a reset, or silent for another reason."""
    entity = device.entity
    silent = device.silent_since
    if device.stopped == Code.GPU_IS_LOST:
        readings.put("gpu.lost", entity, True, reason(Code.GPU_IS_LOST))
        readings.put("gpu.nvml_error", entity, "gpu-lost", reason(Code.GPU_IS_LOST))
    elif device.stopped == Code.RESET_REQUIRED:
        readings.put("gpu.reset_required", entity, True, reason(Code.RESET_REQUIRED))
        readings.put("gpu.nvml_error", entity, "reset-required", reason(Code.RESET_REQUIRED))
    elif len(silent) >= MIN_SILENT:
        readings.put("gpu.nvml_error", entity, DEVICE_ERRORS.get(silent[-1], "other"), reason(silent[-1]))
    else:
        readings.put("gpu.lost", entity, False, "it answered to the end")
    if Code.CORRUPTED_INFOROM in silent:
        readings.put("gpu.inforom_corrupted", entity, True, reason(Code.CORRUPTED_INFOROM))


MIN_SILENT = 5
"""This many calls in a row must fail hard before a GPU counts as silent: a single question may fail alone."""

DEVICE_ERRORS: Mapping[int, str] = {
    Code.NO_PERMISSION: "no-permission",
    Code.INSUFFICIENT_POWER: "insufficient-power",
    Code.INTERRUPT_PROBLEM: "interrupt-problem",
    Code.CORRUPTED_INFOROM: "corrupted-inforom",
    Code.GPU_IS_LOST: "gpu-lost",
    Code.RESET_REQUIRED: "reset-required",
    Code.OPERATING_SYSTEM: "blocked-by-os",
    Code.IN_USE: "in-use",
    Code.UNKNOWN: "unknown-error",
}
"""Return codes about one GPU, in the words of the vocabulary."""


def cpu_list(words: list[int]) -> str | None:
    """The logical CPUs of a mask of 64-bit words, as ranges (`0-15,32-47`); None if there are none."""
    cpus = [64 * place + bit for place, word in enumerate(words) for bit in range(64) if int(word) >> bit & 1]
    ranges: list[list[int]] = []
    for cpu in cpus:
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges) or None
