"""What the catalogue knows of the rows of a table: looked up once for each combination of names, versions or codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuwhy.engine.sheet import Sheet
from gpuwhy.engine.sheet_nodes import Node
from gpuwhy.engine.sheet_values import (
    CONSTANT,
    OF_HOSTS,
    OF_ROWS,
    UNKNOWN,
    Value,
    as_series,
    column,
    constant,
    dtype_of,
)
from gpuwhy.kb.records import dataclass

_MOST_CODES = 1 << 16


@dataclass(frozen=True)
class Following:
    """Facts of these kinds that follow from the values of key columns: `describe` gives them for one combination."""

    keys: Sequence[str]
    kinds: Mapping[str, type]
    describe: Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Lookup:
    """The facts that follow from the values of key columns, in each row of a sheet."""

    def __init__(self, sheet: Sheet, following: Following) -> None:
        self._sheet = sheet
        self._following = following
        self._read = [sheet.col(key) for key in following.keys]
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
        return column(self._level, polars.Series(table, dtype=dtype_of(kind))[self._codes])

    def _code(self) -> None:
        """Numbers the combinations of key values: one number for a host where its rows do not differ."""
        import polars

        values = [self._of_hosts(self._sheet.evaluate(node)) for node in self._read]
        level = self._level = max(one.level for one in values)
        size = {CONSTANT: 1, OF_HOSTS: self._sheet.groups.count, OF_ROWS: len(self._frame)}[level]
        codes = polars.zeros(size, dtype=polars.UInt32, eager=True)
        columns = []
        for value, node in zip(values, self._read, strict=True):
            columns.append(self._sheet.at(level, value) if value.level else as_series(value.data, node.kind))
            if value.level:
                one = _codes_of(value.data)
                one = self._sheet.groups.spread(one) if value.level != level else one
                codes = codes * (int(one.max()) + 1) + one
                if int(codes.max()) >= _MOST_CODES:
                    codes = codes.rank("dense") - 1
        at = codes.arg_unique()
        keys = [(one[at] if len(one) > 1 else one).to_list() for one in columns]
        keys = [one * len(at) if len(one) < len(at) else one for one in keys]
        self._rows = {number: self._row(key) for number, *key in zip(codes[at].to_list(), *keys, strict=True)}
        self._codes = codes

    def _of_hosts(self, value: Value) -> Value:
        """The value with one for each host, where the rows of every host have the same."""
        if value.level != OF_ROWS or value.data.null_count():
            return value
        first = self._sheet.groups.first(value.data)
        same = self._sheet.groups.spread(first) == value.data
        return Value(OF_HOSTS, first) if same.all() else value

    def _row(self, key: Sequence[Any]) -> Mapping[str, Any]:
        whole = tuple(key)
        if whole not in self._described:
            self._described[whole] = self._following.describe(dict(zip(self._following.keys, whole, strict=True)))
        return self._described[whole]


def _codes_of(series: Any) -> Any:
    """A number for each value; 0 where there is none. Those that have one are often few."""
    import polars

    there = series.is_not_null()
    words = series.filter(there) if series.null_count() else series
    words = words if words.dtype == polars.String else words.cast(polars.String)
    codes = words.rank("dense").cast(polars.UInt32)
    if not series.null_count():
        return codes
    return polars.zeros(len(series), dtype=polars.UInt32, eager=True).scatter(there.arg_true(), codes)


class Looked(Node):
    """A fact of a lookup; `detail` is the lookup and the name."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The fact in each row."""
        del values
        lookup, name = self.detail
        found: Value = lookup.value(name, self.kind)
        return found


def bind(sheet: Sheet, following: Following) -> Lookup:
    """Names the facts that follow, and gives what looks them up; what a table says of itself comes first."""
    lookup = Lookup(sheet, following)
    for name in sorted(following.kinds):
        found = sheet.node(Looked, (), (lookup, name), following.kinds[name])
        sheet.bind({name: sheet.first_known(sheet.col(name), found) if name in sheet.names else found})
    return lookup
