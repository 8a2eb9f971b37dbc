"""A table of GPUs judged by a Spark cluster: the same rules and the same columns as in `fleet_table`.

The cluster computes the ranks, and how many hosts have what; only the rows of hosts with a cause come back.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from gpuwhy.engine.columns import derive
from gpuwhy.engine.fleet import LABELS, SEPARATOR, conclusions
from gpuwhy.engine.fleet_peers import DEVICE_NAME, MACHINE, add_peer_ranks, compared, medians_of
from gpuwhy.engine.fleet_table import DEVICE, NAME, ORDER, GpuTable, Judged, following
from gpuwhy.engine.model import Status
from gpuwhy.engine.narwhals_sheet import DOT, NarwhalsSheet
from gpuwhy.engine.peers import AT_WORK, QUANTITIES, UTILIZATION, Medians, Member, Peers
from gpuwhy.engine.sheet import Sheet
from gpuwhy.engine.sheet_values import OF_HOSTS, OF_ROWS, column
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass

_TYPES = {float: "double", bool: "boolean", str: "string"}
_BAD, _SOUND, _GPUS = "_bad", "_sound", "_gpus"


@dataclass(frozen=True)
class Counted:
    """What holds for the hosts without a cause, in numbers of hosts; `possible` is for all hosts."""

    sound: int
    unsure: int
    gpus: int
    others: Mapping[str, int]
    possible: Mapping[str, int]


class SparkTable:
    """A table of GPUs as a DataFrame of PySpark. `columns`: those that the rules read."""

    def __init__(self, kb: KnowledgeBase, frame: Any, columns: Sequence[str]) -> None:
        from pyspark.sql import functions

        self._kb = kb
        self._functions = functions
        quoted = [functions.col(f"`{name}`").alias(_plain(name)) for name in columns]
        self.rows = frame.select(*quoted, functions.monotonically_increasing_id().cast("double").alias(ORDER))
        self.rows = self.rows.withColumn(NAME, functions.coalesce(NAME, functions.lit("(no name)")))
        self._columns = list(columns)
        self._share_what_is_of_hosts()
        self._names: list[str] = []
        self._judged: Any = None

    def judge(self, peers: Peers) -> None:
        """Judges it; what is asked of it afterwards rests on that. `peers`: those that its GPUs are compared with."""
        self._judged = self._ranks(peers).persist()

    def readings(self) -> Any:
        """The GPUs at work, as `fleet_peers.readings` has them: machine type, name, and what rules compare."""
        functions, stems = self._functions, compared(self._kb, self._columns)
        nothing = functions.lit(None)
        machine = functions.col(_plain(MACHINE)) if MACHINE in self._columns else nothing.cast("string")
        values = []
        for stem in QUANTITIES:
            value = functions.col(_plain(stems[stem])).cast("double") if stem in stems else nothing.cast("double")
            finite = value.between(-sys.float_info.max, sys.float_info.max)
            values.append(functions.when(finite, value).alias(stem))
        if not stems:
            return None
        name = functions.col(_plain(DEVICE_NAME))
        at_work = functions.col(_plain(UTILIZATION)).between(AT_WORK, sys.float_info.max)
        return self.rows.filter(at_work & name.isNotNull()).select(machine.alias(_plain(MACHINE)), name, *values)

    def _share_what_is_of_hosts(self) -> None:
        """What one row tells of its host or job, all rows of the host tell: the first that is known, as in a sheet."""
        from pyspark.sql import Window

        first, last = Window.unboundedPreceding, Window.unboundedFollowing
        of_host = Window.partitionBy(NAME).orderBy(ORDER).rowsBetween(first, last)
        facts = self._kb.facts
        above = [_plain(name) for name in self._columns if name in facts and facts[name].entity != "gpu"]
        shared = {name: self._functions.first(name, ignorenulls=True).over(of_host) for name in above}
        self.rows = self.rows.withColumns(shared) if shared else self.rows

    def _ranks(self, peers: Peers) -> Any:
        whole, known = self._with_following(peers)
        sheet = NarwhalsSheet(whole, {_plain(name): name for name in (*known, NAME, DEVICE, ORDER)})
        table = GpuTable(self._kb.facts, sheet)
        derive(self._kb, table)
        ranks = conclusions(self._kb, table)
        add_peer_ranks(self._kb, table, self._columns, ranks)
        sheet.bind(ranks)
        self._names = list(ranks)
        kept = [NAME, ORDER, *([DEVICE] if DEVICE in self._columns else [])]
        labels = [name for name in LABELS.values() if name in sheet.names]
        column_ = self._functions.col
        shown = [column_(_plain(name)) for name in (*kept, *labels)]
        numbers = [column_(f"`{_plain(name)}`").cast("tinyint").alias(f"r{at}") for at, name in enumerate(self._names)]
        return sheet.native().select(*shown, *numbers)

    def _with_following(self, peers: Peers) -> tuple[Any, list[str]]:
        """The rows with what follows from the values of their columns, and the names of the facts that there are."""
        rows, known = self.rows, [name for name in self._columns if name in self._kb.facts]
        for one in following(self._kb, self._columns, lambda: peers):
            keys, kinds = one.keys, one.kinds
            plain = [_plain(key) for key in keys]
            distinct = [list(row) for row in rows.select(*plain).distinct().collect()]
            names = sorted(kinds)
            found = []
            for row in distinct:
                given = one.describe(dict(zip(keys, row, strict=True)))
                found.append([*row, *(given.get(name) for name in names)])
            types = dict(rows.select(*plain).dtypes)
            schema = [f"`_{name}` {types[name]}" for name in plain]
            schema += [f"`_of_{_plain(name)}` {_TYPES[kinds[name]]}" for name in names]
            table = rows.sparkSession.createDataFrame(found, ", ".join(schema))
            same = [rows[name].eqNullSafe(table[f"_{name}"]) for name in plain]
            rows = rows.join(self._functions.broadcast(table), same, "left").drop(*(f"_{name}" for name in plain))
            for name in names:
                mine, given_ = _plain(name), f"_of_{_plain(name)}"
                both = [self._functions.col(mine).cast(_TYPES[kinds[name]])] if name in known else []
                rows = rows.withColumn(mine, self._functions.coalesce(*both, self._functions.col(given_))).drop(given_)
            known += [name for name in names if name not in known]
        return rows, known

    def _of_kind(self, kinds: Iterable[str]) -> list[str]:
        wanted = set(kinds)
        pairs = enumerate(self._names)
        return [f"r{at}" for at, name in pairs if self._kb.conclusions[name.partition(SEPARATOR)[0]].kind in wanted]

    def _hosts(self) -> Any:
        """One row for each host: whether it has a cause, whether it is sound, and which ranks its rows have."""
        functions = self._functions

        def there(columns: Iterable[str], low: int, high: int) -> Any:
            tests = [functions.col(one).between(low, high) for one in columns]
            some = functions.lit(False)
            for one in tests:
                some = some | functions.coalesce(one, functions.lit(False))
            return functions.max(some)

        likely, possible = Status.LIKELY.rank, Status.POSSIBLE.rank
        made = [
            there(self._of_kind(["cause"]), 0, likely).alias(_BAD),
            there(self._of_kind(["normal"]), 0, likely).alias(_SOUND),
            functions.count("*").alias(_GPUS),
        ]
        for at, name in enumerate(self._concluded()):
            columns = [f"r{number}" for number, one in enumerate(self._names) if one.partition(SEPARATOR)[0] == name]
            made.append(there(columns, 0, likely).alias(f"holds{at}"))
            made.append(there(columns, possible, possible).alias(f"possible{at}"))
        return self._judged.groupBy(NAME).agg(*made)

    def _concluded(self) -> list[str]:
        """The conclusions, whatever they are about."""
        return list(dict.fromkeys(name.partition(SEPARATOR)[0] for name in self._names))

    def counted(self) -> Counted:
        """The hosts without a cause, in numbers."""
        functions, hosts = self._functions, self._hosts()
        rest, sound = ~functions.col(_BAD), functions.col(_SOUND)
        made = [
            functions.count(functions.when(rest & sound, 1)).alias("sound"),
            functions.count(functions.when(rest & ~sound, 1)).alias("unsure"),
            functions.sum(functions.when(rest, functions.col(_GPUS)).otherwise(0)).alias("gpus"),
        ]
        names = self._concluded()
        causes = {name for name in names if self._kb.conclusions[name].kind == "cause"}
        for at, name in enumerate(names):
            test = functions.col(f"possible{at}") if name in causes else functions.col(f"holds{at}") & rest
            made.append(functions.count(functions.when(test, 1)).alias(f"n{at}"))
        row = hosts.agg(*made).collect()[0]
        numbers = {name: int(row[f"n{at}"]) for at, name in enumerate(names) if row[f"n{at}"]}
        return Counted(
            int(row["sound"]),
            int(row["unsure"]),
            int(row["gpus"] or 0),
            {name: number for name, number in numbers.items() if name not in causes},
            {name: number for name, number in numbers.items() if name in causes},
        )

    def with_cause(self) -> Judged | None:
        """The rows of hosts with a cause, as `TableJudge` gives them; None where there is none."""
        import polars

        functions = self._functions
        some = functions.lit(False)
        for one in self._of_kind(["cause"]):
            some = some | functions.coalesce(functions.col(one) <= Status.LIKELY.rank, functions.lit(False))
        bad = self._judged.filter(some).select(NAME).distinct()
        found = self._judged.join(bad, NAME, "left_semi").orderBy(NAME, ORDER).collect()
        if not found:
            return None
        ranks = [f"r{at}" for at in range(len(self._names))]
        kept = [name for name in self._judged.columns if name not in ranks]
        frame = polars.DataFrame({name.replace(DOT, "."): [row[name] for row in found] for name in kept})
        sheet = Sheet(frame, NAME, lambda name: name.startswith("host."))
        values = {}
        for number, name in zip(ranks, self._names, strict=True):
            series = polars.Series([row[number] for row in found], dtype=polars.Int8)
            of_gpu = name.endswith(f"{SEPARATOR}gpu")
            values[name] = column(OF_ROWS, series) if of_gpu else column(OF_HOSTS, sheet.groups.first(series))
        return Judged(frame, sheet, values)

    def names(self) -> list[str]:
        """All hosts."""
        return [row[0] for row in self._judged.select(NAME).distinct().collect()]

    def rows_of(self, hosts: Sequence[str]) -> list[dict[str, Any]]:
        """What was read about these hosts."""
        found = self.rows.filter(self._functions.col(NAME).isin(list(hosts))).orderBy(NAME, ORDER).collect()
        return [{name: row[_plain(name)] for name in self._columns} for row in found]

    def close(self) -> None:
        """Gives up what the cluster keeps of it."""
        if self._judged is not None:
            self._judged.unpersist()


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
    keys = [_plain(MACHINE), _plain(DEVICE_NAME)]
    made = [functions.count(stem).alias(f"{stem}:count") for stem in QUANTITIES]
    made += [functions.expr(f"percentile({stem}, 0.5)").alias(stem) for stem in QUANTITIES]
    of_types, of_fleet = (
        [_told(row) for row in whole.groupBy(*some).agg(*made).collect()] for some in (keys, keys[1:])
    )
    return medians_of(of_types, of_fleet)


def _reading(one: Member, fact: str) -> float | None:
    return float(one.readings[fact]) if fact in one.readings else None


def _told(row: Any) -> dict[str, Any]:
    return {name.replace(DOT, "."): value for name, value in row.asDict().items()}


def _plain(name: str) -> str:
    return name.replace(".", DOT)
