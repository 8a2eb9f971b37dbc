"""What the catalogue adds to a diagnosis: facts of GPUs and machine types that are known by name, and none otherwise.

A reading is never replaced: what a machine says of itself is better than what is expected of its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from gpuwhy.engine.versions import of_versions
from gpuwhy.engine.xids import of_xids
from gpuwhy.kb.catalogue import Known, typed
from gpuwhy.kb.facts import HOST, Entity, Fact, FactBase, Origin, OriginKind, gpu
from gpuwhy.kb.model import KnowledgeBase


@lru_cache(maxsize=4096)
def origin_of(source: str, entry: str) -> Origin:
    """Where a fact of the catalogue stands: the reference that it rests on, and the entry it is of."""
    return Origin(OriginKind.CATALOGUE, source, None, entry)


def with_catalogue(kb: KnowledgeBase, base: FactBase) -> FactBase:
    """This base, and what the catalogue knows of the things in it."""
    known = described(kb, base) if kb.catalogue.sections else []
    return base.with_facts(known) if known else base


def described(kb: KnowledgeBase, base: FactBase) -> list[Fact]:
    """Facts of the catalogue about the GPUs and the machine of this base that were not read."""
    found = [*_of_gpus(kb, base), *_of_machine(kb, base), *of_xids(kb, base)]
    return [*found, *of_versions(kb, base, found)]


def _of_gpus(kb: KnowledgeBase, base: FactBase) -> Iterator[Fact]:
    for (fact_id, entity), fact in base.by_key.items():
        if fact_id == "gpu.name" and isinstance(fact.value, str):
            yield from _facts(kb, base, entity, kb.catalogue.of_gpu(fact.value))


def _of_machine(kb: KnowledgeBase, base: FactBase) -> Iterator[Fact]:
    machine = base.get("host.instance_type", HOST)
    if machine is None or not isinstance(machine.value, str):
        return
    known = kb.catalogue.of_instance(machine.value)
    for entity in (base.entities("gpu") or [gpu(0)]) if known else ():
        yield from _facts(kb, base, entity, known)


def _facts(kb: KnowledgeBase, base: FactBase, entity: Entity, known: Iterable[Known]) -> Iterator[Fact]:
    for one in known:
        spec = kb.facts[one.fact]
        if base.get(one.fact, entity) is None:
            value = typed(one.value, spec.unit, spec.type)
            yield Fact(one.fact, value, spec.unit, entity, origin_of(one.source, one.entry))
