"""What follows from versions: what the catalogue knows of a range of them, and versions as numbers to compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpuwhy.kb.catalogue import typed, version_number
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind
from gpuwhy.kb.model import KnowledgeBase

_SOURCE = "numbers of versions"


def of_versions(kb: KnowledgeBase, base: FactBase, more: Sequence[Fact]) -> list[Fact]:
    """Facts that follow from the versions in this base and in these facts; a reading is never replaced."""
    numbers, ranged = kb.catalogue.numbers(), {entry["of"] for entry in kb.catalogue.sections.get("versions", ())}
    versions = {of for of, _ in numbers} | ranged
    told = {(one.id, one.entity): one for one in (*more, *base.by_key.values()) if one.id in versions}
    found = [
        one
        for fact in told.values()
        if fact.id in ranged and isinstance(fact.value, str)
        for one in _known(kb, fact)
        if (one.id, one.entity) not in base.by_key
    ]
    if found:
        given = {(one.id, one.entity) for one in more}
        found = [one for one in found if (one.id, one.entity) not in given]
    told |= {(one.id, one.entity): one for one in found if one.id in versions}
    return [*found, *_numbers(kb, numbers, list(told.values()))]


def _known(kb: KnowledgeBase, fact: Fact) -> Iterator[Fact]:
    for one in kb.catalogue.of_version(fact.id, str(fact.value)):
        spec = kb.facts[one.fact]
        origin = Origin(OriginKind.CATALOGUE, one.source, None, one.entry)
        entity = _entity(spec.entity, fact.entity)
        yield Fact(one.fact, typed(one.value, spec.unit, spec.type), spec.unit, entity, origin)


def _numbers(kb: KnowledgeBase, numbers: Iterable[tuple[str, str]], told: Iterable[Fact]) -> Iterator[Fact]:
    for of, gives in numbers:
        for fact in told:
            number = version_number(str(fact.value)) if fact.id == of else None
            if number is not None:
                origin = Origin(OriginKind.CATALOGUE, _SOURCE, None, f"{of} {fact.value}")
                yield Fact(gives, number, None, _entity(kb.facts[gives].entity, fact.entity), origin)


def _entity(kind: str, of: Entity) -> Entity:
    return {"job": JOB, "host": HOST}.get(kind, of)
