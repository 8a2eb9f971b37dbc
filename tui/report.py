"""What every report is made from: the diagnosis, what was read, and the knowledge it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from gpuwhy.engine.model import Diagnosis
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts.read import Gathered, NotUnderstood

MAX_RANGES = 6


@dataclass(frozen=True)
class Report:
    """A diagnosis with its surroundings, ready to be written in any format."""

    kb: KnowledgeBase
    gathered: Gathered
    diagnosis: Diagnosis
    language: str = "en"


def place(one: NotUnderstood) -> str:
    """Where something was not understood: `lines 14-20 of oom.txt`, `line 3 of …`, or the whole artefact's name."""
    if one.first is None:
        return one.artefact
    if one.last is None or one.last == one.first:
        return f"line {one.first} of {one.artefact}"
    return f"lines {one.first}-{one.last} of {one.artefact}"
