"""Suggested cases: they notice what none noticed, and what no case can notice is said."""

from __future__ import annotations

from pathlib import Path

from gpuwhy.engine.rule_cases import Case, cases_beside
from gpuwhy.engine.rule_coverage import coverage
from gpuwhy.engine.rule_mutants import survivors
from gpuwhy.engine.rule_suggest import suggestions
from gpuwhy.kb.load import load
from tests.engine.test_rule_mutants import PLAIN, pack


def test_four_plausible_cases_are_made_complete(tmp_path: Path) -> None:
    kb = pack(tmp_path / "pack", PLAIN)
    rule = kb.signatures[0]
    own = cases_beside(kb, rule, tmp_path / "pack")
    made, failed = suggestions(kb, rule, own)
    assert failed == []
    more = [*own, *(Case(rule, "", one.facts, one.expect, one.missing) for one in made)]
    assert survivors(kb, rule, more) == ([], 8)
    assert coverage(kb, rule, more).gaps == []
    values = {fact.value for one in made for fact in one.facts if fact.id == "gpu.power_watts"}
    assert 60 in values  # only a reading on the threshold tells `lt` from `le`


def test_a_case_about_what_is_not_known_says_what_is_missing(tmp_path: Path) -> None:
    kb = pack(tmp_path / "pack", PLAIN)
    made, _ = suggestions(kb, kb.signatures[0], cases_beside(kb, kb.signatures[0], tmp_path / "pack"))
    unknown = {one.missing for one in made if one.expect == "unknown"}
    assert {"gpu.power_watts", "step.wait_share"} <= {name for missing in unknown for name in missing}


def test_what_no_case_can_notice_is_said(tmp_path: Path) -> None:
    kb = pack(tmp_path / "pack", PLAIN)
    path = tmp_path / "pack/signatures/oom/pieces.yaml"
    weaker = "    - {fact: gpu.power_watts, op: lt, value: 70, source: guide}\n"
    path.write_text(path.read_text().replace("  all:\n", "  all:\n" + weaker))
    kb = load(tmp_path / "pack", tmp_path / "cache")
    _, failed = suggestions(kb, kb.signatures[0], cases_beside(kb, kb.signatures[0], tmp_path / "pack"))
    assert "no case notices: requires: gpu.power_watts lt 70 dropped" in failed
