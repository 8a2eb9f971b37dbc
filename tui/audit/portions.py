"""What a judged portion of a table adds to an audit: hosts with a cause are listed, all others are counted.

Of the hosts that are listed, what holds is; what is possible is counted for all.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

from gpuwhy.engine.fleet import LABELS, SEPARATOR
from gpuwhy.engine.fleet_table import DEVICE, ORDER, Judged
from gpuwhy.engine.model import Status
from gpuwhy.engine.sheet_values import CONSTANT, FALSE, OF_HOSTS, TRUE, Value, as_series
from gpuwhy.tui.audit.use import of_portion, summed

if TYPE_CHECKING:
    from gpuwhy.tui.audit.run import Collected

CONFIRMED, LIKELY, POSSIBLE = (one.rank for one in (Status.CONFIRMED, Status.LIKELY, Status.POSSIBLE))


def note_portion(collected: Collected, judged: Judged) -> None:
    """Notes what a portion shows, and how its GPUs are used."""
    summed(of_portion(judged), collected.use)
    by_kind: dict[str, list[str]] = {"cause": [], "normal": [], "evidence": []}
    for name in judged.ranks:
        by_kind[collected.kb.conclusions[name.partition(SEPARATOR)[0]].kind].append(name)
    bad = _hosts_with(judged, by_kind["cause"], LIKELY)
    if bad.any():
        _list(collected, judged, bad)
    rest = ~bad
    sound = int((rest & _hosts_with(judged, by_kind["normal"], LIKELY)).sum())
    collected.counted["nothing to fix"] += sound
    collected.counted["cannot tell"] += int(rest.sum()) - sound
    collected.counted["gpus"] += int(judged.groups.sizes.filter(rest).sum())
    _count(collected.others, judged, by_kind["normal"] + by_kind["evidence"], (CONFIRMED, LIKELY), rest)
    _count(collected.possible, judged, by_kind["cause"], (POSSIBLE, POSSIBLE), None)


def _hosts_with(judged: Judged, names: Iterable[str], high: int) -> Any:
    """For each host, whether any of these conclusions has a rank up to this one in one of its rows."""
    groups = judged.groups
    of_hosts = as_series(False, bool).new_from_index(0, groups.count)
    of_rows: Any = None
    for name in names:
        where = judged.where(name, CONFIRMED, high)
        if where is TRUE:
            return as_series(True, bool).new_from_index(0, groups.count)
        if where.level == OF_HOSTS:
            of_hosts = of_hosts | where.data
        elif where is not FALSE:
            of_rows = where.data if of_rows is None else of_rows | where.data
    return of_hosts if of_rows is None else of_hosts | groups.some(of_rows)


def _count(counts: Counter[str], judged: Judged, names: Iterable[str], between: tuple[int, int], kept: Any) -> None:
    """For each conclusion, the hosts (of those that are kept) of which a row has a rank between these."""
    by_conclusion: dict[str, list[Value]] = {}
    for name in names:
        where = judged.where(name, *between)
        if where is not FALSE:
            by_conclusion.setdefault(name.partition(SEPARATOR)[0], []).append(where)
    groups = judged.groups
    kept_rows = groups.spread(kept) if by_conclusion and kept is not None else None
    for conclusion, found in by_conclusion.items():
        level = max(one.level for one in found)
        if any(one is TRUE for one in found):
            number = groups.count if kept is None else int(kept.sum())
        elif level == OF_HOSTS:
            number = int(_masked([one.data for one in found], kept).sum())
        else:
            rows = [one.data if one.level == level else groups.spread(one.data) for one in found]
            number = groups.number(_masked(rows, kept_rows))
        if number:
            counts[conclusion] += number


def _masked(found: Iterable[Any], kept: Any) -> Any:
    """Where any of these is true, of what is kept."""
    made = reduce(operator.or_, found)
    return made if kept is None else made & kept


def _list(collected: Collected, judged: Judged, bad: Any) -> None:
    """Notes the hosts with a cause, and everything that holds for them."""
    import polars

    groups = judged.groups
    labels = {label: judged.label(fact) for label, fact in LABELS.items()}
    columns = {"host": groups.names, "gpus": groups.sizes.cast(polars.Int64)}
    columns |= {label: value.data for label, value in labels.items() if value.level == OF_HOSTS}
    fixed = [polars.lit(value.data, polars.String).alias(label) for label, value in labels.items() if not value.level]
    hosts = polars.DataFrame(columns).filter(bad).with_columns(fixed)
    names = collected.add_table_hosts(hosts.select("host", "gpus", *LABELS).iter_rows())
    collected.add_table_findings(names, *_held(judged, bad))


def _held(judged: Judged, bad: Any) -> tuple[list[str], dict[int, str], Any]:
    """What holds for these hosts: the conclusions, names of GPUs by number, and a frame with a row for each conclusion
    of a host.

    Its columns: the place of the host among them, that of the conclusion, the best rank, and the numbers of the GPUs
    that have it; what is said of a host or a job is said once for each host.
    """
    import polars

    groups = judged.groups
    of_hosts, of_rows = bad.arg_true(), groups.spread(bad).arg_true()
    numbers = polars.int_range(len(of_hosts), dtype=polars.UInt32, eager=True)
    hosts_of_rows = numbers[numbers.repeat_by(groups.sizes[of_hosts].cast(polars.UInt32)).explode()]
    gpus = _devices(judged)[of_rows].cast(polars.String).cast(polars.Categorical)
    of_gpus, nobody = gpus.to_physical().cast(polars.UInt32), polars.Series([None], dtype=polars.UInt32)
    conclusions: dict[str, int] = {}
    found = []
    for name, rank in judged.ranks.items():
        conclusion, _, scope = name.partition(SEPARATOR)
        if rank.level == CONSTANT and (rank.data is None or rank.data > LIKELY):
            continue
        of_gpu = scope == "gpu"
        ranks = _ranks(judged, rank, of_rows if of_gpu else of_hosts, of_gpu)
        there = ranks <= LIKELY
        hosts = (hosts_of_rows if of_gpu else numbers).filter(there)
        if len(hosts):
            shown = of_gpus.filter(there) if of_gpu else nobody.new_from_index(0, len(hosts))
            number = polars.Series([conclusions.setdefault(conclusion, len(conclusions))], dtype=polars.UInt32)
            best = ranks.filter(there).cast(polars.Int8)
            of_one = (hosts, number.new_from_index(0, len(hosts)), best, shown)
            found.append(polars.DataFrame(dict(zip(_COLUMNS, of_one, strict=True))))
    distinct = gpus.unique().drop_nulls()
    names = dict(zip(distinct.to_physical(), distinct.cast(polars.String), strict=True))
    return list(conclusions), names, _best(polars.concat(found))


def _devices(judged: Judged) -> Any:
    """The GPU of each row; where the table does not say, its place among the rows of the host."""
    if DEVICE in judged.rows.columns:
        return judged.rows.get_column(DEVICE)
    order = judged.rows.get_column(ORDER)
    return order - judged.groups.spread(judged.groups.first(order))


_COLUMNS = ("host", "conclusion", "rank", "gpus")


def _best(rows: Any) -> Any:
    """For each host and conclusion the best rank, and the GPUs that have it, in the order of the rows."""
    import polars

    keys = ["host", "conclusion"]
    ordered = rows.sort(keys, maintain_order=True)
    best = ordered.filter(polars.col("rank") == polars.col("rank").min().over(keys))
    return best.group_by(keys, maintain_order=True).agg(polars.col("rank").first(), polars.col("gpus").drop_nulls())


def _ranks(judged: Judged, rank: Value, kept: Any, of_rows: bool) -> Any:
    """The ranks of the rows, or of the hosts, with these places."""
    if rank.level == CONSTANT:
        return as_series(rank.data, int).new_from_index(0, len(kept))
    spread = of_rows and rank.level == OF_HOSTS
    return (judged.groups.spread(rank.data) if spread else rank.data)[kept]
