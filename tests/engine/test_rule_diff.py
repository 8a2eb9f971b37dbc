"""Edits of one rule, each judged by what the rule then says: the bump that is needed, and if the version gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwhy.engine import corpus_diff
from gpuwhy.engine.rule_diff import Change, Flip, Pack, bump, compare, pack_bump, with_hosts, words
from gpuwhy.kb.facts import JOB, Absent, Entity, Fact, Origin, OriginKind, gpu
from gpuwhy.kb.load import load
from tests.kb import team_pack
from tests.kb.pack import write

RULE = """\
id: sig.oom.pieces
version: 1.2.0
status: stable
title: Starved
concludes: oom.pieces
priority: 50
requires:
  all:
    - {fact: gpu.power_watts, op: lt, value: 60, source: guide}
    - {fact: step.wait_share, op: ge, value: 0.25, source: guide}
because: ["{step.wait_share} of the step is waiting"]
"""
TESTS = """\
cases:
  - {name: starved, facts: {gpu.power_watts: 35, step.wait_share: 0.55}, expect: likely}
  - {name: edge in, facts: {gpu.power_watts: 59, step.wait_share: 0.5}, expect: likely}
  - {name: edge out, facts: {gpu.power_watts: 60, step.wait_share: 0.5}, expect: ruled-out}
  - {name: busy, facts: {gpu.power_watts: 35, step.wait_share: 0.1}, expect: ruled-out}
"""
FILE = "signatures/oom/pieces.yaml"


def version(folder: Path, *edits: tuple[str, str], tests: str = TESTS, title: str = "Grow") -> Pack:
    """The pack with edits of its signature."""
    write(folder)
    text = RULE
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (folder / FILE).write_text(text)
    (folder / "signatures/oom/pieces.test.yaml").write_text(tests)
    fix = folder / "fixes/oom/grow.yaml"
    fix.write_text(fix.read_text().replace("title: Grow", f"title: {title}"))
    return Pack(load(folder, folder.parent / "cache"), folder)


def to(number: str) -> tuple[str, str]:
    return "version: 1.2.0", f"version: {number}"


WORDS = ("title: Starved", "title: Waits for data")
NO_FLIP = ("value: 0.25", "value: 0.24")
FLIP = ("value: 60", "value: 61")
LOWER = ("priority: 50", "priority: 30")
HIDDEN = TESTS.replace(
    "power_watts: 60, step.wait_share: 0.5}, expect: ruled-out",
    "power_watts: 60, step.wait_share: 0.5}, expect: likely",
)


@pytest.mark.parametrize(
    ("edits", "tests", "needed", "given", "enough"),
    [
        pytest.param([WORDS, to("1.2.1")], TESTS, "patch", "patch", True, id="wording"),
        pytest.param([WORDS], TESTS, "patch", "none", False, id="wording without a bump"),
        pytest.param([NO_FLIP, to("1.3.0")], TESTS, "minor", "minor", True, id="threshold without a flip, minor"),
        pytest.param([NO_FLIP, to("1.2.1")], TESTS, "minor", "patch", False, id="threshold without a flip, patch"),
        pytest.param([FLIP, to("1.3.0")], TESTS, "major", "minor", False, id="threshold with a flip, minor"),
        pytest.param([FLIP, to("2.0.0")], TESTS, "major", "major", True, id="threshold with a flip, major"),
        pytest.param([LOWER, to("1.3.0")], TESTS, "major", "minor", False, id="rank lowered"),
        pytest.param([("oom.pieces\npri", "slow.input\npri"), to("1.3.0")], TESTS, "major", "minor", False,
                     id="conclusion renamed"),
        pytest.param([FLIP, to("1.3.0")], HIDDEN, "major", "minor", False, id="test edited to hide a flip"),
        pytest.param([WORDS, to("1.1.9")], TESTS, "patch", "lower", False, id="version lowered"),
        pytest.param([("status: stable", "status: deprecated"), to("1.3.0")], TESTS, "major", "minor", False,
                     id="deprecated"),
    ],
)  # fmt: skip
def test_edits_of_one_rule(
    edits: list[tuple[str, str]], tests: str, needed: str, given: str, enough: bool, tmp_path: Path
) -> None:
    (change,) = compare(version(tmp_path / "a/pack"), version(tmp_path / "b/pack", *edits, tests=tests))
    assert (change.id, change.needed, change.given, change.enough) == ("sig.oom.pieces", needed, given, enough)


def test_the_cases_that_flip_and_the_logic_are_told(tmp_path: Path) -> None:
    (change,) = compare(version(tmp_path / "a/pack"), version(tmp_path / "b/pack", FLIP))
    assert change.flips == (Flip("sig.oom.pieces", "edge out", "ruled-out", "likely"),)
    before = "all (gpu.power_watts lt 60, step.wait_share ge 0.25)"
    assert change.logic == (("requires", before, before.replace("60", "61")),)


def test_the_sentence_is_told_before_and_after(tmp_path: Path) -> None:
    edit = ("is waiting", "is spent waiting")
    (change,) = compare(version(tmp_path / "a/pack"), version(tmp_path / "b/pack", edit))
    assert change.sentence == ("55 % of the step is waiting", "55 % of the step is spent waiting")


def test_a_new_fact_that_is_needed_is_major(tmp_path: Path) -> None:
    more = ("requires:\n  all:\n", "requires:\n  all:\n    - {fact: job.on, op: eq, value: true}\n")
    (change,) = compare(version(tmp_path / "a/pack"), version(tmp_path / "b/pack", more))
    assert (change.needed, "it newly needs job.on" in change.reasons) == ("major", True)


def test_old_cases_that_cannot_be_judged_any_more_are_major(tmp_path: Path) -> None:
    old, new = version(tmp_path / "a/pack"), version(tmp_path / "b/pack", WORDS, to("1.2.1"))
    path = tmp_path / "a/pack/signatures/oom/pieces.test.yaml"
    path.write_text(path.read_text().replace("expect: likely}", "expect: likely, odd: 1}", 1))
    (change,) = compare(old, new)
    assert change.needed == "major"
    path.unlink()
    (change,) = compare(old, new)
    assert (change.needed, change.reasons) == ("major", ("the old version has no cases to compare by",))


def test_a_derivation_that_makes_a_signature_flip_is_major(tmp_path: Path) -> None:
    old, new = tmp_path / "a/pack", tmp_path / "b/pack"
    tests = "cases:\n  - {name: half, facts: {oom.free_bytes: 50, oom.request_bytes: 100}, expect: likely}\n"
    edit = [("fact: step.wait_share, op: ge, value: 0.25", "fact: oom.slack_share, op: ge, value: 0.4"),
            ("    - {fact: gpu.power_watts, op: lt, value: 60, source: guide}\n", ""),
            ("{step.wait_share} of the step is waiting", "b")]  # fmt: skip
    version(old, *edit, tests=tests)
    version(new, *edit, tests=tests)
    path = new / "derivations/oom/slack.yaml"
    path.write_text(path.read_text().replace("oom.request_bytes", "(2 * oom.request_bytes)"))
    for folder in (old, new):
        (folder / "derivations/oom/slack.test.yaml").write_text("cases:\n  - {name: a, facts: {}, expect: underived}\n")
    packs = [Pack(load(folder, tmp_path / "cache"), folder) for folder in (old, new)]
    (change,) = compare(*packs)
    assert (change.id, change.needed) == ("derive.oom.slack", "major")
    assert change.flips == (Flip("sig.oom.pieces", "half", "likely", "ruled-out"),)


def test_rules_that_come_and_go(tmp_path: Path) -> None:
    old = version(tmp_path / "a/pack")
    new = version(tmp_path / "b/pack")
    (new.folder / FILE).rename(new.folder / "signatures/oom/other.yaml")
    path = new.folder / "signatures/oom/other.yaml"
    path.write_text(path.read_text().replace("sig.oom.pieces", "sig.oom.other"))
    found = compare(old, Pack(load(new.folder, tmp_path / "cache"), new.folder))
    assert [(one.id, one.kind, one.needed) for one in found] == [
        ("sig.oom.other", "added", "none"),
        ("sig.oom.pieces", "removed", "major"),
    ]
    assert (pack_bump(found), pack_bump(found[:1]), pack_bump([])) == ("major", "minor", "none")


@pytest.mark.parametrize(
    ("before", "after", "given"),
    [("1.2.3", "1.2.4", "patch"), ("1.2.3", "1.3.0", "minor"), ("1.2.3", "2.0.0", "major"), ("1.2.3", "1.2.3", "none"),
     ("1.10.0", "1.9.0", "lower")],
)  # fmt: skip
def test_bumps(before: str, after: str, given: str) -> None:
    assert bump(before, after) == given


def test_hosts_that_are_told_otherwise_are_counted(tmp_path: Path) -> None:
    old, new = version(tmp_path / "a/pack"), version(tmp_path / "b/pack", NO_FLIP)
    origin = Origin(OriginKind.MEASURED, "nvml")

    def host(share: float) -> list[Fact]:
        power = Fact("gpu.power_watts", 35.0, "watts", gpu(0), origin)
        return [power, Fact("step.wait_share", share, "share", JOB, origin)]

    hosts: list[tuple[str, list[Fact], list[Absent]]] = [
        ("a", host(0.245), []),
        ("b", host(0.1), []),
        ("c", host(0.9), []),
    ]
    found = corpus_diff.compare(old.kb, new.kb, hosts)
    assert (found.hosts, found.changed, found.newly_critical) == (3, 1, 1)
    (flip,) = [one for one in found.flips if one.conclusion == "oom.pieces"]
    assert (flip.host, flip.conclusion, flip.before, flip.after) == ("a", "oom.pieces", "ruled out", "likely")


def test_a_rule_whose_version_gives_more_than_is_needed_is_enough() -> None:
    assert Change("sig.a.b", "changed", "1.0.0", "2.0.0", "patch", "major").enough


def test_a_flip_on_a_host_needs_a_major_bump_of_the_rules_that_can_be_behind_it_alone(tmp_path: Path) -> None:
    """Of cases that say nothing: a derivation, the signature that reads it, and a fix whose command changed."""
    edits = [("fact: step.wait_share, op: ge, value: 0.25", "fact: oom.slack_share, op: ge, value: 0.4"),
             ("{step.wait_share} of the step is waiting", "b")]  # fmt: skip
    says_nothing = "cases:\n  - {name: none, facts: {}, expect: unknown}\n"
    old = version(tmp_path / "a/pack", *edits, tests=says_nothing)
    new = version(tmp_path / "b/pack", *edits, FLIP, tests=says_nothing)
    for folder in (old.folder, new.folder):
        (folder / "derivations/oom/slack.test.yaml").write_text("cases:\n  - {name: a, facts: {}, expect: underived}\n")
        (folder / "fixes/oom/grow.test.yaml").write_text("cases:\n  - {name: a, facts: {}, expect: offered}\n")
    for name, before, after in (
        ("derivations/oom/slack.yaml", "oom.request_bytes", "(2 * oom.request_bytes)"),
        ("fixes/oom/grow.yaml", "export X=1", "export X=2"),
    ):
        path = new.folder / name
        path.write_text(path.read_text().replace(before, after))
    found = compare(old, Pack(load(new.folder, tmp_path / "cache"), new.folder))
    assert {one.needed for one in found} == {"minor"}
    assert with_hosts(found, ["slow.input"]) == found
    judged = {one.id: one.needed for one in with_hosts(found, ["oom.pieces"])}
    assert judged == {"derive.oom.slack": "major", "fix.oom.grow": "minor", "sig.oom.pieces": "major"}


def test_what_a_change_can_reach_is_judged_alone_and_comes_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts around both thresholds, with what the edited derivation and signatures read: each known or not."""
    edit = ("fact: step.wait_share, op: ge, value: 0.25", "fact: oom.slack_share, op: ge, value: 0.4")
    says = ("{step.wait_share} of the step is waiting", "b")
    old, new = version(tmp_path / "a/pack", edit, says), version(tmp_path / "b/pack", edit, says)
    path = new.folder / "derivations/oom/slack.yaml"
    path.write_text(path.read_text().replace("oom.request_bytes", "(2 * oom.request_bytes)"))
    new = Pack(load(new.folder, tmp_path / "cache"), new.folder)
    assert corpus_diff.affected(old.kb, new.kb) == frozenset({"oom.pieces"})
    origin, failure = Origin(OriginKind.MEASURED, "log"), Entity("failure", "0", gpu(0))
    hosts: list[tuple[str, list[Fact], list[Absent]]] = []
    for power in (None, 35.0, 90.0):
        for free in (None, 10.0, 50.0, 90.0):
            facts = [Fact("oom.request_bytes", 100.0, "bytes", failure, origin)]
            facts += [] if power is None else [Fact("gpu.power_watts", power, "watts", gpu(0), origin)]
            facts += [] if free is None else [Fact("oom.free_bytes", free, "bytes", failure, origin)]
            hosts.append((f"{power} {free}", facts, []))
    alone = corpus_diff.compare(old.kb, new.kb, hosts)
    monkeypatch.setattr(corpus_diff, "affected", lambda *_: None)
    assert alone == corpus_diff.compare(old.kb, new.kb, hosts)
    # 50 of 100 bytes are a share of 0.5, then of 0.25: likely before, ruled out after, and nothing else stands
    assert {(one.host, one.conclusion) for one in alone.flips} >= {
        ("35.0 50.0", "oom.pieces"),
        ("35.0 50.0", "evidence.insufficient"),
    }


def test_a_word_that_differs_leaves_nothing_out(tmp_path: Path) -> None:
    old, new = version(tmp_path / "a/pack"), version(tmp_path / "b/pack")
    path = new.folder / "facts/all.yaml"
    path.write_text(path.read_text().replace("choices: [train, serve]", "choices: [train, serve, tune]"))
    assert corpus_diff.affected(old.kb, load(new.folder, tmp_path / "cache")) is None
    assert corpus_diff.affected(old.kb, old.kb) == frozenset()


def test_a_word_that_is_told_otherwise_reaches_no_verdict(tmp_path: Path) -> None:
    old, new = version(tmp_path / "a/pack"), version(tmp_path / "b/pack")
    path = new.folder / "facts/all.yaml"
    path.write_text(path.read_text().replace('says: "Asked for."', 'says: "Wanted."'))
    changed = load(new.folder, tmp_path / "cache")
    assert changed.facts != old.kb.facts
    assert corpus_diff.affected(old.kb, changed) == frozenset()
    found = corpus_diff.compare(old.kb, changed, [("a", [], []), ("b", [], [])])
    assert (found.hosts, found.flips) == (2, ())


def test_words_of_the_pack_that_mean_something_else_need_a_major_bump_of_the_pack(tmp_path: Path) -> None:
    old, new = version(tmp_path / "a/pack"), version(tmp_path / "b/pack")
    assert words(old, new) == []
    path = new.folder / "conclusions/all.yaml"
    path.write_text(path.read_text().replace("id: slow.input, kind: cause", "id: slow.input, kind: normal"))
    path = new.folder / "facts/all.yaml"
    path.write_text(path.read_text().replace('says: "Asked for."', 'says: "Wanted."'))
    found = words(old, Pack(load(new.folder, tmp_path / "cache"), new.folder))
    assert [(one.id, one.needed, one.reasons) for one in found] == [
        ("oom.request_bytes", "patch", ("words only",)),
        ("slow.input", "major", ("its kind changed",)),
    ]
    assert found[1].logic == (("kind", "cause", "normal"),)
    assert pack_bump(found) == "major"


CHIP = "chips:\n  - {id: one, values: {gpu.power_watts: {value: 300, source: guide}}}\n"
CARD = "  - {{names: [{}], chip: one, values: {{gpu.power_watts: {{value: 300, source: guide}}}}}}\n"


@pytest.mark.parametrize(
    ("before", "after", "needed", "counts"),
    [
        pytest.param(
            ["Card A"], ["Card A", "Card B"], "minor", "0 entries changed or removed, 1 changed or new", id="a new card"
        ),
        pytest.param(
            ["Card A"], ["Card B"], "major", "1 entries changed or removed, 1 changed or new", id="another card"
        ),
    ],
)
def test_what_is_expected_of_a_card_tells_for_the_version_of_the_pack(
    before: list[str], after: list[str], needed: str, counts: str, tmp_path: Path
) -> None:
    packs = []
    for folder, cards in ((tmp_path / "a/pack", before), (tmp_path / "b/pack", after)):
        version(folder)
        (folder / "catalogue").mkdir()
        (folder / "catalogue/gpus.yaml").write_text(CHIP + "gpus:\n" + "".join(CARD.format(card) for card in cards))
        packs.append(Pack(load(folder, tmp_path / "cache"), folder))
    (found,) = words(*packs)
    assert (found.id, found.needed, found.reasons) == ("catalogue: gpus", needed, (counts,))


def test_rules_that_are_set_aside_need_a_major_bump_of_the_pack(tmp_path: Path) -> None:
    line = '  - {id: sig.oom.capacity-of-card, reason: "our cards are partitioned by a scheduler of our own"}\n'
    old = team_pack.write(tmp_path / "a/acme", ("pack.yaml", f"disable:\n{line}", ""))
    new = team_pack.write(tmp_path / "b/acme")
    packs = [Pack(load(folder, tmp_path / "cache"), folder) for folder in (old, new)]
    assert [(one.id, one.reasons) for one in words(*packs)] == [("sig.oom.capacity-of-card", ("it is set aside",))]
    assert [one.reasons for one in words(*reversed(packs))] == [("it is used again",)]
