"""The condition language: `all`, `any`, `not`, and comparisons of a fact with a value or with another fact.

A condition is parsed once from YAML into this tree. It is read three ways elsewhere: as chaining rules, as a
three-valued proof, and as column expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from typing import Any

from gpuwhy.kb.facts import Value
from gpuwhy.kb.records import dataclass


class Operator(str, Enum):
    """Comparison operators. `known` is true where the fact is known, and unknown (never false) where it is not."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    KNOWN = "known"

    @property
    def orders(self) -> bool:
        """True for operators that need numbers."""
        return self in (Operator.LT, Operator.LE, Operator.GT, Operator.GE)


class Over(str, Enum):
    """How a fact of several entities (all GPUs of a host) becomes one value. Only present readings count."""

    MAX = "max"
    MIN = "min"
    MEAN = "mean"
    MEDIAN = "median"
    SUM = "sum"
    COUNT = "count"


@dataclass(frozen=True)
class FactRef:
    """A fact as a condition names it: its id, and the aggregate over entities if one is asked for."""

    fact: str
    over: Over | None = None

    def __str__(self) -> str:
        return self.fact if self.over is None else f"{self.over.value}({self.fact})"


@dataclass(frozen=True)
class Comparison:
    """A fact against a value, a list of values (`in`), or another fact times a factor (`than`, `times`).

    `source` is the id of the reference that the threshold rests on; None where nothing is judged (a word, a boolean).
    """

    ref: FactRef
    op: Operator
    value: Value | tuple[Value, ...] | None = None
    than: FactRef | None = None
    times: float = 1.0
    source: str | None = None


@dataclass(frozen=True)
class All:
    """True if every part is true; false if any part is false."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Any_:
    """True if any part is true; false if every part is false."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """True if the part is false; unknown stays unknown."""

    part: Condition


Condition = Comparison | All | Any_ | Not


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """All comparisons of a condition, in the order written."""
    if isinstance(condition, Comparison):
        yield condition
    elif isinstance(condition, Not):
        yield from comparisons(condition.part)
    else:
        for part in condition.parts:
            yield from comparisons(part)


def references(condition: Condition) -> Iterator[FactRef]:
    """All facts that a condition reads, in the order written, with repeats."""
    for comparison in comparisons(condition):
        yield comparison.ref
        if comparison.than is not None:
            yield comparison.than


def to_plain(condition: Condition) -> dict[str, Any]:
    """The condition as JSON data; `from_plain` gives it back unchanged."""
    if isinstance(condition, Not):
        return {"not": to_plain(condition.part)}
    if isinstance(condition, (All, Any_)):
        return {"all" if isinstance(condition, All) else "any": [to_plain(part) for part in condition.parts]}
    plain: dict[str, Any] = {"fact": condition.ref.fact, "op": condition.op.value}
    if condition.ref.over is not None:
        plain["over"] = condition.ref.over.value
    if condition.value is not None:
        plain["value"] = list(condition.value) if isinstance(condition.value, tuple) else condition.value
    if condition.than is not None:
        plain["than"] = {"fact": condition.than.fact}
        if condition.than.over is not None:
            plain["than"]["over"] = condition.than.over.value
    if condition.times != 1.0:
        plain["times"] = condition.times
    if condition.source is not None:
        plain["source"] = condition.source
    return plain


def _as_written(_fact: str, value: Any) -> Any:
    return value


def from_plain(plain: dict[str, Any], quantity: Callable[[str, Any], Any] = _as_written) -> Condition:
    """A condition from checked data (schema-valid YAML, or `to_plain`).

    `quantity` turns a value as written (`2 GiB`) into the unit of its fact, given by id.
    """
    if "fact" in plain:
        return _comparison(plain, quantity)
    if "all" in plain:
        return All(tuple([from_plain(part, quantity) for part in plain["all"]]))
    if "any" in plain:
        return Any_(tuple([from_plain(part, quantity) for part in plain["any"]]))
    return Not(from_plain(plain["not"], quantity))


def _comparison(plain: dict[str, Any], quantity: Callable[[str, Any], Any]) -> Comparison:
    value, than = plain.get("value"), plain.get("than")
    if isinstance(value, list):
        value = tuple([quantity(plain["fact"], one) for one in value])
    elif isinstance(value, str):
        value = quantity(plain["fact"], value)
    return Comparison(
        _ref(plain["fact"], plain.get("over")),
        Operator(plain["op"]),
        value,
        _ref(than["fact"], than.get("over")) if than else None,
        float(plain.get("times", 1.0)),
        plain.get("source"),
    )


@cache
def _ref(fact: str, over: str | None) -> FactRef:
    return FactRef(fact, Over(over) if over else None)
