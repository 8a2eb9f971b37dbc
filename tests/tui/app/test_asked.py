"""The question at the bottom: every answer in view or one key away, at any width."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from gpuwhy.engine.model import Question
from gpuwhy.kb.facts import JOB
from gpuwhy.kb.load import load
from gpuwhy.tui.app.asked import flowed
from gpuwhy.tui.app.questions import choices, keys
from gpuwhy.tui.app.screens.diagnosis import DiagnosisScreen
from gpuwhy.tui.app.screens.pick import PickScreen
from gpuwhy.tui.app.screens.value import ValueScreen
from gpuwhy.tui.incident.events import Answered, Started
from tests.tui.app.test_app import settled, state, used

__all__ = ["state"]  # a fixture that every test here uses


def asked(fact: str) -> Question:
    """A question as the engine would put it."""
    spec = load().facts[fact]
    answers = tuple((one.value, str(one.says)) for one in spec.answers)
    return Question(fact, JOB, "?", "", "", "question", (), answers, 1.0)


def test_a_line_breaks_between_answers() -> None:
    lines = [one.plain for one in flowed([("1", "yes, it does"), ("2", "no"), ("d", "don't know")], 26)]
    assert lines == ["1 yes, it does   2 no", "d don't know"]


def test_an_answer_longer_than_a_line_has_lines_of_its_own() -> None:
    lines = [one.plain for one in flowed([("1", "no"), ("2", "one that is much longer"), ("d", "none")], 20)]
    assert lines == ["1 no", "2 one that is much", "  longer", "d none"]


@pytest.mark.parametrize(
    ("fact", "last"),
    [
        ("oom.allocator", [("t", "9 more"), ("d", "don't know")]),  # 18 answers, nine keys
        ("oom.request_bytes", [("t", "type the number"), ("d", "don't know")]),
        ("loader.in_main_process", [("2", "no"), ("d", "don't know")]),
    ],
)
def test_no_answer_is_without_a_key(fact: str, last: list[tuple[str, str]]) -> None:
    assert keys(load().facts[fact], asked(fact))[-2:] == last


def test_an_answer_beyond_nine_is_picked_from_the_list() -> None:
    """Where nobody knows what is seen, what nvidia-smi says is asked for: it has twelve answers."""

    async def act(pilot: Pilot[None]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, DiagnosisScreen)
        assert screen.question is not None
        assert screen.question.fact == "host.smi_error"
        values = [value for value, _ in choices(load().facts["host.smi_error"], screen.question)]
        await pilot.press("t")
        assert isinstance(pilot.app.screen, PickScreen)
        await pilot.press("end", "up", "enter")
        await settled(pilot)
        assert screen.snapshot is not None
        assert screen.snapshot.answers[-1] == ("host.smi_error", values[-2])

    used(act, events=(Started("broken", "1.0"), Answered("job.broken_seen", None)))


def test_a_number_is_typed() -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("t")
        assert isinstance(pilot.app.screen, ValueScreen)

    used(act, events=(Started("oom", "1.0"), Answered("oom.seen", None), Answered("job.memory_grows", None)))
