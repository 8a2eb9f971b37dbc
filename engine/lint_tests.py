"""Findings about the cases beside rules: none, too few, or not readable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from gpuwhy.engine.lint_codes import Finding, finding
from gpuwhy.engine.lint_logic import RULES
from gpuwhy.engine.rule_cases import TEST_ENDING, AnyRule, Case, cases_beside, cases_file, rules_of
from gpuwhy.engine.rule_coverage import waits
from gpuwhy.engine.rule_selftest import does
from gpuwhy.kb.build import Source
from gpuwhy.kb.errors import KnowledgeError, Location
from gpuwhy.kb.model import Fix, KnowledgeBase, Signature
from gpuwhy.kb.records import replace


def check(kb: KnowledgeBase, sources: Iterable[Source], folder: Path) -> Iterator[Finding]:
    """All findings about test cases."""
    by_id = {source.data["id"]: source for source in sources if source.kind in RULES}
    expected = set()
    for rule in rules_of(kb):
        expected.add(cases_file(rule))
        if rule.id not in by_id:
            continue
        where = by_id[rule.id].at("id")
        try:
            cases = cases_beside(kb, rule, folder)
        except KnowledgeError as error:
            for problem in error.problems:
                place = replace(problem.location, path=f"{folder.name}/{problem.location.path}")
                yield finding(place, "bad-case", problem.message, problem.hint)
            continue
        if not cases:
            yield finding(where, "untested", f"{rule.id} has no test cases")
        else:
            yield from (finding(where, "thin-tests", f"{rule.id} has {text}") for text in _lacking(kb, rule, cases))
    yield from _stray(expected, folder)


def _lacking(kb: KnowledgeBase, rule: AnyRule, cases: list[Case]) -> Iterator[str]:
    seen = {case.expect for case in cases}
    if not any(does(case) for case in cases):
        yield "no case in which it does what it is for"
    if isinstance(rule, Signature):
        if not seen & {"ruled-out", "silent"}:
            yield "no case in which it is ruled out or silent"
        if "unknown" not in seen and waits(kb, rule):
            yield "no case with an unknown fact"
    elif isinstance(rule, Fix) and (rule.when is not None or rule.unless) and "not-offered" not in seen:
        yield "no case in which it is not offered"


def _stray(expected: set[str], folder: Path) -> Iterator[Finding]:
    for kind in sorted(RULES):
        for path in sorted((folder / kind).rglob(f"*{TEST_ENDING}")):
            relative = path.relative_to(folder).as_posix()
            rule = folder / (relative.removesuffix(TEST_ENDING) + ".yaml")
            if relative not in expected and not rule.is_file():
                yield finding(Location(f"{folder.name}/{relative}"), "stray-test", "no rule beside these cases")
