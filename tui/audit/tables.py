"""Audits tables of GPUs. Hosts without a cause are counted, not listed: there may be millions of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwhy.engine.fleet import LABELS, SEPARATOR, asserted
from gpuwhy.engine.fleet_table import DEVICE, KINDS, ORDER, TableJudge, base_of_rows, read_columns
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts.read import UnusableInput
from gpuwhy.probes.fleet_inputs import Broken
from gpuwhy.probes.fleet_tables import HOST_COLUMN, portions, rows_of, scan

if TYPE_CHECKING:
    from gpuwhy.kb.facts import FactBase
    from gpuwhy.tui.audit.run import Collected

LIKELY, POSSIBLE = 1, 2


def add_table(collected: Collected, path: Path, progress: Callable[[int], object]) -> None:
    """Judges a table and notes what is found; one that cannot be read, or not to its end, is noted as broken."""
    try:
        frame = scan(path)
        _judge(collected, frame, path.name, progress)
    except UnusableInput as error:
        collected.broken(Broken(path.name, error.message))


def _judge(collected: Collected, frame: Any, name: str, progress: Callable[[int], object]) -> None:
    import polars

    columns, frame = _usable(collected, frame, name)
    seen: list[Any] = []
    judge = TableJudge(collected.kb)
    for portion in portions(frame, columns, name):
        judged, names = judge.judge(portion.with_row_index(ORDER))
        seen.append(_note(collected, judged, names))
        _keep(collected, portion, name)
        progress(len(portion))
    collected.seen += seen
    hosts = polars.concat(seen) if seen else polars.Series(HOST_COLUMN, [], polars.String)
    if hosts.n_unique() < len(hosts):
        collected.notes.append(
            f"{name}: rows of one host do not stand together; what compares the GPUs of a host saw only parts of it, "
            "and hosts are counted more than once: sort the table by host"
        )


def _usable(collected: Collected, frame: Any, name: str) -> tuple[list[str], Any]:
    """The columns to load, and the frame with those of a wrong type as nothing; those are told."""
    import polars

    schema = frame.collect_schema()
    wanted: list[str] = []
    bad: list[str] = []
    for column in read_columns(collected.kb, schema.names()):
        spec, dtype = collected.kb.facts[column], schema[column]
        plain = polars.Boolean if spec.type == "boolean" else polars.String
        fits = dtype.is_numeric() if spec.is_number else dtype == plain
        (wanted if fits or dtype == polars.Null else bad).append(column)
    if bad:
        collected.notes.append(f"{name}: of another type than the fact, and not used: {', '.join(bad)}")
    facts = collected.kb.facts
    odd = [one for one in schema.names() if one not in (HOST_COLUMN, DEVICE)]
    odd = [one for one in odd if one not in facts or facts[one].entity not in KINDS]
    if odd:
        collected.notes.append(f"{name}: columns that are no facts of a host, a job or a GPU: {', '.join(odd)[:400]}")
    keep = [HOST_COLUMN, *([DEVICE] if DEVICE in schema.names() else []), *wanted]
    return keep, frame


def _note(collected: Collected, judged: Any, names: Iterable[str]) -> Any:
    """Notes what a portion shows; gives the names of its hosts. Hosts with a cause are listed with all there is."""
    import polars

    shown = (
        polars.col(DEVICE).cast(polars.String) if DEVICE in judged.columns else polars.col(ORDER).cast(polars.String)
    )
    labels = [one for one in LABELS.values() if one in judged.columns]
    rows = judged.select(HOST_COLUMN, polars.format("gpu:{}", shown).alias("entity"), *labels, *names)
    hosts = rows.get_column(HOST_COLUMN).rle().struct.field("value").rename(HOST_COLUMN)
    by_kind: dict[str, list[str]] = {"cause": [], "normal": [], "evidence": []}
    for name in names:
        by_kind[collected.kb.conclusions[name.partition(SEPARATOR)[0]].kind].append(name)
    bad = rows.filter(_any(by_kind["cause"])).get_column(HOST_COLUMN).unique().implode()
    _list(collected, rows.filter(polars.col(HOST_COLUMN).is_in(bad)), names)
    rest = rows.filter(~polars.col(HOST_COLUMN).is_in(bad))
    sound = rest.filter(_any(by_kind["normal"])).get_column(HOST_COLUMN).n_unique()
    collected.counted["nothing to fix"] += sound
    collected.counted["cannot tell"] += rest.get_column(HOST_COLUMN).n_unique() - sound
    collected.counted["gpus"] += len(rest)
    _count(collected.others, rest, by_kind["normal"] + by_kind["evidence"], polars.Expr.le, LIKELY)
    _count(collected.possible, rest, by_kind["cause"], polars.Expr.eq, POSSIBLE)
    return hosts


def _keep(collected: Collected, portion: Any, table: str) -> None:
    """Keeps the facts of one host for each cause that is new, for the sentence that proves it."""
    import polars

    for one in collected.findings[collected.kept_up_to :]:
        if one.is_cause and one.conclusion not in collected.kept:
            rows = portion.filter(polars.col(HOST_COLUMN) == one.host).to_dicts()
            if rows:
                collected.kept[one.conclusion] = (one.host, base_of_rows(collected.kb, rows, table))
    collected.kept_up_to = len(collected.findings)


def _any(names: list[str]) -> Any:
    import polars

    return polars.any_horizontal([polars.col(name) <= LIKELY for name in names]) if names else polars.lit(False)


def _list(collected: Collected, rows: Any, names: Iterable[str]) -> None:
    """Notes every conclusion of these hosts; what is said of a host or a job stands in each of its rows."""
    import polars

    found = []
    for name in names:
        scope = name.partition(SEPARATOR)[2]
        some = asserted(rows, name)
        if scope != "gpu":
            some = some.unique("host", keep="first", maintain_order=True).with_columns(entity=polars.lit(f"{scope}:"))
        found.append(some)
    if len(rows):
        collected.add_rows(polars.concat(found), dict(rows.group_by(HOST_COLUMN).len().iter_rows()))


def _count(counts: Counter[str], rows: Any, names: Iterable[str], test: Callable[[Any, int], Any], rank: int) -> None:
    """For each conclusion, the hosts of which a row has a status that passes the test."""
    import polars

    of_host: dict[str, list[Any]] = {}
    for name in names:
        of_host.setdefault(name.partition(SEPARATOR)[0], []).append(test(polars.col(name), rank))
    numbers = rows.select(
        polars.col(HOST_COLUMN).filter(polars.any_horizontal(tests)).n_unique().alias(conclusion)
        for conclusion, tests in of_host.items()
    )
    counts.update({name: number for name, number in (numbers.to_dicts() or [{}])[0].items() if number})


def base_of(kb: KnowledgeBase, tables: Iterable[Path], host: str) -> tuple[FactBase, str] | None:
    """The facts of one host of these tables, and the table; None if no table has it."""
    for path in tables:
        try:
            rows = rows_of(scan(path), host)
        except UnusableInput:
            continue
        if rows:
            return base_of_rows(kb, rows, path.name), path.name
    return None
