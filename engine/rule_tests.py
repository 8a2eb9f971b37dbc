"""Runs the test cases that stand beside each rule: the rule's own verdict against what the case expects."""

from __future__ import annotations

from gpuwhy.engine.derive import compute, derive, target_of
from gpuwhy.engine.fixes import offer
from gpuwhy.engine.model import SignatureResult, Status, Truth
from gpuwhy.engine.proof import judge
from gpuwhy.engine.rule_cases import AnyRule, Case
from gpuwhy.engine.signatures import evaluate
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import Comparison
from gpuwhy.kb.facts import JOB, FactBase, Value
from gpuwhy.kb.model import Derivation, Fix, KnowledgeBase, Selection, Signature
from gpuwhy.kb.records import dataclass

_EXPECT = {
    Status.CONFIRMED: "confirmed",
    Status.LIKELY: "likely",
    Status.POSSIBLE: "unknown",
    Status.RULED_OUT: "ruled-out",
    None: "silent",
}

HOLDS = {"reject": "rejected", "open": "open", "lower": "lowered", "warn": "warned", "know": "told", "note": "noted"}
"""What a case of a selection rule expects where the rule holds, by what it leads to."""

FIRES = ("confirmed", "likely")
"""What a case of a signature expects where the signature asserts its conclusion."""


@dataclass(frozen=True)
class Said:
    """What a rule says about the facts of a case: the word (or value) that `expect` is held against, and the rest."""

    verdict: Value
    missing: frozenset[str] = frozenset()
    because: str | None = None


def run(kb: KnowledgeBase, case: Case) -> list[str]:
    """What is wrong with a case, in words; empty if the rule says what is expected."""
    return against(case, say(case.rule, prepare(kb, case)))


def prepare(kb: KnowledgeBase, case: Case) -> World:
    """The facts of a case and all that is derived from them, as the rule of the case sees them."""
    world = World(kb.facts, FactBase.of(case.facts, case.absent))
    rule = case.rule
    if isinstance(rule, Derivation):
        upstream = _before(kb, rule)
        derive([one for one in upstream if one.gives != rule.gives], world)
    else:
        derive(kb.derivations.in_play(world.known), world)
    return world


def _before(kb: KnowledgeBase, rule: Derivation) -> list[Derivation]:
    ids = [outline.id for outline in kb.derivations.outlines]
    return list(kb.derivations[: ids.index(rule.id)])


def say(rule: AnyRule, world: World) -> Said:
    """What a rule says in a prepared world; the world is left as it is, so that variants of a rule can be compared."""
    if isinstance(rule, Derivation):
        return Said(_derived(rule, world))
    if isinstance(rule, Fix):
        entity = (world.entities(rule.scope) or [JOB])[0]
        made = offer(rule, world, entity)
        return Said("offered" if made is not None and made.offered else "not-offered")
    if isinstance(rule, Selection):
        holds = HOLDS[rule.then]
        truth = judge(rule.when, world, JOB).truth
        return Said({Truth.TRUE: holds, Truth.FALSE: "kept", Truth.UNKNOWN: "unknown"}[truth])
    return _of_signature(rule, world)


def _of_signature(rule: Signature, world: World) -> Said:
    results = evaluate([rule], world)
    best = min(results, key=lambda one: one.status.rank if one.status else len(Status), default=None)
    if best is None:
        return Said("silent")
    return Said(_EXPECT[best.status], frozenset(missing_facts(best)), best.because)


def _derived(rule: Derivation, world: World) -> Value:
    """The first value that a derivation gives to something that has none."""
    if rule.status == "deprecated":
        return "underived"
    for entity in world.entities(rule.scope):
        target = target_of(world.specs[rule.gives].entity, entity)
        if target is not None and not world.has(rule.gives, target):
            made = compute(rule, world, entity)
            if made is not None:
                return made[0]
    return "underived"


def against(case: Case, said: Said) -> list[str]:
    """How what was said differs from what a case expects, in words; empty if it does not."""
    wrong = []
    if not same(said.verdict, case.expect):
        wrong.append(f"expected {case.expect}, got {said.verdict}")
    if isinstance(case.rule, Signature):
        if not set(case.missing) <= said.missing:
            needed = ", ".join(sorted(said.missing)) or "nothing"
            wrong.append(f"expected to miss {', '.join(case.missing)}; misses {needed}")
        if case.because is not None and said.because is not None and said.because != case.because:
            wrong.append(f"expected the sentence {case.because!r}, got {said.because!r}")
    return wrong


def same(got: Value, expected: Value) -> bool:
    """True if two verdicts are the same; numbers to six digits."""
    numbers = [one for one in (got, expected) if isinstance(one, (int, float)) and not isinstance(one, bool)]
    if len(numbers) == 2:
        return abs(numbers[0] - numbers[1]) <= 1e-6 * max(abs(numbers[0]), abs(numbers[1]), 1e-12)
    return not numbers and got == expected


def missing_facts(result: SignatureResult) -> set[str]:
    """The facts whose absence leaves a signature open."""
    found = set()
    for verdict in result.verdicts():
        for leaf in verdict.unknown_leaves():
            if isinstance(leaf.condition, Comparison):
                found.add(leaf.condition.ref.fact)
                if leaf.condition.than is not None:
                    found.add(leaf.condition.than.fact)
    return found
