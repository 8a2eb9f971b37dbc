"""Lint: a pack with one defect of each kind, each found at its line and nothing else; intervals; waivers; mending."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from gpuwhy.engine.intervals import implies, possible
from gpuwhy.engine.lint import lint
from gpuwhy.engine.lint_codes import CODES
from gpuwhy.engine.lint_text import mended
from gpuwhy.kb.conditions import from_plain
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.kb.model import FactSpec
from gpuwhy.tui.rules_commands.supplied import supplied
from tests.conftest import ROOT
from tests.engine.rule_pack import write
from tests.kb import team_pack

TODAY = date(2026, 12, 1)
SUPPLIED = frozenset(
    {"oom.request_bytes", "oom.free_bytes", "gpu.power_watts", "job.on", "job.name", "job.kind", "job.size"}
)
SIGNATURE = """\
id: {id}
version: 1.0.0
status: stable
title: T
concludes: {concludes}
requires: {requires}
{more}because: [b]
"""
TESTS = """\
cases:
  - {name: a, facts: {}, expect: likely}
  - {name: b, facts: {}, expect: ruled-out}
  - {name: c, facts: {}, expect: unknown}
"""
FACTS = """\
facts:
  - {id: job.size, entity: job, type: integer, unit: count, says: "Size."}
"""
GOOD_REQUIRES = "{fact: job.size, op: gt, value: 7, source: guide}"


def clean(folder: Path) -> Path:
    """A pack in which nothing is found."""
    write(folder)
    (folder / "facts/more.yaml").write_text(FACTS)
    conclusions = folder / "conclusions/all.yaml"
    text = (
        conclusions.read_text().replace("In pieces.", "In pieces.").replace('says: "Waits."', 'says: "W.", collect: x')
    )
    conclusions.write_text("\n".join(line for line in text.split("\n") if "evidence" not in line))
    return folder


def add(folder: Path, name: str, requires: str = GOOD_REQUIRES, more: str = "", **words: str) -> None:
    """Put a signature with test cases into a pack."""
    ids = {"id": f"sig.oom.{name}", "concludes": "oom.pieces"} | words
    text = SIGNATURE.format(requires=requires, more=more, **ids)
    (folder / f"signatures/oom/{name}.yaml").write_text(text.replace(": \n", ":\n"))
    (folder / f"signatures/oom/{name}.test.yaml").write_text(TESTS)


def put(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def spoil(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def found(folder: Path) -> list[tuple[str, str, int]]:
    result = lint(folder, SUPPLIED, TODAY, folder.parent)
    return [(one.code, one.location.path, one.location.line) for one in result.findings]


def derivation(slug: str, gives: str, body: str) -> str:
    return f"id: derive.oom.{slug}\nversion: 1.0.0\nstatus: stable\ntitle: T\ngives: {gives}\n{body}\n"


SLUG = "signatures/oom/x.yaml"


def _share(folder: Path) -> None:
    add(folder, "x", "{fact: step.wait_share, op: ge, value: 25, source: guide}")
    spoil(folder, "facts/all.yaml", 'says: "Waiting."', 'says: "Waiting.", ask: "How long?"')


def _twins(folder: Path) -> None:
    add(folder, "x")
    add(folder, "y")


def _behind(folder: Path) -> None:
    for slug, value in (("x", "serve"), ("y", "train")):
        body = f"value: {value}\notherwise: train\nwhen: {GOOD_REQUIRES}"
        put(folder, f"derivations/oom/{slug}.yaml", derivation(slug, "job.kind", body))
        put(folder, f"derivations/oom/{slug}.test.yaml", "cases:\n  - {name: a, facts: {}, expect: serve}\n")


DEFECTS: dict[str, tuple[Callable[[Path], object], str, int]] = {
    "yaml": (lambda f: put(f, SLUG, "id: sig.oom.x\nid: sig.oom.x\n"), SLUG, 2),
    "schema": (lambda f: put(f, SLUG, SIGNATURE.format(id="sig.oom.x", concludes="oom.pieces", requires=GOOD_REQUIRES,
                                                        more="priorty: 5\n")), SLUG, 7),
    "unusable": (lambda f: put(f, "pack.yaml", "name: small\n"), "pack.yaml", 1),
    "unknown-fact": (lambda f: add(f, "x", "{fact: no.fact, op: known}"), SLUG, 6),
    "unknown-conclusion": (lambda f: add(f, "x", concludes="oom.nothing"), SLUG, 5),
    "unknown-reference": (lambda f: add(f, "x", GOOD_REQUIRES.replace("guide", "nobody")), SLUG, 6),
    "unknown-chip": (lambda f: put(f, "catalogue/gpus.yaml", 'gpus:\n  - {names: [NVIDIA X1], chip: nochip}\n'),
                     "catalogue/gpus.yaml", 2),
    "duplicate-id": (lambda f: put(f, "facts/more.yaml", FACTS + FACTS.split("\n", 1)[1]), "facts/more.yaml", 3),
    "id-path": (lambda f: add(f, "x", id="sig.oom.y"), SLUG, 1),
    "bad-fact": (lambda f: put(f, "facts/x.yaml",
                               'facts:\n  - {id: job.word, entity: job, type: text, unit: bytes, says: "W."}\n'),
                 "facts/x.yaml", 2),
    "bad-comparison": (lambda f: add(f, "x", "{fact: job.name, op: gt, value: x}"), SLUG, 6),
    "bad-value": (lambda f: add(f, "x", "{fact: job.kind, op: eq, value: sleep}"), SLUG, 6),
    "bad-formula": (lambda f: put(f, "derivations/oom/x.yaml", derivation("x", "job.size", "formula: job.size +")),
                    "derivations/oom/x.yaml", 6),
    "unit-mismatch": (lambda f: put(f, "derivations/oom/slack.yaml", derivation(
        "slack", "oom.slack_share", "formula: oom.free_bytes * oom.request_bytes")), "derivations/oom/slack.yaml", 6),
    "no-source": (lambda f: add(f, "x", "{fact: job.size, op: gt, value: 7}"), SLUG, 6),
    "reads-itself": (lambda f: put(f, "derivations/oom/slack.yaml", derivation(
        "slack", "oom.slack_share", "formula: oom.slack_share")), "derivations/oom/slack.yaml", 6),
    "unreachable-target": (lambda f: put(f, "derivations/oom/slack.yaml", derivation(
        "slack", "oom.slack_share", "scope: gpu\nformula: oom.free_bytes / oom.request_bytes")),
        "derivations/oom/slack.yaml", 5),
    "bad-case": (lambda f: spoil(f, "fixes/oom/grow.test.yaml", "job.on: true", "job.off: true"),
                 "fixes/oom/grow.test.yaml", 2),
    "impossible": (lambda f: add(f, "x", "\n  all:\n    - {fact: job.size, op: gt, value: 7, source: guide}\n"
                                         "    - {fact: job.size, op: lt, value: 8, source: guide}"), SLUG, 7),
    "engine-range": (lambda f: spoil(f, "pack.yaml", "summary:", 'engine: ">=90"\nsummary:'), "pack.yaml", 3),
    "namespace": (lambda f: spoil(f, "pack.yaml", "summary:", "namespace: acme\nsummary:"), "pack.yaml", 3),
    "unknown-rule": (lambda f: spoil(f, "pack.yaml", "summary:", (
        "disable:\n  - {id: sig.oom.nothing, reason: it is not there}\nsummary:")), "pack.yaml", 4),
    "bad-waiver": (lambda f: put(f, "waivers.yaml", "waivers:\n  - {code: untested, file: x.yaml, reason: no}\n"),
                   "waivers.yaml", 2),
    "always": (lambda f: add(f, "x", more="given: {fact: job.kind, op: in, value: [train, serve]}\n"), SLUG, 7),
    "redundant": (lambda f: add(f, "x", "\n  all:\n    - {fact: job.size, op: gt, value: 7, source: guide}\n"
                                        "    - {fact: job.size, op: gt, value: 5, source: guide}"), SLUG, 9),
    "dead-exclusion": (lambda f: add(f, "x", concludes="slow.input", more=(
        "excludes:\n  - when: {fact: job.size, op: lt, value: 5, source: guide}\n    because: small\n")), SLUG, 8),
    "duplicate-rule": (_twins, "signatures/oom/y.yaml", 1),
    "shadowed": (_behind, "derivations/oom/y.yaml", 1),
    "share-range": (_share, SLUG, 6),
    "dead-fact": (lambda f: add(f, "x", "{fact: step.wait_share, op: known}"), SLUG, 6),
    "unreachable-conclusion": (lambda f: spoil(f, "conclusions/all.yaml", "conclusions:\n",
                                               'conclusions:\n  - {id: oom.void, kind: normal, says: "V."}\n'),
                               "conclusions/all.yaml", 2),
    "no-fix": (lambda f: spoil(f, "conclusions/all.yaml", ", collect: x", ""), "conclusions/all.yaml", 3),
    "no-address": (lambda f: spoil(f, "references/all.yaml", "https://example.com", "docs/nowhere.md"),
                   "references/all.yaml", 2),
    "unused-reference": (lambda f: put(f, "references/x.yaml", (
        'references:\n  - {id: spare, title: S, address: "https://x.org", accessed: 2026-11-30, strength: peer}\n')),
        "references/x.yaml", 2),
    "review-overdue": (lambda f: spoil(f, "references/all.yaml", "accessed: 2026-11-30, strength: vendor",
                                       "accessed: 2025-01-01, strength: vendor"), "references/all.yaml", 2),
    "untested": (lambda f: (f / "fixes/oom/grow.test.yaml").unlink(), "fixes/oom/grow.yaml", 1),
    "thin-tests": (lambda f: put(f, "fixes/oom/grow.test.yaml",
                                 "cases:\n  - {name: a, facts: {}, expect: not-offered}\n"), "fixes/oom/grow.yaml", 1),
    "stray-test": (lambda f: put(f, "fixes/oom/gone.test.yaml", TESTS), "fixes/oom/gone.test.yaml", 1),
    "whitespace": (lambda f: spoil(f, "pack.yaml", "version: 1.0.0", "version: 1.0.0 "), "pack.yaml", 2),
    "unused-waiver": (lambda f: put(f, "waivers.yaml", (
        "waivers:\n  - {code: untested, file: x.yaml, reason: a reason that holds}\n")), "waivers.yaml", 2),
}  # fmt: skip

STRUCTURAL = {"unusable", "cycle", "schema-line", "expired-waiver", "bad-override"}
"""Kinds whose defect needs more than one edit, or that are told otherwise; each has a test of its own below."""


def test_nothing_is_found_in_a_clean_pack(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.md").touch()
    assert found(clean(tmp_path / "pack")) == []


@pytest.mark.parametrize("code", sorted(set(DEFECTS) - STRUCTURAL))
def test_a_defect_of_each_kind_is_found_at_its_line_and_nothing_else(code: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.md").touch()
    folder = clean(tmp_path / "pack")
    defect, file, line = DEFECTS[code]
    defect(folder)
    assert found(folder) == [(code, f"pack/{file}", line)]


def test_what_stands_in_a_file_that_cannot_be_read_is_not_called_missing(tmp_path: Path) -> None:
    """The only signature of a conclusion, the only rule on a reference, a derivation, and the finding of a waiver."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/rules.md").touch()
    folder = clean(tmp_path / "pack")
    put(folder, "conclusions/more.yaml", 'conclusions:\n  - {id: oom.odd, kind: cause, says: "Odd.", collect: x}\n')
    paper = '{id: paper, title: P, address: "https://x.org", accessed: 2026-11-30, strength: peer}'
    put(folder, "references/more.yaml", f"references:\n  - {paper}\n")
    add(folder, "odd", requires="{fact: job.size, op: gt, value: 7, source: paper}", concludes="oom.odd")
    (folder / "signatures/oom/odd.test.yaml").unlink()
    waiver = "{code: untested, file: signatures/oom/odd.yaml, reason: it has cases elsewhere}"
    put(folder, "waivers.yaml", f"waivers:\n  - {waiver}\n")
    assert found(folder) == []
    spoil(folder, "signatures/oom/odd.yaml", "because:", "becuase:")
    spoil(folder, "derivations/oom/slack.yaml", "formula:", "formla:")
    assert {(code, file) for code, file, _ in found(folder)} == {
        ("schema", "pack/signatures/oom/odd.yaml"),
        ("schema", "pack/derivations/oom/slack.yaml"),
    }


def test_every_kind_of_finding_has_a_seeded_defect() -> None:
    assert set(CODES) == set(DEFECTS) | STRUCTURAL


def test_a_pack_beside_the_shipped_one_is_linted_with_its_words_and_alone(tmp_path: Path) -> None:
    folder = team_pack.write(tmp_path / "acme")
    assert found(folder) == []
    team_pack.write(folder, ("pack.yaml", "id: sig.oom.fragmentation-from-message", "id: fix.oom.empty-cache"))
    assert found(folder) == [("bad-override", "acme/pack.yaml", 8)]


def test_derivations_that_need_one_another_are_a_cycle(tmp_path: Path) -> None:
    folder = clean(tmp_path / "pack")
    for slug, gives, reads in (
        ("x", "step.wait_share", "step.busy_share"),
        ("y", "step.busy_share", "step.wait_share"),
    ):
        put(folder, f"derivations/oom/{slug}.yaml", derivation(slug, gives, f"formula: 1 - {reads}"))
        put(folder, f"derivations/oom/{slug}.test.yaml", "cases:\n  - {name: a, facts: {}, expect: 1}\n")
    assert ("cycle", "pack/derivations/oom/x.yaml", 1) in found(folder)


def test_a_pack_with_schemas_names_them_in_every_file_and_fix_adds_the_line(tmp_path: Path) -> None:
    folder = clean(tmp_path / "pack")
    schemas = folder / "schema/v1"
    schemas.mkdir(parents=True)
    for path in (rules_folder() / "schema/v1").glob("*.json"):
        (schemas / path.name).write_text(path.read_text())
    assert {code for code, _, _ in found(folder)} >= {"schema-line"}
    text = mended(folder, "fixes/oom/grow.yaml", (folder / "fixes/oom/grow.yaml").read_bytes())
    assert text.startswith(b"# yaml-language-server: $schema=../../schema/v1/fix.schema.json\nid: fix.oom.grow\n")


def test_fix_mends_spaces_and_ids_and_nothing_else(tmp_path: Path) -> None:
    text = b"id: sig.oom.wrong  \nversion: 1.0.0\n\n\n"
    assert mended(tmp_path, "signatures/oom/right.yaml", text) == b"id: sig.oom.right\nversion: 1.0.0\n"
    same = (rules_folder() / "signatures/oom/capacity-of-card.yaml").read_bytes()
    assert mended(rules_folder(), "signatures/oom/capacity-of-card.yaml", same) == same


def test_a_waiver_keeps_a_finding_quiet_until_its_day(tmp_path: Path) -> None:
    folder = clean(tmp_path / "pack")
    (folder / "fixes/oom/grow.test.yaml").unlink()
    waiver = "waivers:\n  - {{code: untested, file: fixes/oom/grow.yaml, reason: shown in the field, until: {until}}}\n"
    put(folder, "waivers.yaml", waiver.format(until="2026-12-01"))
    quiet = lint(folder, SUPPLIED, TODAY)
    assert (list(quiet.findings), [reason for _, reason in quiet.waived]) == ([], ["shown in the field"])
    put(folder, "waivers.yaml", waiver.format(until="2026-11-30"))
    assert [code for code, _, _ in found(folder) if code != "no-address"] == ["untested", "expired-waiver"]


def test_the_shipped_rules_have_no_finding_without_a_waiver() -> None:
    result = lint(rules_folder(), supplied(load().facts), date(2026, 12, 1), ROOT)
    assert [str(one) for one in result.findings] == []


SPECS = {
    "n": FactSpec("n", "job", "number", "N"),
    "m": FactSpec("m", "job", "number", "M"),
    "i": FactSpec("i", "job", "integer", "I"),
    "b": FactSpec("b", "job", "boolean", "B"),
    "c": FactSpec("c", "job", "choice", "C", choices=("x", "y")),
    "t": FactSpec("t", "job", "text", "T"),
}


def condition(text: str) -> dict[str, object]:
    """`n < 3 & i > 2` as plain data; `n < m` compares facts."""
    ops = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "=": "eq", "!=": "ne"}
    parts = []
    for item in text.split(" & "):
        fact, op, value = item.split()
        known: dict[str, object] = {"true": True, "false": False}
        plain: dict[str, object] = {"fact": fact, "op": ops[op]}
        if value in SPECS:
            plain["than"] = {"fact": value}
        else:
            plain["value"] = known.get(value, float(value) if value.lstrip("-").replace(".", "").isdigit() else value)
        parts.append(plain)
    return {"all": parts}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("n > 3 & n < 4", True),
        ("i > 3 & i < 4", False),
        ("n >= 3 & n <= 3", True),
        ("n > 3 & n <= 3", False),
        ("n >= 3 & n <= 3 & n != 3", False),
        ("b = true & b = false", False),
        ("b != true & b != false", False),
        ("c != x & c != y", False),
        ("t != x & t != y", True),
        ("t = x & t = y", False),
        ("n < m & m < n", False),
        ("n <= m & m <= n", True),
        ("n < m & n >= m", False),
        ("n > m & n < 3 & m > 5", False),
        ("n < n", False),
    ],
)
def test_what_can_hold_together(text: str, answer: bool) -> None:
    assert possible(SPECS, from_plain(condition(text))) is answer


def test_ways_of_an_any_are_looked_at_each() -> None:
    either = from_plain({"any": [condition("n > 5 & n < 4"), condition("b = true")]})
    assert possible(SPECS, either)
    assert not possible(SPECS, either, from_plain(condition("b = false")))
    assert implies(SPECS, [from_plain(condition("n > 5"))], from_plain(condition("n > 4")))
    assert not implies(SPECS, [from_plain(condition("n > 4"))], from_plain(condition("n > 5")))
