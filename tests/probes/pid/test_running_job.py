"""A real PyTorch job is watched from outside while it runs: what is concluded, and that its own timer agrees.

The device is imitated (there is no GPU here): it runs real work beside the thread that launches it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytest.importorskip("torch")

SCRIPT = Path(__file__).with_name("training.py")
WATCH_SECONDS = 20
START_SECONDS = 240
"""A busy machine may take long to import PyTorch."""

AGREE_WITHIN = 0.05
CAUSES = ("slow.io-wall", "slow.scheduling-wall")


def quiet() -> dict[str, str]:
    """An environment in which no GPU is looked for, and the training script finds the project."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "SECRET_TOKEN": "do-not-show-this"}


@contextmanager
def running(variant: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The training script, once it is past its first steps; it ends with the context."""
    with open(folder / "output", "wb") as output:
        command = [sys.executable, str(SCRIPT), variant, str(folder)]
        job = subprocess.Popen(command, env=quiet(), stdout=output, stderr=output, cwd=ROOT)
    try:
        deadline = time.monotonic() + START_SECONDS
        while shares(folder).get("step.count", 0) < 5:
            assert job.poll() is None, (folder / "output").read_text()
            assert time.monotonic() < deadline, "the training did not start"
            time.sleep(0.1)
        yield job
    finally:
        (folder / "stop").touch()
        job.wait(120)


def shares(folder: Path) -> dict[str, float]:
    """What the job's own timer says so far."""
    try:
        document = json.loads((folder / "timer.json").read_text())
    except FileNotFoundError:
        return {}
    return {one["id"]: one["value"] for one in document["facts"]}


@contextmanager
def history(folder: Path) -> Iterator[list[tuple[float, dict[str, float]]]]:
    """What the timer says over time, with the moments; read several times a second while the context lasts."""
    found: list[tuple[float, dict[str, float]]] = [(time.time(), shares(folder))]
    ended = threading.Event()

    def follow() -> None:
        while not ended.wait(0.1):
            found.append((time.time(), shares(folder)))

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def between(before: dict[str, float], after: dict[str, float], fact: str) -> float:
    """A share over the steps between two readings of the timer: the added time over the added window."""
    window = after["step.window_seconds"] - before["step.window_seconds"]
    spent = [one.get(fact, 0.0) * one["step.window_seconds"] for one in (before, after)]
    return (spent[1] - spent[0]) / window


def diagnose(job: subprocess.Popen[bytes], *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpuwhy", "diagnose", "--pid", str(job.pid), "--for", f"{WATCH_SECONDS}s", *more]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=quiet(), timeout=300)


@pytest.mark.parametrize(
    ("variant", "concluded"),
    [("slow-loader", "slow.io-wall"), ("sync-and-log", "slow.scheduling-wall"), ("healthy", None)],
    ids=["slow-loader", "sync-and-log", "healthy"],
)
def test_what_holds_a_job_up_is_concluded_and_its_timer_agrees(
    tmp_path: Path, variant: str, concluded: str | None
) -> None:
    with running(variant, tmp_path) as job, history(tmp_path) as told:
        done = diagnose(job, "--format", "json")
        assert job.poll() is None  # it runs on
    report = json.loads(done.stdout)
    assert done.stderr == ""
    asserted = [one["id"] for one in report["conclusions"] if one["status"] in ("confirmed", "likely")]
    found = {cause for cause in CAUSES for one in asserted if one == cause or one.startswith(f"{cause}.")}
    assert found == ({concluded} if concluded else set())
    facts = {one["id"]: one["value"] for one in report["facts"] if one["entity"].startswith("job")}
    assert facts["step.stack_samples"] >= 100
    ended = next(one for one in report["facts"] if one["id"] == "step.stack_samples")
    end = datetime.fromisoformat(ended["observed_at"].replace("Z", "+00:00")).timestamp()
    begin = end - ended["window_seconds"]
    before = max((one for one in told if one[0] <= begin), key=lambda one: one[0], default=told[0])[1]
    after = min((one for one in told if one[0] >= end), key=lambda one: one[0], default=told[-1])[1]
    for fact in ("step.data_wait_share", "step.sync_share", "step.logging_share"):
        assert facts[fact] == pytest.approx(between(before, after, fact), abs=AGREE_WITHIN), fact
    assert "do-not-show-this" not in done.stdout
    timed = subprocess.run(
        [sys.executable, "-m", "gpuwhy", "diagnose", str(tmp_path / "timer.json"), "--format", "json"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    same = [one["id"] for one in json.loads(timed.stdout)["conclusions"] if one["status"] in ("confirmed", "likely")]
    assert {cause for cause in CAUSES for one in same if one == cause or one.startswith(f"{cause}.")} == found


def test_an_interrupt_keeps_what_was_seen_and_leaves_the_job_alone(tmp_path: Path) -> None:
    with running("slow-loader", tmp_path) as job:
        command = [sys.executable, "-m", "gpuwhy", "diagnose", "--pid", str(job.pid), "--for", "1h", "--format", "json"]
        watching = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=quiet()
        )
        deadline = time.monotonic() + START_SECONDS
        while not any("py-spy" in name for name in children(watching.pid)):
            assert watching.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(4)
        watching.send_signal(signal.SIGINT)
        said, _ = watching.communicate(timeout=120)
        assert job.poll() is None
    report = json.loads(said)
    assert {one["id"] for one in report["facts"]} >= {"step.data_wait_share", "host.cpu_busy_share"}


def children(pid: int) -> list[str]:
    """Commands of the processes below one."""
    done = subprocess.run(["ps", "-o", "args=", "--ppid", str(pid)], capture_output=True, text=True)
    return done.stdout.splitlines()
