"""What stands at the top of a diagnosis."""

from __future__ import annotations

from gpuwhy.tui.incident.events import SYMPTOMS
from gpuwhy.tui.incident.session import Snapshot


def title_of(snapshot: Snapshot) -> str:
    """The symptom, how much is known, what is supposed, and what could not be kept, in one line."""
    readings = sum(one.origin.kind.value not in ("derived", "person") for one in snapshot.report.diagnosis.facts)
    said = f"{_counted(readings, 'reading')} · {_counted(len(snapshot.answers), 'answer')}"
    parts = [f"{SYMPTOMS.get(snapshot.symptom, '')}   {said}"]
    if snapshot.supposed:
        parts.append("WHAT IF " + ", ".join(f"{fact} = {value}" for fact, value in snapshot.supposed))
    if snapshot.trouble:
        parts.append(f"! NOT KEPT: {snapshot.trouble}")
    return "   ".join(parts)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
