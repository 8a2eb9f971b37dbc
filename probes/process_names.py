"""Whether process ids that a driver lists are those of this process namespace, and what the processes are called.

A driver lists the ids of the host. Inside a container the same number is another process, or none: then neither a name
nor anything else may be looked up by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")

INITIAL_NAMESPACE = "pid:[4026531836]"
"""The first process namespace of a Linux system (PROC_PID_INIT_INO of the kernel)."""

_NAME_LIMIT = 15
"""The kernel keeps this much of a command's name."""


def in_initial_namespace() -> bool | None:
    """True outside of any container; None where the system does not tell."""
    try:
        return os.readlink(PROC / "self" / "ns" / "pid") == INITIAL_NAMESPACE
    except OSError:
        return None


def foreign(pids: Iterable[int], driver_names: Mapping[int, str]) -> bool | None:
    """True if any of these is no process here, or another one than the driver names; None if nothing tells.

    Outside of containers the ids are those of the host, and one without a process is of a process that is gone.
    """
    listed = list(pids)
    if listed and in_initial_namespace():
        return False
    verdicts = [_agrees(pid, driver_names.get(pid)) for pid in listed]
    if any(one is False for one in verdicts):
        return True
    return False if any(verdicts) else None


def _agrees(pid: int, driver_name: str | None) -> bool | None:
    own = names_here(pid)
    if not own:
        return None if exists(pid) else False
    words = (driver_name or "").split()
    return None if not words else _base(words[0]) in own or _base(driver_name or "") in own


def names_here(pid: int) -> frozenset[str]:
    """What the process of this id is called here: its command, and the program that it was started as."""
    own = PROC / str(pid)
    found = {command(pid) or ""}
    with suppress(OSError):
        found.add(_base((own / "cmdline").read_bytes().split(b"\0")[0].decode("utf-8", "replace")))
    with suppress(OSError):
        found.add(_base(os.readlink(own / "exe")))
    return frozenset(name for name in found if name)


def command(pid: int) -> str | None:
    """The command of a process of this namespace; None if there is none or it may not be seen."""
    with suppress(OSError):
        return (PROC / str(pid) / "comm").read_text("utf-8", "replace").strip() or None
    return None


def exists(pid: int) -> bool:
    """True if there is such a process here, also where its directory is hidden: asking to signal it tells."""
    if (PROC / str(pid)).exists():
        return True
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1][:_NAME_LIMIT]
