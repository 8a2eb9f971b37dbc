"""GPUs of tables compared with their peers, as `peers` compares those of hosts that are read one by one.

The values of all tables are counted first, by machine type and name. Then the medians are columns that follow from the
machine type and the name of a row, as what the catalogue knows does; medians of a host are taken in its own rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
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
    PeerCount,
    Peers,
    about_peers,
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


def counted(kb: KnowledgeBase, frame: Any) -> Iterator[PeerCount]:
    """The values of a lazy Polars frame that peers are compared by, with the number of GPUs at work that have each."""
    import polars

    schema = frame.collect_schema()
    number = {name for name, dtype in schema.items() if dtype.is_numeric()}
    for fact in compared(kb, schema.names()).values():
        if fact not in number or UTILIZATION not in number or schema[DEVICE_NAME] != polars.String:
            continue
        rows = _grouped(frame, fact, MACHINE in schema and schema[MACHINE] == polars.String, False)
        if any(row[0] is None for row in rows) and any(row[0] is not None for row in rows):
            rows = _grouped(frame, fact, True, True)
        for machine, name, value, found in rows:
            yield PeerCount(machine or "", name, fact, value, found)


def _grouped(frame: Any, fact: str, with_type: bool, shared: bool) -> list[tuple[str | None, str, float, int]]:
    """Machine type, name, value, and how many GPUs at work have it. `shared`: what one row of a host says, all do."""
    import polars

    machine = polars.col(MACHINE) if with_type else polars.lit(None, polars.String).alias(MACHINE)
    if shared:
        machine = machine.drop_nulls().first().over(NAME)
    value = polars.col(fact).cast(polars.Float64).alias("value")
    work = frame.select(machine, DEVICE_NAME, value, polars.col(UTILIZATION).cast(polars.Float64).alias("use"))
    at_work = polars.col("use").is_finite() & (polars.col("use") >= AT_WORK)
    work = work.filter(at_work & polars.col("value").is_finite() & polars.col(DEVICE_NAME).is_not_null())
    found = work.group_by(MACHINE, DEVICE_NAME, "value").agg(polars.len()).collect(engine="streaming")
    rows: list[tuple[str | None, str, float, int]] = found.rows()
    return rows


def medians(kb: KnowledgeBase, columns: Collection[str], peers: Peers) -> Iterator[Following]:
    """The medians that follow from the machine type and the name of a GPU, under names that no rule reads."""
    stems = compared(kb, columns)
    keys = [name for name in (MACHINE, DEVICE_NAME) if name in columns]
    if stems:
        kinds: dict[str, type] = {_looked_up(group, stem): float for group in BEYOND for stem in stems}
        yield Following(keys, kinds, partial(_of_key, peers, list(stems)))


def _looked_up(group: str, stem: str) -> str:
    return f"_{stem}_{group}_median"


def _of_key(peers: Peers, stems: Iterable[str], key: Mapping[str, Any]) -> dict[str, Any]:
    machine, name = key.get(MACHINE) or "", key.get(DEVICE_NAME) or ""
    return {_looked_up(group, stem): peers.median(group, stem, machine, name) for group in BEYOND for stem in stems}


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
