"""Every rule's own cases hold, and every rule has the cases that make it trustworthy."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from gpuwhy.engine.rule_cases import Case, cases
from gpuwhy.engine.rule_coverage import waits
from gpuwhy.engine.rule_tests import run
from gpuwhy.kb.load import check_all, load, rules_folder
from gpuwhy.kb.model import KnowledgeBase, Signature


@cache
def knowledge() -> KnowledgeBase:
    return load(rules_folder())


@cache
def all_cases() -> tuple[Case, ...]:
    return tuple(cases(knowledge(), rules_folder()))


def test_the_shipped_rules_have_no_problem() -> None:
    assert [str(problem) for problem in check_all(rules_folder())] == []


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: f"{case.rule.id} {case.name}")
def test_case(case: Case) -> None:
    assert run(knowledge(), case) == []


def test_every_rule_has_a_test_file_beside_it() -> None:
    folder = rules_folder()
    rules = (*knowledge().signatures, *knowledge().derivations, *knowledge().fixes, *knowledge().selections)
    tested = {str(Path(rule.file)) for rule in rules if (folder / rule.file.replace(".yaml", ".test.yaml")).is_file()}
    assert {rule.file for rule in rules} - tested == set()


def test_every_signature_is_seen_to_fire_to_stay_silent_and_to_be_unknown() -> None:
    by_rule: dict[str, set[object]] = {}
    for case in all_cases():
        if isinstance(case.rule, Signature):
            by_rule.setdefault(case.rule.id, set()).add(case.expect)
    for signature in knowledge().signatures:
        seen = by_rule[signature.id]
        assert seen & {"confirmed", "likely"}, f"{signature.id}: no case where it fires"
        assert seen & {"ruled-out", "silent"}, f"{signature.id}: no case where it does not"
        assert "unknown" in seen or not waits(knowledge(), signature), f"{signature.id}: no case with an unknown fact"
