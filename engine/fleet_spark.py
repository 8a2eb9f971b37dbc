"""A table of GPUs on a Spark cluster: its rows with those of a host together, and the readings that are compared.

The cluster reads and sorts; the rules are judged in its workers, by the same code as on one machine.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

from gpuwhy.engine.fleet_peers import DEVICE_NAME, MACHINE, compared, medians_of
from gpuwhy.engine.fleet_table import NAME, ORDER
from gpuwhy.engine.peers import AT_WORK, QUANTITIES, UTILIZATION, Medians, Member
from gpuwhy.kb.model import KnowledgeBase


class SparkTable:
    """A table of GPUs as a DataFrame of PySpark. `columns`: those that the rules read, the host first.

    In it they are named by their places: Spark takes a dot in a name for a field of a structure.
    """

    def __init__(self, kb: KnowledgeBase, frame: Any, columns: Sequence[str]) -> None:
        from pyspark.sql import functions

        self._kb = kb
        self._functions = functions
        self.columns = tuple(columns)
        self._places = {name: f"c{number}" for number, name in enumerate(columns)}
        types = dict(frame.dtypes)
        read = {name: functions.col(f"`{name}`") for name in columns}
        read |= {name: read[name].cast("double") for name in columns if types[name].startswith("decimal")}
        read[NAME] = functions.coalesce(read[NAME].cast("string"), functions.lit("(no name)"))
        plain = [one.alias(self._places[name]) for name, one in read.items()]
        self._rows = frame.select(*plain, functions.monotonically_increasing_id().alias(ORDER))

    def told(self, judge: Callable[[Iterable[Any]], Iterator[Any]]) -> Iterator[str]:
        """What `judge` makes of the batches of each partition (record batches of Arrow, with a column `told`).

        All rows of a host come together, in the order of the table; columns in the order of `columns`.
        """
        host = self._places[NAME]
        together = self._rows.repartition(host).sortWithinPartitions(host, ORDER).drop(ORDER)
        for row in together.mapInArrow(judge, "told string").toLocalIterator():
            yield row[0]

    def readings(self) -> Any:
        """The GPUs at work, as `fleet_peers.readings` has them: machine type, name, and what rules compare."""
        functions, stems = self._functions, compared(self._kb, self.columns)
        if not stems:
            return None
        values = []
        for stem in QUANTITIES:
            value = self._column(stems[stem]) if stem in stems else functions.lit(None)
            value = value.cast("double")
            values.append(functions.when(value.between(-sys.float_info.max, sys.float_info.max), value).alias(stem))
        rows, machine = self._with_machine()
        name = self._column(DEVICE_NAME)
        at_work = self._column(UTILIZATION).between(AT_WORK, sys.float_info.max)
        return rows.filter(at_work & name.isNotNull()).select(machine.alias("machine"), name.alias("name"), *values)

    def _with_machine(self) -> tuple[Any, Any]:
        """The machine type; what one row tells of its host, all rows of the host tell: the first that is known."""
        from pyspark.sql import Window

        functions = self._functions
        if MACHINE not in self._places:
            return self._rows, functions.lit(None).cast("string")
        own = self._column(MACHINE)
        known, rows = self._rows.agg(functions.count(own), functions.count("*")).collect()[0]
        if known in (0, rows):
            return self._rows, own
        first, last = Window.unboundedPreceding, Window.unboundedFollowing
        of_host = Window.partitionBy(self._places[NAME]).orderBy(ORDER).rowsBetween(first, last)
        machine = functions.first(own, ignorenulls=True).over(of_host)
        return self._rows.withColumn("_machine", machine), functions.col("_machine")

    def rows_of(self, hosts: Sequence[str]) -> list[dict[str, Any]]:
        """What was read about these hosts."""
        host = self._column(NAME)
        found = self._rows.filter(host.isin(list(hosts))).orderBy(host, ORDER).collect()
        return [{name: row[place] for name, place in self._places.items()} for row in found]

    def _column(self, name: str) -> Any:
        return self._functions.col(self._places[name])


def beyond_hosts(tables: Sequence[Any], fleet: Iterable[Member]) -> Medians:
    """The medians of machine types and of the fleet, as `fleet_peers.beyond_hosts` gives them."""
    from pyspark.sql import functions

    if not tables:
        return {}
    facts = [fact for fact, _ in QUANTITIES.values()]
    rows = [(one.machine, one.name, *(_reading(one, fact) for fact in facts)) for one in fleet if one.at_work]
    whole = reduce(lambda left, right: left.unionByName(right), tables)
    if rows:
        whole = whole.union(whole.sparkSession.createDataFrame(rows, whole.schema))
    made = [functions.count(stem).alias(f"{stem}:count") for stem in QUANTITIES]
    made += [functions.expr(f"percentile({stem}, 0.5)").alias(stem) for stem in QUANTITIES]
    of_types = [_told(row) for row in whole.groupBy("machine", "name").agg(*made).collect()]
    names = Counter(row[DEVICE_NAME] for row in of_types)
    several = [name for name, count in names.items() if count > 1]
    of_fleet = [row for row in of_types if row[DEVICE_NAME] not in several]
    if several:  # of a card in one machine type alone, the fleet has the median of the type
        named = whole.filter(functions.col("name").isin(several))
        of_fleet += [_told(row) for row in named.groupBy("name").agg(*made).collect()]
    return medians_of(of_types, of_fleet)


def _reading(one: Member, fact: str) -> float | None:
    return float(one.readings[fact]) if fact in one.readings else None


def _told(row: Any) -> dict[str, Any]:
    plain = {"machine": MACHINE, "name": DEVICE_NAME}
    return {plain.get(name, name): value for name, value in row.asDict().items()}
