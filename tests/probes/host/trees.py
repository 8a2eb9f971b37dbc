"""Builds /proc, /sys and the control groups of imagined machines, file by file."""

from __future__ import annotations

from pathlib import Path

from gpuwhy.kb.facts import HOST, Entity, Value
from gpuwhy.kb.load import load
from gpuwhy.probes.gathering import Readings


def write(root: Path, files: dict[str, str]) -> Path:
    """Writes files by absolute name below a root."""
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def values(readings: Readings, entity: Entity = HOST) -> dict[str, Value]:
    """Values of an entity by fact; every reading fits the vocabulary."""
    found = readings.gathering(load().facts, 1.0, False)
    assert found.unfit == ()
    return {one.id: one.value for one in found.facts if one.entity == entity}


def reasons(readings: Readings, entity: Entity = HOST) -> dict[str, str]:
    """Why facts are absent, by fact."""
    found = readings.gathering(load().facts, 1.0, False)
    return {one.id: one.reason for one in found.absent if one.entity == entity}


V1_MOUNTS = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
"""
V2_MOUNTS = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID_MOUNTS = V1_MOUNTS + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

V1_GROUPS = "9:name=systemd:/\n4:memory:/job/7\n3:cpuset:/job/7\n2:cpu,cpuacct:/job/7\n"
V2_GROUPS = "0::/jobs.slice/job-7.scope\n"
