"""CPUs of this host: how many the job may use, what they do over a window, and how long tasks wait for them."""

from __future__ import annotations

import math

from gpuwhy.kb.facts import HOST
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes import host_cgroup
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.host_cgroup import Throttling
from gpuwhy.probes.host_tree import Tree, Unread, cpu_list

_COLUMNS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_SHARES = {
    "host.cpu_user_share": ("user", "nice"),
    "host.cpu_system_share": ("system", "irq", "softirq"),
    "host.cpu_idle_share": ("idle",),
    "host.cpu_iowait_share": ("iowait",),
    "host.cpu_steal_share": ("steal",),
    "host.cpu_busy_share": ("user", "nice", "system", "irq", "softirq"),
}
_BUSY = ("user", "nice", "system", "irq", "softirq")
_RESOURCES = ("cpu", "memory", "io", "irq")
_AVERAGES = {"avg10": "10", "avg60": "60", "avg300": "300"}

Ticks = dict[str, int]


@dataclass
class CpuState:
    """Counters at one moment: ticks of all CPUs and of each, pressure in microseconds, throttling of each group."""

    ticks: dict[str, Ticks] = field(default_factory=dict)
    pressure: dict[tuple[str, str], int] = field(default_factory=dict)
    throttling: dict[str, Throttling] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def observe(tree: Tree) -> CpuState:
    """The counters now; what cannot be read is in `problems`."""
    state = CpuState()
    try:
        state.ticks = _ticks(tree.text("/proc/stat"))
    except Unread as error:
        state.problems["stat"] = str(error)
    for resource in _RESOURCES:
        try:
            for kind, values in _pressure(tree, resource).items():
                state.pressure[resource, kind] = int(values["total"])
        except (Unread, KeyError, ValueError) as error:
            state.problems[resource] = str(error)
    try:
        state.throttling = host_cgroup.throttling(tree)
    except Unread as error:
        state.problems["throttling"] = str(error)
    return state


def _ticks(text: str) -> dict[str, Ticks]:
    found = {}
    for line in text.splitlines():
        name, *numbers = line.split()[: 1 + len(_COLUMNS)] or [""]
        if name.startswith("cpu") and all(one.isdigit() for one in numbers):
            found[name] = dict(zip(_COLUMNS, map(int, numbers), strict=False))
    if "cpu" not in found:
        raise Unread("/proc/stat has no line of all CPUs")
    return found


def _pressure(tree: Tree, resource: str) -> dict[str, dict[str, str]]:
    found = {}
    for line in tree.text(f"/proc/pressure/{resource}").splitlines():
        kind, *parts = line.split()
        found[kind] = dict(part.split("=", 1) for part in parts if "=" in part)
    return found


def fold(tree: Tree, before: CpuState, after: CpuState, seconds: float, readings: Readings) -> None:
    """Notes what the CPUs did between two states."""
    _fold_ticks(before, after, seconds, readings)
    _fold_pressure(tree, before, after, seconds, readings)
    _fold_throttling(before, after, seconds, readings)


def _fold_ticks(before: CpuState, after: CpuState, seconds: float, readings: Readings) -> None:
    problem = before.problems.get("stat") or after.problems.get("stat")
    shares = {name: _spent(before.ticks[name], after.ticks[name]) for name in before.ticks if name in after.ticks}
    whole = shares.get("cpu")
    if whole is None:
        for fact in _SHARES:
            readings.lack(fact, HOST, problem or "the clock of the CPUs did not advance in the window")
        return
    for fact, columns in _SHARES.items():
        known = [whole[one] for one in columns if one in whole]
        if known:
            readings.put(fact, HOST, min(1.0, sum(known)), "/proc/stat", window_seconds=seconds)
    singles = {name: sum(one.get(part, 0.0) for part in _BUSY) for name, one in shares.items() if name != "cpu" and one}
    if singles:
        busiest = max(singles, key=lambda name: singles[name])
        readings.put("host.cpu_busiest_share", HOST, min(1.0, singles[busiest]), busiest, window_seconds=seconds)


def _spent(before: Ticks, after: Ticks) -> dict[str, float] | None:
    """The share of each column; iowait may run backwards, and a CPU that was off counts nothing."""
    spent = {column: max(0, after[column] - before[column]) for column in before if column in after}
    whole = sum(spent.values())
    return {column: ticks / whole for column, ticks in spent.items()} if whole else None


def _fold_pressure(tree: Tree, before: CpuState, after: CpuState, seconds: float, readings: Readings) -> None:
    for resource in _RESOURCES:
        problem = before.problems.get(resource) or after.problems.get(resource)
        if problem is not None:
            if resource != "irq":
                readings.lack(f"host.{resource}_pressure_some_share", HOST, _why_no_pressure(problem))
            continue
        for kind in ("some", "full"):
            key = (resource, kind)
            if key in before.pressure and key in after.pressure and seconds > 0 and key != ("cpu", "full"):
                share = min(1.0, max(0, after.pressure[key] - before.pressure[key]) / 1e6 / seconds)
                fact = f"host.{resource}_pressure_{kind}_share"
                readings.put(fact, HOST, share, f"/proc/pressure/{resource}", window_seconds=seconds)
        _averages(tree, resource, readings)


def _averages(tree: Tree, resource: str, readings: Readings) -> None:
    try:
        found = _pressure(tree, resource)
        for kind, values in found.items():
            for name, length in _AVERAGES.items():
                if name in values and (resource, kind) != ("cpu", "full"):
                    share = float(values[name]) / 100
                    fact = f"host.{resource}_pressure_{kind}_{length}_seconds_share"
                    if math.isfinite(share):
                        readings.put(fact, HOST, share, name, source=f"/proc/pressure/{resource}")
    except (Unread, ValueError):
        return


def _why_no_pressure(problem: str) -> str:
    return f"{problem}; the kernel counts no pressure (it is started with psi=1, or built without)"


def _fold_throttling(before: CpuState, after: CpuState, seconds: float, readings: Readings) -> None:
    """The group that was held back most decides."""
    problem = before.problems.get("throttling") or after.problems.get("throttling")
    held = []
    for folder, first in before.throttling.items():
        last = after.throttling.get(folder)
        if last is not None and last.periods > first.periods:
            count, periods = last.throttled - first.throttled, last.periods - first.periods
            held.append((count / periods, max(0.0, last.seconds - first.seconds), f"{count} of {periods} in {folder}"))
    if held:
        share, waited, text = max(held)
        readings.put("host.cpu_throttled_period_share", HOST, min(1.0, share), text, window_seconds=seconds)
        readings.put("host.cpu_throttled_seconds", HOST, waited, text, window_seconds=seconds)
    elif problem is not None:
        readings.lack("host.cpu_throttled_period_share", HOST, problem)
    elif before.throttling:
        readings.lack("host.cpu_throttled_period_share", HOST, "no scheduling period of the quota ended in the window")
    else:
        readings.lack("host.cpu_throttled_period_share", HOST, "no control group that is visible here has a quota")


def read_counts(tree: Tree, readings: Readings) -> None:
    """Notes how many CPUs there are, how many of them the process may use, and why not all."""
    online = _online(tree, readings)
    allowed = _allowed(tree, readings)
    limits = [float(len(one)) for one in (online, allowed) if one]
    try:
        quota = host_cgroup.cpu_quota(tree)
        if quota is None:
            readings.lack("host.cpu_quota_count", HOST, "no control group that is visible here has a quota")
        else:
            readings.put("host.cpu_quota_count", HOST, quota, "the tightest quota of the control groups")
            limits.append(quota)
    except Unread as error:
        readings.lack("host.cpu_quota_count", HOST, str(error))
    if limits:
        readings.put("host.effective_cpu_count", HOST, min(limits), "least of online CPUs, affinity, cpuset and quota")
    else:
        readings.lack("host.effective_cpu_count", HOST, "neither the CPUs nor a quota can be read")


def _online(tree: Tree, readings: Readings) -> frozenset[int]:
    try:
        online = cpu_list(tree.line("/sys/devices/system/cpu/online"))
    except Unread as error:
        try:
            online = frozenset(int(name[3:]) for name in _ticks(tree.text("/proc/stat")) if name[3:].isdigit())
        except Unread:
            online = frozenset()
        if not online:
            readings.lack("host.cpu_count", HOST, str(error))
    if online:
        readings.put("host.cpu_count", HOST, len(online))
    return online


def _allowed(tree: Tree, readings: Readings) -> frozenset[int]:
    """CPUs that affinity and cpuset both allow."""
    allowed: frozenset[int] = frozenset()
    try:
        allowed = cpu_list(tree.table(tree.own("status")).get("Cpus_allowed_list", ""))
        if allowed:
            readings.put("host.cpu_affinity_count", HOST, len(allowed), tree.own("status"))
    except Unread as error:
        readings.lack("host.cpu_affinity_count", HOST, str(error))
    try:
        set_aside = host_cgroup.cpuset(tree)
    except Unread:
        set_aside = None
    return (allowed & set_aside or set_aside or allowed) if set_aside else allowed


def read_load(tree: Tree, readings: Readings) -> None:
    """Notes load averages, runnable and blocked tasks, now."""
    facts = ("host.load_1_minute", "host.load_5_minutes", "host.load_15_minutes")
    try:
        for fact, text in zip(facts, tree.line("/proc/loadavg").split(), strict=False):
            readings.put(fact, HOST, float(text))
        for line in tree.text("/proc/stat").splitlines():
            name, _, rest = line.partition(" ")
            fact_of = {"procs_running": "host.running_tasks", "procs_blocked": "host.blocked_tasks"}.get(name)
            if fact_of is not None:
                readings.put(fact_of, HOST, int(rest))
    except (Unread, ValueError) as error:
        readings.lack("host.load_1_minute", HOST, str(error))
