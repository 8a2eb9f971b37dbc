"""What a node of a sheet comes to: one value for all rows, a column with a value for each host, or for each row.

A column that holds one value throughout becomes that value, so that whatever rests on it is decided once and not for
every row. Unknown is None, and null in a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

CONSTANT, OF_HOSTS, OF_ROWS = 0, 1, 2


class Value:
    """A value of a level: of one value, `data` is it; otherwise a Polars series."""

    __slots__ = ("data", "level")

    def __init__(self, level: int, data: Any) -> None:
        self.level = level
        self.data = data


TRUE: Final = Value(CONSTANT, True)
FALSE: Final = Value(CONSTANT, False)
UNKNOWN: Final = Value(CONSTANT, None)


def constant(data: Any) -> Value:
    """The value of a constant. Truth values are always the same three objects."""
    if data is None:
        return UNKNOWN
    if isinstance(data, bool):
        return TRUE if data else FALSE
    return Value(CONSTANT, data)


_GLANCE = 64
"""How many values are looked at first, as most columns that vary do so early."""


def truth(level: int, series: Any) -> Value:
    """A boolean column, or the constant that it is."""
    nulls = series.null_count()
    if nulls == len(series):
        return UNKNOWN
    if nulls == 0:
        if series.all():
            return TRUE
        if not series.any():
            return FALSE
    return Value(level, series)


def column(level: int, series: Any) -> Value:
    """A column of anything, or the constant that it is where that shows at once."""
    import polars

    if series.dtype == polars.Boolean:
        return truth(level, series)
    if series.null_count() == len(series):
        return UNKNOWN
    if series.dtype == polars.Int8 and series.null_count() == 0 and series.min() == series.max():
        return constant(series[0])
    return Value(level, series)


def settled(level: int, series: Any) -> Value:
    """A column as it was read, or the constant that it is: looked for in every value."""
    made = column(level, series)
    if made.level == CONSTANT or series.null_count():
        return made
    first = series[0]
    same = (series.head(_GLANCE) == first).all() and (series == first).all()
    return constant(first) if same else made


def finite(series: Any) -> Any:
    """The numbers, null where they are not finite. A sum that is finite needs no second look."""
    import math

    import polars

    if math.isfinite(series.sum() or 0.0):
        return series
    return series.zip_with(series.is_finite().fill_null(False), polars.Series([None], dtype=polars.Float64))


def dtype_of(kind: type) -> Any:
    """The type of a column for a kind of values; whole numbers are ranks."""
    import polars

    return {float: polars.Float64, bool: polars.Boolean, str: polars.String, int: polars.Int8}[kind]


def as_series(data: Any, kind: type) -> Any:
    """A column of one row, which Polars repeats as needed."""
    return _of_one_row(type(data).__name__, data, kind.__name__)


@lru_cache(maxsize=4096)
def _of_one_row(type_: str, data: Any, kind: str) -> Any:
    """Made once for each value; by type also, as 1, 1.0 and True are equal."""
    import polars

    del type_
    return polars.Series([data], dtype=dtype_of(_KINDS[kind]))


_KINDS: Mapping[str, type] = {one.__name__: one for one in (float, bool, str, int)}


def every(values: Sequence[Value]) -> Value:
    """True where all are, false where any is; the constants among them are no true or false one."""
    return _joined(values, "__and__")


def some(values: Sequence[Value]) -> Value:
    """True where any is, false where all are; the constants among them are no true or false one."""
    return _joined(values, "__or__")


def _joined(values: Sequence[Value], how: str) -> Value:
    level = max(one.level for one in values)
    made: Any = None
    for one in values:
        data = one.data if one.level else as_series(None, bool)
        made = data if made is None else getattr(made, how)(data)
    return truth(level, made)
