"""Why and why not: the proof down to the line, by how much, and what an assumption would change."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwhy.engine.diagnose import what_if
from gpuwhy.kb.facts import JOB, Fact, FactBase, Origin, OriginKind
from gpuwhy.tui import explain
from gpuwhy.tui.wording import columns
from tests.tui.pack import OOM, report


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_proof_goes_from_the_rule_down_to_the_line_of_the_artefact(rules: Path) -> None:
    shown = words(explain.why(report(rules, f"a line\n{OOM}"), "oom.fragmentation"))
    for part in (
        "LIKELY oom.fragmentation",
        "sig.oom.pieces 2.1.0 (stable) for gpu:0/failure:1: LIKELY",
        "✔ oom.reserved_unallocated_bytes >= oom.request_bytes: 4.87 GiB against 1.50 GiB, by 3.37 GiB",
        "✔ tested.unused_share >= 10 %: 21 %, by 11 % [1]",
        "? tested.shapes_vary = yes: not known",
        "tested.shapes_vary: print(batch.shape) for 20 steps (question)",
        "COMPUTED tested.unused_share = 21 % from oom.reserved_unallocated_bytes, oom.allocated_bytes",
        "derive.oom.unused 1.0.0",
        "oom.request_bytes = 1.50 GiB [oom.txt:2] “Tried to allocate 1.50 GiB”",
        "oom.allocated_bytes = 17.94 GiB [oom.txt:2]",
        "SOURCES [1] A guide with thresholds (vendor, 2026-11-30) https://example.com/guide",
    ):
        assert part in shown


def test_a_reading_that_several_conditions_rest_on_is_quoted_once(rules: Path) -> None:
    shown = words(explain.why(report(rules, OOM), "oom.fragmentation"))
    assert shown.count("oom.reserved_unallocated_bytes = 4.87 GiB") == 1


def test_why_not_shows_only_what_fails_and_by_how_much(rules: Path) -> None:
    shown = words(explain.why_not(report(rules, OOM), "oom.other-process"))
    # Half of 23.69 GiB is 11.845 GiB; 23.28 GiB is 11.435 GiB above it.
    assert (
        "✘ oom.process_in_use_bytes < 0.5 x oom.capacity_bytes: 23.28 GiB against 11.85 GiB, short by 11.44 GiB"
        in shown
    )
    assert "in play because" not in shown
    assert "✔" not in shown


def test_why_not_of_a_likely_conclusion_names_what_would_confirm_it(rules: Path) -> None:
    shown = words(explain.why_not(report(rules, OOM), "oom.fragmentation"))
    assert "confirmed by: ? tested.shapes_vary = yes: not known" in shown
    assert "requires" not in shown


def test_a_conclusion_that_nothing_points_to_says_what_would(rules: Path) -> None:
    shown = words(explain.why_not(report(rules, OOM), "slow.io-wall"))
    assert "NOT IN PLAY slow.io-wall" in shown
    assert "only if step.data_wait_share is known: not known" in shown


def test_a_conclusion_without_rules_says_so(rules: Path) -> None:
    assert "no rule concludes this" in explain.why(report(rules, OOM), "oom.capacity")


def test_an_unknown_part_below_a_not_stays_unknown(rules: Path) -> None:
    shown = words(explain.why_not(report(rules, OOM), "oom.leak"))
    assert "? not ? tested.already_set = yes: not known" in shown


def test_an_assumption_replaces_the_reading_and_changes_the_verdict(rules: Path) -> None:
    made = report(rules, OOM)
    failure = next(fact.entity for fact in made.diagnosis.facts if fact.id == "oom.request_bytes")
    origin = Origin(OriginKind.ASSUMED, "what-if")
    assumed = [Fact("oom.request_bytes", 6.0 * 2**30, "bytes", failure, origin)]
    base = FactBase.of(made.gathered.facts, made.gathered.absent)
    changed = what_if(made.kb, base, assumed)
    assert [one.id for one in changed.ruled_out if one.id == "oom.fragmentation"] == ["oom.fragmentation"]
    confirmed = what_if(made.kb, base, [Fact("tested.shapes_vary", True, None, JOB, origin)])
    assert confirmed.conclusions[0].status.value == "confirmed"


@pytest.mark.parametrize("ascii_only", [True, False])
def test_it_fits_the_terminal_and_can_be_plain(rules: Path, ascii_only: bool) -> None:
    made = report(rules, OOM)
    for name in ("oom.fragmentation", "oom.leak", "oom.other-process", "slow.io-wall"):
        shown = explain.why(made, name, ascii_only) + explain.why_not(made, name, ascii_only)
        lines = [line for line in shown.splitlines() if "https://" not in line]  # addresses stay whole
        assert max(map(columns, lines)) <= 80
        assert not ascii_only or not {"✔", "✘"} & set(shown)
