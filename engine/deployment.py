"""What to know before starting on a chosen machine: CUDA and driver, the Kubernetes resource, the disk."""

from __future__ import annotations

from gpuwhy.engine.selection import Candidate
from gpuwhy.engine.workload import Work
from gpuwhy.kb.catalogue import Catalogue, version_number
from gpuwhy.kb.offers import GB, Machine
from gpuwhy.kb.records import dataclass

CUDA_VERSIONS = ("12.8", "12.6")
"""Builds of PyTorch to choose from, newest first; PyTorch's 12.8 builds leave out what is older than Turing."""

OLDEST_OF_NEWEST_BUILD = 7.5

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


def advise(catalogue: Catalogue, work: Work, chosen: Candidate) -> Advice:
    """The advice for a chosen machine; what the catalogue does not know is None."""
    cuda = cuda_build(catalogue, chosen.machine)
    needed = {one.fact: one.value for one in catalogue.of_version("job.cuda_build_version", cuda)} if cuda else {}
    driver = needed.get("job.driver_needed_version")
    disk = disk_for(work.data_bytes_per_second, chosen.machine) if work.data_bytes_per_second else None
    return Advice(cuda, str(driver) if driver is not None else None, snippet(work, chosen.machine), disk)


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
    return (
        "nodeSelector:\n"
        f"  node.kubernetes.io/instance-type: {machine.name}\n"
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
