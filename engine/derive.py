"""Derived facts, to any depth: one pass over the derivations, which the knowledge base keeps in order."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.engine.model import DerivedFrom, Truth
from gpuwhy.engine.proof import judge
from gpuwhy.engine.view import World
from gpuwhy.kb import expressions
from gpuwhy.kb.conditions import FactRef
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, Origin, OriginKind, Value
from gpuwhy.kb.model import Derivation

Derived = dict[tuple[str, Entity], DerivedFrom]


def derive(derivations: Iterable[Derivation], world: World) -> Derived:
    """Add every fact that the derivations give to the world, and say how each came about.

    A fact that is already known is left alone: a reading is better than a computed value.
    """
    found: Derived = {}
    for derivation in derivations:
        if derivation.status == "deprecated":
            continue
        for entity in world.entities(derivation.scope):
            target = target_of(world.specs[derivation.gives].entity, entity)
            if target is None or world.has(derivation.gives, target):
                continue
            made = compute(derivation, world, entity)
            if made is not None:
                value, inputs = made
                unit = world.specs[derivation.gives].unit
                world.add(Fact(derivation.gives, value, unit, target, Origin(OriginKind.DERIVED, derivation.id)))
                found[(derivation.gives, target)] = DerivedFrom(derivation, inputs)
    return found


def compute(derivation: Derivation, world: World, entity: Entity) -> tuple[Value, tuple[Fact, ...]] | None:
    """What a derivation gives seen from an entity, and what it was computed from; None if it gives nothing."""
    inputs: list[Fact] = []
    truth = Truth.TRUE
    if derivation.when is not None:
        verdict = judge(derivation.when, world, entity)
        truth = verdict.truth
        inputs.extend(verdict.facts())
    if derivation.formula is None:
        value = derivation.value if truth is Truth.TRUE else derivation.otherwise if truth is Truth.FALSE else None
        return None if value is None else (value, tuple(dict.fromkeys(inputs)))
    if truth is not Truth.TRUE:
        return None

    def value_of(ref: FactRef) -> float | None:
        fact = world.get(ref, entity)
        if fact is None or isinstance(fact.value, str):
            return None
        inputs.append(fact)
        return float(fact.value)

    number = expressions.evaluate(derivation.formula, value_of)
    return None if number is None else (_typed(number, world, derivation), tuple(dict.fromkeys(inputs)))


def _typed(number: float, world: World, derivation: Derivation) -> Value:
    return round(number) if world.specs[derivation.gives].type == "integer" else number


def target_of(kind: str, entity: Entity) -> Entity | None:
    """Whom a fact about this kind is about if it is derived from `entity`: one it belongs to, else the job or the host.

    None for anything else: what is seen from a job is not derived about its only GPU.
    """
    for one in entity.lineage():
        if one.kind == kind:
            return one
    return {"job": JOB, "host": HOST}.get(kind)
