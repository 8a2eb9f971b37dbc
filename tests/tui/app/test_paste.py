"""A paste of any length: it is said at once that it is read, keys work meanwhile, and nothing is read twice."""

from __future__ import annotations

import threading

import pytest
from textual.pilot import Pilot
from textual.widgets import Static, TextArea

from gpuwhy.probes.artefacts import read
from gpuwhy.tui.app.app import GpuwhyApp
from gpuwhy.tui.app.screens.diagnosis import DiagnosisScreen
from gpuwhy.tui.app.screens.paste import PasteScreen
from gpuwhy.tui.app.widgets import Conclusions
from tests.tui.app.test_app import settled, shown, state, used
from tests.tui.incident.test_session import IN_PIECES

__all__ = ["state"]  # a fixture that every test here uses


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Reading goes on when this is set."""
    goes_on, reads = threading.Event(), read._read_one

    def waits(*arguments: object) -> read.Found:
        assert goes_on.wait(60)
        return reads(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(read, "_read_one", waits)
    return goes_on


def test_a_paste_that_takes_long_is_told_of_and_need_not_be_waited_for(held: threading.Event) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("2")
        while not isinstance(pilot.app.screen, PasteScreen):
            await pilot.pause(0.02)
        pilot.app.screen.query_one("#text", TextArea).text = IN_PIECES
        await pilot.pause()
        assert "reading" in str(pilot.app.screen.query_one("#understood", Static).content)
        await pilot.press("ctrl+d")
        screen = pilot.app.screen
        assert isinstance(screen, DiagnosisScreen)
        conclusions = screen.query_one(Conclusions)
        while conclusions.border_title != "Reading, judging ...":
            await pilot.pause(0.02)
        await pilot.press("slash")  # keys work meanwhile
        assert screen.focused is not None
        assert screen.focused.id == "search"
        held.set()
        await settled(pilot)
        assert "4.87 GiB is reserved and unused" in shown(pilot)
        while conclusions.border_title != "Conclusions":
            await pilot.pause(0.02)

    used(act)


def test_what_was_understood_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    names, reads = [], read._read_one

    def counted(*arguments: object) -> read.Found:
        names.append(arguments[0])
        return reads(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(read, "_read_one", counted)

    async def act(pilot: Pilot[None]) -> None:
        for number in (1, 2):
            await pilot.app.run_action("app.paste")
            await pilot.pause()
            pilot.app.screen.query_one("#text", TextArea).text = IN_PIECES * number
            while "understood" not in shown(pilot):
                await pilot.pause(0.02)
            await pilot.press("ctrl+d")
            await settled(pilot)
        assert isinstance(pilot.app, GpuwhyApp)
        assert names == ["paste 1", "paste 2"]

    used(act)


def test_what_was_understood_is_in_view_in_a_small_terminal() -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await settled(pilot)
        told = pilot.app.screen.query_one("#understood").region
        assert told.height > 0
        assert pilot.app.screen.query_one("#box").content_region.contains_region(told)

    used(act, size=(60, 14))
