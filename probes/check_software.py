"""The first step of a check: bus, kernel module, device files, driver, framework and its build, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuwhy.kb.facts import HOST, Entity, Fact
from gpuwhy.probes.driver_files import DriverFiles
from gpuwhy.probes.gathering import Gathering
from gpuwhy.probes.torch_probe import TorchLook

_UNREACHED = ("driver-not-loaded", "library-missing")
_NO_LOOK = ("binding-missing", "binding-unusable", "no-answer")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `state`: ok, broken, or unknown (could not look); `fact` is the figure it shows."""

    name: str
    state: str
    says: str
    fact: str = ""
    entity: Entity | None = None


def software(files: DriverFiles, seen: Gathering, torch: TorchLook, python: str | None) -> tuple[Check, ...]:
    """All checks of the step. What rests on something broken could not be looked at: it is not called broken too."""
    host = {one.id: one for one in seen.facts if one.entity == HOST}
    return (*_driver(files, host), *_framework(torch, python))


def _driver(files: DriverFiles, host: dict[str, Fact]) -> Iterator[Check]:
    error = host.get("host.nvml_error")
    reason = str(error.value) if error is not None else None
    reached = reason not in (*_UNREACHED, *_NO_LOOK)
    yield _bus(files, reached)
    if not files.wsl and files.pci != ():
        yield _module(files, reached)
        yield _nodes(files)
    if error is None:
        driver, cuda, count = (host.get(name) for name in ("host.driver_version", "host.cuda_version", "gpu.count"))
        says = f"{driver.value if driver else 'unknown version'}, CUDA {cuda.value if cuda else 'unknown'}"
        yield Check("driver", "ok", f"{says}, {count.value if count else 'no'} GPU(s) answer")
    elif reason in _NO_LOOK:
        yield Check("driver", "unknown", error.origin.text or reason or "")
    else:
        yield Check("driver", "broken", error.origin.text or reason or "")


def _bus(files: DriverFiles, reached: bool) -> Check:
    if files.wsl:
        return Check("GPU", "ok", "provided by Windows (WSL)")
    if files.pci is None:
        return Check("GPU", "unknown", "the PCI bus is not shown here")
    if files.pci:
        return Check("GPU", "ok", f"{len(files.pci)} NVIDIA GPU(s) on the PCI bus: {', '.join(files.pci[:8])}")
    if reached:
        return Check("GPU", "unknown", "none on the PCI bus, although the driver's library is there")
    return Check("GPU", "broken", "no NVIDIA GPU on the PCI bus of this machine")


def _module(files: DriverFiles, reached: bool) -> Check:
    if files.module is not None:
        return Check("kernel module", "ok", files.module)
    held = {one for one in files.bound if one not in ("none", "nvidia")}
    if held:
        return Check("kernel module", "broken", f"not loaded: {', '.join(sorted(held))} holds the GPU")
    if reached:
        return Check("kernel module", "unknown", "/proc/driver/nvidia/version is not shown here")
    return Check("kernel module", "broken", "not loaded: /proc/driver/nvidia/version is not there")


def _nodes(files: DriverFiles) -> Check:
    if not files.devices:
        return Check("device files", "broken", "no /dev/nvidia0: the container has no GPU, or the module is not loaded")
    if files.missing:
        return Check("device files", "broken", f"missing: {', '.join(files.missing)}")
    if files.closed:
        return Check("device files", "broken", f"this user may not open {', '.join(files.closed)}")
    return Check("device files", "ok", f"{len(files.devices)} GPU(s), all may be opened")


def _framework(torch: TorchLook, python: str | None) -> Iterator[Check]:
    if python is None:
        yield Check("framework", "unknown", "no python3 on the path; --python names the one of the job")
        return
    version = torch.values.get("job.framework_version")
    if version is None:
        yield Check("framework", "unknown", _no_torch(torch, python))
        return
    build = torch.values.get("job.cuda_build_version")
    yield Check(
        "framework", "ok" if build else "broken", f"PyTorch {version}, {f'CUDA {build}' if build else 'no CUDA'}"
    )
    if build:
        yield from _cuda(torch)


def _no_torch(torch: TorchLook, python: str) -> str:
    said = " ".join(torch.messages)
    if "No module named 'torch'" in said:
        return f"{python} has no PyTorch; --python names the one of the job"
    return torch.ended or said or f"{python} said nothing"


def _cuda(torch: TorchLook) -> Iterator[Check]:
    if torch.values.get("job.cuda_available") is not True:
        unsure = torch.values.get("job.cuda_available") is None
        says = torch.ended if unsure else (torch.messages[-1] if torch.messages else "PyTorch says no, and not why")
        yield Check("CUDA", "unknown" if unsure else "broken", says or "not asked")
        return
    yield Check("CUDA", "ok", f"PyTorch sees {torch.values.get('job.cuda_device_count', 'no')} GPU(s)")
    yield _kernel(torch)
    libraries = {"cuDNN": torch.values.get("job.cudnn_version"), "NCCL": torch.values.get("comm.nccl_version")}
    for name, found in libraries.items():
        yield Check(name, "ok" if found else "unknown", str(found or "not part of this build, or cannot be loaded"))


def _kernel(torch: TorchLook) -> Check:
    ran = torch.values.get("job.kernel_runs")
    has = f"built for {torch.values.get('job.cuda_architectures', 'unknown architectures')}"
    if ran:
        return Check("a kernel", "ok", f"runs and is right; {has}")
    if ran is False:
        return Check("a kernel", "broken", "gave a wrong result")
    said = torch.messages[-1] if torch.messages else None
    return Check("a kernel", "broken" if said else "unknown", f"{said or torch.ended or 'did not run'}; {has}")
