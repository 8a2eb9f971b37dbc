"""Numbers in rules are earned: they have sources, few are rules of thumb, and the published page is up to date."""

from __future__ import annotations

from pathlib import Path

from gpuwhy.kb.load import load
from gpuwhy.kb.thresholds import page, thresholds

REPOSITORY = Path(__file__).parents[2]


def test_fewer_than_one_in_twenty_judged_thresholds_rest_on_a_rule_of_thumb() -> None:
    judged = [one for one in thresholds(load()) if one.reference.strength != "definition"]
    heuristic = [f"{one.rule}: {one.comparison.ref}" for one in judged if one.reference.strength == "heuristic"]
    assert len(heuristic) * 20 < len(judged), heuristic


def test_the_page_of_thresholds_is_what_the_rules_say() -> None:
    assert (REPOSITORY / "docs" / "thresholds.md").read_text("utf-8") == page(load()), "run `make docs`"


def test_references_kept_in_the_repository_exist() -> None:
    for reference in load().references.values():
        if not reference.address.startswith("http"):
            assert (REPOSITORY / reference.address.partition("#")[0]).exists(), reference.id
