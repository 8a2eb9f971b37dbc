"""What every report is made from: the diagnosis, what was read, and the knowledge it rests on."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.engine.model import Diagnosis
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.read import Gathered, NotUnderstood

MAX_RANGES = 3


@dataclass(frozen=True)
class Report:
    """A diagnosis with its surroundings, ready to be written in any format."""

    kb: KnowledgeBase
    gathered: Gathered
    diagnosis: Diagnosis
    language: str = "en"


def places(found: Iterable[NotUnderstood]) -> list[tuple[str, str]]:
    """Where something was not read, and why; places of one artefact and one reason stand together."""
    together: dict[tuple[str, str], list[NotUnderstood]] = {}
    for one in found:
        together.setdefault((one.artefact, one.reason), []).append(one)
    return [(_place(group), reason) for (_, reason), group in together.items()]


def _place(group: list[NotUnderstood]) -> str:
    """`lines 14-20 of oom.txt`, `line 3, lines 7-9 and 12 more places (340 lines) of …`, or the artefact's name."""
    ranges = [(one.first, one.last or one.first) for one in group if one.first is not None]
    if not ranges:
        return group[0].artefact
    shown = ", ".join(
        f"line {first}" if first == last else f"lines {first}-{last}" for first, last in ranges[:MAX_RANGES]
    )
    if len(ranges) > MAX_RANGES:
        lines = sum(last - first + 1 for first, last in ranges)
        shown += f" and {len(ranges) - MAX_RANGES} more places ({lines:,} lines in all)"
    return f"{shown} of {group[0].artefact}"
