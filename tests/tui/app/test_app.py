"""The guided diagnosis as a person uses it: by keys alone, at 80 columns and 24 lines, with the shipped rules."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static, TextArea

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.tui.app.app import GpuwhyApp
from gpuwhy.tui.app.rows import Rows
from gpuwhy.tui.app.run import farewell
from gpuwhy.tui.app.screens.diagnosis import DiagnosisScreen
from gpuwhy.tui.app.screens.fix import FixScreen
from gpuwhy.tui.app.screens.paste import PasteScreen
from gpuwhy.tui.app.screens.report import ReportScreen
from gpuwhy.tui.app.screens.start import StartScreen
from gpuwhy.tui.app.screens.value import ValueScreen
from gpuwhy.tui.incident import journal as journals
from gpuwhy.tui.incident.events import Added, Answered, Applied, Started
from tests.tui.incident.test_session import IN_PIECES

Act = Callable[[Pilot[None]], Awaitable[None]]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Incidents of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def used(act: Act, size: tuple[int, int] = (80, 24), **options: Any) -> GpuwhyApp:
    """The application after a person has acted."""
    app = GpuwhyApp(load, "gpuwhy", **options)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            await act(pilot)

    asyncio.run(run())
    return app


async def settled(pilot: Pilot[None]) -> None:
    """Wait until nothing is being worked on any more, apart from the look at the GPUs."""
    for _ in range(400):
        await pilot.pause(0.02)
        working = [one for one in pilot.app.workers if one.group != "glance" and not one.is_finished]
        if isinstance(pilot.app, GpuwhyApp) and pilot.app.ready and not working:
            break
    await pilot.pause()


async def pasted(pilot: Pilot[None], text: str) -> None:
    await pilot.press("p")
    await pilot.pause()
    pilot.app.screen.query_one("#text", TextArea).text = text
    await pilot.press("ctrl+d")
    await settled(pilot)


def shown(pilot: Pilot[None]) -> str:
    """What the widgets of the screen say."""
    screen = pilot.app.screen
    rows = (" ".join(one.render().plain.split()) for one in screen.query(Rows))
    return "\n".join([*(str(one.content) for one in screen.query(Static)), *rows])


def test_a_paste_leads_to_its_fix_and_the_report() -> None:
    async def act(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, StartScreen)
        await pasted(pilot, IN_PIECES)
        assert isinstance(pilot.app.screen, DiagnosisScreen)
        assert pilot.app.screen.marked == "oom.fragmentation"
        assert "4.87 GiB is reserved and unused" in shown(pilot)
        await pilot.press("f")
        await pilot.pause()
        assert isinstance(pilot.app.screen, FixScreen)
        assert "expandable_segments:True" in shown(pilot)
        await pilot.press("m")
        await settled(pilot)
        await pilot.press("v")
        await pilot.pause()
        assert "CANNOT TELL YET" in shown(pilot)
        await pilot.press("escape", "e")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ReportScreen)
        pilot.app.screen.query_one("#path", Input).value = "ticket.md"
        await pilot.press("enter")
        await pilot.pause()

    used(act)
    assert "oom.fragmentation" in Path("ticket.md").read_text("utf-8")
    (kept,) = journals.listed()
    kinds = [type(one) for one in journals.read(kept.name)]
    assert kinds[:2] == [Started, Added]
    assert Applied in kinds


def test_an_incident_is_taken_up_where_it_was_left() -> None:
    journal = journals.Journal()
    for event in (Started("slow", "1.0"), Answered("step.data_wait_share", "63 %")):
        journal.write(event)
    journal.close()

    async def act(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, DiagnosisScreen)
        assert str(pilot.app.screen.marked).startswith("slow.io-wall")

    used(act, resume=journal.name)


def test_questions_are_answered_by_keys() -> None:
    async def act(pilot: Pilot[None]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, DiagnosisScreen)
        asked = screen.question
        assert asked is not None
        await pilot.press("w")
        await pilot.pause()
        assert asked.separates[0] in shown(pilot)
        await pilot.press("escape", "h")
        await pilot.pause()
        assert asked.ask in shown(pilot)
        await pilot.press("escape", "d")
        await settled(pilot)
        assert screen.question is None or screen.question.fact != asked.fact
        assert screen.snapshot is not None
        assert screen.snapshot.answers[-1][1] is None
        await pilot.press("u")
        await settled(pilot)
        assert screen.question is not None
        assert screen.question.fact == asked.fact

    used(act, events=(Started("slow", "1.0"), Answered("step.data_wait_share", "63 %")))


def test_a_key_that_needs_the_rules_waits_until_they_are_read() -> None:
    gate = threading.Event()

    def slow() -> KnowledgeBase:
        assert gate.wait(60)
        return load()

    app = GpuwhyApp(slow, "gpuwhy")

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("2")
            await pilot.pause()
            assert isinstance(app.screen, StartScreen)
            gate.set()
            await settled(pilot)
            assert isinstance(app.screen, PasteScreen)

    asyncio.run(run())


def test_rules_that_cannot_be_used_end_it_with_what_is_wrong(tmp_path: Path) -> None:
    app = GpuwhyApp(lambda: load(tmp_path / "none"), "gpuwhy")

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("2")
            for _ in range(400):
                await pilot.pause(0.02)
                if app.rules_trouble is not None:
                    break

    asyncio.run(run())
    assert isinstance(app.rules_trouble, KnowledgeError)
    assert app.return_code == 1
    assert not journals.listed()


def test_a_typed_answer_that_does_not_fit_is_told_at_once() -> None:
    async def act(pilot: Pilot[None]) -> None:
        pilot.app.push_screen(ValueScreen("How many?", lambda value: "" if value == "4" else "a whole number"))
        await pilot.pause()
        await pilot.press("x", "enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ValueScreen)
        assert "a whole number" in shown(pilot)
        await pilot.press("backspace", "4", "enter")
        await pilot.pause()
        assert not isinstance(pilot.app.screen, ValueScreen)

    used(act)


HOSTILE = "[bold red]x[/] \x1b]52;c;aGk=\x07 \u202egnp.exe\u202c \x00 " + "y" * 5000


def test_hostile_text_is_nothing_but_text() -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pasted(pilot, f"{IN_PIECES}{HOSTILE}\ntorch.OutOfMemoryError: [link=x]CUDA out of memory[/link]\n")
        assert isinstance(pilot.app.screen, DiagnosisScreen)
        options = pilot.app.screen.query_one("#conclusions", OptionList)
        assert options.highlighted_option is not None
        for key in ("enter", "down", "down", "space", "f", "escape", "e"):
            await pilot.press(key)
            await pilot.pause()
        assert "\x1b" not in shown(pilot)
        assert "\u202e" not in shown(pilot)

    used(act)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (60, 15)])
def test_the_next_question_and_the_keys_are_always_in_view(size: tuple[int, int]) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pasted(pilot, IN_PIECES)
        for name in ("#question", "#conclusions", "#right", "Footer"):
            region = pilot.app.screen.query_one(name).region
            assert region.height > 0, name
            assert region.bottom <= size[1], name
            assert region.right <= size[0], name

    used(act, size)


def test_a_farewell_says_what_is_kept(tmp_path: Path) -> None:
    journal = journals.Journal(where=tmp_path)
    journal.write(Started("oom", "1.0"))
    assert farewell(journal) == f"The incident is kept: gpuwhy incident resume {journal.name}"
    journal.trouble = "No space left on device: here"
    assert "kept in part: gpuwhy incident resume" in farewell(journal)
    assert "(No space left on device: here)" in farewell(journal)
    (tmp_path / "file").write_text("in the way")
    nowhere = journals.Journal(where=tmp_path / "file" / "state")
    assert farewell(nowhere).startswith("The incident is not kept (Not a directory: ")
