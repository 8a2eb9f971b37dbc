"""Processes killed for lack of host memory: the kernel's log, cgroups and Kubernetes, Slurm, systemd-oomd."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpuwhy.kb.facts import HOST, JOB, Entity, Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import SIZE, parse_number, parse_size

_HINTS = (
    "killed process",
    "oom-kill",
    "oom_kill",
    "oomkilled",
    "invoked oom-killer",
    "out of memory: kill",
    "cgroup out of memory",
    "oom killer",
    "oom-killer",
    "exceeded job memory limit",
    "exceeded step memory limit",
    "exceeded memory limit",
    "slurm_script",
    "mem-per-cpu",
    "cpus-per-task",
    "#sbatch",
    "systemd-oomd",
    "out_of_me",
    "memory limit",
    "--memory",
)

# [123.4] Out of memory: Killed process 123 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 …
_KILLED = later(
    r"(Memory cgroup )?out of memory: Kill(?:ed)? process (\d{1,10}) \(([^)\n]{1,60})\)"
    r"(?:[^\n]{0,40}?\bscore \d{1,6}\b)?"
    r"|\bKilled process (\d{1,10}) \(([^)\n]{1,60})\)",
    re.IGNORECASE,
)
_ANONYMOUS = later(r"\banon-rss:(\d{1,15}kB)", re.IGNORECASE)
_VIRTUAL = later(r"\btotal-vm:(\d{1,15}kB)", re.IGNORECASE)
_PARTS = later(r"\b((?:anon|file|shmem)-rss):(\d{1,15}kB)", re.IGNORECASE)
_CONSTRAINT = later(r"\boom-kill:constraint=(CONSTRAINT_\w{1,30})", re.IGNORECASE)
_CGROUP_USE = later(r"\bmemory: usage (\d{1,15}kB), limit (\d{1,15}kB), failcnt (\d{1,12})", re.IGNORECASE)
_KUBERNETES = later(r"\bOOM-?Killed\b|\bcontainer_oom_event\b", re.IGNORECASE)
_EVENTS = later(r"^\s{0,40}oom_kill\s{1,4}(\d{1,12})\s{0,4}$")  # memory.events of a cgroup
_SLURM_EVENT = later(
    r"\b(?:Detected \d{1,9} oom[-_]kill event|oom[-_]kill event in StepId"
    r"|Some of (?:your|the step) (?:processes|tasks) (?:may )?have been (?:OOM )?killed by the cgroup"
    r"|State: OUT_OF_ME(?:MORY)?\b|(?:[Ss]lurm|JobId=)[^\n]{0,200}OUT_OF_MEMORY\b)|\bOUT_OF_ME\+"
)
_SLURM_LIMIT = later(
    r"\bExceeded (?:job|step) memory limit|\bexceeded memory limit \(\d|\bmemory limit exceeded\b"
    r"|\bKB exceeds limit\b|\bJob \S{1,30} exceeded \d[^\n]{0,60}memory limit",
    re.IGNORECASE,
)
_SLURM_AMOUNTS = later(r"exceeded memory limit \((\d{1,15}) > (\d{1,15})\)", re.IGNORECASE)
_SYSTEMD = later(
    r"\bsystemd-oomd\b[^\n]{0,80}\bKilled\s{1,3}(\S{1,200})"
    r"|\bA process of this unit has been killed by the (?:OOM|oom) killer",
    re.IGNORECASE,
)

_SLURM_SIZE = rf"({SIZE}|\d{{1,9}}[KMGT]?)(?=\s|$|[,;\"'])"
_REQUESTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("job.memory_per_cpu_bytes", later(rf"--mem-per-cpu[= ]{_SLURM_SIZE}", re.IGNORECASE)),
    ("job.memory_per_gpu_bytes", later(rf"--mem-per-gpu[= ]{_SLURM_SIZE}", re.IGNORECASE)),
    ("job.memory_limit_bytes", later(rf"(?:^|\s)--mem[= ]{_SLURM_SIZE}", re.IGNORECASE)),
    ("job.memory_limit_bytes", later(rf"(?:^|\s)(?:--memory|-m)[= ]({SIZE}|\d{{1,9}}[kmg])\b(?=.{{0,400}}|$)")),
    ("job.cpus_per_task", later(r"(?:--cpus-per-task[= ]|(?<=#SBATCH )-c )(\d{1,5})\b")),
    ("job.cpus_per_gpu", later(r"--cpus-per-gpu[= ](\d{1,5})\b")),
)
_DOCKER = later(r"\b(?:docker|podman|nerdctl)\b")


@dataclass(frozen=True)
class _Kill:
    """One process that was killed, as the kernel logged it."""

    line: int
    pid: str
    name: str
    in_cgroup: bool
    text: str


def _scan(text: Text) -> Iterable[Extract]:
    readings: list[Reading] = []
    claimed: set[int] = set()
    kills: list[_Kill] = []
    scopes: list[tuple[str, int, str]] = []
    for line in text.lines:
        found = list(_line(line, kills, scopes))
        if found or "invoked oom-killer" in line.text:
            readings.extend(found)
            claimed.add(line.number)
    readings.extend(_summary(kills, scopes))
    claimed.update(kill.line for kill in kills)
    claimed.update(line for _, line, _ in scopes)
    if readings:
        yield Extract(FORMAT.name, tuple(readings), claimed=frozenset(claimed))


def _line(line: Line, kills: list[_Kill], scopes: list[tuple[str, int, str]]) -> Iterator[Reading]:
    text = line.text[:2000]
    killed = _KILLED.search(text)
    if killed is not None:
        pid, name = killed[2] or killed[4], killed[3] or killed[5]
        kills.append(_Kill(line.number, pid, name, killed[1] is not None, killed[0][:200]))
        if killed[1] is not None:
            scopes.append(("cgroup", line.number, killed[0][:200]))
    for pattern, size in ((_ANONYMOUS, "host.killed_process_bytes"), (_VIRTUAL, "host.killed_process_virtual_bytes")):
        found = pattern.search(text)
        value = None if found is None else parse_size(found[1])
        if found is not None and value is not None:
            yield Reading(size, _resident(text) if pattern is _ANONYMOUS else value, line.number, found[0], HOST)
    scopes.extend((scope, line.number, words) for scope, words in _scopes(text))
    yield from _limits(line.number, text)
    yield from _requests(line.number, text)


def _resident(text: str) -> float:
    """Resident bytes: anonymous, file-backed and shared pages together, as the kernel lists them."""
    return sum(parse_size(part[2]) or 0.0 for part in _PARTS.finditer(text))


def _scopes(text: str) -> Iterator[tuple[str, str]]:
    constraint = _CONSTRAINT.search(text)
    if constraint is not None:
        yield ("cgroup" if constraint[1].upper() == "CONSTRAINT_MEMCG" else "system"), constraint[0]
    for scope, pattern in (("cgroup", _KUBERNETES), ("job", _SLURM_EVENT), ("job", _SLURM_LIMIT), ("system", _SYSTEMD)):
        found = pattern.search(text)
        if found is not None:
            yield scope, found[0][:200]


def _limits(number: int, text: str) -> Iterator[Reading]:
    counted = _EVENTS.search(text)
    if counted is not None:
        yield Reading("host.out_of_memory_kills", int(counted[1]), number, counted[0].strip(), HOST)
    usage = _CGROUP_USE.search(text)
    if usage is not None:
        used, limit = parse_size(usage[1]), parse_size(usage[2])
        if used is not None and limit is not None:
            yield Reading("host.cgroup_memory_used_bytes", used, number, usage[0], HOST)
            yield Reading("host.cgroup_memory_limit_bytes", limit, number, usage[0], HOST)
    amounts = _SLURM_AMOUNTS.search(text)
    if amounts is not None:  # Slurm prints kilobytes here
        yield Reading("host.cgroup_memory_used_bytes", float(amounts[1]) * 1024.0, number, amounts[0], HOST)
        yield Reading("job.memory_limit_bytes", float(amounts[2]) * 1024.0, number, amounts[0], JOB)


def _requests(number: int, text: str) -> Iterator[Reading]:
    for fact, pattern in _REQUESTS:
        if "(?:--memory|-m)" in pattern.pattern and not _DOCKER.search(text):
            continue
        found = pattern.search(text)
        if found is None:
            continue
        value = _requested(fact, found[1])
        if value is not None:
            yield Reading(fact, value, number, found[0].strip()[:200], JOB)


def _requested(fact: str, printed: str) -> Value | None:
    if not fact.endswith("_bytes"):
        return int(printed)
    if printed.isdigit():  # Slurm counts in MiB where no unit is given
        megabytes = parse_number(printed)
        return None if megabytes is None else megabytes * 1024.0 * 1024.0
    return parse_size(printed)


def _summary(kills: Sequence[_Kill], scopes: Sequence[tuple[str, int, str]]) -> Iterator[Reading]:
    """How many were killed, which process last, and whose limit it was: the narrowest limit that is named."""
    processes = {kill.pid: kill for kill in kills}
    if kills:
        last = kills[-1]
        yield Reading("host.killed_process_name", last.name, last.line, last.text, HOST)
    for kill in processes.values():
        yield Reading("process.pid", int(kill.pid), kill.line, kill.text, Entity("process", kill.pid, HOST))
        yield Reading("process.name", kill.name, kill.line, kill.text, Entity("process", kill.pid, HOST))
    if not kills and not scopes:
        return
    line, text = (kills[0].line, kills[0].text) if kills else (scopes[0][1], scopes[0][2])
    yield Reading("host.out_of_memory_kills", max(1, len(processes)), line, text, HOST)
    for wanted in ("job", "cgroup", "system"):
        for scope, number, words in scopes:
            if scope == wanted:
                yield Reading("host.kill_scope", scope, number, words, HOST)
                return
    if kills:  # the kernel names the cgroup where one was the limit
        yield Reading("host.kill_scope", "system", line, text, HOST)


FORMAT = TextFormat("host-memory-kills", "Processes killed for lack of host memory", _HINTS, _scan)
