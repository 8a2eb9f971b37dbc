"""GPUs of tables compared with their peers, as `peers` compares those of hosts that are read one by one.

The values of all tables are counted first, by machine type and name. Then the medians are columns that follow from the
machine type and the name of a row, as what the catalogue knows does; medians of a host are taken in its own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from gpuwhy.engine.columns import Expr, Table
from gpuwhy.engine.fleet import LABELS, conclusions, read_facts
from gpuwhy.engine.fleet_catalogue import Following
from gpuwhy.engine.model import Status
from gpuwhy.engine.peers import (
    AT_WORK,
    LEAST,
    QUANTITIES,
    UTILIZATION,
    Key,
    Medians,
    Member,
    Peers,
    about_peers,
    key_of,
    median_fact,
    ratio_fact,
)
from gpuwhy.kb.model import KnowledgeBase

BEYOND = tuple(group for group in LEAST if group != "host")
"""The groups that reach beyond a host."""
NAME, MACHINE, DEVICE_NAME = "host", LABELS["instance_type"], LABELS["gpu_name"]


def compared(kb: KnowledgeBase, columns: Collection[str]) -> dict[str, str]:
    """The quantities that rules compare among peers and that a table with these columns has: fact by stem."""
    if DEVICE_NAME not in columns or UTILIZATION not in columns:
        return {}
    read = read_facts(kb)
    return {
        stem: fact
        for stem, (fact, _) in QUANTITIES.items()
        if fact in columns and any(name in read for group in LEAST for name in _facts(group, stem))
    }


def peer_facts(kb: KnowledgeBase, columns: Collection[str]) -> set[str]:
    """The facts about peers that such a table can have."""
    groups = [group for group in LEAST if group != "type" or MACHINE in columns]
    return {name for stem in compared(kb, columns) for group in groups for name in _facts(group, stem)}


def _facts(group: str, stem: str) -> tuple[str, str]:
    return median_fact(group, stem), ratio_fact(group, stem)


def readings(kb: KnowledgeBase, frame: Any) -> Any:
    """Of a lazy Polars frame the GPUs at work: machine type, name, and what rules compare. None where it has none."""
    import polars

    schema = frame.collect_schema()
    number = {name for name, dtype in schema.items() if dtype.is_numeric()}
    stems = {stem: fact for stem, fact in compared(kb, schema.names()).items() if fact in number}
    if not stems or UTILIZATION not in number or schema[DEVICE_NAME] != polars.String:
        return None
    use = polars.col(UTILIZATION).cast(polars.Float64)
    values = [_finite(polars.col(fact)).alias(stem) for stem, fact in stems.items()]
    known = frame.select(_machine(frame, schema), DEVICE_NAME, *values, use.alias("use"))
    at_work = polars.col("use").is_finite() & (polars.col("use") >= AT_WORK) & polars.col(DEVICE_NAME).is_not_null()
    return known.filter(at_work).drop("use")


def _finite(value: Any) -> Any:
    import polars

    number = value.cast(polars.Float64)
    return polars.when(number.is_finite()).then(number)


def _machine(frame: Any, schema: Any) -> Any:
    """The machine type; what one row tells of its host, all rows of the host tell."""
    import polars

    if schema.get(MACHINE) != polars.String:
        return polars.lit(None, polars.String).alias(MACHINE)
    machine = polars.col(MACHINE)
    unknown, rows = frame.select(machine.null_count(), polars.len().alias("rows")).collect(engine="streaming").row(0)
    return machine.drop_nulls().first().over(NAME) if 0 < unknown < rows else machine


def beyond_hosts(tables: Sequence[Any], fleet: Iterable[Member]) -> Medians:
    """The medians of types and of the fleet over the `readings` of tables and the GPUs that were read one by one."""
    import polars

    if not tables:
        return {}
    held = {stem for table in tables for stem in table.collect_schema().names()}
    stems = [stem for stem in QUANTITIES if stem in held]  # what no table has is known from the hosts alone
    rows = [
        {MACHINE: one.machine, DEVICE_NAME: one.name,
         **{stem: float(one.readings[QUANTITIES[stem][0]]) for stem in stems if QUANTITIES[stem][0] in one.readings}}
        for one in fleet if one.at_work
    ]  # fmt: skip
    schema = {MACHINE: polars.String, DEVICE_NAME: polars.String, **dict.fromkeys(stems, polars.Float64)}
    read_one_by_one = polars.DataFrame(rows, schema=schema)
    some = [_by_kind(read_one_by_one)]
    some += [
        _by_kind(batch) for table in tables for batch in table.collect_batches(chunk_size=_ROWS, maintain_order=False)
    ]
    whole = polars.concat(some, how="diagonal")
    values = {stem: polars.col(stem).list.explode() for stem in stems}
    made = [one.count().alias(f"{stem}:count") for stem, one in values.items()]
    made += [one.median() for one in values.values()]
    of_types = whole.group_by(MACHINE, DEVICE_NAME).agg(made)
    several = of_types.filter(polars.col(DEVICE_NAME).is_duplicated()).get_column(DEVICE_NAME).unique()
    of_fleet = of_types.drop(MACHINE).filter(~polars.col(DEVICE_NAME).is_in(several.implode()))
    if len(several):  # of a card in one machine type alone, the fleet has the median of the type
        named = whole.filter(polars.col(DEVICE_NAME).is_in(several.implode()))
        of_fleet = polars.concat([of_fleet, named.group_by(DEVICE_NAME).agg(made).select(of_fleet.columns)])
    return medians_of(of_types.to_dicts(), of_fleet.to_dicts())


def _by_kind(batch: Any) -> Any:
    """The known values of a batch as lists, by machine type and name: a name is held once, and not for every GPU."""
    import polars

    values = polars.all().exclude(MACHINE, DEVICE_NAME)
    return batch.group_by(MACHINE, DEVICE_NAME).agg(values.drop_nulls())


_ROWS = 1 << 18
"""How many rows of a table are read at a time."""


def medians_of(of_types: Iterable[Mapping[str, Any]], of_fleet: Iterable[Mapping[str, Any]]) -> Medians:
    """Medians from rows with a machine type, a name, and for each quantity its median and `<quantity>:count`."""
    found: dict[tuple[Key, str], tuple[int, float]] = {}
    for group, rows in (("type", of_types), ("fleet", of_fleet)):
        for row in rows:
            key = key_of(group, row.get(MACHINE) or "", row[DEVICE_NAME])
            if key is None:
                continue
            for stem in QUANTITIES:
                if row.get(stem) is not None:
                    found[key, stem] = (int(row[f"{stem}:count"]), float(row[stem]))
    return found


def medians(kb: KnowledgeBase, columns: Collection[str], peers: Callable[[], Peers]) -> Iterator[Following]:
    """The medians that follow from the machine type and the name of a GPU, under names that no rule reads.

    `peers` is asked when a GPU is looked up: its medians may still be counted while the rules are planned.
    """
    stems = compared(kb, columns)
    keys = [name for name in (MACHINE, DEVICE_NAME) if name in columns]
    if stems:
        kinds: dict[str, type] = {_looked_up(group, stem): float for group in BEYOND for stem in stems}
        yield Following(keys, kinds, partial(_of_key, peers, list(stems)))


def _looked_up(group: str, stem: str) -> str:
    return f"_{stem}_{group}_median"


def _of_key(peers: Callable[[], Peers], stems: Iterable[str], key: Mapping[str, Any]) -> dict[str, Any]:
    machine, name, known = key.get(MACHINE) or "", key.get(DEVICE_NAME) or "", peers()
    return {_looked_up(group, stem): known.median(group, stem, machine, name) for group in BEYOND for stem in stems}


def add_peer_ranks(kb: KnowledgeBase, table: Table, columns: Collection[str], ranks: dict[str, Expr]) -> None:
    """Adds what rules about peers hold to the ranks of a table, as `judge_peers` adds it for hosts that are read."""
    stems, sheet = compared(kb, columns), table.sheet
    if not stems:
        return
    _bind_ratios(table, stems)
    for name, rank in conclusions(about_peers(kb), table).items():
        held = sheet.choose(rank <= Status.LIKELY.rank, rank)
        ranks[name] = sheet.least([ranks[name], held]) if name in ranks else held


def _bind_ratios(table: Table, stems: Mapping[str, str]) -> None:
    """The columns of facts about peers; unknown for a GPU that is not at work."""
    sheet = table.sheet
    at_work = sheet.sure(sheet.col(UTILIZATION) >= AT_WORK) & sheet.known(sheet.col(DEVICE_NAME))
    for stem, fact in stems.items():
        own = sheet.choose(at_work, sheet.col(fact))
        for group in LEAST:
            if group == "host":
                keys = (NAME, DEVICE_NAME)
                enough = sheet.over("count", own, keys) >= float(LEAST[group])
                found = sheet.choose(enough, sheet.over("median", own, keys))
            else:
                found = sheet.col(_looked_up(group, stem))
            median, ratio = _facts(group, stem)
            middle = sheet.choose(sheet.known(own), found)
            made = sheet.choose(middle != 0.0, own / middle)
            sheet.bind({median: middle, ratio: made})
