"""The nodes of a sheet. Each computes its value from those of its arguments, or names the argument that it lacks."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gpuwhy.engine.sheet_values import (
    CONSTANT,
    FALSE,
    TRUE,
    UNKNOWN,
    Value,
    as_series,
    column,
    constant,
    dtype_of,
    every,
    finite,
    some,
    truth,
)

if TYPE_CHECKING:
    from gpuwhy.engine.sheet import Sheet

Known = list["Value | None"]
"""What nodes have come to, by their numbers."""


class Node:
    """An expression. Operators make further ones, as those of Narwhals do."""

    __slots__ = ("arguments", "detail", "kind", "number", "sheet")

    def __init__(self, sheet: Sheet, number: int, arguments: tuple[Node, ...], detail: Any, kind: type) -> None:
        self.sheet = sheet
        self.number = number
        self.arguments = arguments
        self.detail = detail
        self.kind = kind

    def run(self, known: Known) -> Value | Node:
        """The value; or the argument that is to be known first."""
        found = []
        for one in self.arguments:
            value = known[one.number]
            if value is None:
                return one
            found.append(value)
        return self.of(found)

    def of(self, values: list[Value]) -> Value:
        """The value for these of its arguments."""
        raise NotImplementedError

    def _with(self, how: str, other: Any, kind: type) -> Node:
        right = other if isinstance(other, Node) else self.sheet.lit(float(other) if self.kind is float else other)
        return self.sheet.node(Compare if kind is bool else Arithmetic, (self, right), how, kind)

    def __lt__(self, other: Any) -> Node:
        return self._with("lt", other, bool)

    def __le__(self, other: Any) -> Node:
        return self._with("le", other, bool)

    def __gt__(self, other: Any) -> Node:
        return self._with("gt", other, bool)

    def __ge__(self, other: Any) -> Node:
        return self._with("ge", other, bool)

    def __eq__(self, other: Any) -> Node:  # type: ignore[override]
        return self._with("eq", other, bool)

    def __ne__(self, other: Any) -> Node:  # type: ignore[override]
        return self._with("ne", other, bool)

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Node:
        return self._with("add", other, self.kind)

    def __sub__(self, other: Any) -> Node:
        return self._with("sub", other, self.kind)

    def __mul__(self, other: Any) -> Node:
        return self._with("mul", other, self.kind)

    def __truediv__(self, other: Any) -> Node:
        return self._with("truediv", other, self.kind)

    def __and__(self, other: Node) -> Node:
        return self.sheet.every((self, other))

    def __or__(self, other: Node) -> Node:
        return self.sheet.some((self, other))

    def __invert__(self) -> Node:
        return self.sheet.node(Opposite, (self,), None, bool)

    def _rounded(self, how: str) -> Node:
        return self.sheet.node(Rounded, (self,), how, float)

    def abs(self) -> Node:
        """The number without its sign."""
        return self._rounded("abs")

    def ceil(self) -> Node:
        """The next whole number above."""
        return self._rounded("ceil")

    def floor(self) -> Node:
        """The next whole number below."""
        return self._rounded("floor")


class Constant(Node):
    """One value."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The constant."""
        del values
        return constant(self.detail)


class Source(Node):
    """A column of the frame, by name."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """What was loaded."""
        del values
        return self.sheet.source(self.detail)


class Every(Node):
    """All of the parts. One that is false decides, and the others are not asked for."""

    __slots__ = ()
    decides = FALSE
    joined = staticmethod(every)

    def run(self, known: Known) -> Value | Node:
        """The value; or the part that is to be known first."""
        found = []
        unknown = False
        for one in self.arguments:
            value = known[one.number]
            if value is None:
                return one
            if value is self.decides:
                return value
            if value is UNKNOWN:
                unknown = True
            elif value.level != CONSTANT:
                found.append(value)
        if not found:
            return UNKNOWN if unknown else TRUE if self.decides is FALSE else FALSE
        return self._series(found, unknown)

    def _series(self, found: list[Value], unknown: bool) -> Value:
        if len(found) == 1 and not unknown:
            return found[0]
        level = max(one.level for one in found)
        parts = [Value(level, self.sheet.at(level, one)) for one in found]
        return self.joined([*parts, UNKNOWN] if unknown else parts)


class Some(Every):
    """Any of the parts. One that is true decides."""

    __slots__ = ()
    decides = TRUE
    joined = staticmethod(some)


class Opposite(Node):
    """True where it is false."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The opposite; of what is unknown, unknown."""
        (value,) = values
        if value.level == CONSTANT:
            return constant(None if value.data is None else not value.data)
        return Value(value.level, ~value.data)


class HasValue(Node):
    """True where there is a value."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """True or false, never unknown."""
        (value,) = values
        if value.level == CONSTANT:
            return FALSE if value.data is None else TRUE
        return TRUE if not value.data.null_count() else truth(value.level, value.data.is_not_null())


class Sure(Node):
    """True where it is true, else false."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """True or false, never unknown."""
        (value,) = values
        if value.level == CONSTANT:
            return TRUE if value.data is True else FALSE
        if not value.data.null_count():
            return value
        return truth(value.level, value.data.zip_with(value.data, as_series(False, bool)))


def _divided(left: Any, right: Any) -> Any:
    return None if right == 0 else left / right


_CONSTANTS: Mapping[str, Callable[[Any, Any], Any]] = {"truediv": _divided}


class Binary(Node):
    """Two values by an operator; unknown where one of them is."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The operator applied."""
        left, right = values
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        level = max(left.level, right.level)
        if level == CONSTANT:
            return constant(_CONSTANTS.get(self.detail, getattr(operator, self.detail))(left.data, right.data))
        first, second = self.sheet.at(level, left), self.sheet.at(level, right)
        if left.level == CONSTANT:
            first = as_series(first, self.arguments[0].kind)
        return self.made(level, getattr(operator, self.detail)(first, second))

    def made(self, level: int, series: Any) -> Value:
        """The value that a column is."""
        raise NotImplementedError


class Compare(Binary):
    """A comparison."""

    __slots__ = ()

    def made(self, level: int, series: Any) -> Value:
        """A truth."""
        return truth(level, series)


class Arithmetic(Binary):
    """A sum, a difference, a product or a quotient."""

    __slots__ = ()

    def made(self, level: int, series: Any) -> Value:
        """A number."""
        return column(level, series)


class Rounded(Node):
    """A number without its sign, or the whole number next to it."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The number."""
        (value,) = values
        if value.level:
            return Value(value.level, getattr(value.data, self.detail)())
        if value.data is None:
            return UNKNOWN
        rounding: Mapping[str, Callable[[float], float]] = {"abs": abs, "ceil": math.ceil, "floor": math.floor}
        return constant(float(rounding[self.detail](value.data)))


class Number(Node):
    """A truth as 1 or 0."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The number."""
        (value,) = values
        if value.level:
            return Value(value.level, value.data.cast(dtype_of(float)))
        return UNKNOWN if value.data is None else constant(float(value.data))


class Finite(Node):
    """A number where it is finite."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The number, or unknown."""
        (value,) = values
        if value.level:
            return column(value.level, finite(value.data))
        return value if value.data is not None and math.isfinite(value.data) else UNKNOWN


class Choose(Node):
    """One value where a condition is true, another elsewhere. Only what some row takes is asked for."""

    __slots__ = ()

    def run(self, known: Known) -> Value | Node:
        """The value; or the argument that is to be known first."""
        condition, yes, no = self.arguments
        decided = known[condition.number]
        if decided is None:
            return condition
        if decided.level == CONSTANT:
            taken = yes if decided is TRUE else no
            return known[taken.number] or taken
        values = known[yes.number], known[no.number]
        if values[0] is None or values[1] is None:
            return yes if values[0] is None else no
        return self._joined(decided, values[0], values[1])

    def _joined(self, decided: Value, yes: Value, no: Value) -> Value:
        level = max(decided.level, yes.level, no.level)
        mask, first, second = (self.sheet.at(level, one) for one in (decided, yes, no))
        first = first if yes.level else as_series(first, self.kind)
        second = second if no.level else as_series(second, self.kind)
        return column(level, first.zip_with(mask, second))


class FirstKnown(Node):
    """A value, or another where it is unknown."""

    __slots__ = ()

    def run(self, known: Known) -> Value | Node:
        """The value; or the argument that is to be known first."""
        value, other = (known[one.number] for one in self.arguments)
        if value is None:
            return self.arguments[0]
        if value.level == CONSTANT and value.data is not None:
            return value
        if value.level and not value.data.null_count():
            return value
        if other is None:
            return self.arguments[1]
        return other if value is UNKNOWN else self._filled(value, other)

    def _filled(self, value: Value, other: Value) -> Value:
        if other is UNKNOWN:
            return value
        level = max(value.level, other.level)
        first, second = self.sheet.at(level, value), self.sheet.at(level, other)
        second = second if other.level else as_series(second, self.kind)
        return column(level, first.zip_with(first.is_not_null(), second))


class Extreme(Node):
    """The least or the greatest of the values that are known."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The extreme; unknown where none is known."""
        there = [one for one in values if one is not UNKNOWN]
        if not there:
            return UNKNOWN
        level = max(one.level for one in there)
        pick = min if self.detail == "min" else max
        fixed = [one.data for one in there if one.level == CONSTANT]
        if level == CONSTANT:
            return constant(pick(fixed))
        columns = [self.sheet.at(level, one) for one in there if one.level != CONSTANT]
        made = columns.pop()
        for one in [*columns, *([as_series(pick(fixed), self.kind)] if fixed else [])]:
            first = made <= one if self.detail == "min" else made >= one
            if one.null_count():
                first = first | one.is_null()
            made = made.zip_with(first, one)  # where this is unknown there is nothing yet, and the other is taken
        return column(level, made)
