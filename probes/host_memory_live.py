"""Memory of this host: what there is, what limits the job, swapping, kills, shared memory and limits of a process."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from gpuwhy.kb.facts import HOST
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes import host_cgroup
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.host_tree import Tree, Unread, whole
from gpuwhy.probes.meminfo import FACTS_OF_MEMINFO

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_RATES = {
    "pswpin": "host.swap_in_bytes_per_second",
    "pswpout": "host.swap_out_bytes_per_second",
}
_LIMITS = {
    "Max open files": "host.open_files_limit",
    "Max locked memory": "host.locked_memory_limit_bytes",
    "Max processes": "host.process_limit",
    "Max address space": "host.address_space_limit_bytes",
}
_LIMIT = re.compile(r"^(Max [a-z ]{3,24}?)\s{2,}(\S{1,24})\s", re.M)

Statvfs = Callable[[str], os.statvfs_result]


@dataclass
class MemoryState:
    """Counters since boot at one moment."""

    counters: dict[str, int] = field(default_factory=dict)
    kills: int | None = None
    problem: str | None = None
    kills_problem: str | None = None


def observe(tree: Tree) -> MemoryState:
    """The counters now."""
    state = MemoryState()
    try:
        state.counters = {name: int(text) for name, text in tree.table("/proc/vmstat").items() if text.isdigit()}
    except Unread as error:
        state.problem = str(error)
    try:
        state.kills = host_cgroup.kills(tree)
    except Unread as error:
        state.kills_problem = str(error)
    return state


def fold(before: MemoryState, after: MemoryState, seconds: float, readings: Readings) -> None:
    """Notes swapping, page faults and kills between two states."""
    problem = before.problem or after.problem
    for name, fact in (*_RATES.items(), ("pgmajfault", "host.major_page_faults_per_second")):
        if name in before.counters and name in after.counters and seconds > 0:
            size = PAGE_BYTES if name in _RATES else 1
            rate = max(0, after.counters[name] - before.counters[name]) * size / seconds
            readings.put(fact, HOST, rate, f"/proc/vmstat {name}", window_seconds=seconds)
        else:
            readings.lack(fact, HOST, problem or f"/proc/vmstat counts no {name}")
    _fold_kills(before, after, seconds, readings)


def _fold_kills(before: MemoryState, after: MemoryState, seconds: float, readings: Readings) -> None:
    """Kills of the window; the count since boot says nothing of this job."""
    found = []
    if "oom_kill" in before.counters and "oom_kill" in after.counters:
        found.append((after.counters["oom_kill"] - before.counters["oom_kill"], "system"))
    if before.kills is not None and after.kills is not None:
        found.append((after.kills - before.kills, "cgroup"))
    if not found:
        readings.lack("host.out_of_memory_kills_new", HOST, before.kills_problem or "the kernel counts no kills")
        return
    killed = max(count for count, _ in found)
    readings.put("host.out_of_memory_kills_new", HOST, max(0, killed), "oom_kill", window_seconds=seconds)
    if killed > 0:
        scope = "cgroup" if any(count == killed and name == "cgroup" for count, name in found) else "system"
        readings.put("host.out_of_memory_kills", HOST, killed, "oom_kill while watched", window_seconds=seconds)
        readings.put("host.kill_scope", HOST, scope, "oom_kill while watched")


def read_memory(tree: Tree, readings: Readings) -> None:
    """Notes memory of the host now, and the limit of the job's control group that leaves the least."""
    try:
        found = {
            name: whole(text.split()[0], name) * 1024 for name, text in tree.table("/proc/meminfo").items() if text
        }
    except (Unread, IndexError) as error:
        readings.lack("host.memory_total_bytes", HOST, str(error))
        readings.lack("host.memory_available_bytes", HOST, str(error))
        found = {}
    for name, fact in FACTS_OF_MEMINFO.items():
        if name in found:
            readings.put(fact, HOST, found[name], f"/proc/meminfo {name}")
    if "SwapTotal" in found and "SwapFree" in found:
        readings.put("host.swap_used_bytes", HOST, found["SwapTotal"] - found["SwapFree"], "/proc/meminfo")
    if "Cached" in found and "Buffers" in found:
        readings.put("host.memory_cache_bytes", HOST, found["Cached"] + found["Buffers"], "/proc/meminfo")
    if "MemTotal" in found and "MemAvailable" in found:
        readings.put("host.memory_used_bytes", HOST, found["MemTotal"] - found["MemAvailable"], "/proc/meminfo")
    try:
        limit = host_cgroup.memory_limit(tree)
    except Unread as error:
        readings.lack("host.memory_limit_bytes", HOST, str(error))
        return
    if limit is None:
        readings.lack("host.memory_limit_bytes", HOST, "no control group limits the memory")
    else:
        readings.put("host.memory_limit_bytes", HOST, limit[0], "the control group with the least room")
        readings.put("host.memory_limit_used_bytes", HOST, limit[1], "page cache included")


def read_shared_memory(tree: Tree, readings: Readings, statvfs: Statvfs = os.statvfs) -> None:
    """Notes size and use of /dev/shm as the process sees it."""
    root = "" if tree.process == "self" else tree.own("root")
    try:
        found = statvfs(str(tree.path(f"{root}/dev/shm")))
    except OSError as error:
        readings.lack("loader.shared_memory_total_bytes", HOST, f"/dev/shm cannot be looked at: {error.strerror}")
        return
    total, free = found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
    if total <= 0:
        readings.lack("loader.shared_memory_total_bytes", HOST, "/dev/shm has no size")
        return
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    readings.put("loader.shared_memory_total_bytes", HOST, total, "/dev/shm")
    readings.put("loader.shared_memory_used_bytes", HOST, used, "/dev/shm")
    readings.put("loader.shared_memory_available_bytes", HOST, free, "/dev/shm")
    readings.put("loader.shared_memory_used_share", HOST, used / total, "/dev/shm")


def read_limits(tree: Tree, readings: Readings) -> None:
    """Notes the limits of the process; `unlimited` is no number and is said as the reason why there is none."""
    try:
        text = tree.text(tree.own("limits"))
    except Unread as error:
        for fact in _LIMITS.values():
            readings.lack(fact, HOST, str(error))
        return
    for name, soft in _LIMIT.findall(text):
        limited = _LIMITS.get(name.strip())
        if limited is None:
            continue
        if soft.isdigit():
            readings.put(limited, HOST, int(soft), tree.own("limits"))
        else:
            readings.lack(limited, HOST, f"there is no limit ({soft})")
