"""Every fact that can be asked for is asked in plain words, and the answers that there are can be chosen."""

from __future__ import annotations

import re

import pytest

from gpuwhy.kb.load import load
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.texts import say
from gpuwhy.tui.incident.events import AREAS
from gpuwhy.tui.incident.session import Session

ASKABLE = [spec for spec in load().facts.values() if spec.ask or spec.obtain]
LONGEST = 160
"""Two lines of a terminal."""


@pytest.mark.parametrize("spec", ASKABLE, ids=lambda spec: spec.id)
def test_it_has_a_question_and_a_way_to_learn_it(spec: FactSpec) -> None:
    question = say(spec.ask)
    assert re.fullmatch(r"[A-Z][^?]*\?", question), question
    assert len(question) <= LONGEST
    assert spec.obtain
    assert all(say(one.says) for one in spec.obtain)


@pytest.mark.parametrize("spec", ASKABLE, ids=lambda spec: spec.id)
def test_its_answers_can_be_chosen(spec: FactSpec) -> None:
    values = [one.value for one in spec.answers]
    assert all(say(one.says) for one in spec.answers)
    assert len(values) == len(set(values))
    if spec.type == "boolean":
        assert set(values) == {True, False}
    if spec.type == "choice":
        assert set(values) == set(spec.choices)


@pytest.mark.parametrize("symptom", AREAS)
def test_the_first_question_of_a_trouble_is_answered_from_what_is_seen(symptom: str) -> None:
    """No command, no number: words to choose from, and they tell several causes apart."""
    session = Session(load())
    session.start(symptom)
    first = session.snapshot().questions[0]
    assert (first.effort, bool(first.answers)) == ("question", True)
    assert len(first.separates) >= 3
