"""The shipped rules' own cases: they notice every small change, and reach every condition, edge and unknown."""

from __future__ import annotations

import pytest

from gpuwhy.engine.rule_cases import AnyRule, cases_beside, rules_of
from gpuwhy.engine.rule_coverage import coverage
from gpuwhy.engine.rule_mutants import survivors
from gpuwhy.kb.load import load, rules_folder

KB = load()


def folder_of(rule: AnyRule) -> str:
    return rule.file.rpartition("/")[0]


@pytest.mark.parametrize("folder", sorted({folder_of(rule) for rule in rules_of(KB)}))
def test_no_small_change_of_a_stable_rule_goes_unnoticed(folder: str) -> None:
    for rule in rules_of(KB):
        if rule.status == "stable" and folder_of(rule) == folder:
            cases = cases_beside(KB, rule, rules_folder())
            lived, _ = survivors(KB, rule, cases)
            assert [f"{rule.id}: {one.change}" for one in lived] == []
            assert [f"{rule.id}: {one.says}" for one in coverage(KB, rule, cases).gaps] == []
