"""The footer names the key that goes on, wherever something is typed or marked."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from gpuwhy.tui.app.screens.value import ValueScreen
from gpuwhy.tui.incident.events import Added, Started
from tests.tui.app.test_app import settled, state, used
from tests.tui.incident.test_session import IN_PIECES

__all__ = ["state"]  # a fixture that every test here uses


@pytest.mark.parametrize(("opens", "word"), [("open", "Open"), ("report", "Write it"), ("commands", "Do it")])
def test_enter_is_in_the_footer(opens: str, word: str) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.app.run_action(f"app.{opens}")
        await settled(pilot)
        assert ("enter", word) in footer(pilot)

    used(act, events=(Started("oom", "1.0"), Added("message", IN_PIECES)))


def test_enter_is_in_the_footer_where_a_value_is_typed() -> None:
    async def act(pilot: Pilot[None]) -> None:
        given: list[str | None] = []
        pilot.app.push_screen(ValueScreen("How many?", lambda value: "" if value == "4" else "a number"), given.append)
        await settled(pilot)
        assert ("enter", "Answer") in footer(pilot)
        await pilot.press("x", "enter", "backspace", "4", "enter")
        await settled(pilot)
        assert given == ["4"]

    used(act)


def footer(pilot: Pilot[None]) -> list[tuple[str, str]]:
    keys = pilot.app.screen.query_one(Footer).query(FooterKey)
    return [(one.key_display, one.description) for one in keys]
