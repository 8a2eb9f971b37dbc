"""Limits of control groups: either version, both at once, those of the groups above, and inside a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwhy.probes import host_cgroup
from gpuwhy.probes.host_tree import Tree, Unread
from tests.probes.host.trees import HYBRID_MOUNTS, V1_GROUPS, V1_MOUNTS, V2_GROUPS, V2_MOUNTS, write


def version_2(root: Path, **files: str) -> Tree:
    base = {"/proc/self/mountinfo": V2_MOUNTS, "/proc/self/cgroup": V2_GROUPS}
    return Tree(write(root, {**base, **{f"/sys/fs/cgroup/{name}": text for name, text in files.items()}}))


def version_1(root: Path, mounts: str = V1_MOUNTS, **files: str) -> Tree:
    base = {"/proc/self/mountinfo": mounts, "/proc/self/cgroup": V1_GROUPS + "0::/\n"}
    return Tree(write(root, {**base, **{f"/sys/fs/cgroup/{name}": text for name, text in files.items()}}))


def test_of_version_2_the_tightest_quota_up_the_tree_binds(tmp_path: Path) -> None:
    tree = version_2(
        tmp_path,
        **{
            "jobs.slice/job-7.scope/cpu.max": "800000 100000\n",  # 8 CPUs
            "jobs.slice/cpu.max": "350000 100000\n",  # 3.5 CPUs
            "cpu.stat": "usage_usec 1\n",  # the root of version 2 has no cpu.max
        },
    )
    assert host_cgroup.cpu_quota(tree) == 3.5


def test_of_version_2_max_is_no_quota(tmp_path: Path) -> None:
    assert host_cgroup.cpu_quota(version_2(tmp_path, **{"jobs.slice/job-7.scope/cpu.max": "max 100000\n"})) is None


@pytest.mark.parametrize("mounts", [V1_MOUNTS, HYBRID_MOUNTS], ids=["version 1", "hybrid"])
def test_where_version_1_has_the_controller_its_files_count(tmp_path: Path, mounts: str) -> None:
    tree = version_1(
        tmp_path,
        mounts,
        **{
            "cpu,cpuacct/job/7/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/job/7/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/job/cpu.cfs_quota_us": "50000\n",
            "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/cpu.shares": "1024\n",
        },
    )
    assert host_cgroup.cpu_quota(tree) == 0.5


def test_inside_a_container_the_own_group_is_the_mount(tmp_path: Path) -> None:
    files = {
        "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
        "/proc/self/cgroup": "0::/\n",
        "/sys/fs/cgroup/cpu.max": "200000 100000\n",
    }
    assert host_cgroup.cpu_quota(Tree(write(tmp_path, files))) == 2.0


def test_without_a_namespace_the_container_is_mounted_as_the_root(tmp_path: Path) -> None:
    files = {
        "/proc/self/mountinfo": "30 23 0:26 /docker/4f /sys/fs/cgroup ro - cgroup cgroup rw,cpu\n",
        "/proc/self/cgroup": "3:cpu:/docker/4f\n",
        "/sys/fs/cgroup/cpu.cfs_quota_us": "150000\n",
        "/sys/fs/cgroup/cpu.cfs_period_us": "100000\n",
    }
    assert host_cgroup.cpu_quota(Tree(write(tmp_path, files))) == 1.5


def test_memory_is_limited_where_the_least_is_left(tmp_path: Path) -> None:
    tree = version_2(
        tmp_path,
        **{
            "jobs.slice/job-7.scope/memory.max": "64000\n",
            "jobs.slice/job-7.scope/memory.current": "1000\n",  # 63000 left
            "jobs.slice/memory.max": "70000\n",
            "jobs.slice/memory.current": "60000\n",  # 10000 left
            "memory.stat": "anon 1\n",
        },
    )
    assert host_cgroup.memory_limit(tree) == (70000, 60000)


def test_the_largest_number_of_version_1_is_no_limit(tmp_path: Path) -> None:
    files = {
        "memory/job/7/memory.limit_in_bytes": "9223372036854771712\n",
        "memory/job/7/memory.usage_in_bytes": "5\n",
    }
    assert host_cgroup.memory_limit(version_1(tmp_path, **files)) is None


def test_throttling_is_told_in_microseconds_and_in_nanoseconds(tmp_path: Path) -> None:
    two = version_2(
        tmp_path / "2",
        **{
            "jobs.slice/job-7.scope/cpu.max": "100000 100000\n",
            "jobs.slice/job-7.scope/cpu.stat": "usage_usec 9\nnr_periods 40\nnr_throttled 10\nthrottled_usec 2500000\n",
        },
    )
    one = version_1(
        tmp_path / "1",
        **{
            "cpu,cpuacct/job/7/cpu.cfs_quota_us": "100000\n",
            "cpu,cpuacct/job/7/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/job/7/cpu.stat": "nr_periods 40\nnr_throttled 10\nthrottled_time 2500000000\n",
        },
    )
    for tree in (one, two):
        (found,) = host_cgroup.throttling(tree).values()
        assert found == host_cgroup.Throttling(40, 10, 2.5)


def test_the_set_of_cpus_is_that_in_force(tmp_path: Path) -> None:
    tree = version_2(tmp_path, **{"jobs.slice/job-7.scope/cpuset.cpus.effective": "0-1,8\n"})
    assert host_cgroup.cpuset(tree) == frozenset({0, 1, 8})


def test_kills_are_counted_by_either_version(tmp_path: Path) -> None:
    two = version_2(tmp_path / "2", **{"jobs.slice/job-7.scope/memory.events": "low 0\noom 3\noom_kill 2\n"})
    one = version_1(tmp_path / "1", **{"memory/job/7/memory.oom_control": "under_oom 0\noom_kill 2\n"})
    assert host_cgroup.kills(one) == host_cgroup.kills(two) == 2


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"/proc/self/mountinfo": "", "/proc/self/cgroup": ""},
        {"/proc/self/mountinfo": V2_MOUNTS, "/proc/self/cgroup": V2_GROUPS},
        {"/proc/self/mountinfo": V2_MOUNTS, "/proc/self/cgroup": "0::/../../elsewhere\n"},
        {"/proc/self/mountinfo": "x - y\n- -\n", "/proc/self/cgroup": ":::\n\n"},
    ],
    ids=["nothing", "empty", "not visible", "out of the mount", "garbled"],
)
def test_what_cannot_be_seen_is_unread(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(Unread):
        host_cgroup.cpu_quota(Tree(write(tmp_path, files)))
