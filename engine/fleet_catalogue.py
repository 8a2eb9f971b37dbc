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
    """The facts that follow from the values of key columns. `describe` is asked once for each combination, ever."""

    def __init__(self, following: Following) -> None:
        self.following = following
        self._described: dict[tuple[Any, ...], Mapping[str, Any]] = {}

    def row(self, key: Sequence[Any]) -> Mapping[str, Any]:
        """The facts for one combination."""
        whole = tuple(key)
        found = self._described.get(whole)
        if found is None:
            found = self.following.describe(dict(zip(self.following.keys, whole, strict=True)))
            self._described[whole] = found
        return found


class Found:
    """The facts of a lookup in each row of a sheet: `codes` number the combinations that are there."""

    def __init__(self, sheet: Sheet, lookup: Lookup, read: Sequence[Node]) -> None:
        import polars

        keys = [_numbered(sheet, node) for node in read]
        self._level = max(one.level for one in keys)
        codes = _combined(sheet, self._level, [one for one in keys if one.level])
        self._codes, self._most, others = codes, int(codes[0]) if len(codes) else 0, codes != codes[0]
        self._others = others.arg_true() if 8 * int(others.sum()) < len(codes) else None
        if self._others is None:
            at = codes.arg_unique()
        else:  # most rows have the first combination
            rest = self._others[codes[self._others].arg_unique()]
            at = polars.concat([polars.Series([0], dtype=rest.dtype), rest])
        told = [self._told(sheet, one, at) for one in keys]
        self._rows = {number: lookup.row(key) for number, *key in zip(codes[at].to_list(), *told, strict=True)}

    def value(self, name: str, kind: type) -> Value:
        """A fact in each row."""
        import polars

        found = {code: row.get(name) for code, row in self._rows.items()}
        distinct = set(found.values())
        if len(distinct) < 2:
            return constant(distinct.pop()) if distinct else UNKNOWN
        table = polars.Series([found.get(code) for code in range(max(found) + 1)], dtype=dtype_of(kind))
        if self._others is None:
            return column(self._level, table[self._codes])
        whole = as_series(found[self._most], kind).new_from_index(0, len(self._codes))
        return column(self._level, whole.scatter(self._others, table[self._codes[self._others]]))

    def _told(self, sheet: Sheet, one: Numbered, at: Any) -> list[Any]:
        """The values of a key column in these places."""
        if not one.level:
            return [one.data] * len(at)
        values: list[Any] = sheet.at(self._level, Value(one.level, one.data))[at].to_list()
        return values


class Numbered:
    """A key column with a number for each of its values, 0 where there is none; `most` is the greatest number."""

    __slots__ = ("codes", "data", "level", "most")

    def __init__(self, level: int, data: Any, codes: Any) -> None:
        self.level = level
        self.data = data
        self.codes = codes
        self.most = int(codes.max()) if level else 0


def _combined(sheet: Sheet, level: int, keys: Sequence[Numbered]) -> Any:
    """A number for each combination of these keys that there is."""
    import polars

    if not keys:
        return polars.Series([0], dtype=polars.UInt32).new_from_index(0, sheet.size(level))
    codes: Any = None
    for one in keys:
        own = sheet.at(level, Value(one.level, one.codes))
        codes = own if codes is None else codes.cast(polars.UInt64) * (one.most + 1) + own
        if int(codes.max() or 0) >= _MOST_CODES:
            codes = codes.rank("dense").cast(polars.UInt64) - 1
    return codes.cast(polars.UInt32)


def _numbered(sheet: Sheet, node: Node) -> Numbered:
    """The numbers of a key column: one for each host where its rows do not differ. Counted once for all lookups."""
    found = sheet.notes.get(node.number)
    if found is None:
        value = sheet.evaluate(node)
        found = sheet.notes[node.number] = _counted(sheet, value)
    return found


def _counted(sheet: Sheet, value: Value) -> Numbered:
    level, data = value.level, value.data
    if level == CONSTANT:
        return Numbered(level, data, None)
    if level == OF_ROWS and not data.null_count():
        first = sheet.groups.first(data)
        if (sheet.groups.spread(first) == data).all():
            level, data = OF_HOSTS, first
    return Numbered(level, data, _codes_of(data))


def _codes_of(series: Any) -> Any:
    """A number for each value; 0 where there is none. Those that have one are often few."""
    import polars

    there = series.is_not_null()
    words = series.filter(there) if series.null_count() else series
    if words.dtype == polars.String:
        codes = words.cast(polars.Categorical).to_physical().cast(polars.UInt32) + 1
    else:
        codes = words.cast(polars.String).rank("dense").cast(polars.UInt32)
    if not series.null_count():
        return codes
    none = polars.Series([0], dtype=polars.UInt32).new_from_index(0, len(series))
    return none.scatter(there.arg_true(), codes)


class Looked(Node):
    """A fact of a lookup; `detail` is the lookup, the nodes of its keys by number, and the name of the fact."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """The fact in each row."""
        del values
        lookup, keys, name = self.detail
        found = self.sheet.notes.get(lookup)
        if found is None:
            found = Found(self.sheet, lookup, [self.sheet.numbered(number) for number in keys])
            self.sheet.notes[lookup] = found
        value: Value = found.value(name, self.kind)
        return value


def bind(sheet: Sheet, following: Following) -> None:
    """Names the facts that follow, looked up as needed; what a table says of itself comes first."""
    lookup, keys = Lookup(following), tuple(sheet.col(key).number for key in following.keys)
    for name in sorted(following.kinds):
        found = sheet.node(Looked, (), (lookup, keys, name), following.kinds[name])
        sheet.bind({name: sheet.first_known(sheet.col(name), found) if name in sheet.names else found})
