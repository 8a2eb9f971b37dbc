"""Choosing the job that is to be watched: what is shown of it, and that its settings are read only with consent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from gpuwhy.kb.load import load
from gpuwhy.probes import job_list, nvml_glance
from gpuwhy.probes.job_list import Job
from gpuwhy.tui.app.app import GpuwhyApp
from gpuwhy.tui.app.screens.gather import GatherScreen
from gpuwhy.tui.app.screens.job import ConsentScreen, JobScreen, line
from gpuwhy.tui.app.screens.paste import PasteScreen
from tests.tui.app.test_app import settled, shown

GIB = 2**30
TRAINING = Job(4242, "ada", "python3 train.py --lr 0.1", 3.04, 7300.0, 2, 21.3 * GIB, 8, True, True)
OTHER = Job(77, "bob", "python3 [red]x", 0.0, 59.0, 0, None, 0, True, False)
DAEMON = Job(12, "root", "python3 daemon", 0.0, 59.0, 0, None, 0, False, True)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU, and incidents of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(nvml_glance, "memory_by_process", dict)
    monkeypatch.setattr(GpuwhyApp, "_glance", lambda _: None)


def used(monkeypatch: pytest.MonkeyPatch, act: Callable[[Pilot[None]], Awaitable[None]], *jobs: Job) -> None:
    """A person says that training is slow, where these jobs run, and acts."""
    monkeypatch.setattr(job_list, "jobs", lambda _: list(jobs))
    app = GpuwhyApp(load, "gpuwhy")

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            await pilot.press("1")
            await settled(pilot)
            await act(pilot)

    asyncio.run(run())


def probes(pilot: Pilot[None]) -> list[str | None]:
    """What is being looked at."""
    assert isinstance(pilot.app.screen, GatherScreen)
    return [one.id for one in pilot.app.screen.query_one("#steps", OptionList).options]


@pytest.mark.parametrize(("key", "wanted"), [("y", ["job", "settings"]), ("n", ["job"]), ("enter", ["job"])])
def test_settings_are_read_with_consent_alone(monkeypatch: pytest.MonkeyPatch, key: str, wanted: list[str]) -> None:
    async def act(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, JobScreen)
        assert "4242 and 8 below it, of ada: python3 train.py --lr 0.1" in shown(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ConsentScreen)
        assert "of process 4242" in shown(pilot)
        await pilot.press(key)
        await pilot.pause()
        assert probes(pilot) == wanted
        await pilot.press("escape")

    used(monkeypatch, act, TRAINING, OTHER)


def test_of_another_user_no_settings_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("down", "enter")
        await pilot.pause()
        assert probes(pilot) == ["job"]
        await pilot.press("escape")

    used(monkeypatch, act, TRAINING, OTHER)


def test_without_consent_or_no_the_choice_stands_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("enter", "escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, JobScreen)

    used(monkeypatch, act, TRAINING)


def test_where_nothing_computes_a_paste_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, PasteScreen)
        await pilot.press("escape", "j")
        await settled(pilot)
        assert isinstance(pilot.app.screen, JobScreen)  # asked for, it is shown all the same
        assert "daemon" in str(pilot.app.screen.query_one("#whole", Static).content)

    used(monkeypatch, act, DAEMON)


def test_what_a_job_uses_stands_before_its_command() -> None:
    assert line(TRAINING) == "   4242  2 GPUs 21.30 GiB    3.0 CPUs   2 h  python3 train.py --lr 0.1"
    assert line(OTHER) == "     77  framework loaded    0.0 CPUs  59 s  python3 [red]x"
