"""A running job as a look of the guided diagnosis: the facts of the command line, its settings, and its end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from gpuwhy.kb.fact_file import load as facts_of
from gpuwhy.kb.load import load
from gpuwhy.probes import pid_watch
from gpuwhy.tui.incident.looking import Look, State, job
from tests.tui.incident.test_looking import Waiting

NOBODY = 1 << 22  # the kernel gives no number as high as this


@pytest.fixture
def process() -> Iterator[int]:
    """A program that waits, with two settings."""
    more = {"NCCL_DEBUG": "INFO", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    made = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | more,
    )
    assert made.stdin is not None
    assert made.stdout is not None
    made.stdout.readline()  # it runs
    yield made.pid
    made.communicate(b"\n", timeout=60)


def watched(pid: int, settings: bool) -> tuple[Look, Waiting]:
    waiting = Waiting()
    look = Look(job(pid, settings), 1.0, load().facts, waiting)
    look.start()
    waiting.until(lambda: look.over)
    return look, waiting


def test_it_gives_the_facts_of_the_command_line_and_its_settings(process: int) -> None:
    look, _ = watched(process, settings=True)
    assert [one.state for one in look.steps] == [State.DONE, State.DONE]
    event = look.result()
    assert event is not None
    found = {one.id for one in facts_of(event.facts)[0]}
    same = pid_watch.watch(process, 1.0, stop=threading.Event(), specs=load().facts)
    # a disk that rests in one of the two seconds tells nothing
    assert {one.id for one in same.facts if not one.id.startswith("disk.")} <= found
    told = {one.id: one.value for one in facts_of(event.facts)[0]}
    assert told["allocator.expandable_segments"] is True


def test_without_consent_no_setting_is_read(process: int) -> None:
    look, _ = watched(process, settings=False)
    event = look.result()
    assert event is not None
    assert "allocator.expandable_segments" not in {one.id for one in facts_of(event.facts)[0]}


def test_a_job_that_is_gone_is_told_and_gives_nothing() -> None:
    look, _ = watched(NOBODY, settings=True)
    assert [one.state for one in look.steps] == [State.UNAVAILABLE, State.UNAVAILABLE]
    assert f"there is no process {NOBODY} here" in look.steps[0].found
    assert look.result() is None
