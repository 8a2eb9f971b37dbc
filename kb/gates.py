"""What must be known before a condition can be anything but unknown: a cheap look before a rule is made and judged.

A gate is JSON data: the id of a fact that some entity must have, or `["all", …]` or `["any", …]` over gates. It never
shuts out what three-valued logic would let through; it may let through what then turns out to be unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.kb.conditions import All, Comparison, Condition, Not, Operator
from gpuwhy.kb.conditions import Any_ as AnyOf
from gpuwhy.kb.expressions import Expression
from gpuwhy.kb.expressions import references as read_by
from gpuwhy.kb.model import Derivation
from gpuwhy.kb.ruleset import Gate

ALWAYS: Gate = ["all"]
NEVER: Gate = ["any"]


def of_truth(condition: Condition, truth: bool = True) -> Gate:
    """What must be known for a condition to be true (or, with `truth` False, to be false)."""
    if isinstance(condition, Comparison):
        if condition.op is Operator.KNOWN and not truth:
            return NEVER
        facts = [condition.ref.fact] if condition.than is None else [condition.ref.fact, condition.than.fact]
        return _joined("all", facts)
    if isinstance(condition, Not):
        return of_truth(condition.part, not truth)
    assert isinstance(condition, (All, AnyOf))
    every = isinstance(condition, All) is truth
    return _joined("all" if every else "any", [of_truth(part, truth) for part in condition.parts])


def of_derivation(derivation: Derivation) -> Gate:
    """What must be known for a derivation to give something."""
    when = derivation.when
    if derivation.formula is not None:
        return _joined("all", [*_facts(derivation.formula), *([of_truth(when)] if when is not None else [])])
    if when is None:
        return ALWAYS
    ways = [of_truth(when, truth) for truth, value in ((True, derivation.value), (False, derivation.otherwise))
            if value is not None]  # fmt: skip
    return _joined("any", ways)


def _facts(formula: Expression) -> list[str]:
    return [ref.fact for ref in read_by(formula)]


def _joined(how: str, gates: Iterable[Gate]) -> Gate:
    distinct: list[Gate] = []
    for gate in gates:
        if gate not in distinct:
            distinct.append(gate)
    return distinct[0] if len(distinct) == 1 else [how, *distinct]
