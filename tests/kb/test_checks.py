"""Checks across rules: each mistake is told at its line and column with what to write instead, all of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwhy.kb.load import check_all, load
from tests.kb.pack import FILES, write

SIGNATURE, FIX, DERIVATION = "signatures_oom_pieces", "fixes_oom_grow", "derivations_oom_slack"


def told(folder: Path, **spoilt: tuple[str, str]) -> list[str]:
    pack = write(folder / "pack", **spoilt)
    return [str(problem).removeprefix("pack/") for problem in check_all(pack)]


def test_the_pack_as_written_holds(tmp_path: Path) -> None:
    assert told(tmp_path) == []
    kb = load(tmp_path / "pack", cache_folder=tmp_path / "cache")
    (signature,) = kb.signatures
    assert signature.scope == "failure"  # the most specific of failure, job, and a GPU seen through an aggregate


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (
            SIGNATURE,
            "oom.slack_share",
            "oom.slack_shar",
            "signatures/oom/pieces.yaml:9:14: no fact `oom.slack_shar` (did you mean `oom.slack_share`?)",
        ),
        (
            SIGNATURE,
            "than: {fact: oom.request_bytes}",
            "than: {fact: oom.request_byte}",
            "signatures/oom/pieces.yaml:8:51: no fact `oom.request_byte` (did you mean `oom.request_bytes`?)",
        ),
        (
            SIGNATURE,
            "concludes: oom.pieces",
            "concludes: oom.piece",
            "signatures/oom/pieces.yaml:5:12: no conclusion `oom.piece` (did you mean `oom.pieces`?)",
        ),
        (
            SIGNATURE,
            "id: sig.oom.pieces",
            "id: sig.oom.other",
            "signatures/oom/pieces.yaml:1:5: id `sig.oom.other` does not follow the path (write sig.oom.pieces)",
        ),
        (
            SIGNATURE,
            "than: {fact: oom.request_bytes}",
            "than: {fact: gpu.power_watts}",
            "signatures/oom/pieces.yaml:8:7: `oom.free_bytes` (bytes) and `gpu.power_watts` (watts) are of different",
        ),
        (
            SIGNATURE,
            "than: {fact: oom.request_bytes}",
            "than: {fact: oom.request_bytes}, times: 2",
            "signatures/oom/pieces.yaml:8:7: a number is judged here without a source "
            "(add `source: <reference id>`, or `source: definition`)",
        ),
        (
            SIGNATURE,
            "than: {fact: oom.request_bytes}",
            "than: {fact: oom.request_bytes}, value: 5",
            "signatures/oom/pieces.yaml:8:7: compare with `value` or with `than`, one of them",
        ),
        (
            SIGNATURE,
            "op: ge, than: {fact: oom.request_bytes}",
            "op: known, value: 5",
            "signatures/oom/pieces.yaml:8:7: `known` takes no value",
        ),
        (
            SIGNATURE,
            ", source: guide}\n    - {fact: job.on",
            "}\n    - {fact: job.on",
            "signatures/oom/pieces.yaml:9:7: a number is judged here without a source "
            "(add `source: <reference id>`, or `source: definition`)",
        ),
        (
            SIGNATURE,
            "source: guide",
            "source: guid",
            "signatures/oom/pieces.yaml:9:62: no reference `guid` (did you mean `guide`?)",
        ),
        (
            SIGNATURE,
            '"10 %"',
            '"10 ms"',
            "signatures/oom/pieces.yaml:9:46: '10 ms' is no quantity in share (a number, with one of: share, %)",
        ),
        (
            SIGNATURE,
            "op: eq, value: true",
            "op: ge, value: true",
            "signatures/oom/pieces.yaml:10:7: `job.on` is boolean: `ge` orders numbers (use eq, ne or in)",
        ),
        (
            SIGNATURE,
            "op: eq, value: true",
            "op: eq, value: 1",
            "signatures/oom/pieces.yaml:10:37: `job.on` is true or false, not 1",
        ),
        (
            SIGNATURE,
            "[train, serve]",
            "[train, sing]",
            "signatures/oom/pieces.yaml:11:39: `sing` is no choice of `job.kind` (one of train, serve)",
        ),
        (
            SIGNATURE,
            "[train, serve]",
            "train",
            "signatures/oom/pieces.yaml:11:39: a list belongs to `in`, and `in` needs a list",
        ),
        (
            SIGNATURE,
            "{fact: job.name, over: count",
            "{fact: job.name, over: max",
            "signatures/oom/pieces.yaml:13:30: `job.name` is text: `max` is of numbers (use count)",
        ),
        (
            SIGNATURE,
            "op: gt, value: 0",
            'op: gt, value: "2 GiB"',
            "signatures/oom/pieces.yaml:13:52: '2 GiB' is no quantity in count (a number, with one of: count)",
        ),
        (
            SIGNATURE,
            "{fact: job.on, op: eq, value: true}",
            "{fact: job.on, op: eq, than: {fact: oom.free_bytes}}",
            "signatures/oom/pieces.yaml:10:43: `oom.free_bytes` is a number, and `job.on` is true or false: "
            "they are never equal "
            "(compare numbers with numbers, words with words, and what is true or false with what is)",
        ),
        (
            SIGNATURE,
            "op: ge, than: {fact: oom.request_bytes}",
            "op: ge, than: {fact: job.name}",
            "signatures/oom/pieces.yaml:8:51: `job.name` is a word, and `oom.free_bytes` is a number: "
            "they have no order "
            "(compare numbers with numbers, words with words, and what is true or false with what is)",
        ),
        (
            SIGNATURE,
            "op: gt, value: 0, source: definition",
            "op: gt, than: {fact: job.kind}",
            "signatures/oom/pieces.yaml:13:58: `job.kind` is a word, and count(job.name) is a number: "
            "they have no order",
        ),
        (
            SIGNATURE,
            "{fact: job.kind, op: in, value: [train, serve]}",
            "{fact: job.kind, op: in, than: {fact: job.name}}",
            "signatures/oom/pieces.yaml:11:28: `in` takes a list, not another fact (use eq)",
        ),
        (
            SIGNATURE,
            "{fact: job.on, op: eq, value: true}",
            "{fact: job.on, op: eq, than: {fact: job.on}, times: 2, source: guide}",
            "signatures/oom/pieces.yaml:10:59: `job.on` is boolean: only numbers are multiplied (leave `times` out)",
        ),
        (
            SIGNATURE,
            "{oom.free_bytes} is",
            "{oom.free} is",
            "signatures/oom/pieces.yaml:14:11: no fact `oom.free` (did you mean `oom.free_bytes`?)",
        ),
        (
            FIX,
            "conclusions: [oom.pieces]",
            "conclusions: [oom.pieces, oom.leak]",
            "fixes/oom/grow.yaml:5:27: no conclusion `oom.leak`",
        ),
        (
            FIX,
            "effect: some",
            'effect: "frees {oom.fre_bytes}"',
            "fixes/oom/grow.yaml:7:9: no fact `oom.fre_bytes` (did you mean `oom.free_bytes`?)",
        ),
        (
            DERIVATION,
            "oom.free_bytes / oom.request_bytes",
            "oom.free_bytes // oom.request_bytes",
            "derivations/oom/slack.yaml:6:26: a number, a fact or `(` expected (see docs/rules.md for what",
        ),
        (
            DERIVATION,
            "oom.free_bytes / oom.request_bytes",
            "oom.free_bytes / gpu.power_watts",
            "derivations/oom/slack.yaml:6:10:",
        ),
        (
            DERIVATION,
            "oom.free_bytes / oom.request_bytes",
            "oom.free_bytes / job.name",
            "derivations/oom/slack.yaml:6:10: `job.name` is no number",
        ),
        (
            DERIVATION,
            "oom.free_bytes / oom.request_bytes",
            "oom.slack_share * 1",
            "derivations/oom/slack.yaml:6:10: it reads `oom.slack_share`, the fact that it gives "
            "(let it read what that fact is computed from)",
        ),
        (
            DERIVATION,
            "gives: oom.slack_share",
            "scope: job\ngives: gpu.power_watts",
            "derivations/oom/slack.yaml:6:8: a job has no gpu above it, so nothing is ever given to `gpu.power_watts` "
            "(write `scope: gpu`, or give a fact of the host or the job)",
        ),
        (
            DERIVATION,
            "gives: oom.slack_share\nformula: oom.free_bytes / oom.request_bytes",
            "gives: oom.slack_share\nformula: step.wait_share",
            "derivations/oom/slack.yaml:5:8: a job has no failure above it, so nothing is ever given to "
            "`oom.slack_share` (write `scope: failure`, or give a fact of the host or the job)",
        ),
        (
            DERIVATION,
            "gives: oom.slack_share",
            "gives: oom.slack",
            "derivations/oom/slack.yaml:5:8: no fact `oom.slack` (did you mean `oom.slack_share`?)",
        ),
        (
            "conclusions_all",
            "explains: [slow.input]",
            "explains: [slow.inputs]",
            "conclusions/all.yaml:2:66: no conclusion `slow.inputs` (did you mean `slow.input`?)",
        ),
        (
            "conclusions_all",
            "id: slow.input",
            "id: oom.pieces",
            "conclusions/all.yaml:3:10: `oom.pieces` is defined twice (remove one of them)",
        ),
        (
            "facts_all",
            "entity: gpu",
            "entity: card",
            "facts/all.yaml:7:35: no entity kind `card`",
        ),
        (
            "facts_all",
            "type: boolean",
            "type: boolean, unit: bytes",
            "facts/all.yaml:8:52: only numbers have a unit",
        ),
        (
            "facts_all",
            "type: choice, choices: [train, serve]",
            "type: choice",
            "facts/all.yaml:10:5: `job.kind`: `choices` belongs to type choice, and only there",
        ),
        (
            "facts_all",
            "type: boolean",
            "type: boolean, areas: [slow, memory]",
            "facts/all.yaml:8:60: no area `memory` (one of ",
        ),
        (
            "pipeline",
            "conclusion: slow.input",
            "conclusion: slow.inputs",
            "pipeline.yaml:2:53: no conclusion `slow.inputs` (did you mean `slow.input`?)",
        ),
    ],
)
def test_each_mistake_is_told_at_its_place(tmp_path: Path, file: str, old: str, new: str, expected: str) -> None:
    found = told(tmp_path, **{file: (old, new)})
    assert any(problem.startswith(expected) for problem in found), found


def test_mistakes_of_all_files_come_at_once_in_their_order(tmp_path: Path) -> None:
    found = told(
        tmp_path,
        **{
            SIGNATURE: ("source: guide", "source: guid"),
            FIX: ("[oom.pieces]", "[oom.leak]"),
            "pipeline": ("slow.input", "slow.inputs"),
        },
    )
    assert [problem.split(":")[0] for problem in found] == [
        "fixes/oom/grow.yaml",
        "pipeline.yaml",
        "signatures/oom/pieces.yaml",
    ]


def test_broken_files_of_every_kind_come_at_once(tmp_path: Path) -> None:
    found = told(
        tmp_path,
        **{
            SIGNATURE: ("status: stable", "status: yes"),
            FIX: ("risk: none", "risc: none"),
            "facts_all": ("type: boolean", "type: bool"),
        },
    )
    assert [problem.split(": ")[0] for problem in found] == [
        "facts/all.yaml:8:37",
        "fixes/oom/grow.yaml:1:1",
        "fixes/oom/grow.yaml:8:7",
        "signatures/oom/pieces.yaml:3:9",
    ]


def test_an_id_is_used_once(tmp_path: Path) -> None:
    pack = write(tmp_path / "pack")
    (pack / "signatures" / "oom" / "again.yaml").write_text(FILES["signatures/oom/pieces.yaml"])
    assert any("id `sig.oom.pieces` is used twice" in str(problem) for problem in check_all(pack))


def test_derivations_that_need_each_other_are_a_cycle(tmp_path: Path) -> None:
    pack = write(tmp_path / "pack")
    (pack / "derivations" / "oom" / "free.yaml").write_text(
        FILES["derivations/oom/slack.yaml"]
        .replace("derive.oom.slack", "derive.oom.free")
        .replace("gives: oom.slack_share", "gives: oom.free_bytes")
        .replace("oom.free_bytes / oom.request_bytes", "oom.slack_share * oom.request_bytes")
    )
    (problem,) = check_all(pack)
    assert "derivations form a cycle: derive.oom.free -> derive.oom.slack -> derive.oom.free" in str(problem)


@pytest.mark.parametrize("name", ["again", "zebra"])
@pytest.mark.parametrize(
    ("formula", "column"),
    [
        ("formula: oom.slack_share * 2", "6:10"),
        ("formula: max_over(oom.slack_share)", "6:10"),
        ("value: 0\nwhen: {fact: oom.slack_share, op: gt, value: 1, source: definition}", "7:7"),
    ],
    ids=["itself", "aggregate", "condition"],
)
def test_no_derivation_reads_what_it_gives_even_where_another_gives_it_too(
    tmp_path: Path, name: str, formula: str, column: str
) -> None:
    """Otherwise the result would hang on which of the two stands first."""
    pack = write(tmp_path / "pack")
    (pack / "derivations" / "oom" / f"{name}.yaml").write_text(
        FILES["derivations/oom/slack.yaml"]
        .replace("derive.oom.slack", f"derive.oom.{name}")
        .replace("formula: oom.free_bytes / oom.request_bytes", formula)
    )
    found = [str(problem).removeprefix("pack/") for problem in check_all(pack)]
    assert [one.split(":")[0] for one in found] == [f"derivations/oom/{name}.yaml"]
    assert found[0].startswith(f"derivations/oom/{name}.yaml:{column}: it reads `oom.slack_share`, the fact that it")


@pytest.mark.parametrize("scope", ["host", "gpu", "process", "failure"])
def test_a_derivation_gives_facts_of_what_its_entities_belong_to(tmp_path: Path, scope: str) -> None:
    """A process and a failure belong to a GPU; the host has none above it."""
    found = told(tmp_path, **{DERIVATION: (
        "gives: oom.slack_share\nformula: oom.free_bytes / oom.request_bytes",
        f"scope: {scope}\ngives: gpu.power_watts\nvalue: 3\nwhen: {{fact: job.on, op: known}}",
    )})  # fmt: skip
    assert [one for one in found if "nothing is ever given" in one] == (
        [
            "derivations/oom/slack.yaml:6:8: a host has no gpu above it, so nothing is ever given to `gpu.power_watts` "
            "(write `scope: gpu`, or give a fact of the host or the job)"
        ]
        if scope == "host"
        else []
    )
