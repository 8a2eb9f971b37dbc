"""What launchers say of processes that ended."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.launcher_failures import FORMAT
from tests.probes.artefacts.helpers import scan, values


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


@pytest.mark.parametrize(
    ("line", "rank", "code"),
    [
        ("mpirun noticed that process rank 3 with PID 12 on node n7 exited on signal 9 (Killed).", 3, -9),
        ("srun: error: n7: task 2: Exited with exit code 1", 2, 1),
        ("srun: error: n7: tasks 4-7: Out Of Memory", 4, -9),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGSEGV", 1, -11),
        ("ProcessExitedException: process 0 terminated with exit code 1", 0, 1),
    ],
)
def test_each_launcher(line: str, rank: int, code: int) -> None:
    assert facts(line) == {"comm.failed_rank": rank, "job.exit_code": code}


def test_the_root_cause_that_torchrun_names_outweighs_failures_listed_before() -> None:
    found = facts(
        "E1130 api.py:869] failed (exitcode: 1) local_rank: 0 (pid: 11) of binary: python\n"
        "[1]:\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 11)\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n  host : n7\n  rank      : 10 (local_rank: 2)\n  exitcode  : -9 (pid: 4471)\n"
    )
    assert (found["comm.failed_rank"], found["job.exit_code"], found["comm.failed_local_rank"]) == (10, -9, 0)


def test_other_lines_are_none() -> None:
    assert scan(FORMAT, "exitcode: 0\nthe process terminated with success\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "Killed",
        "Caching images (45.1GB ram):  41%|####      | 48201/117266 [02:19<03:11, 360.11it/s]Killed",
        "run.sh: line 12:  4211 Killed                  python train.py --cache",
    ],
)
def test_a_shell_that_says_killed(line: str) -> None:
    # 128 + 9, as a shell gives SIGKILL
    assert facts(line + "\n") == {"job.exit_code": 137}


def test_sentences_about_killing_are_no_end() -> None:
    assert (
        scan(FORMAT, "I have killed the process\nKilled it with kill -9.\nworker is killed by signal: Killed.\n") == []
    )
