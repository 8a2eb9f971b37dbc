"""Audits tables of GPUs. Hosts without a cause are counted, not listed: there may be millions of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuwhy.engine.fleet_peers import beyond_hosts, readings
from gpuwhy.engine.fleet_table import DEVICE, KINDS, ORDER, Judged, TableJudge, base_of_rows, read_columns
from gpuwhy.engine.peers import Medians, Member, Peers, with_peers
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts.read import UnusableInput
from gpuwhy.probes.fleet_inputs import Broken
from gpuwhy.probes.fleet_tables import (
    HOST_COLUMN,
    portions,
    read_whole,
    row_count,
    rows_of,
    scan,
    sorted_portions,
    unread_lines,
)
from gpuwhy.tui.audit.portions import note_portion
from gpuwhy.tui.wording import some_of

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from gpuwhy.kb.facts import FactBase
    from gpuwhy.tui.audit.run import Collected

LINES_SHOWN = 8
AHEAD = 1
"""How many portions are judged beside the one that is noted. Reading them takes the other processors meanwhile."""


def add_tables(collected: Collected, paths: Iterable[Path], progress: Callable[[int], object]) -> None:
    """Judges tables and notes what is found; one that cannot be read, or not to its end, is noted as broken."""
    from concurrent.futures import ThreadPoolExecutor

    opened, compared = _opened(collected.kb, paths, collected.broken)
    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(_medians, compared, collected.members)

        def peers() -> Peers:
            collected.beyond_hosts = counting.result()
            return collected.peers

        for path, frame in opened:
            try:
                _judge(collected, frame, path, peers, progress)
            except UnusableInput as error:
                collected.broken(Broken(path.name, error.message))
        peers()


def medians_of(kb: KnowledgeBase, paths: Iterable[Path], fleet: Sequence[Member]) -> Medians:
    """The medians over the GPUs of these tables, as far as they can be read, and those that were read one by one."""
    return _medians(_opened(kb, paths, lambda _: None)[1], fleet)


def _opened(
    kb: KnowledgeBase, paths: Iterable[Path], broken: Callable[[Broken], object]
) -> tuple[list[tuple[Path, Any]], list[Any]]:
    """The tables by path, and what GPUs are compared by of those that have that."""
    opened, compared = [], []
    for path in paths:
        try:
            frame = scan(path)
            with read_whole(path.name):
                compared.append(readings(kb, frame))
            opened.append((path, frame))
        except UnusableInput as error:
            broken(Broken(path.name, error.message))
    return opened, [one for one in compared if one is not None]


def _medians(tables: Sequence[Any], fleet: Sequence[Member]) -> Medians:
    """The medians over all tables; one that cannot be read to its end is left out, as it is when it is judged."""
    try:
        with read_whole("tables"):
            return beyond_hosts(tables, fleet)
    except UnusableInput:
        return beyond_hosts([one for one in tables if _ends(one)], fleet)


def _ends(table: Any) -> bool:
    """True if a table can be read to its end."""
    try:
        with read_whole("table"):
            table.collect(engine="streaming")
    except UnusableInput:
        return False
    return True


def _judge(
    collected: Collected, frame: Any, path: Path, peers: Callable[[], Peers], progress: Callable[[int], object]
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    name = path.name
    columns, frame = _usable(collected, frame, name)
    if bad := unread_lines(path):
        told = "1 line is" if len(bad) == 1 else f"{len(bad):,} lines are"
        shown = some_of([str(one) for one in bad], LINES_SHOWN)
        collected.notes.append(f"{name}: {told} no JSON object, and left out: {shown}")
    judge = TableJudge(collected.kb, peers)
    found = collected.anew()
    with ThreadPoolExecutor(AHEAD) as pool:
        pool.submit(judge.plan, frame.select(columns).head(0).collect().with_row_index(ORDER))
        judged = _judged(judge, pool, portions(frame, columns, name, row_count(path)))
        rows = _note_all(found, judged, name, peers, progress)
        if not _stand_together(found):
            found = collected.anew()
            again = sorted_portions(frame, columns, name, rows)
            _note_all(found, _judged(judge, pool, again), name, peers, lambda _: None)
    collected.absorb(found)


def _note_all(
    found: Collected, some: Iterable[Judged], name: str, peers: Callable[[], Peers], progress: Callable[[int], object]
) -> int:
    """Notes what judged portions show; gives the number of rows."""
    rows = 0
    for judged in some:
        note_portion(found, judged)
        found.seen.append(judged.groups.names.rename(HOST_COLUMN))
        _keep(found, judged.rows, name, peers)
        rows += len(judged.rows)
        progress(len(judged.rows))
    return rows


def _judged(judge: TableJudge, pool: Executor, some: Iterable[Any]) -> Iterator[Judged]:
    """Portions judged, in their order, while others are read and noted; each lasts until the next is asked for."""
    ahead: deque[Future[Judged]] = deque()
    for portion in some:
        ahead.append(pool.submit(judge.judge, portion.with_row_index(ORDER)))
        if len(ahead) > AHEAD:
            yield ahead[0].result()
            judge.forget(ahead.popleft().result())
    while ahead:
        yield ahead[0].result()
        judge.forget(ahead.popleft().result())


def _stand_together(found: Collected) -> bool:
    """False where a host was judged more than once; two names of one hash only have the table read again."""
    import polars

    if not found.seen:
        return True
    hosts = polars.concat(found.seen).hash()
    return bool(hosts.n_unique() == len(hosts))


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


def _keep(collected: Collected, portion: Any, table: str, peers: Callable[[], Peers]) -> None:
    """Keeps the facts of one host for each cause that is new, for the sentence that proves it."""
    hosts = portion.get_column(HOST_COLUMN)
    for one in collected.findings[collected.kept_up_to :]:
        if one.is_cause and one.conclusion not in collected.kept:
            rows = portion[(hosts == one.host).arg_true()].to_dicts()
            if rows:
                base = base_of_rows(collected.kb, rows, table)
                collected.kept[one.conclusion] = (one.host, with_peers(base, one.host, peers()))
    collected.kept_up_to = len(collected.findings)


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
