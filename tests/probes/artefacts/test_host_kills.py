"""Processes killed for lack of host memory, and whose limit it was."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.host_kills import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

KB = 1024.0


def _facts(content: str) -> dict[str, Value]:
    return {fact: value for (fact, path), value in values(scan(FORMAT, content)).items() if "process" not in path}


def test_the_kernel_killing_in_a_cgroup() -> None:
    content = (
        "[1.0] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
        "[1.0] memory: usage 8388608kB, limit 8388608kB, failcnt 12345\n"
        "[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,task=python,pid=4242,uid=0\n"
        "[1.0] Memory cgroup out of memory: Killed process 4242 (python) total-vm:30000000kB, anon-rss:8000000kB, "
        "file-rss:100000kB, shmem-rss:20000kB, UID:0 pgtables:1kB oom_score_adj:0\n"
    )
    assert _facts(content) == {
        "host.cgroup_memory_used_bytes": 8388608 * KB,
        "host.cgroup_memory_limit_bytes": 8388608 * KB,
        "host.killed_process_bytes": 8120000 * KB,  # anonymous, file-backed and shared pages
        "host.killed_process_virtual_bytes": 30000000 * KB,
        "host.killed_process_name": "python",
        "host.out_of_memory_kills": 1,
        "host.kill_scope": "cgroup",
    }
    assert values(scan(FORMAT, content))["process.name", "process:4242"] == "python"
    assert claimed(scan(FORMAT, content)) == {1, 2, 3, 4}


def test_the_two_lines_of_old_kernels_are_one_kill_of_the_machine() -> None:
    facts = _facts(
        "kernel: Out of memory: Kill process 777 (python3) score 912 or sacrifice child\n"
        "kernel: Killed process 777 (python3) total-vm:1000kB, anon-rss:500kB, file-rss:0kB\n"
    )
    assert facts["host.out_of_memory_kills"] == 1
    assert facts["host.kill_scope"] == "system"
    assert facts["host.killed_process_bytes"] == 500 * KB


@pytest.mark.parametrize(
    ("line", "scope"),
    [
        ("      Reason:       OOMKilled", "cgroup"),
        ("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)", "system"),
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=9.batch. Some of your processes may have", "job"),
        ("slurmstepd: error: Exceeded job memory limit at some point.", "job"),
        ("State: OUT_OF_MEMORY (exit code 0)", "job"),
        ("systemd-oomd[77]: Killed /user.slice/user-1000.slice due to memory pressure", "system"),
    ],
)
def test_whose_limit_it_was(line: str, scope: str) -> None:
    facts = _facts(line)
    assert facts["host.kill_scope"] == scope
    assert facts["host.out_of_memory_kills"] == 1


def test_slurm_prints_kilobytes() -> None:
    facts = _facts("slurmstepd: error: Job 12 exceeded memory limit (9000000 > 8388608), being killed")
    assert facts["host.cgroup_memory_used_bytes"] == 9000000 * KB
    assert facts["job.memory_limit_bytes"] == 8 * KB**3


def test_what_the_batch_script_asked_for() -> None:
    facts = _facts("#SBATCH --cpus-per-task=2\n#SBATCH --mem-per-cpu=4G\n#SBATCH --mem=16000\n")
    assert facts == {
        "job.cpus_per_task": 2,
        "job.memory_per_cpu_bytes": 4 * KB**3,
        "job.memory_limit_bytes": 16000 * KB**2,  # without a unit Slurm counts MiB
    }


def test_a_counter_of_a_cgroup_may_say_that_nothing_was_killed() -> None:
    assert _facts("low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n") == {"host.out_of_memory_kills": 0}


@pytest.mark.parametrize("line", ["CUDA_ERROR_OUT_OF_MEMORY", "the oom killer was asleep", "oom_score_adj 0"])
def test_no_kill(line: str) -> None:
    assert _facts(line) == {}
