"""Rules changed a little, to see whether their cases notice: thresholds shifted, operators loosened, parts dropped.

A variant that no reading can tell from the rule is not made: a shift of a whole number is by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from gpuwhy.engine.rule_cases import AnyRule, Case
from gpuwhy.engine.rule_coverage import words
from gpuwhy.engine.rule_tests import against, prepare, say
from gpuwhy.kb.conditions import All, Comparison, Condition, Not, Operator, Over, comparisons
from gpuwhy.kb.expressions import Call, Expression, Number
from gpuwhy.kb.facts import Value
from gpuwhy.kb.model import Derivation, Exclusion, FactSpec, Fix, KnowledgeBase, Selection, Signature
from gpuwhy.kb.records import dataclass, replace

SHIFT = 0.05

_NEIGHBOUR = {
    Operator.LT: Operator.LE,
    Operator.LE: Operator.LT,
    Operator.GT: Operator.GE,
    Operator.GE: Operator.GT,
    Operator.EQ: Operator.NE,
    Operator.NE: Operator.EQ,
}
_OPPOSITE = {
    Operator.LT: Operator.GE,
    Operator.GE: Operator.LT,
    Operator.LE: Operator.GT,
    Operator.GT: Operator.LE,
}
_SWAPPED = {"+": "-", "-": "+", "*": "/", "/": "*", "min": "max", "max": "min", "ceil": "floor", "floor": "ceil"}

_Changed = Iterator[tuple[str, Condition]]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Mutant:
    """A rule with one change, and the change in words."""

    rule: AnyRule
    change: str


def survivors(kb: KnowledgeBase, rule: AnyRule, cases: Iterable[Case]) -> tuple[list[Mutant], int]:
    """The variants of a rule that none of its cases notices, and how many variants there are."""
    worlds = [(case, prepare(kb, case)) for case in cases]
    every = list(mutants(kb.facts, rule))
    return [one for one in every if not any(against(case, say(one.rule, world)) for case, world in worlds)], len(every)


def mutants(specs: Mapping[str, FactSpec], rule: AnyRule) -> Iterator[Mutant]:
    """All variants of a rule. What only orders conclusions (`supports`) and what is for later (`verify`) stays."""
    if isinstance(rule, Signature):
        yield from _of_signature(specs, rule)
    elif isinstance(rule, Derivation):
        yield from _of_derivation(specs, rule)
    elif isinstance(rule, Selection):
        yield from (Mutant(replace(rule, when=one), f"when: {change}") for change, one in changed(specs, rule.when))
    else:
        yield from _of_fix(specs, rule)


def _of_signature(specs: Mapping[str, FactSpec], rule: Signature) -> Iterator[Mutant]:
    said = _Sure(_conjuncts(rule.given), frozenset(_let_pass(specs, rule.excludes)))
    if rule.given is not None:
        for change, condition in changed(specs, rule.given):
            yield Mutant(replace(rule, given=condition), f"given: {change}")
        yield Mutant(replace(rule, given=None), "given: dropped")
    for change, condition in changed(specs, rule.requires, said):
        yield Mutant(replace(rule, requires=condition), f"requires: {change}")
    if rule.confirms is not None:
        for change, condition in changed(
            specs, rule.confirms, replace(said, true=said.true | _conjuncts(rule.requires))
        ):
            yield Mutant(replace(rule, confirms=condition), f"confirms: {change}")
        yield Mutant(replace(rule, confirms=None), "confirms: dropped")
    for change, excludes in _exclusions(specs, rule.excludes):
        yield Mutant(replace(rule, excludes=excludes), f"excludes: {change}")


def _of_fix(specs: Mapping[str, FactSpec], rule: Fix) -> Iterator[Mutant]:
    if rule.when is not None:
        for change, condition in changed(specs, rule.when):
            yield Mutant(replace(rule, when=condition), f"when: {change}")
        yield Mutant(replace(rule, when=None), "when: dropped")
    for change, unless in _exclusions(specs, rule.unless):
        yield Mutant(replace(rule, unless=unless), f"unless: {change}")


def _exclusions(
    specs: Mapping[str, FactSpec], exclusions: tuple[Exclusion, ...]
) -> Iterator[tuple[str, tuple[Exclusion, ...]]]:
    for index, one in enumerate(exclusions):
        for change, condition in changed(specs, one.when):
            yield f"{index}: {change}", _with(exclusions, index, replace(one, when=condition))
        yield f"{index}: dropped", exclusions[:index] + exclusions[index + 1 :]


def _of_derivation(specs: Mapping[str, FactSpec], rule: Derivation) -> Iterator[Mutant]:
    if rule.when is not None:
        for change, condition in changed(specs, rule.when):
            yield Mutant(replace(rule, when=condition), f"when: {change}")
        if rule.formula is not None:
            yield Mutant(replace(rule, when=None), "when: dropped")
    if rule.otherwise is not None:
        yield Mutant(replace(rule, otherwise=None), "otherwise: dropped")
    if rule.formula is not None:
        for change, formula in _formulas(rule.formula):
            yield Mutant(replace(rule, formula=formula), f"formula: {change}")


def _formulas(tree: Expression) -> Iterator[tuple[str, Expression]]:
    if isinstance(tree, Number):
        if tree.value != 0:
            for sign in (1, -1):
                value = tree.value * (1 + sign * SHIFT)
                yield f"{tree.value:g} becomes {value:g}", Number(value)
    elif isinstance(tree, Call):
        if tree.name in _SWAPPED:
            yield f"{tree.name} becomes {_SWAPPED[tree.name]}", replace(tree, name=_SWAPPED[tree.name])
        for index, argument in enumerate(tree.arguments):
            for change, one in _formulas(argument):
                yield change, replace(tree, arguments=_with(tree.arguments, index, one))


@dataclass(frozen=True)
class _Sure:
    """What other parts of a rule see to: conditions that are true, and such as are true if they are known at all."""

    true: frozenset[Condition] = frozenset()
    if_known: frozenset[Condition] = frozenset()


def _bare(condition: Condition) -> Condition:
    """A condition without the sources of its thresholds."""
    if isinstance(condition, Comparison):
        return replace(condition, source=None)
    if isinstance(condition, Not):
        return Not(_bare(condition.part))
    return replace(condition, parts=tuple(_bare(part) for part in condition.parts))


def _conjuncts(condition: Condition | None) -> frozenset[Condition]:
    """The conditions that are true wherever this one is, as they stand in it."""
    if condition is None:
        return frozenset()
    if isinstance(condition, All):
        return frozenset[Condition]().union(*(_conjuncts(part) for part in condition.parts))
    return frozenset((_bare(condition),))


def _let_pass(specs: Mapping[str, FactSpec], exclusions: Iterable[Exclusion]) -> Iterator[Condition]:
    """What is so, if it is known, of everything that is not excluded."""
    for tree in (one.when for one in exclusions):
        if not isinstance(tree, Comparison):
            continue
        least = tree.op is Operator.EQ and _whole(specs, tree) and tree.value == _lowest(tree)
        op = Operator.LE if least else tree.op
        if op in _OPPOSITE:
            yield replace(tree, op=_OPPOSITE[op], source=None)


def changed(specs: Mapping[str, FactSpec], condition: Condition, sure: _Sure | None = None) -> _Changed:
    """A condition with one change each, and the change in words.

    Of what other parts of the rule see to, only changes that ask for more are made: others change nothing.
    """
    sure = sure or _Sure()
    if isinstance(condition, Comparison):
        known = _bare(condition) in sure.true | sure.if_known
        yield from (
            (change, one) for change, one in _comparison(specs, condition) if not (known and _asks_less(condition, one))
        )
    elif isinstance(condition, Not):
        yield "`not` dropped", condition.part
        for change, part in changed(specs, condition.part):
            yield change, Not(part)
    else:
        if _bare(condition) in sure.true:
            parts = (*comparisons(condition), *condition.parts)
            sure = replace(sure, true=sure.true.union(_bare(part) for part in parts))
        for index, part in enumerate(condition.parts):
            for change, other in changed(specs, part, sure):
                yield change, replace(condition, parts=_with(condition.parts, index, other))
            if len(condition.parts) > 1 and not (isinstance(condition, All) and _conjuncts(part) <= sure.true):
                rest = condition.parts[:index] + condition.parts[index + 1 :]
                yield f"{_named(part)} dropped", replace(condition, parts=rest)


def _asks_less(one: Comparison, other: Comparison) -> bool:
    """True if what is true by `one` is true by the variant `other` too."""
    if other.op is not one.op:
        return other.op in (Operator.LE, Operator.GE)
    if isinstance(one.value, tuple) or isinstance(other.value, tuple):
        return False
    fewer = other.times < one.times if one.than is not None else float(other.value or 0) < float(one.value or 0)
    return fewer if one.op in (Operator.GT, Operator.GE) else not fewer


def _named(part: Condition) -> str:
    if isinstance(part, Comparison):
        return words(part)
    if isinstance(part, Not):
        return f"not {_named(part.part)}"
    names = [_named(one) for one in part.parts]
    return f"{'all' if isinstance(part, All) else 'any'} of ({'; '.join(names)})"


def _comparison(specs: Mapping[str, FactSpec], one: Comparison) -> Iterator[tuple[str, Comparison]]:
    whole = _whole(specs, one)
    if one.op in _NEIGHBOUR and not (whole and one.op.orders):
        yield f"{words(one)}: {one.op.value} becomes {_NEIGHBOUR[one.op].value}", replace(one, op=_NEIGHBOUR[one.op])
    if isinstance(one.value, tuple):
        if len(one.value) > 1:
            for index, value in enumerate(one.value):
                yield f"{one.ref}: without {value}", replace(one, value=_without(one.value, index))
    elif one.op.orders and one.than is None:
        yield from _shifted(one, whole)
    elif one.op.orders and one.times != 1:
        for sign in (1, -1):
            times = one.times * (1 + sign * SHIFT)
            yield f"{words(one)}: factor becomes {times:g}", replace(one, times=times)


def _shifted(one: Comparison, whole: bool) -> Iterator[tuple[str, Comparison]]:
    assert isinstance(one.value, (int, float))
    if one.value == 0 and not whole:
        return
    for sign in (1, -1):
        value = _whole_shift(float(one.value), sign) if whole else one.value * (1 + sign * SHIFT)
        if not _tells_nothing(one, value, whole):
            yield f"{words(one)}: becomes {value:g}", replace(one, value=value)


def _whole_shift(value: float, sign: int) -> float:
    return value + sign * max(1, round(abs(value) * SHIFT))


def _tells_nothing(one: Comparison, value: float, whole: bool) -> bool:
    """True for a bound on a count that no count tells from the one that stands there: there is never less than none."""
    assert isinstance(one.value, (int, float))
    between = max(value, float(one.value))  # the greatest count that one bound lets pass and the other does not
    between -= 0 if one.op in (Operator.GT, Operator.LE) else 1
    return whole and between < _lowest(one)


def _lowest(one: Comparison) -> int:
    return 1 if one.ref.over is Over.COUNT else 0


def _whole(specs: Mapping[str, FactSpec], one: Comparison) -> bool:
    """True where only whole numbers are compared with a whole number."""
    spec = specs.get(one.ref.fact)
    counts = one.ref.over is Over.COUNT or (
        spec is not None and spec.type == "integer" and one.ref.over in (None, Over.MAX, Over.MIN, Over.SUM)
    )
    value: object = one.value
    return counts and one.than is None and isinstance(value, (int, float)) and float(value).is_integer()


def _with(items: tuple[_T, ...], index: int, item: _T) -> tuple[_T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _without(items: tuple[Value, ...], index: int) -> tuple[Value, ...]:
    return items[:index] + items[index + 1 :]
