"""What a person types as `FACT=VALUE`: which fact is meant, however it is spelt."""

from __future__ import annotations

import pytest

from gpuwhy.engine.answers import AnswerError, parse_answer
from gpuwhy.kb.facts import JOB, OriginKind
from gpuwhy.kb.model import FactSpec

WORKERS = FactSpec("loader.workers", "job", "integer", "Workers that load data.")
OTHER = FactSpec("loader_workers", "host", "integer", "Another word of nearly that name.")


@pytest.mark.parametrize("name", ["loader.workers", "job.loader_workers", "loader_workers", "Loader.Workers"])
def test_a_fact_is_known_by_any_spelling_that_only_it_can_mean(name: str) -> None:
    fact = parse_answer({WORKERS.id: WORKERS}, f"{name}=4", OriginKind.PERSON, "answer")
    assert (fact.id, fact.value, fact.entity) == ("loader.workers", 4, JOB)


def test_a_spelling_that_two_facts_could_mean_is_not_guessed() -> None:
    specs = {one.id: one for one in (WORKERS, OTHER)}
    with pytest.raises(AnswerError, match=r"no fact `Loader-Workers`; did you mean"):
        parse_answer(specs, "Loader-Workers=4", OriginKind.PERSON, "answer")
    assert parse_answer(specs, "loader_workers=4", OriginKind.PERSON, "answer").id == OTHER.id
