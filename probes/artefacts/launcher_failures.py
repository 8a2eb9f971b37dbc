"""What launchers say of processes that ended: torchrun, mpirun, srun, DeepSpeed, multiprocessing."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

from gpuwhy.kb.facts import JOB, Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

NAME = "launcher-failures"
LONGEST = 600

_ROOT = later(r"Root Cause \(first observed failure\)")
_RANK = later(r"^\W{0,20}rank\s{0,12}:\s{0,4}(?P<rank>[0-9]{1,6}) \(local_rank: (?P<local>[0-9]{1,4})\)")
_EXIT = later(r"^\W{0,20}exitcode\s{0,8}:\s{0,4}(?P<code>-?[0-9]{1,3}) \(pid: [0-9]{1,9}\)")
_FAILED = later(r"failed \(exitcode: (?P<code>-?[0-9]{1,3})\) local_rank: (?P<local>[0-9]{1,4}) \(pid: [0-9]{1,9}\)")
_MPI = later(
    r"mpi(?:run|exec) noticed that process rank (?P<rank>[0-9]{1,6}) with PID [0-9]{1,9} on node \S{1,80} exited "
    r"on signal (?P<signal>[0-9]{1,2})"
)
_SRUN = later(
    r"srun: error: \S{1,80}: tasks? (?P<rank>[0-9]{1,6})(?:[-,][0-9,-]{1,80})?: (?P<how>Killed|Out Of Memory"
    r"|Segmentation fault|Aborted"
    r"|Exited with exit code (?P<code>[0-9]{1,3})|Terminated|Bus error)"
)
_PROCESS = later(
    r"(?i)\bprocess (?P<rank>[0-9]{1,4}) terminated with (?:signal (?P<name>SIG[A-Z]{2,6})|exit code "
    r"(?P<code>[0-9]{1,3})|the following error)"
)
_SHELL = later(r"(?:^|\]\s?|: line [0-9]{1,6}: +[0-9]{1,9} )Killed(?:\s{2,}\S[^\n]{0,200})?\s*$")
_SIGNALS = {"Killed": 9, "Out Of Memory": 9, "Segmentation fault": 11, "Aborted": 6, "Terminated": 15, "Bus error": 7}


@dataclass
class _Failures:
    """The first failure that a launcher names, and whether it says itself that it is the first."""

    facts: dict[str, tuple[Value, Line]] = field(default_factory=dict)
    claimed: set[int] = field(default_factory=set)
    in_root: bool = False
    root_told: bool = False

    def put(self, fact: str, value: int, line: Line) -> None:
        self.claimed.add(line.number)
        if self.in_root or (not self.root_told and fact not in self.facts):
            self.facts[fact] = (value, line)


def scan(text: Text) -> Iterator[Extract]:
    """One extract with the first failed rank and how it ended."""
    failures = _Failures()
    for line in text.lines:
        _take(failures, line.text[:LONGEST], line)
    if failures.facts:
        readings = [
            Reading(fact, value, line.number, line.text.strip()[:200], JOB)
            for fact, (value, line) in failures.facts.items()
        ]
        yield Extract(NAME, tuple(readings), claimed=frozenset(failures.claimed))


def _take(failures: _Failures, text: str, line: Line) -> None:
    if _ROOT.search(text):
        failures.in_root = failures.root_told = True
        failures.claimed.add(line.number)
    elif rank := _RANK.search(text):
        failures.put("comm.failed_rank", int(rank["rank"]), line)
    elif code := _EXIT.search(text):
        failures.put("job.exit_code", int(code["code"]), line)
        failures.in_root = False
    elif failed := _FAILED.search(text):
        failures.put("job.exit_code", int(failed["code"]), line)
        failures.put("comm.failed_local_rank", int(failed["local"]), line)
    elif mpi := _MPI.search(text):
        failures.put("comm.failed_rank", int(mpi["rank"]), line)
        failures.put("job.exit_code", -int(mpi["signal"]), line)
    elif task := _SRUN.search(text):
        failures.put("comm.failed_rank", int(task["rank"]), line)
        code_of = int(task["code"]) if task["code"] else -_SIGNALS[task["how"]]
        failures.put("job.exit_code", code_of, line)
    elif process := _PROCESS.search(text):
        _take_process(failures, process, line)
    elif "Killed" in text and _SHELL.search(text):
        failures.put("job.exit_code", 137, line)


def _take_process(failures: _Failures, process: re.Match[str], line: Line) -> None:
    failures.put("comm.failed_rank", int(process["rank"]), line)
    if process["code"]:
        failures.put("job.exit_code", int(process["code"]), line)
    elif process["name"] and process["name"] in signal.Signals.__members__:
        failures.put("job.exit_code", -int(signal.Signals[process["name"]]), line)


FORMAT = TextFormat(
    NAME,
    "Launcher (torchrun, mpirun, srun)",
    ("exitcode", "noticed that process rank", "srun: error", "terminated with", "root cause (first", "killed"),
    scan,
)
