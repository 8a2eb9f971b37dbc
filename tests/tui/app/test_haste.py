"""Keys that come faster than screens: nobody waits for a program at night."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea

from gpuwhy.kb.load import load
from gpuwhy.tui.app.fields import Pick
from gpuwhy.tui.app.screens.start import StartScreen
from gpuwhy.tui.incident import journal as journals
from gpuwhy.tui.incident.events import Added, Started
from tests.tui.app.test_app import settled, state, used
from tests.tui.incident.test_session import IN_PIECES

__all__ = ["state"]  # a fixture that every test here uses
EVENTS = (Started("oom", "1.0"), Added("message", IN_PIECES))


def hurried(app: App[None], *keys: str) -> None:
    """Keys all at once."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize("opens", ["paste", "open", "report", "choose", "job", "help"])
def test_what_is_closed_before_it_was_drawn_is_closed(opens: str) -> None:
    async def act(pilot: Pilot[None]) -> None:
        below = pilot.app.screen
        await pilot.app.run_action(f"app.{opens}")
        top = pilot.app.screen
        await pilot.app.run_action(top.active_bindings["escape"].binding.action, top)
        await settled(pilot)
        assert pilot.app.screen is below

    used(act, events=EVENTS)


@pytest.mark.parametrize(("opens", "field"), [("open", "#path"), ("paste", "#text")])
def test_what_is_typed_comes_in_its_order(opens: str, field: str) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.app.run_action(f"app.{opens}")
        await settled(pilot)
        hurried(pilot.app, *"abx", "backspace", "c", "left", "left", "z", "end", "d")
        await settled(pilot)
        one = pilot.app.screen.query_one(field)
        text = one.text if isinstance(one, TextArea) else one.value if isinstance(one, Input) else ""
        assert text.endswith("azbcd")

    used(act, events=EVENTS)


def test_nothing_opens_above_an_incident_that_is_left() -> None:
    async def act(pilot: Pilot[None]) -> None:
        hurried(pilot.app, "escape", "f", "v", "m")
        await settled(pilot)
        assert isinstance(pilot.app.screen, StartScreen)

    used(act, events=EVENTS)


@pytest.mark.parametrize("keys", [("enter", "enter"), ("2", "2"), ("down", "enter", "enter", "enter")])
def test_a_choice_made_twice_begins_one_incident(keys: tuple[str, ...], state: Path) -> None:
    async def act(pilot: Pilot[None]) -> None:
        hurried(pilot.app, *keys)
        await settled(pilot)

    used(act)
    assert state.is_dir()
    assert len(journals.listed()) == 1


def test_what_is_typed_behind_an_arrow_goes_to_the_line_that_it_leads_to() -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("c")
        await settled(pilot)
        hurried(pilot.app, "down", "down", "right", "right", "up", "up", "backspace", "backspace", "9", "b")
        await settled(pilot)
        assert pilot.app.screen.query_one("#method", Pick).value == "half"
        assert pilot.app.screen.query_one("#params", Input).value == "9b"

    used(act)


def test_rules_that_are_read_before_the_first_screen_stands_are_named_on_it() -> None:
    kb = load()

    class Early(App[None]):
        def on_mount(self) -> None:
            screen = StartScreen("gpuwhy")
            screen.show_rules(kb)
            self.push_screen(screen)

    async def run() -> str:
        app = Early()
        async with app.run_test() as pilot:
            await pilot.pause()
            return str(app.screen.query_one("#headline", Static).render())

    assert asyncio.run(run()) == f"gpuwhy   rules {kb.version} ({kb.digest[:4]})"
