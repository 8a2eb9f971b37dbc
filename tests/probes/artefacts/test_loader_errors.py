"""Errors of the DataLoader and of shared memory."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.loader_errors import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def _job(content: str) -> dict[str, Value]:
    return {
        fact: value
        for (fact, path), value in values(scan(FORMAT, content)).items()
        if path in ("job:this", "host:this")
    }


_SHM = "RuntimeError: unable to allocate shared memory(shm) for file </torch_1>: No space left on device (28)"
_NCCL = "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9637888): No space left on device"
_FILES = "RuntimeError: unable to open shared memory object </torch_1> in read-write mode: Too many open files (24)"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (_SHM, "shared-memory"),
        (_NCCL, "shared-memory"),
        ("RuntimeError: unable to write to file </torch_23_4>", "shared-memory"),
        ("RuntimeError: unable to mmap 99 bytes from file </torch_2>: Cannot allocate memory (12)", "shared-memory"),
        ("OSError: [Errno 28] No space left on device: '/data/shared memory.txt'", None),
        (_FILES, "too-many-files"),
        ("RuntimeError: received 0 items of ancdata", "too-many-files"),
        ("OSError: [Errno 24] Too many open files: '/data/x'", None),
        ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed.", "worker-killed"),
        ("RuntimeError: DataLoader worker (pid(s) 11, 12) exited unexpectedly", "worker-exited"),
        ("RuntimeError: DataLoader timed out after 30 seconds", "timeout"),
    ],
)
def test_kinds_of_errors(line: str, error: str | None) -> None:
    assert _job(line).get("loader.error") == error


def test_bus_errors_are_named_counted_and_claimed() -> None:
    content = (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared "
        "memory (shm).\n"
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared "
        "memory (shm).\n"
        "RuntimeError: DataLoader worker (pid 325) is killed by signal: Bus error.\n"
    )
    found = values(scan(FORMAT, content))
    assert found["loader.error", "job:this"] == "bus-error"
    assert found["loader.worker_signal", "job:this"] == "Bus error"
    assert found["reading.count", "job:this/measurement:lines: Unexpected bus error encountered in worker"] == 2
    assert found["process.pid", "process:325"] == 325
    assert claimed(scan(FORMAT, content)) == {1, 2, 3}


def test_the_warning_of_too_many_workers() -> None:
    facts = _job(
        "UserWarning: This DataLoader will create 64 worker processes in total. Our suggested max number of "
        "worker in "
        "current system is 2, which is smaller than what this DataLoader is going to create."
    )
    assert facts == {"loader.workers": 64, "loader.suggested_workers": 2}


def test_settings_of_the_loader_and_of_docker() -> None:
    facts = _job("DataLoader(ds, num_workers=0, pin_memory=True)\ndocker run --shm-size=8g image\n")
    assert facts == {
        "loader.workers": 0,
        "loader.in_main_process": True,
        "loader.pin_memory": True,
        "loader.shared_memory_total_bytes": 8.0 * 1024**3,
    }


@pytest.mark.parametrize(
    ("setting", "total_bytes"),
    [
        ("docker run --shm-size=1.5gb image", 1.5 * 1024**3),
        ("docker run --shm-size 512Mi image", 512.0 * 1024**2),
        ('    shm_size: "2.25g"', 2.25 * 1024**3),
        ("docker run --shm-size=67108864 image", 67108864.0),
    ],
)
def test_a_size_of_shared_memory_may_have_a_fraction(setting: str, total_bytes: float) -> None:
    assert _job(setting) == {"loader.shared_memory_total_bytes": total_bytes}
