"""Which programs of an imagined machine may be a job: those on a GPU first, workers under what started them."""

from __future__ import annotations

import os
from pathlib import Path

from gpuwhy.probes.host_tree import Tree
from gpuwhy.probes.job_list import Job, jobs
from tests.probes.host.trees import write

TICKS = os.sysconf("SC_CLK_TCK")
TORCH = "7f00-7f01 r-xp 0 08:01 99 /opt/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so\n"
OWN = 900


class Machine:
    """Processes by number, written as Linux tells of them; it has been up for 1000 s."""

    def __init__(self, root: Path) -> None:
        self._root = write(root, {"/proc/uptime": "1000.00 5000.00\n"})

    def runs(
        self, pid: int, parent: int, command: str, *, seconds: int = 0, maps: str = "", gpus: tuple[int, ...] = ()
    ) -> None:
        """A process that began 500 s ago and has used so many CPU seconds."""
        rest = f"S {parent} 0 0 0 -1 0 0 0 0 0 {seconds * TICKS} 0 0 0 20 0 1 0 {500 * TICKS} 4096 100"
        name = command.split()[0].rsplit("/", 1)[-1][:15]
        write(
            self._root,
            {
                f"/proc/{pid}/stat": f"{pid} ({name}) {rest} 0 0\n",
                f"/proc/{pid}/cmdline": command.replace(" ", "\0") + "\0",
                f"/proc/{pid}/maps": maps,
            },
        )
        folder = self._root / f"proc/{pid}/fd"
        folder.mkdir()
        (folder / "0").symlink_to("/dev/null")
        for number, gpu in enumerate(gpus, 3):
            (folder / str(number)).symlink_to(f"/dev/nvidia{gpu}")

    def jobs(self, held: dict[int, float | None] | None = None) -> list[Job]:
        """What is found by the program of number `OWN`."""
        return jobs(held or {}, Tree(self._root), OWN)


def test_a_training_with_workers_is_one_job(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.runs(10, 1, "/opt/bin/python3.11 train.py --lr 0.1", seconds=1000, maps=TORCH, gpus=(0,))
    for worker in (11, 12):
        machine.runs(worker, 10, "/opt/bin/python3.11 train.py --lr 0.1", seconds=250, maps=TORCH, gpus=(0,))
    (one,) = machine.jobs({10: 8e9})
    assert (one.pid, one.command, one.below) == (10, "python3.11 train.py --lr 0.1", 2)
    assert one.cores == 3.0  # 1000 + 2 * 250 seconds of CPU time in the 500 s that it runs
    assert (one.devices, one.gpu_memory_bytes, one.computes, one.age_seconds) == (1, 8e9, True, 500.0)


def test_ranks_stand_beside_what_launched_them(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.runs(20, 1, "python3 -m torchrun train.py", maps=TORCH)
    machine.runs(21, 20, "python3 train.py", seconds=10, maps=TORCH, gpus=(0,))
    machine.runs(22, 20, "python3 train.py", seconds=5, maps=TORCH, gpus=(1,))
    assert [one.pid for one in machine.jobs()] == [20, 21, 22]  # the launcher with all that its ranks use


def test_a_program_that_computes_comes_before_one_that_does_not(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.runs(30, 1, "/usr/bin/python3 /usr/bin/daemon", seconds=400)
    machine.runs(31, 1, "python3 eval.py", maps=TORCH)
    machine.runs(32, 1, "tritonserver --model-repository=/models")
    found = machine.jobs({32: None})
    assert [(one.pid, one.computes) for one in found] == [(32, True), (31, True), (30, False)]
    assert found[0].gpu_memory_bytes is None  # the driver lists it without a size


def test_a_training_that_another_program_started_is_a_job_of_its_own(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.runs(60, 1, "python3 sweep.py", maps=TORCH)
    machine.runs(61, 60, "python3 train.py", seconds=50, maps=TORCH)
    machine.runs(62, 61, "python3 -c from~multiprocessing.spawn~import~spawn_main", maps=TORCH)
    assert [(one.pid, one.below) for one in machine.jobs()] == [(60, 2), (61, 1)]


def test_what_is_no_python_and_uses_no_gpu_is_left_out(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.runs(40, 1, "/usr/sbin/sshd -D", seconds=100)
    machine.runs(41, 1, "/bin/pythonic x")
    assert machine.jobs() == []


def test_this_program_and_what_started_it_are_no_jobs(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.runs(800, 1, "python3 -m supervisor")
    machine.runs(OWN, 800, "python3 -m gpuwhy")
    machine.runs(901, OWN, "python3 helper.py")
    machine.runs(801, 800, "python3 train.py", maps=TORCH)
    assert [one.pid for one in machine.jobs()] == [801]


def test_control_signs_of_a_command_are_not_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.runs(50, 1, "python3 \x1b]0;x\x07train.py")
    (one,) = machine.jobs()
    assert one.command.isprintable()
