"""Can conditions hold together? By intervals of numbers and sets of words, over the ways an `any` can be met.

It says no only where no reading whatever would do. What it cannot decide (very many ways) it takes to be possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from gpuwhy.kb.conditions import All, Comparison, Condition, FactRef, Not, Operator, Over
from gpuwhy.kb.facts import Value
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass, field, replace

MOST_WAYS = 256

_OPPOSITE = {
    Operator.EQ: Operator.NE,
    Operator.NE: Operator.EQ,
    Operator.LT: Operator.GE,
    Operator.GE: Operator.LT,
    Operator.GT: Operator.LE,
    Operator.LE: Operator.GT,
}
_TURNED = {Operator.LT: Operator.GT, Operator.GT: Operator.LT, Operator.LE: Operator.GE, Operator.GE: Operator.LE}


class _TooManyWays(Exception):
    """There are more ways to meet a condition than are looked at."""


@dataclass(frozen=True)
class _Never:
    """A literal that nothing makes true."""


_Literal = Comparison | _Never | tuple[str, Comparison]


def possible(specs: Mapping[str, FactSpec], *conditions: Condition | None) -> bool:
    """False if no readings make all these conditions true together."""
    wanted = [one for one in conditions if one is not None]
    try:
        ways = _ways([(one, True) for one in wanted])
        return any(_consistent(specs, way) for way in ways)
    except _TooManyWays:
        return True


def implies(specs: Mapping[str, FactSpec], known: Iterable[Condition | None], then: Condition) -> bool:
    """True if `then` holds wherever all of `known` holds (and what it reads is known)."""
    return not possible(specs, *known, Not(then))


def _ways(wanted: list[tuple[Condition, bool]]) -> list[list[_Literal]]:
    ways: list[list[_Literal]] = [[]]
    for condition, truth in wanted:
        alternatives = list(_alternatives(condition, truth))
        ways = [[*way, *more] for way in ways for more in alternatives]
        if len(ways) > MOST_WAYS:
            raise _TooManyWays
    return ways


def _alternatives(condition: Condition, truth: bool) -> Iterator[list[_Literal]]:
    if isinstance(condition, Comparison):
        yield [_literal(condition, truth)]
    elif isinstance(condition, Not):
        yield from _alternatives(condition.part, not truth)
    elif isinstance(condition, All) is truth:
        yield from _ways([(part, truth) for part in condition.parts])
    else:
        for part in condition.parts:
            yield from _alternatives(part, truth)


def _literal(one: Comparison, truth: bool) -> _Literal:
    if truth or one.op in _OPPOSITE:
        return one if truth else replace(one, op=_OPPOSITE[one.op])
    return _Never() if one.op is Operator.KNOWN else ("not in", one)


@dataclass
class _Range:
    """What a fact can still be: numbers between two ends, or words."""

    whole: bool = False
    low: float = -math.inf
    low_open: bool = False
    high: float = math.inf
    high_open: bool = False
    allowed: set[Value] | None = None
    refused: set[Value] = field(default_factory=set)

    def narrow(self, op: Operator, bound: float) -> None:
        if op in (Operator.GT, Operator.GE, Operator.EQ):
            self._raise_to(bound, op is Operator.GT)
        if op in (Operator.LT, Operator.LE, Operator.EQ):
            self._lower_to(bound, op is Operator.LT)

    def _raise_to(self, bound: float, is_open: bool) -> None:
        if self.whole:
            bound, is_open = (math.floor(bound) + 1 if is_open else math.ceil(bound)), False
        if bound > self.low or (bound == self.low and is_open):
            self.low, self.low_open = bound, is_open

    def _lower_to(self, bound: float, is_open: bool) -> None:
        if self.whole:
            bound, is_open = (math.ceil(bound) - 1 if is_open else math.floor(bound)), False
        if bound < self.high or (bound == self.high and is_open):
            self.high, self.high_open = bound, is_open

    def allow(self, values: set[Value]) -> None:
        self.allowed = values if self.allowed is None else self.allowed & values

    @property
    def empty(self) -> bool:
        if self.allowed is not None and not {one for one in self.allowed - self.refused if self._within(one)}:
            return True
        if self.low > self.high or (self.low == self.high and (self.low_open or self.high_open)):
            return True
        return self.low == self.high and self.low in self.refused

    def _within(self, value: Value) -> bool:
        if isinstance(value, (bool, str)):
            return True
        above = value > self.low or (value == self.low and not self.low_open)
        return above and (value < self.high or (value == self.high and not self.high_open))


def _consistent(specs: Mapping[str, FactSpec], way: list[_Literal]) -> bool:
    ranges: dict[FactRef, _Range] = {}
    pairs: list[Comparison] = []
    for literal in way:
        if isinstance(literal, _Never):
            return False
        if isinstance(literal, tuple):
            values = literal[1].value
            _of(specs, ranges, literal[1].ref).refused.update(values if isinstance(values, tuple) else ())
        elif literal.than is not None:
            pairs.append(literal)
        else:
            _note(_of(specs, ranges, literal.ref), literal)
    if any(one.empty for one in ranges.values()):
        return False
    return not any(_clash(specs, ranges, one, pairs[:index]) for index, one in enumerate(pairs))


def _of(specs: Mapping[str, FactSpec], ranges: dict[FactRef, _Range], ref: FactRef) -> _Range:
    if ref not in ranges:
        spec = specs.get(ref.fact)
        found = ranges[ref] = _Range()
        if ref.over is Over.COUNT:
            found.whole, found.low = True, 1
        elif spec is not None and spec.type == "boolean" and ref.over is None:
            found.allowed = {True, False}
        elif spec is not None and spec.type == "choice" and ref.over is None:
            found.allowed = set(spec.choices)
        elif spec is not None and spec.type == "integer" and ref.over in (None, Over.MAX, Over.MIN, Over.SUM):
            found.whole = True
    return ranges[ref]


def _note(known: _Range, one: Comparison) -> None:
    value = one.value
    if one.op is Operator.KNOWN or value is None:
        return
    if isinstance(value, tuple):
        known.allow(set(value))
    elif one.op is Operator.NE:
        known.refused.add(value)
    elif isinstance(value, (bool, str)):
        known.allow({value})
    else:
        known.narrow(one.op, float(value))


def _clash(
    specs: Mapping[str, FactSpec], ranges: dict[FactRef, _Range], one: Comparison, before: list[Comparison]
) -> bool:
    """True if a comparison of two facts cannot hold beside others of the same two, or within what the two can be."""
    assert one.than is not None
    if one.than == one.ref and one.times == 1 and one.op in (Operator.LT, Operator.GT, Operator.NE):
        return True
    for other in before:
        same = (other.ref, other.than, other.times) == (one.ref, one.than, one.times)
        turned = other.times == one.times == 1 and (other.than, other.ref) == (one.ref, one.than)
        op = other.op if same else _TURNED.get(other.op, other.op) if turned else None
        if op is not None and not _together(one.op, op):
            return True
    if one.times <= 0 or not one.op.orders:
        return False
    left, right = _of(specs, ranges, one.ref), _of(specs, ranges, one.than)
    if one.op in (Operator.GT, Operator.GE):
        return left.high < right.low * one.times
    return left.low > right.high * one.times


_SIGNS = {
    Operator.LT: {-1},
    Operator.LE: {-1, 0},
    Operator.GT: {1},
    Operator.GE: {0, 1},
    Operator.EQ: {0},
    Operator.NE: {-1, 1},
}


def _together(a: Operator, b: Operator) -> bool:
    return not _SIGNS.get(a, {0}).isdisjoint(_SIGNS.get(b, {0}))
