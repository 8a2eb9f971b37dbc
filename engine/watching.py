"""Follows facts that come window after window: what appears, and what clears. Takes no more room with time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpuwhy.engine.changes import Changes, facts_read
from gpuwhy.engine.conclusions import conclude
from gpuwhy.engine.derive import derive
from gpuwhy.engine.model import Conclusion
from gpuwhy.engine.signatures import evaluate
from gpuwhy.engine.steady import Shown, Steady, Turn
from gpuwhy.engine.view import World
from gpuwhy.kb.facts import Fact, FactBase
from gpuwhy.kb.model import KnowledgeBase

COST_SHARE = 0.002
"""Judging may take this share of the time of one core; what changes faster waits for its turn."""

STALE_SECONDS = 60.0
"""Facts are judged anew after so long, however little each of them moved."""

URGENT = frozenset(
    {
        "gpu.ecc_uncorrected_new_count",
        "gpu.lost",
        "gpu.nvml_error",
        "gpu.remap_failed",
        "gpu.remap_pending",
        "gpu.reset_required",
        "gpu.xid_event_count",
        "host.nvml_error",
        "host.out_of_memory_kills_new",
    }
)
"""Facts that say that something broke: they are judged at once."""

_NAMED = re.compile(r"\{(?:\w{1,12}\()?([a-z0-9_]{1,40}(?:\.[a-z0-9_]{1,80}){1,3})")


def facts_of_interest(kb: KnowledgeBase) -> frozenset[str]:
    """The facts that rules judge by or tell of: no others need be gathered."""
    told: set[str] = set()
    for signature in kb.signatures:
        for text in (*signature.because, *(one.because for one in signature.supports)):
            told.update(_NAMED.findall(str(text)))
    return facts_read(kb) | told


Key = tuple[str, str]
"""A conclusion and the entity that it is about."""


@dataclass(frozen=True)
class Finding:
    """What is said of a conclusion about an entity."""

    conclusion: str
    entity: str
    status: str
    because: str


class Watching:
    """Judges each window of facts where something changed, and says what appeared and what cleared."""

    def __init__(self, kb: KnowledgeBase, steady: Steady[Key, Finding] | None = None) -> None:
        self._kb = kb
        self._changes = Changes(kb)
        self._steady: Steady[Key, Finding] = steady or Steady()
        self._holding: dict[Key, Finding] = {}
        self._judged_at: float | None = None
        self._next_at = 0.0
        self.windows = 0
        self.evaluations = 0

    def take(self, facts: Iterable[Fact], at: float, cpu_seconds: Callable[[], float]) -> list[Turn[Key, Finding]]:
        """Takes the facts of a window that ended at `at` (a clock that never goes back).

        `cpu_seconds` tells the time of one core that was spent so far. A window whose facts changed too little is
        judged as the last one was; one that must wait for its turn counts neither for nor against anything.
        """
        known = list(facts)
        self.windows += 1
        values = self._changes.of(known)
        moved = set(self._changes.since(values))
        old = self._judged_at is None or at - self._judged_at >= STALE_SECONDS
        if moved or old:
            if at < self._next_at and not moved & URGENT:
                return []
            began = cpu_seconds()
            self._holding = _holding(self._kb, known)
            self._changes.judged(values)
            self._judged_at = at
            self._next_at = at + (cpu_seconds() - began) / COST_SHARE
            self.evaluations += 1
        return self._steady.take(self._holding, at)

    def standing(self) -> list[tuple[Key, Shown[Finding]]]:
        """What has appeared and not cleared."""
        return list(self._steady.standing())


def _holding(kb: KnowledgeBase, facts: list[Fact]) -> dict[Key, Finding]:
    """The causes that are confirmed or likely and that no other cause explains, for each entity they are about."""
    world = World(kb.facts, FactBase.of(facts))
    derive(kb.derivations, world)
    found: dict[Key, Finding] = {}
    for one in conclude(kb, evaluate(kb.signatures, world)):
        if one.spec.kind == "cause" and one.status.asserted and one.explained_by is None:
            found.update({(one.id, finding.entity): finding for finding in _findings(one)})
    return found


def _findings(one: Conclusion) -> Iterable[Finding]:
    seen: set[str] = set()
    lead = [] if one.lead is None else [one.lead]
    for result in (*lead, *one.results):
        if result.status is None or not result.status.asserted or result.entity.path in seen:
            continue
        if one.contradicted and result is not one.lead:
            continue
        seen.add(result.entity.path)
        status = one.status if result is one.lead else result.status
        yield Finding(one.id, result.entity.path, status.value, result.because)
