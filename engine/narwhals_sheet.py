"""A table of any kind that Narwhals takes, and the expressions of the rules over its columns.

The same functions as `sheet`, for tables that another engine computes: nothing is computed here. Only operations that
Narwhals has for lazy frames too are used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

_KINDS = (float, bool, str)


class NarwhalsSheet:
    """Named expressions over a frame. What they are is told where `sheet.Sheet` has the same functions."""

    def __init__(self, frame: Any) -> None:
        import narwhals

        self._nw = narwhals
        self._frame: Any = narwhals.from_native(frame)
        self._schema = dict(self._frame.collect_schema().items())
        self._names = set(self._schema)
        some = self.col(next(iter(self._schema)))
        never = some.is_null() & ~some.is_null()
        values: dict[type, float | bool | str] = {float: 0.0, bool: False, str: ""}
        # a null literal is not broadcast everywhere: nothing is a column of nulls
        self.bind({f"_no_{kind.__name__}": self.choose(never, self.lit(values[kind])) for kind in _KINDS})

    @property
    def names(self) -> Collection[str]:
        """Everything that has a name."""
        return self._names

    def kind(self, name: str) -> type:
        """The kind of the values of a column: float, bool, str; NoneType where it has none, `object` for others."""
        dtype, nw = self._schema[name], self._nw
        if dtype.is_numeric():
            return float
        known: list[tuple[Any, type]] = [(nw.Boolean, bool), (nw.String, str), (nw.Unknown, type(None))]
        return next((kind for one, kind in known if dtype == one), object)

    def type_says(self, name: str) -> str:
        """The type of a column in the words of Narwhals."""
        return str(self._schema[name])

    def col(self, name: str) -> Any:
        """What is bound to a name now."""
        return self._nw.col(name)

    def lit(self, value: float | bool | str | int) -> Any:
        """A constant."""
        return self._nw.lit(value)

    def nothing(self, kind: type) -> Any:
        """Unknown in every row."""
        return self._nw.col(f"_no_{kind.__name__}")

    def every(self, parts: Iterable[Any]) -> Any:
        """True where every part is, false where any is false, else unknown."""
        return self._nw.all_horizontal(list(parts), ignore_nulls=False)

    def some(self, parts: Iterable[Any]) -> Any:
        """True where any part is, false where every part is false, else unknown."""
        return self._nw.any_horizontal(list(parts), ignore_nulls=False)

    def choose(self, condition: Any, yes: Any, no: Any = None) -> Any:
        """One where the condition is true, else the other. Unknown where there is none."""
        then = self._nw.when(condition).then(yes)
        return then if no is None else then.otherwise(no)

    def known(self, value: Any) -> Any:
        """True where there is a value, else false."""
        return ~value.is_null()

    def sure(self, value: Any) -> Any:
        """True where it is true, else false: also where it is unknown."""
        return value.fill_null(False)

    def number(self, value: Any) -> Any:
        """As a number; true is 1."""
        return value.cast(self._nw.Float64)

    def finite(self, value: Any) -> Any:
        """The number where it is finite, else unknown."""
        return self.choose(value.is_finite(), value)

    def least(self, values: Sequence[Any]) -> Any:
        """The least of those that are known."""
        return self._nw.min_horizontal(*values)

    def greatest(self, values: Sequence[Any]) -> Any:
        """The greatest of those that are known."""
        return self._nw.max_horizontal(*values)

    def first_known(self, value: Any, other: Any) -> Any:
        """The value, or the other where it is unknown."""
        return self._nw.coalesce(value, other)

    def over(self, how: str, value: Any, keys: tuple[str, ...]) -> Any:
        """An aggregate (max, min, mean, median, sum, count) over the known values of rows with equal keys."""
        made = getattr(value, how)().over(*keys)
        return self.number(made) if how == "count" else made

    def of_only_row(self, value: Any) -> Any:
        """The value of the only row of a host; unknown where there are several."""
        if "_only" not in self._names:
            self.bind({"_only": self.over("count", self.col("host"), ("host",)) == 1.0})
        return self.choose(self.col("_only"), value)

    def bind(self, columns: Mapping[str, Any]) -> None:
        """Gives names to expressions; a name that was bound now means the new one."""
        if columns:
            self._frame = self._frame.with_columns(**columns)
            self._names |= set(columns)

    def drop(self, *names: str) -> None:
        """Forgets names."""
        self._frame = self._frame.drop(*names)
        self._names -= set(names)

    def reading(self, name: str) -> Any:
        """A column of numbers as it was read, unknown where they are not finite."""
        return self.finite(self.number(self.col(name)))

    def native(self) -> Any:
        """The frame, of the kind that it was, with everything that has a name."""
        made = [one for one in self._names if one.startswith("_no_") or one == "_only"]
        return self._frame.drop(*made).to_native()
