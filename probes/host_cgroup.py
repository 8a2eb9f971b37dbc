"""The control groups of a process and all that are above them, of either version and both at once.

A limit of a group above binds as well, so that what counts is the least of all. Inside a container with a namespace of
its own the groups above cannot be seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.host_tree import Tree, Unread, cpu_list, whole

MAX_DEPTH = 64

NO_LIMIT_FROM_BYTES = 1 << 60
"""Version 1 writes the largest number of pages for "no limit": 2**63 less a page."""

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Group:
    """One group: its folder, and the version of its files."""

    folder: str
    version: int


@dataclass(frozen=True)
class Throttling:
    """What a group with a quota has been through since it exists: periods, held-back ones, and the time held back."""

    periods: int
    throttled: int
    seconds: float


@dataclass(frozen=True)
class Mount:
    """One line of `mountinfo`. `point` is where it is seen, `inside` which folder of the file system is seen there."""

    device: str
    inside: str
    point: str
    type: str
    source: str
    options: str


def mounts(tree: Tree) -> list[Mount]:
    """All mounts that the process sees, later ones over earlier ones. Raises `Unread`."""
    found = []
    for line in tree.text(tree.own("mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        own, more = left.split(" "), right.split(" ")
        if len(own) >= 6 and len(more) >= 2:
            options = more[2] if len(more) > 2 else ""
            found.append(Mount(own[2], _plain(own[3]), _plain(own[4]), more[0], _plain(more[1]), options))
    return found


def _plain(path: str) -> str:
    """A path in which the kernel wrote blanks and backslashes as octal numbers."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), path)


def groups(tree: Tree, controller: str) -> list[Group]:
    """The group that limits a process in this respect (cpu, memory, cpuset, …) and all above it, innermost first.

    A controller belongs to one version at a time: to version 1 where its hierarchy is mounted. Raises `Unread`.
    """
    one, two = _memberships(tree, controller)
    for mount in mounts(tree):
        if mount.type == "cgroup" and one is not None and controller in mount.options.split(","):
            return list(_upwards(mount, one, 1))
    for mount in mounts(tree):
        if mount.type == "cgroup2" and two is not None:
            return list(_upwards(mount, two, 2))
    raise Unread(f"no control group of {controller} is mounted here")


def _memberships(tree: Tree, controller: str) -> tuple[str | None, str | None]:
    one = two = None
    for line in tree.text(tree.own("cgroup")).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            two = path
        elif controller in controllers.split(","):
            one = path
    return one, two


def _upwards(mount: Mount, path: str, version: int) -> Iterator[Group]:
    """From the process's own group to the mount. A path that leads out of what is mounted ends at the mount."""
    inside = mount.inside.rstrip("/")
    if inside and path.startswith(inside):
        path = path[len(inside) :]
    parts = [] if ".." in path.split("/") else [part for part in path.split("/") if part]
    for depth in range(min(len(parts), MAX_DEPTH), -1, -1):
        yield Group("/".join([mount.point.rstrip("/"), *parts[:depth]]), version)


def cpu_quota(tree: Tree) -> float | None:
    """CPUs that the tightest quota allows, None without one. Raises `Unread` where no group can be read."""
    quotas = [quota for one in _readable(tree, "cpu") if (quota := _quota(tree, one)) is not None]
    return min(quotas, default=None)


def _readable(tree: Tree, controller: str) -> list[Group]:
    """The groups whose folder is there; those of a hybrid system may lack files, as the root of version 2 does."""
    found = [one for one in groups(tree, controller) if tree.exists(one.folder)]
    if not found:
        raise Unread(f"the control group of {controller} is not visible here")
    return found


def _quota(tree: Tree, group: Group) -> float | None:
    try:
        if group.version == 2:
            quota, _, period = tree.line(f"{group.folder}/cpu.max").partition(" ")
        else:
            quota = tree.line(f"{group.folder}/cpu.cfs_quota_us")
            period = tree.line(f"{group.folder}/cpu.cfs_period_us")
        allowed, each = (-1 if quota == "max" else whole(quota, "a quota")), whole(period, "a period")
    except Unread:
        return None
    return allowed / each if allowed > 0 and each > 0 else None


def cpuset(tree: Tree) -> frozenset[int] | None:
    """CPUs that the groups allow, None where no group says. Raises `Unread` where no group can be read."""
    for group in _readable(tree, "cpuset"):
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            try:
                found = cpu_list(tree.line(f"{group.folder}/{name}"))
            except Unread:
                continue
            if found:
                return found
    return None


def throttling(tree: Tree) -> dict[str, Throttling]:
    """Of each group with a quota, by folder, how it was held back so far. Raises `Unread`."""
    found = {}
    for group in _readable(tree, "cpu"):
        if _quota(tree, group) is None:
            continue
        try:
            table = tree.table(f"{group.folder}/cpu.stat")
            held = table.get("throttled_usec"), table.get("throttled_time")
            seconds = int(held[0]) / 1e6 if held[0] is not None else int(held[1] or 0) / 1e9
            found[group.folder] = Throttling(int(table["nr_periods"]), int(table["nr_throttled"]), seconds)
        except (Unread, KeyError, ValueError):
            continue
    return found


def memory_limit(tree: Tree) -> tuple[int, int] | None:
    """Limit and use, in bytes, of the group with the least room; None without any limit. Raises `Unread`."""
    found = []
    for group in _readable(tree, "memory"):
        names = ("memory.max", "memory.current") if group.version == 2 else (
            "memory.limit_in_bytes", "memory.usage_in_bytes")  # fmt: skip
        try:
            limit, used = (tree.number(f"{group.folder}/{name}") for name in names)
        except Unread:
            continue
        if limit < NO_LIMIT_FROM_BYTES:
            found.append((limit - used, limit, used))
    return min(found)[1:] if found else None


def kills(tree: Tree) -> int:
    """Processes of the own group that its memory limit killed so far. Raises `Unread`."""
    group = _readable(tree, "memory")[0]
    name = "memory.events" if group.version == 2 else "memory.oom_control"
    found = tree.table(f"{group.folder}/{name}").get("oom_kill")
    if found is None:
        raise Unread(f"{group.folder}/{name} counts no kills")
    return whole(found, name)
