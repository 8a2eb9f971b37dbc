"""Everything that can be done, by name."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from gpuwhy.tui.app.screens.commands import CommandScreen, commands
from gpuwhy.tui.app.screens.diagnosis import DiagnosisScreen
from gpuwhy.tui.app.screens.fix import FixScreen
from gpuwhy.tui.app.screens.paste import PasteScreen
from gpuwhy.tui.app.screens.start import StartScreen
from gpuwhy.tui.incident.events import Added, Event, Started
from tests.tui.app.test_app import settled, state, used
from tests.tui.incident.test_session import IN_PIECES

__all__ = ["state"]  # a fixture that every test here uses
EVENTS = (Started("oom", "1.0"), Added("message", IN_PIECES))


def listed(pilot: Pilot[None]) -> str:
    """The commands that are offered, one a line."""
    return "\n".join(str(one.prompt) for one in pilot.app.screen.query_one("#found", OptionList).options)


def test_a_command_is_found_by_its_words_and_done() -> None:
    async def act(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, StartScreen)
        await pilot.press("ctrl+p")
        assert "1  Training is slow" in listed(pilot)
        assert "p  Paste a message, log or table" in listed(pilot)
        await pilot.press(*"MESS")
        assert listed(pilot).split() == ["p", "Paste", "a", "message,", "log", "or", "table"]
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, PasteScreen)

    used(act)


def test_of_a_diagnosis_what_can_be_done_now_is_offered_in_words_of_ours() -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        offered = listed(pilot).lower()
        assert "f  what to do about the conclusion that is marked" in offered
        assert "why this is asked" not in offered  # nothing is asked any more
        assert not [word for word in ("theme", "screenshot", "maximize", "panel") if word in offered]
        await pilot.press("down", "up", "up", "down", *"what to do", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, FixScreen)

    used(act, events=EVENTS)


def test_what_has_no_such_name_is_said_and_escape_goes_back() -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p", "ctrl+p", *"zzz", "enter", "down")
        assert listed(pilot) == "nothing of that name"
        assert isinstance(pilot.app.screen, CommandScreen)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, DiagnosisScreen)

    used(act, events=EVENTS)


@pytest.mark.parametrize("events", [(), EVENTS], ids=["start", "diagnosis"])
def test_every_command_offered_runs(events: tuple[Event, ...]) -> None:
    async def act(pilot: Pilot[None]) -> None:
        below = pilot.app.screen
        offered = [one for one in commands(below) if one.action not in ("app.quit", "quit", "back")]
        assert len(offered) > 8
        for one in offered:
            assert await pilot.app.run_action(one.action, one.of), one
            await settled(pilot)
            while pilot.app.screen is not below:
                pilot.app.pop_screen()
                await pilot.pause()

    used(act, events=events)
