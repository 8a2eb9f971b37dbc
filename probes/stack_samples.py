"""Stack samples of running Python processes, taken from outside by py-spy.

py-spy reads the memory of the processes and does not stop them (`--nonblocking`): the price is that a stack may be
read while it changes. Such a sample is lost, and more often so while Python code runs than while it waits, so that many
lost samples make waiting look longer than it is.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpuwhy.probes.gathering import plain

RATE_PER_SECOND = 100
STOP_SECONDS = 20.0
"""How long py-spy may take to write down what it has."""

MAX_OUTPUT_BYTES = 256 << 20
MAX_FRAMES = 400

_FRAME = re.compile(r"(?P<function>.{0,300}?) \((?P<file>.{1,1000}):(?P<line>[0-9]{1,9})\)\Z")
_PROCESS = re.compile(r'process ([0-9]{1,10}):"')
_THREAD = re.compile(r";thread \(([0-9A-Fx]{1,20})\)(?:: ([^;]{0,200}))?;")
_ERRORS = re.compile(r"Samples: ([0-9]{1,12}) Errors: ([0-9]{1,12})")


@dataclass(frozen=True)
class Frame:
    """One level of a stack: the function's own name, its file as the process has it, and the line it is at."""

    function: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """For example `train.py:42`."""
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


@dataclass(frozen=True)
class Stack:
    """A stack, outermost frame first, and in how many samples it was seen on the thread."""

    pid: int
    thread: int
    main: bool
    frames: tuple[Frame, ...]
    count: int


@dataclass(frozen=True)
class Samples:
    """What was sampled: stacks, how many samples were lost, or why there are none."""

    stacks: tuple[Stack, ...] = ()
    lost_share: float | None = None
    problem: str | None = None


def find_program() -> str | None:
    """The program py-spy: that of the installed package, or one on the search path."""
    from importlib.metadata import PackageNotFoundError, files

    with suppress(PackageNotFoundError):
        for one in files("py-spy") or ():
            if one.name == "py-spy" and os.access(place := one.locate(), os.X_OK):
                return str(place)
    return shutil.which("py-spy")


class StackSampler:
    """Samples a process and its children from `start` to `stop`."""

    def __init__(self, pid: int, seconds: float, rate: int = RATE_PER_SECOND, program: str | None = None) -> None:
        self._pid = pid
        self._seconds = seconds
        self._rate = rate
        self._program = program or find_program()
        self._running: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def start(self) -> None:
        """Begins; py-spy ends by itself soon after the window, whatever becomes of this process."""
        if self._program is None:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="gpuwhy-")
        command = [
            self._program, "record", "--pid", str(self._pid), "--format", "raw", "--output", self._path("stacks"),
            "--rate", str(self._rate), "--duration", str(math.ceil(self._seconds) + 2),
            "--nonblocking", "--idle", "--threads", "--subprocesses", "--full-filenames",
        ]  # fmt: skip
        with open(self._path("said"), "wb") as said, suppress(OSError):
            self._running = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
            )

    def _path(self, name: str) -> str:
        assert self._folder is not None
        return f"{self._folder.name}/{name}"

    def stop(self) -> Samples:
        """Ends, and gives what was sampled."""
        if self._program is None:
            return Samples(problem="py-spy is not installed: pip install 'gpuwhy[pid]'")
        if self._running is None or self._folder is None:
            return Samples(problem=f"{self._program} could not be started")
        with self._folder:
            self._end(self._running)
            said = Path(self._path("said")).read_text("utf-8", "replace")
            try:
                with open(self._path("stacks"), encoding="utf-8", errors="replace") as file:
                    stacks = parse(file.read(MAX_OUTPUT_BYTES))
            except OSError:
                stacks = ()
        if not stacks:
            return Samples(problem=explain(said, self._pid))
        found = _ERRORS.search(said)
        taken, lost = (int(found[1]), int(found[2])) if found else (0, 0)
        return Samples(stacks, lost / (taken + lost) if taken + lost else None)

    @staticmethod
    def _end(running: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            running.send_signal(signal.SIGINT)
        try:
            running.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def parse(text: str) -> tuple[Stack, ...]:
    """The stacks of `py-spy record --format raw --threads --subprocesses`; lines in any other form are left out."""
    found = (_stack(line) for line in text.splitlines())
    return tuple(one for one in found if one is not None)


def _stack(line: str) -> Stack | None:
    head, _, count = line.rpartition(" ")
    thread = _THREAD.search(head)
    processes = _PROCESS.findall(head[: thread.start()] if thread else "")
    if thread is None or not processes or not count.isdigit():
        return None
    pid, name = int(processes[-1]), thread[2] or ""
    try:
        number = int(thread[1], 0)
    except ValueError:
        number = 0
    frames = [_frame(part) for part in head[thread.end() :].split(";")[:MAX_FRAMES]]
    known = tuple(one for one in frames if one is not None)
    return Stack(pid, number, name == "MainThread" or number == pid, known, int(count)) if known else None


def _frame(text: str) -> Frame | None:
    found = _FRAME.match(text)
    return Frame(found["function"].rsplit(".", 1)[-1], found["file"], int(found["line"])) if found else None


def explain(said: str, pid: int) -> str:
    """Why py-spy gave nothing, and what helps, from what it printed."""
    low = said.lower()
    if "permission denied" in low or "operation not permitted" in low:
        return _permission(pid)
    if "no such process" in low or "not exist" in low:
        return f"there is no process {pid} any more"
    if "python" in low and ("find" in low or "version" in low):
        return f"process {pid} is no Python program that py-spy knows"
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
    return f"py-spy gave no stacks: {plain(last)}" if last else "py-spy gave no stacks"


def _permission(pid: int) -> str:
    """What keeps this user from reading the memory of that process."""
    again = f"sudo {sys.argv[0].rsplit('/', 1)[-1] or 'gpuwhy'} …"
    try:
        other = os.stat(f"/proc/{pid}").st_uid not in (os.geteuid(), 0) and os.geteuid() != 0
    except OSError:
        other = False
    if os.geteuid() == 0:
        return "reading its memory is not permitted: a container needs --cap-add SYS_PTRACE (Kubernetes: SYS_PTRACE)"
    if other:
        return f"process {pid} belongs to another user: look as that user, or with {again}"
    scope = _ptrace_scope()
    if scope is not None and scope >= 1:
        return f"the kernel lets only a parent look into a process (ptrace_scope {scope}): look with {again}"
    return f"reading its memory is not permitted: look with {again}; a container needs --cap-add SYS_PTRACE"


def _ptrace_scope() -> int | None:
    try:
        return int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):
        return None
