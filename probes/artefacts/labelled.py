"""The last resort: labelled numbers of ad-hoc benchmarks in lines that no other format has claimed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.labelled_facts import named_facts
from gpuwhy.probes.artefacts.labelled_lines import Kind, Labelled, read_lines
from gpuwhy.probes.artefacts.labelled_tables import read_tables

MOST_LINES = 1_000
"""Lines looked at: an ad-hoc benchmark is short; of more, those at both ends."""

MOST_READINGS = 600
"""Labelled numbers kept."""

_FACTS = {
    Kind.SECONDS: "reading.seconds",
    Kind.BYTES: "reading.bytes",
    Kind.SHARE: "reading.share",
    Kind.COUNT: "reading.count",
}


def scan(text: Text) -> Iterator[Extract]:
    """One extract for all labelled numbers."""
    lines = list(text.lines)
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES // 2], *lines[-MOST_LINES // 2 :]]
    entries: list[Labelled] = []
    claimed: set[int] = set()
    for found, numbers in read_tables(lines):
        entries.extend(found)
        claimed |= numbers
    rest = [line for line in lines if line.number not in claimed]
    for entry in read_lines(rest):
        entries.append(entry)
        claimed.add(entry.line.number)
    if entries:
        readings = [*_readings(entries[:MOST_READINGS]), *named_facts(entries)]
        yield Extract("labelled", tuple(readings), claimed=frozenset(claimed))


def _readings(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """The numbers under their labels; a label that returns is told apart by a number."""
    seen: dict[tuple[str, Kind], int] = {}
    for entry in entries:
        name = entry.name
        fact = _FACTS.get(entry.kind, "reading.value")
        if fact == "reading.value" and entry.unit:
            name = f"{name} ({entry.unit})"
        count = seen[name, entry.kind] = seen.get((name, entry.kind), 0) + 1
        entity = Entity("measurement", name if count == 1 else f"{name} #{count}", JOB)
        yield Reading(fact, entry.value, entry.line.number, entry.line.text.strip()[:200], entity)


FORMAT = TextFormat("labelled", "Labelled numbers", (), scan, fallback=True)
