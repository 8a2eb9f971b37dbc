"""The arithmetic of derivations: numbers, facts, `+ - * /`, parentheses and a few functions. Nothing else exists.

    oom.reserved_bytes - oom.allocated_bytes
    max(0, 1 - step.gpu_busy_share)
    sum_over(gpu.memory_used_bytes) / gpu.count

`x_over(fact)` aggregates a fact over entities (all GPUs of a host), over the readings that are present.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

from gpuwhy.kb import conditions
from gpuwhy.kb.conditions import Condition, FactRef, Over
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.units import DIMENSIONLESS, Dimension

MAX_LENGTH = 400
MAX_DEPTH = 30


@dataclass(frozen=True)
class Number:
    """A literal."""

    value: float


@dataclass(frozen=True)
class FactValue:
    """The value of a fact."""

    ref: FactRef


@dataclass(frozen=True)
class Call:
    """An operator or a function applied to arguments: `+ - * / neg min max abs ceil floor`."""

    name: str
    arguments: tuple[Expression, ...]


Expression = Number | FactValue | Call


class ExpressionError(ValueError):
    """An expression that is not of the grammar; `column` counts from 1 inside the expression."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)|([-+*/(),]))")
_FUNCTIONS = {"min": None, "max": None, "abs": 1, "ceil": 1, "floor": 1}


def parse(text: str) -> Expression:
    """The tree of an expression. Raises `ExpressionError` with the column of the first thing that does not fit."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters", MAX_LENGTH)
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if not match:
                column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
                raise ExpressionError(f"`{text[column - 1]}` is not part of an expression", column)
            kind = ("number", "name", "sign")[(match.lastindex or 1) - 1]
            self.tokens.append((kind, match.group(match.lastindex or 0), match.start(match.lastindex or 0) + 1))
            position = match.end()
        self.tokens.append(("end", "", len(text) + 1))
        self.at = 0
        self.depth = 0

    def whole(self) -> Expression:
        tree = self.sum()
        if self.peek()[0] != "end":
            raise ExpressionError(f"`{self.peek()[1]}` is not expected here", self.peek()[2])
        return tree

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.at]

    def take(self) -> tuple[str, str, int]:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def expect(self, sign: str) -> None:
        kind, text, column = self.take()
        if kind == "end" or text != sign:
            raise ExpressionError(f"`{sign}` expected", column)

    def sum(self) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError("nested too deeply", self.peek()[2])
        tree = self.product()
        while self.peek()[1] in ("+", "-"):
            sign = self.take()[1]
            tree = Call(sign, (tree, self.product()))
        self.depth -= 1
        return tree

    def product(self) -> Expression:
        tree = self.atom()
        while self.peek()[1] in ("*", "/"):
            sign = self.take()[1]
            tree = Call(sign, (tree, self.atom()))
        return tree

    def atom(self) -> Expression:
        kind, text, column = self.take()
        if kind == "number":
            if not math.isfinite(float(text)):
                raise ExpressionError(f"`{text}` is too large for a number", column)
            return Number(float(text))
        if text == "-":
            return Call("neg", (self.atom(),))
        if text == "(":
            tree = self.sum()
            self.expect(")")
            return tree
        if kind != "name":
            raise ExpressionError("a number, a fact or `(` expected", column)
        return self.call(text, column) if self.peek()[1] == "(" else FactValue(FactRef(text))

    def call(self, name: str, column: int) -> Expression:
        self.expect("(")
        arguments = [self.sum()]
        while self.peek()[1] == ",":
            self.take()
            arguments.append(self.sum())
        self.expect(")")
        if name.endswith("_over"):
            return self.aggregate(name, arguments, column)
        if name not in _FUNCTIONS:
            raise ExpressionError(f"`{name}` is no function; there are {', '.join(_FUNCTIONS)} and max_over, …", column)
        if _FUNCTIONS[name] not in (None, len(arguments)):
            raise ExpressionError(f"`{name}` takes one argument", column)
        return Call(name, tuple(arguments))

    def aggregate(self, name: str, arguments: Sequence[Expression], column: int) -> Expression:
        kinds = {over.value for over in Over}
        kind = name.removesuffix("_over")
        if kind not in kinds or len(arguments) != 1 or not isinstance(arguments[0], FactValue):
            raise ExpressionError(f"`{name}` is no aggregate of one fact", column)
        return FactValue(FactRef(arguments[0].ref.fact, Over(kind)))


def references(tree: Expression) -> Iterator[FactRef]:
    """All facts an expression reads."""
    if isinstance(tree, FactValue):
        yield tree.ref
    elif isinstance(tree, Call):
        for argument in tree.arguments:
            yield from references(argument)


def evaluate(tree: Expression, value_of: Callable[[FactRef], float | None]) -> float | None:
    """The value, or None where a fact is unknown, a divisor is zero or the result is not finite."""
    if isinstance(tree, Number):
        return tree.value
    if isinstance(tree, FactValue):
        return value_of(tree.ref)
    arguments: list[float] = []
    for argument in tree.arguments:
        value = evaluate(argument, value_of)
        if value is None:
            return None
        arguments.append(value)
    try:
        result = _APPLY[tree.name](arguments)
    except (ZeroDivisionError, OverflowError):
        return None
    return result if math.isfinite(result) else None


_APPLY: dict[str, Callable[[list[float]], float]] = {
    "+": lambda a: a[0] + a[1],
    "-": lambda a: a[0] - a[1],
    "*": lambda a: a[0] * a[1],
    "/": lambda a: a[0] / a[1],
    "neg": lambda a: -a[0],
    "min": min,
    "max": max,
    "abs": lambda a: abs(a[0]),
    "ceil": lambda a: float(math.ceil(a[0])),
    "floor": lambda a: float(math.floor(a[0])),
}


def dimension(tree: Expression, of_fact: Callable[[FactRef], Dimension]) -> Dimension:
    """The dimension of an expression. Raises `ExpressionError` where quantities that do not fit are added."""
    if isinstance(tree, Number):
        return DIMENSIONLESS
    if isinstance(tree, FactValue):
        return of_fact(tree.ref)
    parts = [(argument, dimension(argument, of_fact)) for argument in tree.arguments]
    if tree.name in ("*", "/"):
        return _product(parts[0][1], parts[1][1], 1 if tree.name == "*" else -1)
    wanted = {one for argument, one in parts if not (isinstance(argument, Number) and argument.value == 0)}
    if len(wanted) > 1:
        raise ExpressionError(f"`{tree.name}` joins quantities of different units", 1)
    return wanted.pop() if wanted else DIMENSIONLESS


def _product(left: Dimension, right: Dimension, sign: int) -> Dimension:
    powers = dict(left)
    for base, power in right:
        powers[base] = powers.get(base, 0) + sign * power
    return tuple(sorted((base, power) for base, power in powers.items() if power))


def refs_of(tree: Condition | Expression | None) -> list[FactRef]:
    """All facts that a condition or a formula reads; none for None."""
    if tree is None:
        return []
    if isinstance(tree, (Number, FactValue, Call)):
        return list(references(tree))
    return list(conditions.references(tree))
