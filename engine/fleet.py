"""Many machines judged at once: conclusions from the column reading, as rows.

The status of a conclusion for an entity is decided as in `conclusions.conclude`: the best of its signatures, lowered
one step where an exclusion of any of them holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gpuwhy.engine.catalogue import with_catalogue
from gpuwhy.engine.columns import Expr, Table, add_refs, derive, frame_of, judged
from gpuwhy.engine.model import Status
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.model import KnowledgeBase, Signature

RANKS = tuple(one.rank for one in Status)
STATUS_OF = {one.rank: one.value for one in Status}
LABELS = {"instance_type": "host.instance_type", "gpu_name": "gpu.name"}
SEPARATOR = "@"


def conclusions(kb: KnowledgeBase, table: Table) -> dict[str, Expr]:
    """For each conclusion that can be in play, `<conclusion>@<scope>`, the rank of its status in each row.

    0 confirmed, 1 likely, 2 possible, 3 ruled out; null where it is not in play. Rules that need a fact which no column
    has are passed over: they would say nothing.
    """
    groups: dict[str, list[Signature]] = {}
    for one in kb.signatures.in_play(table.names):
        if one.status != "deprecated" and table.judges(one.scope):
            groups.setdefault(f"{one.concludes}{SEPARATOR}{one.scope}", []).append(one)
    add_refs(table, [one for group in groups.values() for one in group])
    return {name: table.on_scope(group[0].scope, _best(table, group)) for name, group in groups.items()}


def _best(table: Table, group: list[Signature]) -> Expr:
    sheet = table.sheet
    found = [table.in_scope(one.scope, partial(judged, table, one, RANKS)) for one in group]
    best = sheet.least([rank for rank, _ in found]) if len(found) > 1 else found[0][0]
    if not any(one.excludes for one in group):
        return best
    vetoed = sheet.some([against for _, against in found])
    return sheet.choose(vetoed & (best < Status.RULED_OUT.rank), best + 1, best)


def judge_hosts(kb: KnowledgeBase, hosts: Mapping[str, FactBase]) -> Any:
    """What is concluded about each host, as a Polars frame of one row for each host, entity and conclusion.

    Columns: host, entity, conclusion, rank. Conclusions that are ruled out are left out.
    """
    import polars

    known = {name: with_catalogue(kb, base) for name, base in hosts.items()}
    table = Table(kb.facts, frame_of(kb, known, read_facts(kb)))
    derive(kb, table)
    ranks = conclusions(kb, table)
    table.sheet.bind(ranks)
    rows = polars.DataFrame({name: table.sheet.whole(name) for name in ("host", "entity", *ranks)})
    return polars.concat([asserted(rows, name) for name in ranks] or [nothing()])


def read_facts(kb: KnowledgeBase) -> set[str]:
    """The facts that derivations and signatures read or give."""
    outlines = [*kb.derivations.outlines, *kb.signatures.outlines]
    given = {fact for one in kb.derivations.outlines for fact in one.about}
    return given.union(*(one.reads for one in outlines))


def asserted(frame: Any, name: str, up_to: int = Status.POSSIBLE.rank) -> Any:
    """The rows of a frame for which a conclusion has a status up to this rank."""
    import polars

    return frame.filter(polars.col(name) <= up_to).select(
        "host",
        "entity",
        polars.lit(name.partition(SEPARATOR)[0]).alias("conclusion"),
        polars.col(name).cast(polars.Int8).alias("rank"),
    )


def nothing() -> Any:
    """The frame of no conclusion at all."""
    import polars

    text = dict.fromkeys(("host", "entity", "conclusion"), polars.String)
    return polars.DataFrame(schema={**text, "rank": polars.Int8})


def folded(kb: KnowledgeBase, ranks: Mapping[str, int]) -> dict[str, str]:
    """Which of the asserted conclusions of a host is explained by which: as consequences fold in a diagnosis."""
    held = sorted((name for name, rank in ranks.items() if rank <= Status.LIKELY.rank), key=lambda name: ranks[name])
    explained: dict[str, str] = {}
    for cause in held:
        for consequence in kb.conclusions[cause].explains:
            is_open = consequence in held and consequence not in explained
            if is_open and not _leads_to(cause, consequence, explained):
                explained[consequence] = cause
    return explained


def _leads_to(start: str, goal: str, explained: Mapping[str, str]) -> bool:
    """True if `start` is already explained, directly or not, by `goal`."""
    at: str | None = start
    while at is not None:
        if at == goal:
            return True
        at = explained.get(at)
    return False
