"""Findings about rules that load: what can never hold, what nobody supplies, what nothing leads to, what is stale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from gpuwhy.engine import lint_logic, lint_tests, lint_text
from gpuwhy.engine.lint_codes import CODES, Finding, finding
from gpuwhy.engine.waivers import apply, read
from gpuwhy.kb.build import Source
from gpuwhy.kb.errors import Location, Problem
from gpuwhy.kb.load import Inspection, inspect
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.plain_trees import conditions_in
from gpuwhy.kb.records import dataclass

REVIEW_AFTER = timedelta(days=550)
"""A reference without a `review_by` of its own is looked at again a year and a half after it was read."""


@dataclass(frozen=True)
class Linted:
    """What was found, what of it was waived (with the reasons), and how many files were looked at."""

    findings: tuple[Finding, ...]
    waived: tuple[tuple[Finding, str], ...]
    files: int


def lint(folder: Path, supplied: frozenset[str], today: date, home: Path | None = None) -> Linted:
    """All findings about a pack, in file order. What nothing leads to is told where every file can be read.

    `supplied`: words that a parser or probe gives. `home`: the folder that addresses of references below docs/ and
    bench/ are relative to; None where they cannot be looked up.
    """
    found = inspect(folder)
    findings = [*(_of_problem(one) for one in found.problems), *lint_text.check(folder, found.contents)]
    if found.kb is not None:
        spoilt = {one.location.path for one in found.problems}
        sound = [one for one in found.sources if f"{folder.name}/{one.file}" not in spoilt]
        findings += lint_logic.check(found.kb, sound)
        findings += lint_tests.check(found.kb, sound, folder)
        findings += _vocabulary(found, supplied) if found.whole else ()
        findings += _references(found, today, home)
    waivers, problems = read(folder)
    kept, waived = apply(sorted({*findings, *problems}), waivers, today, found.whole)
    return Linted(tuple(kept), tuple(waived), len(found.contents))


def _of_problem(problem: Problem) -> Finding:
    code = problem.code if problem.code in CODES else "unusable"
    return Finding(problem.location, code, problem.message, problem.hint)


def _vocabulary(found: Inspection, supplied: frozenset[str]) -> Iterator[Finding]:
    """Words that nothing gives, leads to, or acts upon."""
    kb = found.kb
    assert kb is not None
    given = supplied | _given(kb, (*found.beside, *found.sources))
    first: dict[str, Location] = {}
    for source in found.sources:
        for path, plain in conditions_in(source.data, ()):
            first.setdefault(plain["fact"], source.at(*path, "fact"))
            if "than" in plain:
                first.setdefault(plain["than"]["fact"], source.at(*path, "than", "fact"))
    for word, where in first.items():
        if word in kb.facts and word not in given:
            yield finding(where, "dead-fact", f"nothing gives `{word}`")
    yield from _conclusions(kb, found.sources)


def _given(kb: KnowledgeBase, sources: tuple[Source, ...]) -> frozenset[str]:
    """Facts that are derived, that a catalogue holds, or that a person can be asked for."""
    given = {outline.about[0] for outline in kb.derivations.outlines}
    given |= {word for word, spec in kb.facts.items() if spec.ask or spec.obtain}
    given |= {"gpu.xid_first", "gpu.xid_gravest"}
    for source in sources:
        if source.kind == "catalogue":
            for section in source.data.values():
                for entry in section if isinstance(section, list) else ():
                    given |= {*entry.get("values", ()), *([entry["gives"]] if "gives" in entry else [])}
    return frozenset(given)


def _conclusions(kb: KnowledgeBase, sources: tuple[Source, ...]) -> Iterator[Finding]:
    concluded = {outline.about[0] for outline in kb.signatures.outlines} | {stage.conclusion for stage in kb.pipeline}
    fixed = {about for outline in kb.fixes.outlines for about in outline.about}
    for source, index, plain in _entries(sources, "conclusions"):
        word, where = plain["id"], source.at("conclusions", index, "id")
        inner = any(one.startswith(word + ".") for one in kb.conclusions)
        if word not in concluded and not inner:
            yield finding(where, "unreachable-conclusion", f"no signature concludes `{word}`")
        if plain["kind"] == "cause" and word not in fixed and not plain.get("collect"):
            yield finding(where, "no-fix", f"`{word}` has neither a fix nor a `collect` text")


def _entries(sources: tuple[Source, ...], kind: str) -> Iterator[tuple[Source, int, Mapping[str, Any]]]:
    for source in sources:
        if source.kind == kind:
            yield from ((source, index, plain) for index, plain in enumerate(source.data[kind]))


def _references(found: Inspection, today: date, home: Path | None) -> Iterator[Finding]:
    used = _used_references(found.sources)
    for source, index, plain in _entries(found.sources, "references"):
        word, where = str(plain["id"]), source.at("references", index, "id")
        if found.whole and word not in used:
            yield finding(where, "unused-reference", f"nothing rests on `{word}`")
        address = str(plain["address"])
        if "://" not in address and home is not None and not (home / address.partition("#")[0]).exists():
            yield finding(source.at("references", index, "address"), "no-address", f"`{address}` leads nowhere")
        due = date.fromisoformat(str(plain["accessed"])) + REVIEW_AFTER
        if "review_by" in plain:
            due = date.fromisoformat(str(plain["review_by"]))
        if due < today:
            key = "review_by" if "review_by" in plain else "accessed"
            where = source.at("references", index, key)
            yield finding(where, "review-overdue", f"`{word}` was to be looked at again by {due}")


def _used_references(sources: tuple[Source, ...]) -> set[str]:
    """Every word that stands where a reference can stand."""
    used: set[str] = set()

    def walk(node: object) -> None:
        if isinstance(node, dict):
            used.update(str(node[key]) for key in ("source",) if isinstance(node.get(key), str))
            if isinstance(node.get("references"), list):
                used.update(one for one in node["references"] if isinstance(one, str))
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    for source in sources:
        walk(source.data)
    return used
