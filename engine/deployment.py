"""What to know before starting on a chosen machine: CUDA and driver, the Kubernetes resource, the disk."""

from __future__ import annotations

from gpuwhy.engine.selection import Candidate
from gpuwhy.engine.workload import Work
from gpuwhy.kb.catalogue import Catalogue, version_number
from gpuwhy.kb.offers import GB, Machine
from gpuwhy.kb.records import dataclass

CUDA_VERSIONS = ("12.8", "12.6")
"""Builds of PyTorch to choose from, newest first. Those for 12.8 leave out what is older than Turing: Pascal since 2.8,
Volta since 2.11 (pytorch/pytorch issue 157517 and release notes); those for 12.6 keep both."""

OLDEST_OF_NEWEST_BUILD = 7.5
AMPERE = 8.0

DISK_CLASSES = (("PL0", 10_000, 180), ("PL1", 50_000, 350), ("PL2", 100_000, 750), ("PL3", 1_000_000, 4000))
"""ESSD classes with the most IOPS and MB/s of one disk (Alibaba Cloud ECS: ESSDs, ModifyDiskSpec)."""

DISK_FLOOR_GIB = {"PL0": 1, "PL1": 20, "PL2": 461, "PL3": 1261}
PARTITIONS = {"A100-SXM4-80GB": "mig-1g.10gb", "A100-SXM4-40GB": "mig-1g.5gb", "A30": "mig-1g.6gb"}
"""The smallest partition of a card, as the device plugin names it (strategy mixed)."""


@dataclass(frozen=True)
class Disk:
    """A cloud disk that reads at the rate wanted: its class, its size, and whether the machine passes that on."""

    disk_class: str
    size_gib: int
    capped_by_machine: bool


@dataclass(frozen=True)
class Advice:
    """What to install and ask for. `driver` is the oldest that runs this CUDA build."""

    cuda: str | None
    driver: str | None
    snippet: str
    disk: Disk | None
    framework: str | None = None
    image: str = ""


def advise(catalogue: Catalogue, work: Work, chosen: Candidate) -> Advice:
    """The advice for a chosen machine; what the catalogue does not know is None."""
    cuda = cuda_build(catalogue, chosen.machine)
    needed = {one.fact: one.value for one in catalogue.of_version("job.cuda_build_version", cuda)} if cuda else {}
    driver = needed.get("job.driver_needed_version")
    machine = chosen.machine
    disk = None
    if work.data_bytes_per_second and machine.provider == "alicloud":
        disk = disk_for(work.data_bytes_per_second, machine)
    told = str(driver) if driver is not None else None
    return Advice(cuda, told, snippet(work, machine), disk, framework(work, machine, cuda), image(machine))


def framework(work: Work, machine: Machine, cuda: str | None) -> str | None:
    """How to install the framework with code for this card; None where its compute capability is not known.

    vLLM: from compute capability 7.5 on (requirements of 0.21); FlashAttention-2: from Ampere on.
    """
    capability = machine.compute_capability
    if cuda is None or capability is None:
        return None
    wheel = f"pip install torch --index-url https://download.pytorch.org/whl/cu{cuda.replace('.', '')}"
    if capability < OLDEST_OF_NEWEST_BUILD:
        wheel += "; newer wheels and CUDA 13 have no code for it"
        return wheel + (", and vLLM from 0.21 on does not run on it" if work.serves else "")
    return wheel + ("; FlashAttention-2 wants Ampere" if capability < AMPERE else "")


def image(machine: Machine) -> str:
    """Which image to start from."""
    if machine.provider == "tencent":
        text = "a public image with the driver installed at creation (Tesla driver; GRID for slices)"
    else:
        text = "a public image with the driver installed at creation, or one that brings it"
    return text + "; the wheels, or a container, bring CUDA itself"


def cuda_build(catalogue: Catalogue, machine: Machine) -> str | None:
    """The newest CUDA build that has code for the card; None where its compute capability is not known."""
    capability = machine.compute_capability
    if capability is None:
        return None
    known = {one.fact: one.value for one in catalogue.of_version("gpu.compute_capability", str(capability))}
    first, dropped = (version_number(str(known.get(f"gpu.{word}", ""))) for word in _BOUNDS)
    for build in CUDA_VERSIONS:
        number = version_number(build)
        assert number is not None
        if capability < OLDEST_OF_NEWEST_BUILD and build == CUDA_VERSIONS[0]:
            continue
        if (first is None or number >= first) and (dropped is None or number < dropped):
            return build
    return None


_BOUNDS = ("first_cuda_version", "dropped_by_cuda_version")


def snippet(work: Work, machine: Machine) -> str:
    """The part of a Pod that asks for the GPUs of a machine, or for a partition where isolated parts are wanted."""
    part = next((name for card, name in PARTITIONS.items() if card in machine.gpu), None) if work.partitions else None
    resource, count = (f"nvidia.com/{part}", 1) if part else ("nvidia.com/gpu", machine.gpus)
    named = not machine.is_slice and machine.compute_capability is not None and "(" not in machine.gpu
    card = f"  # or by card: aliyun.accelerator/nvidia_name: {machine.gpu.replace(' ', '-')}\n"
    labels = "  # whether TKE sets it so: kubectl get nodes --show-labels\n" if machine.provider == "tencent" else ""
    return (
        "nodeSelector:\n"
        f"  node.kubernetes.io/instance-type: {machine.name}\n"
        f"{card if named and machine.provider == 'alicloud' else labels}"
        "containers:\n"
        "- resources:\n"
        "    limits:\n"
        f"      {resource}: {count}\n"
    )


def disk_for(rate: float, machine: Machine) -> Disk | None:
    """The least ESSD that reads at a rate (bytes per second): min(120 + 0.5 x GiB, cap) MB/s. None if no one disk does.

    The machine's own limit applies on top.
    """
    wanted = rate / 1e6
    for name, _, cap in DISK_CLASSES[1:]:
        if wanted <= cap:
            size = max(DISK_FLOOR_GIB[name], int(-(-(wanted - 120) // 0.5)))
            limit = machine.disk_bytes_per_second
            return Disk(name, size, limit is not None and limit < rate)
    return None


def bandwidth_of_disk(size_gib: float, disk_class: str) -> float:
    """Bytes per second of an ESSD of a size: min(120 + 0.5 x GiB, cap) MB/s."""
    cap = next(cap for name, _, cap in DISK_CLASSES if name == disk_class)
    return min(120 + 0.5 * size_gib, cap) * GB / 1000
