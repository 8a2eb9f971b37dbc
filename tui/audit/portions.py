"""What a judged portion of a table adds to an audit: hosts with a cause are listed, all others are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gpuwhy.engine.fleet import LABELS, SEPARATOR
from gpuwhy.engine.fleet_table import DEVICE, ORDER, Judged
from gpuwhy.engine.model import Status
from gpuwhy.engine.sheet_values import CONSTANT, FALSE, OF_HOSTS, TRUE, Value

if TYPE_CHECKING:
    from gpuwhy.tui.audit.run import Collected

CONFIRMED, LIKELY, POSSIBLE = (one.rank for one in (Status.CONFIRMED, Status.LIKELY, Status.POSSIBLE))


def note_portion(collected: Collected, judged: Judged) -> None:
    """Notes what a portion shows."""
    by_kind: dict[str, list[str]] = {"cause": [], "normal": [], "evidence": []}
    for name in judged.ranks:
        by_kind[collected.kb.conclusions[name.partition(SEPARATOR)[0]].kind].append(name)
    bad = _hosts_with(judged, by_kind["cause"], CONFIRMED, LIKELY)
    if bad.any():
        _list(collected, judged, bad)
    rest = ~bad
    sound = int((rest & _hosts_with(judged, by_kind["normal"], CONFIRMED, LIKELY)).sum())
    collected.counted["nothing to fix"] += sound
    collected.counted["cannot tell"] += int(rest.sum()) - sound
    collected.counted["gpus"] += int(judged.groups.sizes.filter(rest).sum())
    _count(collected.others, judged, rest, by_kind["normal"] + by_kind["evidence"], CONFIRMED, LIKELY)
    _count(collected.possible, judged, rest, by_kind["cause"], POSSIBLE, POSSIBLE)


def _hosts_with(judged: Judged, names: Iterable[str], low: int, high: int) -> Any:
    """For each host, whether any of these conclusions has a rank between these in one of its rows."""
    import polars

    count = judged.groups.count
    found = polars.repeat(False, count, dtype=polars.Boolean, eager=True)
    for name in names:
        where = judged.where(name, low, high)
        if where is TRUE:
            return polars.repeat(True, count, dtype=polars.Boolean, eager=True)
        if where is not FALSE:
            found = found | (where.data if where.level == OF_HOSTS else judged.groups.some(where.data))
    return found


def _count(counts: Counter[str], judged: Judged, rest: Any, names: Iterable[str], low: int, high: int) -> None:
    """For each conclusion, the hosts among the rest of which a row has a rank between these."""
    by_conclusion: dict[str, list[str]] = {}
    for name in names:
        by_conclusion.setdefault(name.partition(SEPARATOR)[0], []).append(name)
    for conclusion, scoped in by_conclusion.items():
        number = int((rest & _hosts_with(judged, scoped, low, high)).sum())
        if number:
            counts[conclusion] += number


def _list(collected: Collected, judged: Judged, bad: Any) -> None:
    """Notes the hosts with a cause, and everything that is concluded about them and not ruled out."""
    import polars

    groups = judged.groups
    labels = {label: judged.label(fact) for label, fact in LABELS.items()}
    columns = {"host": groups.names, "gpus": groups.sizes.cast(polars.Int64)}
    columns |= {label: value.data for label, value in labels.items() if value.level == OF_HOSTS}
    fixed = [polars.lit(value.data, polars.String).alias(label) for label, value in labels.items() if not value.level]
    hosts = polars.DataFrame(columns).filter(bad).with_columns(fixed)
    names = collected.add_table_hosts(hosts.select("host", "gpus", *LABELS).iter_rows())
    collected.add_findings(_rows(judged, bad, names))


def _rows(judged: Judged, bad: Any, names: Mapping[str, str]) -> Iterator[tuple[str, str, str, int]]:
    """Host, entity, conclusion and rank; what is said of a host or a job stands once for each host."""
    import polars

    groups = judged.groups
    bad_rows = groups.spread(bad)
    known_as = polars.Series(names.values(), dtype=polars.String)
    each = groups.sizes.filter(bad).cast(polars.UInt32)
    of_rows = known_as.gather(polars.int_range(len(known_as), eager=True).repeat_by(each).explode())
    devices = judged.rows.get_column(DEVICE if DEVICE in judged.rows.columns else ORDER).filter(bad_rows)
    entities = "gpu:" + devices.cast(polars.String)
    for name, rank in judged.ranks.items():
        conclusion, _, scope = name.partition(SEPARATOR)
        if rank.level == CONSTANT and (rank.data is None or rank.data > POSSIBLE):
            continue
        of_gpu = scope == "gpu"
        ranks = _ranks(judged, rank, bad_rows if of_gpu else bad, of_gpu)
        there = ranks <= POSSIBLE
        shown = entities.filter(there).to_list() if of_gpu else [f"{scope}:"] * int(there.sum())
        hosts = (of_rows if of_gpu else known_as).filter(there).to_list()
        yield from zip(hosts, shown, [conclusion] * len(hosts), ranks.filter(there).to_list(), strict=True)


def _ranks(judged: Judged, rank: Value, kept: Any, of_rows: bool) -> Any:
    """The ranks of the rows, or of the hosts, that are kept."""
    import polars

    if rank.level == CONSTANT:
        return polars.repeat(rank.data, int(kept.sum()), dtype=polars.Int8, eager=True)
    spread = of_rows and rank.level == OF_HOSTS
    return (judged.groups.spread(rank.data) if spread else rank.data).filter(kept)
