"""A table in memory, and the expressions of the rules over its columns, computed as they are asked for.

The same functions as `narwhals_sheet`, made for judging many portions of one shape: equal expressions are one node,
computed once; a node asks for what it rests on only as long as that can change it; and what is one value in the whole
portion is decided once (`sheet_values`). A portion of a healthy fleet is mostly that.

In a sheet made `by_host`, rows of one host stand together, and values that belong to the host are held once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from gpuwhy.engine import sheet_aggregates as aggregates
from gpuwhy.engine import sheet_nodes as nodes
from gpuwhy.engine.sheet_groups import Groups
from gpuwhy.engine.sheet_nodes import Node
from gpuwhy.engine.sheet_values import CONSTANT, OF_HOSTS, OF_ROWS, Value, as_series, dtype_of, finite, settled

_KINDS = (float, bool, str)


class Sheet:
    """Named expressions over a Polars frame; `twin` gives the same over other rows of the same columns.

    `by_host`: the column that names the host, where rows of one host stand together. `of_host` tells which columns
    hold the same in all rows of a host. `notes`: what else was found about nodes, by their numbers, for these rows.
    """

    def __init__(self, frame: Any, by_host: str = "", of_host: Callable[[str], bool] = lambda _: False) -> None:
        self._dtypes = dict(frame.schema)
        self._by_host = by_host
        self._of_host = of_host
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._nodes: list[Node] = []
        self._known: nodes.Known = []
        self._named: dict[str, Node] = {}
        self._bound: set[str] = set()
        for name in self._dtypes:
            kind = self.kind(name)
            self._named[name] = self.node(nodes.Source, (), name, kind if kind in _KINDS else float)
        self.load(frame)

    def load(self, frame: Any) -> None:
        """Takes other rows of the same columns in place of those it has, and lets go of all that was computed."""
        self._frame = frame
        self._groups: Groups | None = None
        self.forget()

    def forget(self) -> None:
        """Lets go of all that was computed; it is computed again where it is asked for."""
        self._known = [None] * len(self._nodes)
        self.notes: dict[Any, Any] = {}

    def twin(self, frame: Any) -> Sheet:
        """A sheet with the same expressions over other rows of the same columns, which another thread may compute."""
        made = object.__new__(Sheet)
        made.__dict__.update(self.__dict__)
        copied: list[Node] = []
        made._nodes = copied
        for one in self._nodes:
            arguments = tuple([copied[each.number] for each in one.arguments])
            copied.append(type(one)(made, one.number, arguments, one.detail, one.kind))
        made._numbers, made._bound = dict(self._numbers), set(self._bound)
        made._named = {name: copied[one.number] for name, one in self._named.items()}
        made.load(frame)
        return made

    def numbered(self, number: int) -> Node:
        """A node by its number: the same in all twins."""
        return self._nodes[number]

    def size(self, level: int) -> int:
        """How many values a column of a level has."""
        return {CONSTANT: 1, OF_HOSTS: self.groups.count, OF_ROWS: len(self._frame)}[level]

    @property
    def names(self) -> Collection[str]:
        """Everything that has a name."""
        return self._named.keys()

    @property
    def groups(self) -> Groups:
        """Which rows are of one host, in a sheet made `by_host`."""
        if self._groups is None:
            self._groups = Groups(self._frame.get_column(self._by_host))
        return self._groups

    def kind(self, name: str) -> type:
        """The kind of the values of a column: float, bool, str; NoneType where it has none, `object` for others."""
        import polars

        dtype = self._dtypes[name]
        if dtype.is_numeric():
            return float
        known: Mapping[Any, type] = {polars.Boolean: bool, polars.String: str, polars.Null: type(None)}
        return known.get(dtype, object)

    def type_says(self, name: str) -> str:
        """The type of a column in the words of Polars."""
        return str(self._dtypes[name])

    def node(self, make: type[Node], arguments: Sequence[Node], detail: Any, kind: type) -> Node:
        """The node of this kind over these, made if there is none."""
        key = (make, *[one.number for one in arguments], type(detail), detail, kind)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._nodes)
            self._nodes.append(make(self, number, tuple(arguments), detail, kind))
            self._known.append(None)
        return self._nodes[number]

    def col(self, name: str) -> Node:
        """What is bound to a name now."""
        return self._named[name]

    def lit(self, value: float | bool | str | int) -> Node:
        """A constant; whole numbers are ranks."""
        return self.node(nodes.Constant, (), value, type(value))

    def nothing(self, kind: type) -> Node:
        """Unknown in every row."""
        return self.node(nodes.Constant, (), None, kind)

    def every(self, parts: Iterable[Node]) -> Node:
        """True where every part is, false where any is false, else unknown."""
        return self._join(nodes.Every, parts)

    def some(self, parts: Iterable[Node]) -> Node:
        """True where any part is, false where every part is false, else unknown."""
        return self._join(nodes.Some, parts)

    def _join(self, how: type[Node], parts: Iterable[Node]) -> Node:
        distinct = list({one.number: one for one in parts}.values())
        return distinct[0] if len(distinct) == 1 else self.node(how, distinct, None, bool)

    def choose(self, condition: Node, yes: Node, no: Node | None = None) -> Node:
        """One where the condition is true, else the other: also where it is unknown. Unknown where there is none."""
        other = no if no is not None else self.node(nodes.Constant, (), None, yes.kind)
        return self.node(nodes.Choose, (condition, yes, other), None, yes.kind)

    def known(self, value: Node) -> Node:
        """True where there is a value, else false."""
        return self.node(nodes.HasValue, (value,), None, bool)

    def sure(self, value: Node) -> Node:
        """True where it is true, else false: also where it is unknown."""
        return self.node(nodes.Sure, (value,), None, bool)

    def number(self, value: Node) -> Node:
        """As a number; true is 1."""
        return value if value.kind is float else self.node(nodes.Number, (value,), None, float)

    def finite(self, value: Node) -> Node:
        """The number where it is finite, else unknown."""
        return self.node(nodes.Finite, (value,), None, float)

    def least(self, values: Sequence[Node]) -> Node:
        """The least of those that are known."""
        return self.node(nodes.Extreme, tuple(values), "min", values[0].kind)

    def greatest(self, values: Sequence[Node]) -> Node:
        """The greatest of those that are known."""
        return self.node(nodes.Extreme, tuple(values), "max", values[0].kind)

    def first_known(self, value: Node, other: Node) -> Node:
        """The value, or the other where it is unknown."""
        return self.node(nodes.FirstKnown, (value, other), None, value.kind)

    def over(self, how: str, value: Node, keys: tuple[str, ...]) -> Node:
        """An aggregate (max, min, mean, median, sum, count) over the known values of rows with equal keys."""
        kind = value.kind if how in ("max", "min") else float
        if keys == (self._by_host,):
            return self.node(aggregates.OverHost, (value,), how, kind)
        return self.node(aggregates.Over, (value, *(self.col(one) for one in keys)), how, kind)

    def of_only_row(self, value: Node) -> Node:
        """The value of the only row of a host; unknown where there are several."""
        return self.node(aggregates.OfOnlyRow, (value,), None, value.kind)

    def bind(self, columns: Mapping[str, Node]) -> None:
        """Gives names to expressions; a name that was bound now means the new one."""
        self._named |= columns
        self._bound |= set(columns)

    def drop(self, *names: str) -> None:
        """Forgets names."""
        for one in names:
            del self._named[one]

    def reading(self, name: str) -> Node:
        """A column of numbers as it was read, unknown where they are not finite."""
        return self._named[name]

    def native(self) -> Any:
        """A Polars frame of everything that has a name."""
        import polars

        made = {name: self.whole(name) if name in self._bound else self._frame.get_column(name) for name in self.names}
        return polars.DataFrame(made)

    def whole(self, name: str) -> Any:
        """The column of a name, with a value for each row."""
        return self.full(self.value(name), self._named[name].kind)

    def full(self, value: Value, kind: type) -> Any:
        """A column with a value for each row."""
        if value.level == CONSTANT:
            return as_series(value.data, kind).new_from_index(0, len(self._frame))
        return self.at(OF_ROWS, value)

    def value(self, name: str) -> Value:
        """What a name comes to in the rows that are loaded."""
        return self.evaluate(self._named[name])

    def evaluate(self, node: Node) -> Value:
        """What a node comes to. A node that lacks another names it, and is asked again when that is known."""
        known, waiting = self._known, [node]
        while waiting:
            top = waiting[-1]
            made = known[top.number] or top.run(known)
            if isinstance(made, Node):
                waiting.append(made)
            else:
                known[top.number] = made
                waiting.pop()
        found = known[node.number]
        assert found is not None
        return found

    def source(self, name: str) -> Value:
        """A column of the frame: numbers as doubles, and unknown where they are not finite."""
        series, kind = self._frame.get_column(name), self.kind(name)
        if name == self._by_host:
            return Value(OF_HOSTS, self.groups.names)
        if kind is object or not len(series):
            return Value(OF_ROWS, series)
        level = OF_ROWS
        if self._by_host and self._of_host(name):
            level, series = OF_HOSTS, self.groups.first_known(series)
        return settled(level, finite(series.cast(dtype_of(float))) if kind is float else series)

    def at(self, level: int, value: Value) -> Any:
        """The data of a value for a level: constants as they are, what is of a host for each of its rows."""
        if value.level == OF_HOSTS and level == OF_ROWS:
            return self.groups.spread(value.data)
        return value.data
