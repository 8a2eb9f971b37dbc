"""Disks of this host over a window, and which file systems and disks the given paths are on.

A file system on a network, in memory or in user space has no disk; a logical volume has several.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from gpuwhy.kb.facts import HOST, JOB, Entity
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.gathering import Readings, plain
from gpuwhy.probes.host_cgroup import Mount, mounts
from gpuwhy.probes.host_memory_live import Statvfs
from gpuwhy.probes.host_tree import Tree, Unread

SECTOR_BYTES = 512
"""/proc/diskstats counts in these, whatever the device has."""

MAX_DISKS = 32
MAX_DEPTH = 8

_NO_DISK = ("loop", "ram", "zram", "sr", "fd", "nbd")
_COLUMNS = (
    "reads", "reads_merged", "read_sectors", "read_ms", "writes", "writes_merged", "write_sectors", "write_ms",
    "in_flight", "busy_ms", "weighted_ms",
)  # fmt: skip
_NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "lustre",
    "ceph",
    "glusterfs",
    "beegfs",
    "gpfs",
    "9p",
    "virtiofs",
    "afs",
    "wekafs",
)
_OBJECT_STORE = (
    "s3fs",
    "ossfs",
    "ossfs2",
    "goofys",
    "gcsfuse",
    "blobfuse",
    "blobfuse2",
    "mountpoint-s3",
    "rclone",
    "juicefs",
)
_MEMORY = ("tmpfs", "ramfs")
_CLOUD_MODELS = ("amazon elastic block store", "alibaba cloud elastic block storage", "msft nvme accelerator")

Counters = dict[str, int]


@dataclass
class DiskState:
    """Counters of each disk since boot, or why there are none."""

    disks: dict[str, Counters] = field(default_factory=dict)
    problem: str | None = None


def observe(tree: Tree) -> DiskState:
    """The counters of whole disks now; of partitions, loops and RAM disks none."""
    state = DiskState()
    try:
        text = tree.text("/proc/diskstats")
    except Unread as error:
        state.problem = str(error)
        return state
    whole = set(tree.names("/sys/block"))
    for line in text.splitlines():
        parts = line.split()
        name, numbers = (parts[2], parts[3:]) if len(parts) >= 3 + len(_COLUMNS) else ("", [])
        if name in whole and not name.startswith(_NO_DISK) and all(one.isdigit() for one in numbers[: len(_COLUMNS)]):
            state.disks[name] = dict(zip(_COLUMNS, map(int, numbers), strict=False))
    return state


def fold(before: DiskState, after: DiskState, seconds: float, readings: Readings) -> None:
    """Notes rates, waits and queues between two states: of disks that were used, the busiest first."""
    problem = before.problem or after.problem
    if problem is not None or seconds <= 0:
        readings.lack("disk.read_bytes_per_second", HOST, problem or "the window has no length")
        return
    spans = {name: _difference(before.disks[name], after.disks[name]) for name in before.disks if name in after.disks}
    used = sorted(
        (name for name, one in spans.items() if one["reads"] or one["writes"]), key=lambda name: -spans[name]["busy_ms"]
    )
    if not used and spans:
        readings.lack("disk.read_bytes_per_second", HOST, f"none of {len(spans)} disk(s) was used in the window")
    for name in used[:MAX_DISKS]:
        _fold_disk(Entity("disk", plain(name), HOST), spans[name], seconds, readings)


def _difference(before: Counters, after: Counters) -> Counters:
    """What was added; counters of 32 bits that ran over count nothing."""
    return {column: max(0, after[column] - before[column]) for column in _COLUMNS}


def _fold_disk(disk: Entity, spent: Counters, seconds: float, readings: Readings) -> None:
    values = {
        "disk.busy_share": min(1.0, spent["busy_ms"] / 1e3 / seconds),
        "disk.queue_length": spent["weighted_ms"] / 1e3 / seconds,
        "disk.read_bytes_per_second": spent["read_sectors"] * SECTOR_BYTES / seconds,
        "disk.write_bytes_per_second": spent["write_sectors"] * SECTOR_BYTES / seconds,
        "disk.read_operations_per_second": spent["reads"] / seconds,
        "disk.write_operations_per_second": spent["writes"] / seconds,
    }
    if spent["reads"]:
        values["disk.read_wait_seconds"] = spent["read_ms"] / 1e3 / spent["reads"]
    if spent["writes"]:
        values["disk.write_wait_seconds"] = spent["write_ms"] / 1e3 / spent["writes"]
    for fact, value in values.items():
        readings.put(fact, disk, value, "/proc/diskstats", window_seconds=seconds)


def read_paths(tree: Tree, paths: Iterable[str], readings: Readings, statvfs: Statvfs = os.statvfs) -> None:
    """Notes file systems and disks under these paths, and where the data of the job live if the paths agree on that."""
    try:
        every = mounts(tree)
    except Unread as error:
        readings.lack("filesystem.type", HOST, str(error))
        return
    locations = set()
    for path in dict.fromkeys(paths):
        mount = mount_of(every, path)
        if mount is None:
            continue
        disks = list(disks_of(tree, mount.device))
        _note_mount(tree, mount, disks, readings, statvfs)
        locations.add(location(tree, mount, disks))
    if len(locations) == 1 and (found := locations.pop()) is not None:
        readings.put("job.data_location", JOB, found, "file system and disk of the files that the job reads")


def mount_of(every: list[Mount], path: str) -> Mount | None:
    """The mount that an absolute path lies on: the longest, and of equal ones the last, which covers the others."""
    fitting = [one for one in every if _below(path, one.point)]
    return max(enumerate(fitting), key=lambda pair: (len(pair[1].point), pair[0]))[1] if fitting else None


def _below(path: str, point: str) -> bool:
    return point == "/" or path == point or path.startswith(point.rstrip("/") + "/")


def disks_of(tree: Tree, device: str, depth: int = 0) -> Iterator[str]:
    """Names of the whole disks under a device (major:minor), through partitions and logical volumes."""
    folder = tree.path(f"/sys/dev/block/{device}")
    if device.startswith("0:") or not folder.exists():
        return
    slaves = tree.names(f"/sys/dev/block/{device}/slaves")
    if slaves and depth < MAX_DEPTH:
        for name in slaves:
            try:
                below = tree.line(f"/sys/dev/block/{device}/slaves/{name}/dev")
            except Unread:
                continue
            yield from disks_of(tree, below, depth + 1)
        return
    real = folder.resolve()
    yield plain(real.parent.name if (real / "partition").exists() else real.name)


def _note_mount(tree: Tree, mount: Mount, disks: list[str], readings: Readings, statvfs: Statvfs) -> None:
    one = Entity("filesystem", plain(mount.point), HOST)
    readings.put("filesystem.type", one, mount.type)
    if disks:
        readings.put("filesystem.disks", one, ", ".join(sorted(set(disks))))
    else:
        readings.lack("filesystem.disks", one, f"a file system of type {mount.type} has no disk of its own here")
    try:
        found = statvfs(str(tree.path(mount.point)))
    except OSError as error:
        readings.lack("filesystem.total_bytes", one, f"it cannot be looked at: {error.strerror}")
        return
    if found.f_blocks > 0:
        used = found.f_blocks - found.f_bfree
        readings.put("filesystem.total_bytes", one, found.f_blocks * found.f_frsize)
        readings.put("filesystem.used_bytes", one, used * found.f_frsize)
        readings.put("filesystem.available_bytes", one, found.f_bavail * found.f_frsize)
        readings.put("filesystem.used_share", one, used / max(1, used + found.f_bavail))


def location(tree: Tree, mount: Mount, disks: list[str]) -> str | None:
    """Where files of a mount live, in the words of `job.data_location`; None where the system does not tell."""
    kind, program = mount.type, mount.source.partition("#")[0].rpartition("/")[2].lower()
    if kind in _MEMORY:
        return "memory"
    if kind in _NETWORK:
        return "network-file-system"
    if kind.startswith("fuse"):
        names = {kind.partition(".")[2], program}
        return "object-store" if names & set(_OBJECT_STORE) else None
    kinds = {_disk_kind(tree, name) for name in disks}
    return kinds.pop() if len(kinds) == 1 else None


def _disk_kind(tree: Tree, name: str) -> str | None:
    """A virtual disk calls itself rotational without being so: only the bus and the model tell."""
    try:
        model = tree.line(f"/sys/block/{name}/device/model").lower()
    except Unread:
        model = ""
    if any(one in model for one in _CLOUD_MODELS) or name.startswith(("vd", "xvd")):
        return "cloud-disk"
    if name.startswith("nvme") and model:
        return "local-nvme"
    try:
        spins = tree.number(f"/sys/block/{name}/queue/rotational") == 1
        vendor = tree.line(f"/sys/block/{name}/device/vendor").strip()
    except Unread:
        return None
    return "hard-disk" if spins and name.startswith("sd") and vendor == "ATA" else None
