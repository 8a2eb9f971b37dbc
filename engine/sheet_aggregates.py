"""The nodes of a sheet that look at several rows: aggregates over hosts, and over rows with equal keys."""

from __future__ import annotations

from gpuwhy.engine.sheet_nodes import Known, Node
from gpuwhy.engine.sheet_values import (
    CONSTANT,
    FALSE,
    OF_HOSTS,
    OF_ROWS,
    TRUE,
    UNKNOWN,
    Value,
    as_series,
    column,
    constant,
    dtype_of,
    settled,
    truth,
)


class OverHost(Node):
    """An aggregate over the rows of a host."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """One value for each host."""
        (value,) = values
        groups, how = self.sheet.groups, self.detail
        if value is UNKNOWN:
            return constant(0.0) if how == "count" else UNKNOWN
        if how == "count" and (value.level == CONSTANT or not value.data.null_count()):
            return settled(OF_HOSTS, groups.sizes)
        if value.level == OF_ROWS:
            return settled(OF_HOSTS, groups.over(how, value.data))
        if how == "count":
            return settled(OF_HOSTS, (groups.sizes * value.data.is_not_null()).cast(dtype_of(float)))
        if how == "sum":
            return settled(OF_HOSTS, groups.sizes * value.data)
        return value


class OfOnlyRow(Node):
    """The value in the only row of a host."""

    __slots__ = ()

    def of(self, values: list[Value]) -> Value:
        """One value for each host, unknown where it has several rows."""
        (value,) = values
        groups = self.sheet.groups
        alone = truth(OF_HOSTS, groups.sizes == 1.0)
        if alone is FALSE or value is UNKNOWN:
            return UNKNOWN
        first = groups.first(value.data) if value.level == OF_ROWS else value.data
        first = first if value.level else as_series(first, self.kind)
        if alone is TRUE:
            return Value(OF_HOSTS, first) if value.level else value
        return column(OF_HOSTS, first.zip_with(alone.data, as_series(None, self.kind)))


class Over(Node):
    """An aggregate over rows with equal keys, wherever they stand."""

    __slots__ = ()

    def run(self, known: Known) -> Value | Node:
        """The value; or the argument that is to be known first."""
        first = known[self.arguments[0].number]
        if first is UNKNOWN:
            return constant(0.0) if self.detail == "count" else UNKNOWN
        return super().run(known)

    def of(self, values: list[Value]) -> Value:
        """The aggregate of its group, in each row."""
        import polars

        pairs = zip(values, self.arguments, strict=True)
        frame = polars.DataFrame(
            [self.sheet.full(one, node.kind).alias(str(at)) for at, (one, node) in enumerate(pairs)]
        )
        value, keys = polars.col("0"), [str(at) for at in range(1, len(values))]
        made = getattr(value if self.detail in ("count", "max", "min") else value.drop_nulls(), self.detail)().over(
            keys
        )
        series = frame.select(made).to_series()
        return column(OF_ROWS, series.cast(dtype_of(float)) if self.detail == "count" else series)
