"""Mutants of rules: which are made, and that a plausible set of cases misses what cases on the edges notice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuwhy.engine.rule_cases import cases_beside
from gpuwhy.engine.rule_mutants import mutants, survivors
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase
from tests.kb.pack import write

RULE = """\
id: sig.oom.pieces
version: 1.0.0
status: stable
title: T
concludes: oom.pieces
requires:
  all:
    - {fact: gpu.power_watts, op: lt, value: 60, source: guide}
    - {fact: step.wait_share, op: ge, value: 0.25, source: guide}
because: [b]
"""
CASE = "  - {{name: c{0}, facts: {{gpu.power_watts: {1}, step.wait_share: {2}}}, expect: {3}}}\n"
PLAIN = [(35, 0.55, "likely"), (90, 0.55, "ruled-out"), (35, 0.1, "ruled-out"), (90, 0.1, "ruled-out")]
EDGES = [(60, 0.5, "ruled-out"), (59, 0.5, "likely"), (35, 0.25, "likely"), (35, 0.24, "ruled-out")]


def pack(folder: Path, cases: Sequence[tuple[float, float, str]]) -> KnowledgeBase:
    write(folder)
    (folder / "signatures/oom/pieces.yaml").write_text(RULE)
    text = "".join(CASE.format(number, *case) for number, case in enumerate(cases))
    (folder / "signatures/oom/pieces.test.yaml").write_text("cases:\n" + text)
    return load(folder, folder.parent / "cache")


def test_every_threshold_operator_and_part_is_changed(tmp_path: Path) -> None:
    kb = pack(tmp_path / "pack", PLAIN)
    # Two comparisons, each: operator to its neighbour, 5 % up, 5 % down, dropped.
    assert [one.change for one in mutants(kb.facts, kb.signatures[0])] == [
        "requires: gpu.power_watts lt 60: lt becomes le",
        "requires: gpu.power_watts lt 60: becomes 63",
        "requires: gpu.power_watts lt 60: becomes 57",
        "requires: gpu.power_watts lt 60 dropped",
        "requires: step.wait_share ge 0.25: ge becomes gt",
        "requires: step.wait_share ge 0.25: becomes 0.2625",
        "requires: step.wait_share ge 0.25: becomes 0.2375",
        "requires: step.wait_share ge 0.25 dropped",
    ]


def test_four_plausible_cases_notice_only_what_is_dropped(tmp_path: Path) -> None:
    kb = pack(tmp_path / "pack", PLAIN)
    found, made = survivors(kb, kb.signatures[0], cases_beside(kb, kb.signatures[0], tmp_path / "pack"))
    assert (len(found), made) == (6, 8)


def test_four_cases_on_the_edges_notice_the_rest(tmp_path: Path) -> None:
    kb = pack(tmp_path / "pack", PLAIN + EDGES)
    assert survivors(kb, kb.signatures[0], cases_beside(kb, kb.signatures[0], tmp_path / "pack")) == ([], 8)


def test_a_whole_number_is_shifted_by_one_and_its_operator_left(tmp_path: Path) -> None:
    kb = pack(tmp_path / "pack", PLAIN)
    path = tmp_path / "pack/signatures/oom/pieces.yaml"
    path.write_text(
        RULE.replace("{fact: gpu.power_watts, op: lt, value: 60", "{fact: job.on, over: count, op: gt, value: 2")
    )
    kb = load(tmp_path / "pack", tmp_path / "cache")
    assert [one.change for one in mutants(kb.facts, kb.signatures[0])][:3] == [
        "requires: count(job.on) gt 2: becomes 3",
        "requires: count(job.on) gt 2: becomes 1",
        "requires: count(job.on) gt 2 dropped",
    ]


@pytest.mark.parametrize(
    ("op", "bound", "bounds"),
    [("gt", 1, ["2", "0"]), ("gt", 0, ["1"]), ("le", 1, ["2", "0"]), ("ge", 2, ["3", "1"]), ("ge", 1, ["2"])],
)
def test_a_bound_on_a_count_is_shifted_where_some_count_tells(
    tmp_path: Path, op: str, bound: int, bounds: list[str]
) -> None:
    # A count that is known is at least 1: 1 tells `gt 1` from `gt 0`, and nothing tells `ge 1` from `ge 0`.
    pack(tmp_path / "pack", PLAIN)
    path = tmp_path / "pack/signatures/oom/pieces.yaml"
    comparison = f"{{fact: job.on, over: count, op: {op}, value: {bound}"
    path.write_text(RULE.replace("{fact: gpu.power_watts, op: lt, value: 60", comparison))
    kb = load(tmp_path / "pack", tmp_path / "cache")
    made = [one.change.partition("count(job.on) ")[2] for one in mutants(kb.facts, kb.signatures[0])]
    shown = f"{op} {bound}: becomes "
    assert [one.removeprefix(shown) for one in made if one.startswith(shown)] == bounds


def test_formulas_are_bent(tmp_path: Path) -> None:
    kb = pack(tmp_path / "pack", PLAIN)
    assert [one.change for one in mutants(kb.facts, kb.derivations[0])] == ["formula: / becomes *"]
