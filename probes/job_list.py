"""The processes of this machine that may be a job on a GPU: those that have one open, and Python programs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.gathering import plain
from gpuwhy.probes.host_tree import Tree, Unread
from gpuwhy.probes.process_tree import TICKS_PER_SECOND, Stat, devices, stat

MOST = 60

_PYTHON = re.compile(r"python[0-9.]{0,6}t?\Z|pypy[0-9.]{0,6}\Z")
_FRAMEWORK = re.compile(
    r"/(?:libtorch_cpu|libtorch|libcudart|libcuda|xla_extension|libtensorflow_cc|libjax)[^/\n]{0,60}\.so"
)


@dataclass(frozen=True)
class Job:
    """A process with those below it.

    `cores` is the mean of CPUs that it has used since its start, `devices` the GPUs that it or one below it has open by
    device file or by the driver's list, `gpu_memory_bytes` what the driver says of their memory. `computes` tells that
    a framework or the driver's library is loaded. `readable` is False for a process of another user.
    """

    pid: int
    owner: str
    command: str
    cores: float
    age_seconds: float
    devices: int
    gpu_memory_bytes: float | None
    below: int
    computes: bool
    readable: bool


def jobs(held: Mapping[int, float | None], tree: Tree | None = None, own: int | None = None) -> list[Job]:
    """What may be a job, the likeliest first; `own` is this program, which is none, nor is what started it.

    `held` are processes on GPUs by the driver's list, with bytes of GPU memory where it tells.
    """
    tree, own = tree or Tree(), os.getpid() if own is None else own
    known = _stats(tree)
    children: dict[int, list[int]] = {}
    for pid, one in known.items():
        children.setdefault(one.parent, []).append(pid)
    excluded = {*_above(known, own), *_below(children, own)}
    opened = {pid: len(devices(tree, pid) or ()) for pid in known if pid not in excluded}
    using = {pid for pid, count in opened.items() if count} | (held.keys() & opened.keys())
    words = {pid: _words(tree, pid) for pid in opened}
    candidates = using | {pid for pid in opened if words[pid] and _PYTHON.match(words[pid][0].rsplit("/", 1)[-1])}
    tops = [pid for pid in candidates if not _works_for(known[pid].parent, pid, words, candidates, using)]
    found = [_job(tree, known, pid, words[pid], _below(children, pid), opened, held) for pid in tops]
    return sorted(found, key=lambda one: (not one.devices, not one.computes, -one.cores, one.pid))[:MOST]


def _stats(tree: Tree) -> dict[int, Stat]:
    found = {}
    for name in tree.names("/proc"):
        if name.isdigit():
            with suppress(Unread):
                found[int(name)] = stat(tree, int(name))
    return found


def _above(known: Mapping[int, Stat], pid: int) -> Iterable[int]:
    """A process and those that started it."""
    seen: list[int] = []
    while pid in known and pid not in seen:
        seen.append(pid)
        pid = known[pid].parent
    return seen


def _below(children: Mapping[int, list[int]], pid: int) -> list[int]:
    """A process and those that it started, and so on."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo.extend(child for child in children.get(one, ()) if child not in found)
    return found


def _works_for(parent: int, pid: int, words: Mapping[int, list[str]], candidates: set[int], using: set[int]) -> bool:
    """True for a copy of its parent or a helper of `multiprocessing`; not if it alone of the two is on a GPU."""
    if parent not in candidates or (pid in using and parent not in using):
        return False
    return words[pid] == words[parent] or any("multiprocessing." in word for word in words[pid])


def _words(tree: Tree, pid: int) -> list[str]:
    try:
        return [plain(word) for word in tree.text(f"/proc/{pid}/cmdline").split("\0") if word]
    except Unread:
        return []


def _job(
    tree: Tree,
    known: Mapping[int, Stat],
    pid: int,
    words: list[str],
    family: list[int],
    opened: Mapping[int, int],
    held: Mapping[int, float | None],
) -> Job:
    one = known[pid]
    age = max(1.0, _uptime(tree) - one.born / TICKS_PER_SECOND)
    memory = [size for child in family if (size := held.get(child)) is not None]
    used = max((opened.get(child, 0) for child in family), default=0) or any(child in held for child in family)
    user = _user(tree, pid)
    return Job(
        pid=pid,
        owner=_name(user),
        command=" ".join([words[0].rsplit("/", 1)[-1], *words[1:]]) if words else one.name,
        cores=sum(known[child].cpu_seconds for child in family) / age,
        age_seconds=age,
        devices=int(used),
        gpu_memory_bytes=sum(memory) if memory else None,
        below=len(family) - 1,
        computes=bool(used) or _computes(tree, pid),
        readable=os.geteuid() in (0, user),
    )


def _uptime(tree: Tree) -> float:
    try:
        return float(tree.line("/proc/uptime").split()[0])
    except (Unread, ValueError, IndexError):
        return 0.0


def _computes(tree: Tree, pid: int) -> bool:
    try:
        return _FRAMEWORK.search(tree.text(f"/proc/{pid}/maps")) is not None
    except Unread:
        return False


def _user(tree: Tree, pid: int) -> int | None:
    try:
        return os.stat(tree.path(f"/proc/{pid}")).st_uid
    except OSError:
        return None


def _name(user: int | None) -> str:
    import pwd

    try:
        return "?" if user is None else pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
