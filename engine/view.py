"""What one entity sees of the facts: its own, those of what it belongs to, and aggregates over its siblings.

A GPU sees its host's facts; a failure sees those of the GPU it happened on and of its job; a host or a job sees the
facts of the only GPU, and aggregates over several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from gpuwhy.kb.averages import mean, median
from gpuwhy.kb.conditions import FactRef, Over
from gpuwhy.kb.facts import HOST, JOB, Absent, Entity, Fact, FactBase, Origin, OriginKind
from gpuwhy.kb.model import FactSpec

_ALWAYS = {"host": HOST, "job": JOB}


class World:
    """A fact base with its vocabulary, prepared for look-ups from any entity."""

    def __init__(self, specs: Mapping[str, FactSpec], base: FactBase) -> None:
        self.specs = specs
        self._given = base
        self._added: list[Fact] = []
        self._by_id: dict[str, dict[Entity, Fact]] = {}
        self._entities: dict[str, dict[Entity, None]] = {kind: {one: None} for kind, one in _ALWAYS.items()}
        self._absent: dict[tuple[str, Entity], Absent] = {(one.id, one.entity): one for one in base.absent}
        for fact in base.facts():
            self._note(fact)

    def _note(self, fact: Fact) -> None:
        of = fact.entity
        self._by_id.setdefault(fact.id, {})[of] = fact
        if of not in self._entities.get(of.kind, ()):  # what it belongs to is noted with it
            for entity in of.lineage():
                self._entities.setdefault(entity.kind, {})[entity] = None

    def add(self, fact: Fact) -> None:
        """Note one more fact, as derivations produce them."""
        self._added.append(fact)
        self._note(fact)

    @property
    def base(self) -> FactBase:
        """The given facts and those added since."""
        return self._given.with_facts(self._added) if self._added else self._given

    @property
    def known(self) -> Collection[str]:
        """The ids of the facts that some entity has; grows as facts are added."""
        return self._by_id.keys()

    def entities(self, kind: str) -> list[Entity]:
        """All entities of a kind; there is always a host and a job."""
        return list(self._entities.get(kind, ()))

    def has(self, fact_id: str, entity: Entity) -> bool:
        """True if exactly this entity has this fact."""
        return entity in self._by_id.get(fact_id, ())

    def own(self, fact_id: str, entity: Entity) -> Fact | None:
        """The fact of exactly this entity, given or added."""
        return self._by_id.get(fact_id, {}).get(entity)

    def home(self, fact_id: str, entity: Entity) -> Entity | None:
        """The entity whose fact `fact_id` is when seen from `entity`; None if there are several or none."""
        kind = self.specs[fact_id].entity
        for one in entity.lineage():
            if one.kind == kind:
                return one
        found = self._entities.get(kind, {})
        return next(iter(found)) if len(found) == 1 else None

    def get(self, ref: FactRef, entity: Entity) -> Fact | None:
        """The fact a reference means, seen from an entity; None where it is unknown."""
        if ref.over is not None:
            return self._aggregate(ref)
        if ref.fact not in self._by_id:
            return None
        home = self.home(ref.fact, entity)
        return self._by_id[ref.fact].get(home) if home is not None else None

    def why_unknown(self, ref: FactRef, entity: Entity) -> str:
        """Why `get` gives None: could not be read (and the reason), several candidates, or nothing is known."""
        kind = self.specs[ref.fact].entity
        home = self.home(ref.fact, entity)
        if home is None and len(self._entities.get(kind, ())) > 1:
            return f"there are {len(self._entities[kind])} of kind {kind}"
        absent = self._absent.get((ref.fact, home)) if home is not None else None
        return f"could not be read: {absent.reason}" if absent else "not known"

    def _aggregate(self, ref: FactRef) -> Fact | None:
        found = list(self._by_id.get(ref.fact, {}).values())
        if not found:
            return None
        assert ref.over is not None
        if ref.over is Over.COUNT:
            return _aggregated(ref, float(len(found)), "count", found)
        numbers = [float(one.value) for one in found if not isinstance(one.value, str)]
        if not numbers:
            return None
        value = _AGGREGATES[ref.over](numbers)
        return _aggregated(ref, value, found[0].unit, found) if math.isfinite(value) else None


_AGGREGATES: Mapping[Over, Callable[[list[float]], float]] = {
    Over.MAX: max,
    Over.MIN: min,
    Over.MEAN: mean,
    Over.MEDIAN: median,
    Over.SUM: sum,
}


def _aggregated(ref: FactRef, value: float, unit: str | None, found: list[Fact]) -> Fact:
    assert ref.over is not None
    first = found[0]
    origin = (
        first.origin
        if len(found) == 1
        else Origin(OriginKind.DERIVED, f"{ref.over.value} over {len(found)} of kind {first.entity.kind}")
    )
    return Fact(ref.fact, value, unit, HOST, origin)
