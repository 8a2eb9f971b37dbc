"""The three vital signs of every GPU at one moment: how busy, how full, how warm, each with the card's own limit."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.facts import Entity, gpu
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.nvml_access import Answer, Device, Nvml, load_binding, reason, text_of

_GPU_CORE = 0  # NVML_TEMPERATURE_GPU
_SLOWDOWN = 1  # NVML_TEMPERATURE_THRESHOLD_SLOWDOWN


@dataclass(frozen=True)
class Vital:
    """One GPU at one moment; None where a reading is not to be had. Shares of 1, bytes, degrees Celsius."""

    index: int
    name: str
    utilization_share: float | None = None
    memory_used_bytes: float | None = None
    memory_total_bytes: float | None = None
    temperature_celsius: float | None = None
    slowdown_celsius: float | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Glance:
    """All GPUs, the driver's version, and why nothing can be read where that is so."""

    gpus: tuple[Vital, ...] = ()
    driver: str = ""
    trouble: str = ""


class Glancer:
    """Looks again and again through one open NVML. Not for several threads."""

    def __init__(self) -> None:
        binding = load_binding()
        self._nvml = Nvml(binding.module) if binding.module is not None else None
        self._trouble = "" if self._nvml is not None else "the Python binding nvidia-ml-py is missing or unusable"
        self._devices: list[Device] = []
        if self._nvml is not None:
            started = self._nvml.start()
            if started.ok:
                self._devices = list(_devices(self._nvml))
            else:
                self._trouble = reason(started.code or 0)

    def look(self) -> Glance:
        """The GPUs now."""
        if self._nvml is None or self._trouble:
            return Glance(trouble=self._trouble)
        driver = self._nvml.ask(("nvmlSystemGetDriverVersion",))
        gpus = tuple(_vital(self._nvml, index, one) for index, one in enumerate(self._devices))
        return Glance(
            gpus, (text_of(driver.value) or "") if driver.ok else "", "" if gpus else "no GPU is visible here"
        )

    def close(self) -> None:
        """End it."""
        if self._nvml is not None:
            self._nvml.end()


def bus_ids() -> dict[str, Entity]:
    """The GPUs that the driver names, by their bus address as the driver writes it; none where it cannot be asked."""
    binding = load_binding()
    if binding.module is None:
        return {}
    nvml, found = Nvml(binding.module), {}
    if nvml.start().ok:
        for device in _devices(nvml):
            address = nvml.of(device, ("nvmlDeviceGetPciInfo",))
            text = text_of(address.value.busId) if address.ok else None
            if text:
                found[text] = device.entity
    nvml.end()
    return found


def memory_by_process() -> dict[int, float | None]:
    """Processes that compute on GPUs now, with the bytes of GPU memory that they hold; none where that is not told."""
    from gpuwhy.probes import nvml_processes

    binding = load_binding()
    if binding.module is None:
        return {}
    nvml, found = Nvml(binding.module), {}
    if nvml.start().ok:
        found = nvml_processes.memory_by_process(nvml, list(_devices(nvml)))
    nvml.end()
    return found


def _devices(nvml: Nvml) -> Iterator[Device]:
    count = nvml.ask(("nvmlDeviceGetCount",))
    for index in range(int(count.value) if count.ok else 0):
        handle = nvml.ask(("nvmlDeviceGetHandleByIndex",), index)
        if handle.ok:
            yield Device(handle.value, gpu(index))


def _vital(nvml: Nvml, index: int, device: Device) -> Vital:
    name = nvml.of(device, ("nvmlDeviceGetName",))
    busy = nvml.of(device, ("nvmlDeviceGetUtilizationRates",))
    memory = nvml.of(device, ("nvmlDeviceGetMemoryInfo",))
    warm = nvml.of(device, ("nvmlDeviceGetTemperature",), _GPU_CORE)
    limit = nvml.of(device, ("nvmlDeviceGetTemperatureThreshold",), _SLOWDOWN)
    return Vital(
        index,
        (text_of(name.value) if name.ok else None) or "GPU",
        busy.value.gpu / 100 if busy.ok else None,
        _number(memory, "used"),
        _number(memory, "total"),
        float(warm.value) if warm.ok else None,
        float(limit.value) if limit.ok else None,
        reason(device.stopped) if device.stopped is not None else "",
    )


def _number(answer: Answer, member: str) -> float | None:
    return float(getattr(answer.value, member)) if answer.ok else None
