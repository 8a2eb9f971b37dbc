"""Choosing an instance by keys alone, with the shipped catalogue, at 80 columns and 24 lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from gpuwhy.tui.app.rows import Rows
from gpuwhy.tui.app.screens.choose import ChooseScreen
from gpuwhy.tui.app.screens.diagnosis import DiagnosisScreen
from gpuwhy.tui.incident.events import Answered, Started
from tests.tui.app.test_app import settled, shown, used


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Incidents of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def chosen(pilot: Pilot[None]) -> ChooseScreen:
    """The screen when it has judged what is written."""
    await pilot.pause(0.3)
    await settled(pilot)
    assert isinstance(pilot.app.screen, ChooseScreen)
    return pilot.app.screen


def test_results_follow_the_form() -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("c")
        screen = await chosen(pilot)
        assert screen.choice is not None
        assert screen.choice.work.method == "full"
        full = len(screen.choice.kept)
        await pilot.press(
            "down", "down", "right", "right", "right"
        )  # from the parameters past their file to the method: full, half, lora
        screen = await chosen(pilot)
        assert screen.choice is not None
        assert screen.choice.work.method == "lora"
        assert len(screen.choice.kept) > full
        assert "19.2 of 22.5 GiB" in shown(pilot) or screen.choice.kept[0].machine.name in shown(pilot)
        assert screen.choice.change is not None
        assert screen.choice.change.says in shown(pilot)
        await pilot.press("f3")
        assert "[select.memory.too-small-to-train]" in shown(pilot)
        await pilot.press("f4")
        assert "nvidia.com/gpu" in shown(pilot)
        await pilot.press("escape")
        assert screen.query_one("#params", Input).has_focus
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(pilot.app.screen, ChooseScreen)

    used(act)


def test_a_line_that_cannot_be_taken_is_told_at_once() -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("c")
        await chosen(pilot)
        await pilot.press("x")
        await chosen(pilot)
        assert "no number above 0, like 7B or 350M" in shown(pilot)

    used(act)


def test_a_diagnosis_of_waiting_for_data_is_heeded() -> None:
    async def act(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, DiagnosisScreen)
        await pilot.press("c")
        screen = await chosen(pilot)
        assert screen.choice is not None
        assert screen.choice.work.bound_by == "input"
        assert screen.choice.work.task == "train"
        assert "a bigger GPU waits" in " ".join(one.render().plain for one in screen.query(Rows)).replace("\n", " ")

    used(act, events=(Started("slow", "1.0"), Answered("step.data_wait_share", "63 %")))
