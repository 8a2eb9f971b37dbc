"""Rows of a frame by host, where the rows of each host stand together: aggregates of hosts, and back to rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gpuwhy.engine.sheet_values import as_series


class Groups:
    """The hosts of a portion. Where all have equally many rows, as in most fleets, their rows are a matrix."""

    def __init__(self, hosts: Any) -> None:
        self._hosts = hosts
        self.ids = hosts.rle_id()
        self.count = int(self.ids[-1]) + 1 if len(hosts) else 0

    @cached_property
    def sizes(self) -> Any:
        """How many rows each host has."""
        import polars

        return self.ids.rle().struct.field("len").cast(polars.Float64)

    @cached_property
    def width(self) -> int:
        """How many rows every host has; 0 where that differs."""
        per_host, rest = divmod(len(self.ids), self.count)
        if rest:
            return 0
        last = self.ids.gather_every(per_host, per_host - 1)
        regular = (last.len() == self.count) and bool((self.ids.gather_every(per_host) == last).all())
        return per_host if regular else 0

    @cached_property
    def _starts(self) -> Any:
        import polars

        return (self.sizes.cum_sum() - self.sizes).cast(polars.UInt32)

    @cached_property
    def names(self) -> Any:
        """The name of each host."""
        return self.first(self._hosts)

    def first(self, series: Any) -> Any:
        """The value in the first row of each host."""
        return series.gather_every(self.width) if self.width else series[self._starts]

    def first_known(self, series: Any) -> Any:
        """The first value of each host that is not null."""
        import polars

        first = self.first(series)
        if not first.null_count() or series.null_count() == len(series):
            return first
        frame = polars.DataFrame({"id": self.ids, "value": series}).drop_nulls()
        found = frame.unique("id", keep="first", maintain_order=True)
        every = polars.DataFrame({"id": polars.int_range(self.count, dtype=self.ids.dtype, eager=True)})
        return every.join(found, on="id", how="left", maintain_order="left").get_column("value")

    def spread(self, series: Any) -> Any:
        """For each row the value of its host."""
        return series if self.width == 1 else series[self.ids]

    def over(self, how: str, series: Any) -> Any:
        """An aggregate over the known values of each host; null where there are none, a count of them is 0."""
        if how in ("mean", "median") and not series.null_count():
            return self._middle(how, series)
        return self._over(how, series)

    def _middle(self, how: str, series: Any) -> Any:
        """A mean or a median: most hosts have one value throughout, and only the others are computed."""
        least, greatest = self._over("min", series), self._over("max", series)
        differ = least != greatest
        if not differ.any():
            return least
        if differ.all():
            return self._over(how, series)
        kept = self.spread(differ)
        if self.width and how == "median":
            found = series.filter(kept).reshape((-1, self.width)).arr.median()
        else:
            found = Groups(self._hosts.filter(kept)).over(how, series.filter(kept))
        return least.scatter(differ.arg_true(), found)

    def _over(self, how: str, series: Any) -> Any:
        import polars

        if (
            self.width
            and how in ("max", "min", "sum", "median")
            and series.dtype.is_numeric()
            and not series.null_count()
        ):
            return getattr(series.reshape((self.count, self.width)).arr, how)()
        kept = polars.col("value") if how in ("max", "min", "count") else polars.col("value").drop_nulls()
        frame = polars.DataFrame({"id": self.ids.set_sorted(), "value": series})
        found = frame.group_by("id", maintain_order=True).agg(getattr(kept, how)()).get_column("value")
        return found.cast(polars.Float64) if how == "count" else found

    def number(self, series: Any) -> int:
        """Of how many hosts a row is true."""
        return int(self.ids.filter(series).set_sorted().n_unique())

    def some(self, series: Any) -> Any:
        """True for hosts of which a row is true."""
        marked = self.ids.filter(series).unique()
        none = as_series(False, bool).new_from_index(0, self.count)
        return none.scatter(marked, True) if len(marked) else none
