"""Conditions and formulas as PromQL: of each condition one query of where it is true, one of where it is false.

Every fact is a recorded series with the labels of its entity; one that has no sample is unknown. The two queries follow
the three-valued logic of the rules: where neither has a sample the condition is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpuwhy.kb.conditions import All, Any_, Comparison, Condition, FactRef, Operator, Over
from gpuwhy.kb.expressions import Call, Expression, FactValue, Number
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.prometheus_names import literal, quoted

TARGET = ("job", "instance", "node", "Hostname", "hostname")
LABELS: Mapping[str, tuple[str, ...]] = {
    "host": TARGET,
    "job": TARGET,
    "gpu": (*TARGET, "gpu", "UUID", "uuid"),
    "disk": (*TARGET, "device"),
    "filesystem": (*TARGET, "mountpoint", "fstype"),
    "load": (*TARGET, "model", "version"),
}
"""The labels that tell entities of a kind apart."""

_SIGNS = {
    Operator.EQ: "==",
    Operator.NE: "!=",
    Operator.LT: "<",
    Operator.LE: "<=",
    Operator.GT: ">",
    Operator.GE: ">=",
}
_OTHER = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_OVER = {Over.MAX: "max", Over.MIN: "min", Over.MEAN: "avg", Over.SUM: "sum", Over.COUNT: "count"}
VALUE = "value"
"""The label that holds the value of a text; the sample is 1."""


@dataclass(frozen=True)
class Recorded:
    """A fact that is recorded: the kind of its entity, the exporters that it is from, whether it is a text."""

    name: str
    entity: str
    family: str
    text: bool = False


def series_name(fact: str) -> str:
    """The name of the series that holds a fact."""
    return "gpuwhy:" + fact.replace(".", "_")


def entity_series(kind: str, family: str) -> str:
    """The name of the series that has a 1 for every entity of a kind that an exporter knows."""
    return f"gpuwhy:{family}:{'host' if kind == 'job' else kind}"


@dataclass(frozen=True)
class Translator:
    """Translates for entities of one kind, with the facts of one family of exporters; others are unknown."""

    facts: Mapping[str, Recorded]
    scope: str
    family: str

    def usable(self, ref: FactRef) -> Recorded | None:
        """The recorded fact of a reference, if one can be seen from this kind of entity."""
        found = self.facts.get(ref.fact)
        if found is None or found.family != self.family or self.scope not in LABELS:
            return None
        own = found.entity == self.scope or found.entity == "host"
        return found if own or ref.over is not None else None

    def operand(self, ref: FactRef) -> str | None:
        """A number as seen from each entity; None where it cannot be had."""
        found = self.usable(ref)
        if found is None or (found.text and ref.over is not Over.COUNT):
            return None
        if ref.over is None and found.entity == self.scope:
            return found.name
        inner = found.name if ref.over is None else self._over(found.name, ref.over)
        if LABELS[self.scope] == TARGET:
            return inner if ref.over is not None or found.entity in ("host", "job") else None
        on = ", ".join(TARGET)
        return f"({entity_series(self.scope, self.family)} * on ({on}) group_left () {inner})"

    def _over(self, name: str, over: Over) -> str:
        by = ", ".join(TARGET)
        if over is Over.MEDIAN:
            return f"quantile by ({by}) (0.5, {name})"
        return f"{_OVER[over]} by ({by}) ({name})"

    def true(self, condition: Condition) -> str | None:
        """Where a condition is true; None where it can never be."""
        if isinstance(condition, All):
            return self._all([self.true(part) for part in condition.parts])
        if isinstance(condition, Any_):
            return _any([self.true(part) for part in condition.parts])
        if isinstance(condition, Comparison):
            return self._comparison(condition, True)
        return self.false(condition.part)

    def false(self, condition: Condition) -> str | None:
        """Where a condition is false; None where it can never be."""
        if isinstance(condition, All):
            return _any([self.false(part) for part in condition.parts])
        if isinstance(condition, Any_):
            return self._all([self.false(part) for part in condition.parts])
        if isinstance(condition, Comparison):
            return self._comparison(condition, False)
        return self.true(condition.part)

    @staticmethod
    def _all(parts: list[str | None]) -> str | None:
        kept = list(dict.fromkeys(part for part in parts if part is not None))
        return _joined(kept, " and ") if None not in parts else None

    def _comparison(self, one: Comparison, wanted: bool) -> str | None:
        found = self.usable(one.ref)
        if found is None:
            return None
        if found.text and one.ref.over is None:
            return self._text(found, one, wanted)
        left = self.operand(one.ref)
        if left is None:
            return None
        if one.op is Operator.KNOWN:
            return left if wanted else None
        if one.op is Operator.IN:
            values = one.value if isinstance(one.value, tuple) else ()
            signs = [f"({left} {'==' if wanted else '!='} {number(value)})" for value in values]
            return _joined(signs, " or " if wanted else " and ")
        right = self._right(one)
        sign = _SIGNS[one.op] if wanted else _OTHER[_SIGNS[one.op]]
        return None if right is None else f"({left} {sign} {right})"

    def _right(self, one: Comparison) -> str | None:
        if one.than is None:
            return number(one.value)
        other = self.operand(one.than)
        if other is None:
            return None
        return other if one.times == 1.0 else f"({other} * {number(one.times)})"

    def _text(self, found: Recorded, one: Comparison, wanted: bool) -> str | None:
        if one.op not in (Operator.EQ, Operator.NE, Operator.IN, Operator.KNOWN) or found.entity != self.scope:
            return None
        if one.op is Operator.KNOWN:
            return f"max without ({VALUE}) ({found.name})" if wanted else None
        values = one.value if isinstance(one.value, tuple) else (one.value,)
        same = wanted is (one.op is not Operator.NE)
        pattern = "|".join(literal(str(value)) for value in values)
        matching = f"{found.name}{{{VALUE}{'=~' if same else '!~'}{quoted(pattern)}}}"
        return f"max without ({VALUE}) ({matching})"

    def formula(self, tree: Expression) -> str | None:
        """A formula; None where a fact of it cannot be had. Where a divisor is zero there is no sample."""
        if isinstance(tree, Number):
            return number(tree.value)
        if isinstance(tree, FactValue):
            return self.operand(tree.ref)
        parts = [self.formula(one) for one in tree.arguments]
        kept = [one for one in parts if one is not None]
        return self._call(tree, kept) if len(kept) == len(parts) else None

    @staticmethod
    def _call(tree: Call, parts: list[str]) -> str | None:
        if tree.name in "+-*":
            return f"({parts[0]} {tree.name} {parts[1]})"
        if tree.name == "/":
            divisor = parts[1] if isinstance(tree.arguments[1], Number) else f"({parts[1]} != 0)"
            return f"({parts[0]} / {divisor})"
        if tree.name == "neg":
            return f"(-1 * {parts[0]})"
        if tree.name in ("abs", "ceil", "floor"):
            return f"{tree.name}({parts[0]})"
        return _extreme(tree, parts)


def _extreme(tree: Call, parts: list[str]) -> str | None:
    """`min` and `max`: of a number and a series by clamping, of two series by comparing them."""
    made, *rest = sorted(zip(tree.arguments, parts, strict=True), key=lambda one: isinstance(one[0], Number))
    found = made[1]
    for argument, part in rest:
        if isinstance(argument, Number):
            found = f"clamp_{'max' if tree.name == 'min' else 'min'}({found}, {part})"
        else:
            sign = "<" if tree.name == "min" else ">"
            found = f"((({found} {sign} {part}) or {part}) and {found})"
    return None if isinstance(made[0], Number) else found


def _any(parts: list[str | None]) -> str | None:
    kept = list(dict.fromkeys(part for part in parts if part is not None))
    return _joined(kept, " or ") if kept else None


def _joined(parts: list[str], word: str) -> str | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else "(" + word.join(parts) + ")"


def number(value: object) -> str:
    """A number or a truth as PromQL has it."""
    if isinstance(value, bool):
        return str(int(value))
    plain = float(str(value))
    return str(int(plain)) if plain.is_integer() and math.fabs(plain) < 1e15 else repr(plain)
