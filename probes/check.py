"""Looks at a machine in three steps: does the software agree, does the GPU do its work, how fast is the data path.

Each step is a list of checks: what was looked at, and whether it is as it should be, is broken, or could not be looked
at. The facts behind them are given too; judging causes is the engine's part.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gpuwhy.kb.facts import HOST, JOB, Entity, Fact
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.units import show
from gpuwhy.probes import data_path, driver_files, torch_probe
from gpuwhy.probes.check_software import Check, software
from gpuwhy.probes.gathering import Gathering, Readings
from gpuwhy.probes.torch_probe import TorchLook

WATCH_SECONDS = 1.0
BUSY_SHARE = 0.05
"""What a GPU that is busy for a larger share of the time would give are the figures of a shared GPU."""

MEASURED = (
    ("gpu.host_to_device_bytes_per_second", "copy to GPU", "pinned"),
    ("gpu.device_to_host_bytes_per_second", "copy from GPU", "pinned"),
    ("gpu.host_to_device_pageable_bytes_per_second", "copy to GPU", "pageable"),
    ("gpu.device_to_host_pageable_bytes_per_second", "copy from GPU", "pageable"),
    ("gpu.copy_bandwidth_bytes_per_second", "GPU memory", "read and write"),
    ("gpu.matmul_float32_flops", "matmul FP32", ""),
    ("gpu.matmul_tf32_flops", "matmul TF32", ""),
    ("gpu.matmul_float16_flops", "matmul FP16", ""),
    ("gpu.matmul_bfloat16_flops", "matmul bf16", ""),
    ("gpu.launch_seconds", "kernel launch", ""),
    ("gpu.graph_launch_seconds", "same in a graph", ""),
)

__all__ = ["Check", "Looked", "Options", "Step", "look"]


@dataclass(frozen=True)
class Options:
    """What to look at: the job's Python (None: there is none), data to read, and how long to measure each GPU."""

    python: str | None
    data: Path | None = None
    even_if_busy: bool = False
    measure_seconds: float = 10.0


@dataclass(frozen=True)
class Step:
    """One of the three steps."""

    title: str
    checks: tuple[Check, ...]

    @property
    def broken(self) -> bool:
        """True if something in it is broken."""
        return any(one.state == "broken" for one in self.checks)

    @property
    def sound(self) -> bool:
        """True if all of it was looked at, and is as it should be."""
        return bool(self.checks) and all(one.state == "ok" for one in self.checks)


@dataclass(frozen=True)
class Looked:
    """The steps, and all facts that were gathered on the way."""

    steps: tuple[Step, ...]
    seen: Gathering


def look(options: Options, specs: Mapping[str, FactSpec], progress: Callable[[str], None] | None = None) -> Looked:
    """All steps, as far as Ctrl-C lets them go."""
    tell = progress or (lambda _: None)
    files = driver_files.read()
    tell("the driver")
    seen = _watch(specs)
    own = _surroundings(files)
    busy = _busy(seen)
    torch = TorchLook(ended="not asked")
    if options.python is not None and not seen.interrupted:
        tell(f"PyTorch in {options.python}")
        torch = torch_probe.look(
            options.python,
            measure=options.even_if_busy or busy is None,
            seconds=options.measure_seconds,
            devices={str(one.value): one.entity for one in seen.facts if one.id == "gpu.uuid"},
            progress=lambda what: tell(f"PyTorch: {what}"),
        )
    _note_messages(torch)
    interrupted = seen.interrupted or torch.interrupted
    steps = [
        Step("driver, CUDA and framework agree", software(files, seen, torch, options.python)),
        Step("the GPU copies and computes", _gpu(torch, None if options.even_if_busy else busy)),
        Step("the data path", _data(options, own, interrupted, tell)),
    ]
    parts = [torch.readings.gathering(specs, 0.0, torch.interrupted), own.gathering(specs, 0.0, False)]
    return Looked(tuple(steps), _together([seen, *parts], interrupted))


def _watch(specs: Mapping[str, FactSpec]) -> Gathering:
    from gpuwhy.probes.nvml_sampler import sample

    return sample(WATCH_SECONDS, specs=specs, stop=threading.Event())


def _together(parts: list[Gathering], interrupted: bool) -> Gathering:
    """All facts; of two readings of one thing the first stays."""
    facts: dict[tuple[str, Entity], Fact] = {}
    for part in parts:
        for fact in part.facts:
            facts.setdefault((fact.id, fact.entity), fact)
    absent = {(one.id, one.entity): one for part in parts for one in part.absent}
    missing = tuple(one for key, one in absent.items() if key not in facts)
    unfit = tuple(one for part in parts for one in part.unfit)
    return Gathering(tuple(facts.values()), missing, parts[0].seconds, interrupted, unfit)


def _surroundings(files: driver_files.DriverFiles) -> Readings:
    """What the bus, the kernel and the environment of this process show."""
    found = Readings("this machine")
    if files.pci is not None:
        found.put("host.nvidia_pci_devices", HOST, len(files.pci), ", ".join(files.pci) or None)
    if files.module is not None:
        found.put("host.kernel_module_version", HOST, files.module, source="/proc/driver/nvidia/version")
    if files.wsl:
        found.put("job.platform", JOB, "wsl", "/dev/dxg is there")
    if any(Path(one).exists() for one in ("/.dockerenv", "/run/.containerenv")):
        found.put("job.container", JOB, True, "a container's mark is there")
    if os.environ.get("CUDA_LAUNCH_BLOCKING") == "1":
        found.put("job.launch_blocking", JOB, True, "CUDA_LAUNCH_BLOCKING=1")
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        _note_text(f"export CUDA_VISIBLE_DEVICES='{visible}'", found)
    return found


def _note_messages(torch: TorchLook) -> None:
    """What PyTorch said is read like any artefact."""
    _note_text("\n".join(torch.messages), torch.readings)


def _note_text(text: str, into: Readings) -> None:
    from gpuwhy.probes.artefacts import env_messages
    from gpuwhy.probes.artefacts.contract import Line, Text

    lines = tuple(Line(number, line) for number, line in enumerate(text.splitlines(), 1))
    for extract in env_messages.scan(Text("this machine", lines)) if lines else ():
        for one in extract.readings:
            into.put(one.fact, one.entity, one.value, one.text)


def _busy(seen: Gathering) -> str | None:
    """Which GPU is at work, in words; None if none is."""
    for one in seen.facts:
        if one.id == "gpu.utilization_share" and isinstance(one.value, float) and one.value > BUSY_SHARE:
            return f"GPU {one.entity.name} is {show(one.value, 'share')} busy"
    return None


def _gpu(torch: TorchLook, busy: str | None) -> tuple[Check, ...]:
    if not torch.values.get("job.kernel_runs"):
        return (Check("GPU", "unknown", "not measured: no kernel ran in step 1"),)
    if busy is not None:
        return (Check("GPU", "unknown", f"not measured: {busy}; --even-if-busy measures all the same"),)
    entities = sorted({entity for _, entity in torch.measured if entity.kind == "gpu"}, key=lambda one: one.name)
    found: list[Check] = []
    for entity in entities:
        for fact, label, note in MEASURED:
            value = torch.readings.get(fact, entity)
            if value is not None:
                found.append(
                    Check(label, "ok", _figure(fact, value, note, torch.measured.get((fact, entity))), fact, entity)
                )
    if torch.ended:
        found.append(Check("GPU", "unknown", f"the rest was not measured: {torch.ended}"))
    return tuple(found) or (Check("GPU", "unknown", "nothing could be measured"),)


def _figure(fact: str, value: object, note: str, how: str | None) -> str:
    unit = next((one for one in ("flops", "bytes_per_second") if fact.endswith(one)), "seconds")
    text = show(value, unit) if isinstance(value, (int, float, str)) else ""
    count = (how or "").split(" after ")[0].split(", from ")[0]
    return ", ".join(one for one in (text, note, count) if one)


def _data(options: Options, own: Readings, interrupted: bool, tell: Callable[[str], None]) -> tuple[Check, ...]:
    if options.data is None:
        return (Check("data", "unknown", "not read: --data PATH names the files that the job reads"),)
    if interrupted:
        return (Check("data", "unknown", "not read: interrupted before"),)
    tell(f"reading {options.data}")
    found = data_path.read(options.data)
    if found.problem is not None:
        return (Check("data", "unknown", found.problem),)
    if found.rate is None:
        return (
            Check(
                "data",
                "unknown",
                f"only {show(float(found.bytes_read), 'bytes')} were there to read: too little to tell a rate",
            ),
        )
    scale = (
        f"{show(float(found.bytes_read), 'bytes')} of {found.files} of {found.listed} file(s) in {found.seconds:.1f} s"
    )
    if found.direct:
        own.put(
            "storage.read_bytes_per_second",
            HOST,
            found.rate,
            f"{options.data}: {scale}, one reader, past the page cache",
        )
        return (
            Check("data", "ok", f"{show(found.rate, 'bytes_per_second')}: {scale}, one reader, past the page cache"),
        )
    own.lack("storage.read_bytes_per_second", HOST, "the file system does not read past the page cache")
    says = f"{show(found.rate, 'bytes_per_second')}: {scale}, but this file system does not read past the page cache"
    return (Check("data", "unknown", f"{says}; memory may have answered"),)


def with_expected(step: Step, facts: Mapping[tuple[str, Entity], Fact]) -> Step:
    """The step, each figure beside what is expected of this kind of GPU, where that is known."""
    return replace(step, checks=tuple(_beside(one, facts) for one in step.checks))


_EXPECTED = {
    "gpu.host_to_device_bytes_per_second": "gpu.expected_host_to_device_bytes_per_second",
    "gpu.device_to_host_bytes_per_second": "gpu.expected_device_to_host_bytes_per_second",
    "gpu.copy_bandwidth_bytes_per_second": "gpu.expected_memory_bandwidth_bytes_per_second",
    "gpu.matmul_float32_flops": "gpu.expected_float32_flops",
    "gpu.matmul_float16_flops": "gpu.expected_tensor16_flops",
    "gpu.matmul_bfloat16_flops": "gpu.expected_tensor16_flops",
}


def _beside(one: Check, facts: Mapping[tuple[str, Entity], Fact]) -> Check:
    if one.entity is None or one.fact not in _EXPECTED:
        return one
    measured, expected = facts.get((one.fact, one.entity)), facts.get((_EXPECTED[one.fact], one.entity))
    if measured is None or expected is None or isinstance(expected.value, str) or not expected.value:
        return one
    share = float(measured.value) / float(expected.value)
    return replace(one, says=f"{one.says}; {show(share, 'share')} of {show(expected.value, expected.unit)} expected")
