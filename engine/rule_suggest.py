"""Cases that would notice what the cases of a rule do not notice yet: changes that survive, and gaps in coverage.

A suggested case says what the rule says now. Whether the rule is right to say so is for its author to judge.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpuwhy.engine.rule_cases import AnyRule, Case, entity_of
from gpuwhy.engine.rule_coverage import Gap, coverage, edge_reached, judged
from gpuwhy.engine.rule_mutants import Mutant, survivors
from gpuwhy.engine.rule_tests import Said, prepare, same, say
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import Comparison, Condition, Over, comparisons
from gpuwhy.kb.expressions import references
from gpuwhy.kb.facts import Entity, Fact, Origin, OriginKind, Value
from gpuwhy.kb.model import Derivation, FactSpec, Fix, KnowledgeBase, Signature
from gpuwhy.kb.records import dataclass, replace

NEAR = 0.02
"""How far from a threshold readings beside it are chosen, as a share of it: less than rules are shifted by."""

MOST_TRIED = 3000
"""Sets of facts tried for one goal."""

Facts = dict[tuple[str, Entity], Fact]
Edit = tuple[str, Entity, Value | None]
Goal = Callable[[World, Said], bool]


@dataclass(frozen=True)
class Suggestion:
    """A case that would notice something: its facts, what the rule says of them, and what it notices.

    `because` is None unless the sentence is what tells.
    """

    facts: tuple[Fact, ...]
    expect: Value
    missing: tuple[str, ...]
    because: str | None
    edits: tuple[Edit, ...]
    notices: str


def suggestions(kb: KnowledgeBase, rule: AnyRule, cases: Sequence[Case]) -> tuple[list[Suggestion], list[str]]:
    """Cases that make the most of what is missing noticed, and what no case was found for, in words."""
    lived, _ = survivors(kb, rule, cases)
    goals = [(f"no case notices: {one.change}", _notices(one), _compared(one.rule)) for one in lived]
    for gap in coverage(kb, rule, cases).gaps:
        about = [gap.comparison] if gap.comparison is not None else []
        goals.append((gap.says, _closes(rule, gap), about))
    search = _Search(kb, rule, cases)
    made: list[Suggestion] = []
    worlds: list[tuple[World, Said]] = []
    failed = []
    for says, goal, about in goals:
        if any(goal(world, said) for world, said in worlds):
            continue
        found = search.find(goal, about)
        if found is None:
            failed.append(says)
            continue
        facts, edits, world, said = found
        worlds.append((world, said))
        missing = tuple(sorted(said.missing)) if said.verdict == "unknown" else ()
        because = said.because if goal(world, replace(said, because=None)) is False else None
        made.append(Suggestion(tuple(facts.values()), said.verdict, missing, because, edits, says))
    return made, failed


def _notices(mutant: Mutant) -> Goal:
    def differs(world: World, said: Said) -> bool:
        other = say(mutant.rule, world)
        if not same(other.verdict, said.verdict) or (said.verdict == "unknown" and said.missing - other.missing):
            return True
        return said.because is not None and other.because is not None and said.because != other.because

    return differs


def _closes(rule: AnyRule, gap: Gap) -> Goal:
    def reached(world: World, said: Said) -> bool:
        if gap.comparison is None:
            return said.verdict == "underived"
        leaves = [leaf for one in judged(rule, world) for leaf in one.leaves() if leaf.condition == gap.comparison]
        if gap.truth is None:
            return edge_reached(leaves)
        return any(leaf.truth is gap.truth for leaf in leaves)

    return reached


def _conditions(rule: AnyRule) -> Iterator[Condition]:
    if isinstance(rule, Signature):
        yield from (condition for _, condition in rule.parts())
    else:
        if rule.when is not None:
            yield rule.when
        if isinstance(rule, Fix):
            yield from (one.when for one in rule.unless)


def _compared(rule: AnyRule) -> list[Comparison]:
    return list(dict.fromkeys(one for condition in _conditions(rule) for one in comparisons(condition)))


class _Search:
    """Looks for facts near those of the cases that a rule has."""

    def __init__(self, kb: KnowledgeBase, rule: AnyRule, cases: Sequence[Case]) -> None:
        self.kb = kb
        self.rule = rule
        self.own = _compared(rule)
        self.bases = [{(one.id, one.entity): one for one in case.facts} for case in cases if not case.absent]
        self.bases = sorted([{}, *self.bases], key=len)
        self.judged: dict[tuple[tuple[str, Entity, Value], ...], tuple[World, Said]] = {}

    def find(self, goal: Goal, about: Sequence[Comparison]) -> tuple[Facts, tuple[Edit, ...], World, Said] | None:
        """Facts that reach a goal, with as few edits of a case as can be; edits of what it is about come first."""
        for edits, facts in itertools.islice(self._tries(about), MOST_TRIED):
            world, said = self._said(facts)
            if goal(world, said):
                return facts, edits, world, said
        return None

    def _said(self, facts: Facts) -> tuple[World, Said]:
        key = tuple(sorted(((name, entity, fact.value) for (name, entity), fact in facts.items()), key=repr))
        if key not in self.judged:
            world = prepare(self.kb, Case(self.rule, "", tuple(facts.values()), ""))
            self.judged[key] = world, say(self.rule, world)
        return self.judged[key]

    def _tries(self, about: Sequence[Comparison]) -> Iterator[tuple[tuple[Edit, ...], Facts]]:
        every = [(base, self._edits(base, about), self._edits(base, self.own)) for base in self.bases]
        for base, near, own in every:
            for edit in dict.fromkeys((*near, *own)):
                yield (edit,), self._with(base, edit)
        for base, near, own in every:
            for first in near or own:
                once = self._with(base, first)
                for second in self._edits(once, self.own):
                    if second[:2] != first[:2]:
                        yield (first, second), self._with(once, second)

    def _with(self, base: Mapping[tuple[str, Entity], Fact], edit: Edit) -> Facts:
        name, entity, value = edit
        facts = dict(base)
        if value is None:
            facts.pop((name, entity), None)
        else:
            origin = Origin(OriginKind.MEASURED, "suggested")
            facts[name, entity] = Fact(name, value, self.kb.facts[name].unit, entity, origin)
        return facts

    def _edits(self, base: Facts, about: Iterable[Comparison]) -> list[Edit]:
        found: dict[Edit, None] = {}
        for one in about:
            self._toward(base, one, found)
        if isinstance(self.rule, Derivation) and self.rule.formula is not None:
            for ref in references(self.rule.formula):
                self._values(base, ref.fact, (None, 0, 1, 2, 7.5), found)
        return list(found)

    def _toward(self, base: Facts, one: Comparison, found: dict[Edit, None]) -> None:
        spec = self.kb.facts[one.ref.fact]
        self._values(base, one.ref.fact, _worth_trying(spec, one), found)
        self._values(base, one.ref.fact, (None,), found)
        if one.than is None:
            return
        world, _ = self._said(base)
        entity = self._entity(base, one.than.fact)
        other = world.get(one.than, entity)
        mine = world.get(one.ref, self._entity(base, one.ref.fact))
        if other is not None and isinstance(other.value, (int, float)):
            self._values(base, one.ref.fact, _around(float(other.value) * one.times, spec), found)
        if mine is not None and isinstance(mine.value, (int, float)) and one.times:
            than = self.kb.facts[one.than.fact]
            self._values(base, one.than.fact, _around(float(mine.value) / one.times, than), found)
        self._values(base, one.than.fact, (None, *_plain(self.kb.facts[one.than.fact])), found)

    def _values(self, base: Facts, name: str, values: Iterable[Value | None], found: dict[Edit, None]) -> None:
        entities = [entity for known, entity in base if known == name] or [self._entity(base, name)]
        if any(one.ref.fact == name and one.ref.over not in (None, Over.COUNT) for one in self.own):
            entities.append(entity_of(self.kb.facts[name].entity, f"{self.kb.facts[name].entity}:1"))
        for entity in dict.fromkeys(entities):
            for value in values:
                known = base.get((name, entity))
                if value is None and known is None:
                    continue
                if known is None or value is None or known.value != value:
                    found[name, entity, value] = None

    def _entity(self, base: Facts, name: str) -> Entity:
        kind = self.kb.facts[name].entity
        seen = next((entity for _, entity in base if entity.kind == kind), None)
        return seen or entity_of(kind, "")


def _worth_trying(spec: FactSpec, one: Comparison) -> Iterator[Value]:
    if isinstance(one.value, tuple):
        yield from one.value
        yield from (choice for choice in spec.choices if choice not in one.value)
    elif isinstance(one.value, (int, float)) and not isinstance(one.value, bool):
        yield from _around(float(one.value), spec)
    elif one.value is not None:
        yield one.value
    yield from _plain(spec)


def _around(bound: float, spec: FactSpec) -> Iterator[Value]:
    """On a threshold, close to it on both sides, and far from it."""
    if spec.type == "integer":
        yield from dict.fromkeys(max(0, round(bound) + step) for step in (0, 1, -1, 2, -2))
        yield from dict.fromkeys(max(0, round(bound * factor)) for factor in (1 + NEAR, 1 - NEAR, 2, 0.5))
        return
    for factor in (1, 1 - NEAR, 1 + NEAR, 0.5, 2):
        if spec.unit != "share" or bound * factor <= 1:
            yield float(f"{bound * factor:.6g}")
    yield bound
    if bound == 0:
        yield 1.0


def _plain(spec: FactSpec) -> Iterator[Value]:
    """Values that say little more than that a fact is known."""
    if spec.type == "boolean":
        yield from (True, False)
    elif spec.choices:
        yield from spec.choices
    elif spec.type == "integer":
        yield from (0, 1, 3)
    elif spec.is_number:
        yield from (0.0, 0.5) if spec.unit == "share" else (0.0, 1.0)
    else:
        yield "other"
