"""What follows from versions: what the catalogue knows of a range of them, and versions as numbers to compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuwhy.kb.catalogue import typed, version_number
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind
from gpuwhy.kb.model import KnowledgeBase

_SOURCE = "numbers of versions"


def of_versions(kb: KnowledgeBase, base: FactBase, more: Iterable[Fact]) -> list[Fact]:
    """Facts that follow from the versions in this base and in these facts; a reading is never replaced."""
    known = {(one.id, one.entity): one for one in (*more, *base.facts())}
    ranged = {(entry["of"]) for entry in kb.catalogue.sections.get("versions", ())}
    found: list[Fact] = []
    for fact in list(known.values()):
        if fact.id in ranged and isinstance(fact.value, str):
            found += [one for one in _known(kb, fact) if (one.id, one.entity) not in known]
    known |= {(one.id, one.entity): one for one in found}
    return [*found, *_numbers(kb, list(known.values()))]


def _known(kb: KnowledgeBase, fact: Fact) -> Iterator[Fact]:
    for one in kb.catalogue.of_version(fact.id, str(fact.value)):
        spec = kb.facts[one.fact]
        origin = Origin(OriginKind.CATALOGUE, one.source, None, one.entry)
        entity = _entity(spec.entity, fact.entity)
        yield Fact(one.fact, typed(one.value, spec.unit, spec.type), spec.unit, entity, origin)


def _numbers(kb: KnowledgeBase, facts: list[Fact]) -> Iterator[Fact]:
    for of, gives in kb.catalogue.numbers():
        for fact in facts:
            number = version_number(str(fact.value)) if fact.id == of else None
            if number is not None:
                origin = Origin(OriginKind.CATALOGUE, _SOURCE, None, f"{of} {fact.value}")
                yield Fact(gives, number, None, _entity(kb.facts[gives].entity, fact.entity), origin)


def _entity(kind: str, of: Entity) -> Entity:
    return {"job": JOB, "host": HOST}.get(kind, of)
