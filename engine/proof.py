"""The proof reading of a condition: three-valued truth over present facts, with evidence and margins."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

from gpuwhy.engine.model import Truth, Verdict
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import All, Any_, Comparison, Condition, Not, Operator
from gpuwhy.kb.facts import Entity, Value


def judge(condition: Condition, world: World, entity: Entity) -> Verdict:
    """The verdict on a condition seen from an entity. Kleene logic: unknown parts decide only what they must."""
    if isinstance(condition, Comparison):
        return _compare(condition, world, entity)
    inner = (condition.part,) if isinstance(condition, Not) else condition.parts
    parts = tuple(judge(part, world, entity) for part in inner)
    return Verdict(combined(condition, (part.truth for part in parts)), condition, parts=parts)


def combined(condition: All | Any_ | Not, parts: Iterable[Truth]) -> Truth:
    """The truth of a condition whose parts have these truths."""
    truths = set(parts)
    if isinstance(condition, Not):
        return _NOT[truths.pop()]
    decisive, other = (Truth.FALSE, Truth.TRUE) if isinstance(condition, All) else (Truth.TRUE, Truth.FALSE)
    return decisive if decisive in truths else Truth.UNKNOWN if Truth.UNKNOWN in truths else other


_NOT = {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE, Truth.UNKNOWN: Truth.UNKNOWN}


def _compare(condition: Comparison, world: World, entity: Entity) -> Verdict:
    fact = world.get(condition.ref, entity)
    if fact is None:
        return Verdict(Truth.UNKNOWN, condition, unknown=world.why_unknown(condition.ref, entity))
    if condition.op is Operator.KNOWN:
        return Verdict(Truth.TRUE, condition, fact=fact)
    if condition.than is None:
        assert condition.value is not None
        return _against(condition, Verdict(Truth.UNKNOWN, condition, fact=fact, bound=condition.value))
    other = world.get(condition.than, entity)
    if other is None:
        reason = f"{condition.than}: {world.why_unknown(condition.than, entity)}"
        return Verdict(Truth.UNKNOWN, condition, fact=fact, unknown=reason)
    bound: Value = other.value if isinstance(other.value, (bool, str)) else _times(other.value, condition.times)
    return _against(condition, Verdict(Truth.UNKNOWN, condition, fact=fact, bound=bound, other=other))


def _against(condition: Comparison, open_verdict: Verdict) -> Verdict:
    assert open_verdict.fact is not None
    assert open_verdict.bound is not None
    value, bound = open_verdict.fact.value, open_verdict.bound
    holds = compare(condition.op, value, bound)
    margin = _margin(condition.op, value, bound)
    truth = Truth.TRUE if holds else Truth.FALSE
    return Verdict(truth, condition, open_verdict.fact, bound, open_verdict.other, margin)


def compare(op: Operator, value: Value, bound: Value | tuple[Value, ...]) -> bool:
    """A comparison of two known values. Words and booleans never equal numbers; only numbers have an order."""
    if op is Operator.IN:
        assert isinstance(bound, tuple)
        return any(_same(value, one) for one in bound)
    assert not isinstance(bound, tuple)
    if op in (Operator.EQ, Operator.NE):
        return _same(value, bound) is (op is Operator.EQ)
    if isinstance(value, (str, bool)) or isinstance(bound, (str, bool)):
        raise TypeError(f"{value!r} and {bound!r} have no order")
    return {
        Operator.LT: value < bound,
        Operator.LE: value <= bound,
        Operator.GT: value > bound,
        Operator.GE: value >= bound,
    }[op]


def _times(value: float, factor: float) -> float:
    """The product; one beyond the largest number is that number, which nothing that was read exceeds."""
    return max(-sys.float_info.max, min(sys.float_info.max, value * factor))


def _same(a: Value, b: Value) -> bool:
    kinds = [bool if isinstance(one, bool) else str if isinstance(one, str) else float for one in (a, b)]
    return kinds[0] is kinds[1] and a == b


def _margin(op: Operator, value: Value, bound: Value | tuple[Value, ...]) -> float | None:
    """How far a number is on the right side of an ordering bound (negative: on the wrong side); else None.

    None too where the distance is beyond the largest number.
    """
    if not op.orders or isinstance(bound, (str, tuple)) or isinstance(value, str):
        return None
    margin = float(value - bound) if op in (Operator.GT, Operator.GE) else float(bound - value)
    return margin if math.isfinite(margin) else None
