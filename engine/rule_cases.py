"""The test cases that stand beside each rule, read: facts in, and what the rule must say; no Python in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuwhy.engine.series import SeriesError, unroll
from gpuwhy.kb import fact_file
from gpuwhy.kb.errors import KnowledgeError, Location, Problem
from gpuwhy.kb.facts import HOST, JOB, Absent, Entity, Fact, Origin, OriginKind, Value, gpu
from gpuwhy.kb.load import rules_folder
from gpuwhy.kb.model import Derivation, FactSpec, Fix, KnowledgeBase, Selection, Signature
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.schema import violations
from gpuwhy.kb.strict_yaml import Document, loads
from gpuwhy.kb.units import parse_quantity

AnyRule = Signature | Derivation | Fix | Selection

TEST_ENDING = ".test.yaml"


@dataclass(frozen=True)
class Case:
    """One test case of a rule: its facts, what the rule must say, and where the case stands."""

    rule: AnyRule
    name: str
    facts: tuple[Fact, ...]
    expect: Value
    missing: tuple[str, ...] = ()
    because: str | None = None
    location: Location = Location("")
    absent: tuple[Absent, ...] = ()


def rules_of(kb: KnowledgeBase) -> list[AnyRule]:
    """All rules: signatures, derivations, fixes, selection rules."""
    return [*kb.signatures, *kb.derivations, *kb.fixes, *kb.selections]


def cases_file(rule: AnyRule) -> str:
    """Where the test cases of a rule stand, relative to its pack."""
    return rule.file.removesuffix(".yaml") + TEST_ENDING


def cases(kb: KnowledgeBase, folder: Path) -> Iterator[Case]:
    """All cases of all rules of a pack. Raises `KnowledgeError` for a test file that is no good."""
    for rule in rules_of(kb):
        yield from cases_beside(kb, rule, folder)


def cases_beside(kb: KnowledgeBase, rule: AnyRule, folder: Path) -> list[Case]:
    """The cases of one rule; none if it has no test file. Raises `KnowledgeError` for a file that is no good."""
    path = folder / cases_file(rule)
    return read(kb, rule, path.read_bytes(), str(path.relative_to(folder)), folder) if path.is_file() else []


def read(kb: KnowledgeBase, rule: AnyRule, content: bytes, name: str, folder: Path) -> list[Case]:
    """The cases in the content of a test file; `folder` holds the snapshots that they name."""
    document = loads(content, name)
    if not usual(document.data):
        schemas = folder / "schema" / "v1"
        problems = violations(document, "test", schemas if schemas.is_dir() else rules_folder() / "schema" / "v1")
        if problems:
            raise KnowledgeError(problems)
    reader = _Reader(kb, rule, document, folder)
    for index, plain in enumerate(document.data["cases"]):
        reader.case(index, plain)
    if reader.problems:
        raise KnowledgeError(reader.problems)
    return reader.made


_USUAL = {"name", "facts", "expect", "missing", "because"}
_OWNED = re.compile(r"(?:[a-z]+:[^ ]+ )?[a-z][a-z0-9_.]+\Z")
_WORD = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+\Z")


def usual(data: Any) -> bool:
    """True for cases that surely hold to their schema, told at a glance: most do, and the schema takes longer."""
    return (
        isinstance(data, dict)
        and data.keys() == {"cases"}
        and isinstance(data["cases"], list)
        and bool(data["cases"])
        and all(isinstance(one, dict) and _usual_case(one) for one in data["cases"])
    )


def _usual_case(one: Mapping[str, Any]) -> bool:
    facts, missing = one.get("facts", {}), one.get("missing", [])
    return (
        one.keys() <= _USUAL
        and isinstance(one.get("name"), str)
        and isinstance(one.get("expect"), (bool, int, float, str))
        and isinstance(one.get("because", ""), str)
        and isinstance(facts, dict)
        and all(_OWNED.match(key) and isinstance(value, (bool, int, float, str)) for key, value in facts.items())
        and isinstance(missing, list)
        and all(isinstance(word, str) and _WORD.match(word) for word in missing)
    )


class _Reader:
    def __init__(self, kb: KnowledgeBase, rule: AnyRule, document: Document, folder: Path) -> None:
        self.kb = kb
        self.rule = rule
        self.document = document
        self.folder = folder
        self.made: list[Case] = []
        self.problems: list[Problem] = []

    def case(self, index: int, plain: Mapping[str, Any]) -> None:
        here = ("cases", index)
        recorded, absent = self.snapshot((*here, "snapshot"), plain.get("snapshot"))
        facts = [*recorded, *self.facts((*here, "facts"), plain.get("facts", {}))]
        if "series" not in plain:
            self.add(here, plain, plain["name"], facts, plain["expect"], absent)
            return
        try:
            rows = unroll(plain["series"])
        except SeriesError as error:
            self.problem((*here, "series"), str(error))
            return
        expected = plain["expect"]
        if not isinstance(expected, list) or len(expected) != len(rows):
            message = f"a series of {len(rows)} needs a list of {len(rows)} in `expect`"
            self.problem((*here, "expect"), message)
            return
        for number, (row, expect) in enumerate(zip(rows, expected, strict=True)):
            more = self.facts((*here, "series"), row)
            self.add(here, plain, f"{plain['name']}, {number}", [*facts, *more], expect, absent)

    def add(
        self,
        here: tuple[str | int, ...],
        plain: Mapping[str, Any],
        name: str,
        facts: list[Fact],
        expect: Any,
        absent: tuple[Absent, ...],
    ) -> None:
        if isinstance(expect, list):
            self.problem((*here, "expect"), "a list in `expect` belongs to `series`")
            return
        if isinstance(self.rule, Derivation) and isinstance(expect, str):
            number = parse_quantity(expect, self.kb.facts[self.rule.gives].unit)
            expect = expect if number is None else number
        where = self.document.at(*here)
        missing, because = tuple(plain.get("missing", ())), plain.get("because")
        self.made.append(Case(self.rule, name, tuple(facts), expect, missing, because, where, absent))

    def snapshot(self, path: tuple[str | int, ...], name: str | None) -> tuple[list[Fact], tuple[Absent, ...]]:
        """The recorded facts of a file in the pack."""
        if name is None:
            return [], ()
        file = (self.folder / name).resolve()
        if not file.is_relative_to(self.folder.resolve()):
            self.problem(path, f"`{name}` is outside the pack")
            return [], ()
        try:
            facts, absent = fact_file.load(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            self.problem(path, f"`{name}` cannot be used: {error}")
            return [], ()
        return [one for one in facts if one.id in self.kb.facts], tuple(absent)

    def facts(self, path: tuple[str | int, ...], plain: Mapping[str, Value]) -> list[Fact]:
        found = []
        for key, value in plain.items():
            fact = _fact(self.kb.facts, key, value, self.document.path)
            if isinstance(fact, str):
                self.problem((*path, key), fact)
            else:
                found.append(fact)
        return found

    def problem(self, path: tuple[str | int, ...], message: str) -> None:
        self.problems.append(Problem(self.document.at(*path), message))


def _fact(specs: Mapping[str, FactSpec], key: str, value: Value, source: str) -> Fact | str:
    owner, _, name = key.rpartition(" ")
    spec = specs.get(name)
    if spec is None:
        return f"no fact `{name}`"
    if spec.is_number and isinstance(value, str):
        number = parse_quantity(value, spec.unit)
        if number is None:
            return f"{value!r} is no quantity in {spec.unit}"
        value = number
    return Fact(name, value, spec.unit, entity_of(spec.entity, owner), Origin(OriginKind.MEASURED, source))


def entity_of(kind: str, owner: str) -> Entity:
    """The entity of a kind that a case names (`gpu:1`), or the only one it needs where it names none."""
    name = owner.partition(":")[2] or "0"
    if kind in ("host", "job"):
        return HOST if kind == "host" else JOB
    if kind == "gpu":
        return gpu(name)
    return Entity(kind, name, gpu("0") if kind in ("process", "partition") else JOB if kind != "disk" else HOST)
