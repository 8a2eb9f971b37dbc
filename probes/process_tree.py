"""A process and its children: what each uses over a window, and what it has open. Only reads /proc."""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from gpuwhy.probes.gathering import plain
from gpuwhy.probes.host_tree import Tree, Unread

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MAX_PROCESSES = 512
MAX_OPEN_FILES = 4096

_DEVICE = re.compile(r"/dev/(?:nvidia[0-9]{1,3}|kfd|dri/renderD[0-9]{1,4})\Z")
_NOT_DATA = re.compile(r"/(?:proc|sys|dev|run)/|.*\.(?:so|pyc?|log|lock)(?:\.|\Z)")


@dataclass(frozen=True)
class Stat:
    """Counters of a process since its start."""

    parent: int
    name: str
    state: str
    cpu_seconds: float
    major_faults: int
    resident_bytes: int
    born: int


@dataclass
class Usage:
    """What is known of one process over the window."""

    pid: int
    first: Stat
    last: Stat
    opened: dict[str, int] = field(default_factory=dict)
    closed: dict[str, int] = field(default_factory=dict)
    begun: float = 0.0
    ended: float = 0.0
    states: Counter[str] = field(default_factory=Counter)
    exited: bool = False

    @property
    def seconds(self) -> float:
        """How long it was watched."""
        return self.ended - self.begun

    def rate(self, name: str) -> float | None:
        """Bytes or seconds per second of a counter, None where it cannot be read."""
        if name not in self.opened or name not in self.closed or self.seconds <= 0:
            return None
        return max(0, self.closed[name] - self.opened[name]) / self.seconds


def stat(tree: Tree, pid: int) -> Stat:
    """The counters of a process now. Raises `Unread`."""
    name = f"/proc/{pid}/stat"
    text = tree.text(name)
    head, _, rest = text.rpartition(")")  # a command may hold brackets and blanks
    parts = rest.split()
    try:
        cpu = (int(parts[11]) + int(parts[12])) / TICKS_PER_SECOND
        command = plain(head.partition("(")[2])
        return Stat(int(parts[1]), command, parts[0], cpu, int(parts[9]), int(parts[21]) * PAGE_BYTES, int(parts[19]))
    except (IndexError, ValueError):
        raise Unread(f"{name} is in no known form") from None


def counters(tree: Tree, pid: int) -> dict[str, int]:
    """Bytes read and written, and nanoseconds that the first thread was ready without a CPU, as far as can be read."""
    found: dict[str, int] = {}
    with suppress(Unread, ValueError):
        table = tree.table(f"/proc/{pid}/io")
        found |= {name: int(table[name]) for name in ("read_bytes", "write_bytes") if name in table}
    with suppress(Unread, ValueError, IndexError):
        found["queued_ns"] = int(tree.line(f"/proc/{pid}/schedstat").split()[1])
    return found


def family(tree: Tree, pid: int) -> list[int]:
    """The process and all below it that exist now."""
    children: dict[int, list[int]] = {}
    for name in tree.names("/proc"):
        if name.isdigit():
            try:
                children.setdefault(stat(tree, int(name)).parent, []).append(int(name))
            except Unread:
                continue
    found: list[int] = []
    todo = [pid]
    while todo and len(found) < MAX_PROCESSES:
        one = todo.pop()
        found.append(one)
        todo.extend(children.get(one, ()))
    return found


class TreeWatch:
    """Watches a process and its children: `look` several times a second, then `close`."""

    def __init__(self, tree: Tree, pid: int, now: float) -> None:
        self._tree = tree
        self._pid = pid
        self.usage: dict[int, Usage] = {}
        self._find(now)

    def _find(self, now: float) -> None:
        for pid in family(self._tree, self._pid):
            if pid not in self.usage:
                try:
                    one = stat(self._tree, pid)
                except Unread:
                    continue
                opened = counters(self._tree, pid)
                self.usage[pid] = Usage(pid, one, one, opened, opened, now, now)

    def look(self, now: float) -> None:
        """Notes states and counters now; what has ended keeps the last ones."""
        for usage in self.usage.values():
            if usage.exited:
                continue
            try:
                one = stat(self._tree, usage.pid)
            except Unread:
                usage.exited = True
                continue
            if one.born != usage.first.born:  # the number was given to another process
                usage.exited = True
                continue
            usage.last, usage.ended = one, now
            usage.states[one.state] += 1

    def refresh(self, now: float) -> None:
        """Finds children that were born since, and reads the counters that cost more."""
        self._find(now)
        for usage in self.usage.values():
            if not usage.exited and (found := counters(self._tree, usage.pid)):
                usage.closed, usage.ended = found, now


def devices(tree: Tree, pid: int) -> list[str] | None:
    """GPUs that a process has open, by device file; None where that cannot be seen."""
    found = _open_files(tree, pid)
    return None if found is None else sorted({one for one in found.values() if _DEVICE.match(one)})


def data_files(tree: Tree, pid: int) -> list[str]:
    """Files that a process has open to read only, as far as can be seen: its data more likely than its code."""
    opened = _open_files(tree, pid) or {}
    named = [number for number, one in opened.items() if one.startswith("/") and not _NOT_DATA.match(one)]
    return sorted({opened[number] for number in named if _read_only(tree, pid, number)})


def _read_only(tree: Tree, pid: int, number: str) -> bool:
    try:
        return int(tree.table(f"/proc/{pid}/fdinfo/{number}")["flags"], 8) & os.O_ACCMODE == os.O_RDONLY
    except (Unread, KeyError, ValueError):
        return False


def _open_files(tree: Tree, pid: int) -> dict[str, str] | None:
    """Targets by number."""
    folder = tree.path(f"/proc/{pid}/fd")
    try:
        names = os.listdir(folder)[:MAX_OPEN_FILES]
    except OSError:
        return None
    found = {}
    for name in names:
        with suppress(OSError):
            found[name] = os.readlink(folder / name).removesuffix(" (deleted)")
    return found
