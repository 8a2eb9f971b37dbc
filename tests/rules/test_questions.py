"""Every fact that can be asked for is asked in plain words, and the answers that there are can be chosen."""

from __future__ import annotations

import re

import pytest

from gpuwhy.kb.load import load
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.texts import say

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
