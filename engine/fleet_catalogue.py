"""What the catalogue knows of the rows of a table: looked up once for each combination of names, versions or codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpuwhy.engine.sheet import Sheet
from gpuwhy.engine.sheet_nodes import Node
from gpuwhy.engine.sheet_values import CONSTANT, OF_HOSTS, OF_ROWS, UNKNOWN, Value, column, constant, dtype_of

_MOST_CODES = 1 << 16


class Lookup:
    """Facts that follow from the values of key columns. `describe` gives them for one combination of values."""

    def __init__(self, sheet: Sheet, keys: Sequence[str], describe: Callable[[Mapping[str, Any]], Mapping[str, Any]]):
        self._sheet = sheet
        self._keys = keys
        self._describe = describe
        self._described: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        self._frame: Any = None
        self._level = CONSTANT
        self._codes: Any = None
        self._rows: dict[int, Mapping[str, Any]] = {}

    def load(self, frame: Any) -> None:
        """Other rows."""
        self._frame, self._codes = frame, None

    def value(self, name: str, kind: type) -> Value:
        """A fact in each row."""
        import polars

        if self._codes is None:
            self._code()
        found = {code: row.get(name) for code, row in self._rows.items()}
        distinct = set(found.values())
        if len(distinct) < 2:
            return constant(distinct.pop()) if distinct else UNKNOWN
        table = [found.get(code) for code in range(max(found) + 1)]
        return column(self._level, polars.Series(table, dtype=dtype_of(kind)).gather(self._codes))

    def _code(self) -> None:
        """Numbers the combinations of key values; one number for a host where its rows do not differ."""
        import polars

        groups = self._sheet.groups
        codes = polars.zeros(len(self._frame), dtype=polars.UInt64, eager=True)
        for key in self._keys:
            one = _codes_of(self._frame.get_column(key))
            codes = codes * (int(one.max() or 0) + 1) + one
            if int(codes.max() or 0) >= _MOST_CODES:
                codes = codes.rank("dense").cast(polars.UInt64) - 1
        self._level, first = OF_ROWS, groups.first(codes)
        if (groups.spread(first) == codes).all():
            self._level, codes = OF_HOSTS, first
        at = codes.arg_unique()
        rows = at if self._level == OF_ROWS else groups.first(polars.int_range(len(self._frame), eager=True)).gather(at)
        keys = [self._frame.get_column(key).gather(rows).to_list() for key in self._keys]
        numbers = codes.gather(at).to_list()
        self._rows = {number: self._row(key) for number, *key in zip(numbers, *keys, strict=True)}
        self._codes = codes

    def _row(self, key: Sequence[Any]) -> Mapping[str, Any]:
        whole = tuple(key)
        if whole not in self._described:
            self._described[whole] = self._describe(dict(zip(self._keys, whole, strict=True)))
        return self._described[whole]


def _codes_of(series: Any) -> Any:
    """A number for each value; 0 where there is none."""
    import polars

    if series.null_count() == len(series):
        return polars.Series([0], dtype=polars.UInt64)
    words = series if series.dtype == polars.String else series.cast(polars.String)
    if not words.null_count() and (words == words[0]).all():
        return polars.Series([0], dtype=polars.UInt64)
    return (words.cast(polars.Categorical).to_physical().cast(polars.UInt64) + 1).fill_null(0)


class Looked(Node):
    """A fact of a lookup; `detail` is the lookup and the name."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The fact in each row."""
        del values
        lookup, name = self.detail
        found: Value = lookup.value(name, self.kind)
        return found


def bind(sheet: Sheet, lookup: Lookup, names: Iterable[str], kinds: Mapping[str, type]) -> None:
    """Names the facts of a lookup; what a table says of itself comes first."""
    for name in names:
        found = sheet.node(Looked, (), (lookup, name), kinds[name])
        sheet.bind({name: sheet.first_known(sheet.col(name), found) if name in sheet.names else found})
