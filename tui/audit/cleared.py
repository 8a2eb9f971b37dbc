"""Whether a cause of an earlier report that is not found again could be found now: only then it is cleared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpuwhy.engine.catalogue import with_catalogue
from gpuwhy.engine.peers import about_peers
from gpuwhy.kb.facts import HOST, Fact, FactBase, Origin, OriginKind, gpu
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts.read import UnusableInput
from gpuwhy.probes.fleet_tables import HOST_COLUMN, read_whole, scan
from gpuwhy.tui.audit.unjudged import Unjudged

NAMING = ("host.instance_type", "gpu.name", "gpu.xid_event_codes")
"""By which the catalogue knows more."""


class Cleared:
    """Says of causes whether anything known about a host now could have shown them again.

    `known`: by host, the facts that were read, and those that the catalogue adds.
    """

    def __init__(self, kb: KnowledgeBase, gates: Unjudged, known: Mapping[str, frozenset[str]]) -> None:
        self._gates, self._known = gates, known
        self._of_peers = {cause for one in about_peers(kb).signatures.outlines for cause in one.about}

    def could_be_seen(self, host: str, conclusion: str) -> bool:
        """True if readings that a rule of this conclusion begins with were taken on this host.

        What rests on comparisons with other hosts is not asked about, nor is a host of which no reading is noted.
        """
        known = self._known.get(host)
        return known is None or conclusion in self._of_peers or self._gates.could_judge(known, conclusion)


def known_of(kb: KnowledgeBase, base: FactBase) -> frozenset[str]:
    """The facts that are known of a host, of whatever entity."""
    return frozenset(name for name, _ in with_catalogue(kb, base).by_key)


def known_in_tables(kb: KnowledgeBase, paths: Iterable[Path], hosts: set[str]) -> dict[str, frozenset[str]]:
    """The facts that rows of these hosts have in tables, as far as they can be read."""
    found: dict[str, frozenset[str]] = {}
    for path in paths if hosts else ():
        try:
            with read_whole(path.name):
                for host, known in _of_table(kb, path, hosts):
                    found[host] = found.get(host, frozenset()) | known
        except UnusableInput:
            continue
    return found


def _of_table(kb: KnowledgeBase, path: Path, hosts: set[str]) -> Iterator[tuple[str, frozenset[str]]]:
    import polars

    frame = scan(path)
    names = [one for one in frame.collect_schema().names() if one in kb.facts]
    naming = [one for one in names if one in NAMING]
    there = [polars.col(one).is_not_null().any() for one in names]
    first = [polars.col(one).drop_nulls().first().cast(polars.String).alias(f"first {one}") for one in naming]
    rows = frame.filter(polars.col(HOST_COLUMN).is_in(sorted(hosts))).group_by(HOST_COLUMN).agg(*there, *first)
    origin = Origin(OriginKind.MEASURED, path.name)
    for row in rows.collect(engine="streaming").to_dicts():
        said = [
            Fact(one, row[f"first {one}"], None, HOST if one.startswith("host.") else gpu(0), origin)
            for one in naming
            if row[f"first {one}"] is not None
        ]
        yield row[HOST_COLUMN], known_of(kb, FactBase.of(said)).union(one for one in names if row[one])
