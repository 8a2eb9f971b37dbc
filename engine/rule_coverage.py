"""What the cases of a rule reach: comparisons true and false, both sides of thresholds, needed facts unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuwhy.engine.model import Truth, Verdict
from gpuwhy.engine.proof import judge
from gpuwhy.engine.rule_cases import AnyRule, Case
from gpuwhy.engine.rule_tests import prepare, say
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import All, Comparison, Condition, FactRef, Not, Operator, Over, comparisons
from gpuwhy.kb.expressions import references
from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.model import Derivation, Fix, KnowledgeBase, Signature
from gpuwhy.kb.records import dataclass, field

NEAR = 0.05
"""An edge is tested by a reading on the threshold, or by readings on both sides within this share of it."""


@dataclass(frozen=True)
class Gap:
    """Something that no case of a rule reaches, in words. `kind` is condition, edge or unknown.

    `comparison` is what should be reached, and `truth` what it should come to; None for an edge, and of a formula.
    """

    kind: str
    says: str
    comparison: Comparison | None = None
    truth: Truth | None = None


@dataclass
class Coverage:
    """How many comparisons, edges and unknown facts there are to reach, and what is not reached."""

    rule: AnyRule
    total: dict[str, int] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)

    def count(self, reached: bool, gap: Gap) -> None:
        """Note one thing to reach, with the gap that it is if it is not reached."""
        self.total[gap.kind] = self.total.get(gap.kind, 0) + 1
        if not reached:
            self.gaps.append(gap)

    def reached(self, kind: str) -> int:
        """How many things of a kind are reached."""
        return self.total.get(kind, 0) - sum(gap.kind == kind for gap in self.gaps)


def coverage(kb: KnowledgeBase, rule: AnyRule, cases: Iterable[Case]) -> Coverage:
    """What the cases of a rule reach. What is the same unknown or false needs no unknown case."""
    seen: dict[Comparison, list[Verdict]] = {}
    underived = False
    for case in cases:
        world = prepare(kb, case)
        underived = underived or say(rule, world).verdict == "underived"
        for verdict in judged(rule, world):
            for leaf in verdict.leaves():
                if isinstance(leaf.condition, Comparison):
                    seen.setdefault(leaf.condition, []).append(leaf)
    found = Coverage(rule)
    known = _known_where_given(kb, rule)
    for condition, may_be_unknown in _conditions(rule):
        for comparison in comparisons(condition):
            asked = may_be_unknown and not (_read(comparison) <= known and condition is not _given(rule))
            _reach(kb, found, comparison, seen.get(comparison, []), asked)
    if isinstance(rule, Derivation) and rule.formula is not None:
        found.count(underived, Gap("unknown", "no case in which a fact of the formula is missing"))
    return found


def waits(kb: KnowledgeBase, rule: Signature) -> bool:
    """Whether a signature that is in play may still wait for a fact: `given` does not have all that decides it."""
    known = _known_where_given(kb, rule)
    return rule.given != rule.requires and any(not _read(one) <= known for one in comparisons(rule.requires))


def judged(rule: AnyRule, world: World) -> Iterator[Verdict]:
    """The verdicts that decide what a rule says in a world; what nobody looks at is not among them."""
    for entity in world.entities(rule.scope) or [JOB]:
        if isinstance(rule, Signature):
            yield from _of_signature(rule, world, entity)
        elif isinstance(rule, Fix):
            yield from (judge(one.when, world, entity) for one in rule.unless)
            yield from _judged(rule.when, world, entity)
        else:
            yield from _judged(rule.when, world, entity)


def _of_signature(rule: Signature, world: World, entity: Entity) -> Iterator[Verdict]:
    if rule.given is not None:
        given = judge(rule.given, world, entity)
        yield given
        if given.truth is not Truth.TRUE:
            return
    for name, condition in rule.parts():
        if name != "given":
            yield judge(condition, world, entity)


def _judged(condition: Condition | None, world: World, entity: Entity) -> Iterator[Verdict]:
    if condition is not None:
        yield judge(condition, world, entity)


def _conditions(rule: AnyRule) -> Iterator[tuple[Condition, bool]]:
    """The conditions that cases can reach, each with whether its being unknown changes what the rule says."""
    if isinstance(rule, Signature):
        ignored = {f"excludes.{number}" for number, one in enumerate(rule.excludes) if not one.demotes}
        for name, condition in rule.parts():
            yield condition, name not in ignored and not name.startswith("supports")
    else:
        if rule.when is not None:
            yield rule.when, True
        if isinstance(rule, Fix):
            yield from ((one.when, True) for one in rule.unless)


def _given(rule: AnyRule) -> Condition | None:
    return rule.given if isinstance(rule, Signature) else None


def _read(one: Comparison) -> set[FactRef]:
    return {one.ref} if one.than is None else {one.ref, one.than}


def _known_where_given(kb: KnowledgeBase, rule: AnyRule) -> set[FactRef]:
    """What is known wherever a signature's `given` holds, through derivations too."""
    given = _given(rule)
    known = _surely_known(given) if given is not None else set()
    known |= {FactRef(ref.fact, over) for ref in known for over in Over if over is not Over.COUNT}
    for derivation in kb.derivations if known else ():
        if derivation.formula is not None and derivation.when is None and set(references(derivation.formula)) <= known:
            known.add(FactRef(derivation.gives))
    return known


def _surely_known(condition: Condition) -> set[FactRef]:
    """What must be known for a condition to be true."""
    if isinstance(condition, Comparison):
        return _read(condition)
    if isinstance(condition, Not):
        return _surely_known(condition.part) if isinstance(condition.part, Comparison) else set()
    parts = [_surely_known(one) for one in condition.parts]
    return set().union(*parts) if isinstance(condition, All) else set.intersection(*parts)


def _reach(kb: KnowledgeBase, found: Coverage, one: Comparison, seen: list[Verdict], may_be_unknown: bool) -> None:
    name = words(one)
    truths = {leaf.truth for leaf in seen}
    if one.op is not Operator.KNOWN:
        for truth in (Truth.TRUE, Truth.FALSE):
            if truth is Truth.TRUE or not _never_false(kb, one):
                gap = Gap("condition", f"{name}: no case where it is {truth.value}", one, truth)
                found.count(truth in truths, gap)
        if one.op.orders:
            says = f"{name}: no case on the threshold, or close to it on both sides"
            found.count(edge_reached(seen), Gap("edge", says, one))
    else:
        found.count(Truth.TRUE in truths, Gap("condition", f"{name}: no case where it is true", one, Truth.TRUE))
    if may_be_unknown:
        gap = Gap("unknown", f"{name}: no case where it is unknown", one, Truth.UNKNOWN)
        found.count(Truth.UNKNOWN in truths, gap)


def _never_false(kb: KnowledgeBase, one: Comparison) -> bool:
    """True of what holds of every value that can be: a count of at least one, the only choice there is."""
    spec = kb.facts.get(one.ref.fact)
    if one.ref.over is not None and one.ref.over.value == "count":
        return (one.op, one.value) in ((Operator.GT, 0), (Operator.GE, 0), (Operator.GE, 1))
    return spec is not None and spec.type == "choice" and len(spec.choices) == 1


def edge_reached(seen: Iterable[Verdict]) -> bool:
    """True if one of the verdicts on a comparison is on its threshold, or two are close to it on both sides."""
    above = below = False
    for leaf in seen:
        if leaf.fact is None or isinstance(leaf.fact.value, (bool, str)) or not isinstance(leaf.bound, (int, float)):
            continue
        value, bound = float(leaf.fact.value), float(leaf.bound)
        if abs(value - bound) <= 1e-9 * max(abs(value), abs(bound)):
            return True
        if abs(value - bound) <= NEAR * max(abs(bound), 1e-12):
            above, below = above or value > bound, below or value < bound
    return above and below


def words(one: Comparison) -> str:
    """A comparison as one line: `oom.slack_bytes ge oom.request_bytes`, `step.wait_share ge 0.2`."""
    if one.op is Operator.KNOWN:
        return f"{one.ref} is known"
    if one.than is not None:
        return f"{one.ref} {one.op.value} " + (f"{one.times:g} x " if one.times != 1 else "") + str(one.than)
    value = f"{one.value:g}" if isinstance(one.value, float) else one.value
    return f"{one.ref} {one.op.value} {', '.join(map(str, value)) if isinstance(value, tuple) else value}"
