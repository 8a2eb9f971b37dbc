"""Readings of several artefacts become facts of one diagnosis: units, entities that mean the same thing, failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuwhy.kb.facts import JOB, Absent, Entity, Fact, Origin, OriginKind, Value, is_number
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import replace
from gpuwhy.probes.artefacts.contract import Extract, Reading
from gpuwhy.probes.artefacts.pci_places import joined

UNNAMED = "this"
"""The name of a model in artefacts that do not name it."""

MAX_CAPACITY_DIFFERENCE = 0.12
"""A failure's device and a listed GPU are the same card only if their memory sizes agree: a message counts what the
card leaves to programs, a table what it has."""

_LONGEST_SHOWN = 80

Extracts = Iterable[tuple[str, Extract]]
Odd = tuple[str, "int | None", str]


def attach(extracts: Extracts, specs: Mapping[str, FactSpec]) -> tuple[list[Fact], list[Absent], list[Odd]]:
    """Facts, absent readings, and readings that do not fit the vocabulary (with artefact and line)."""
    facts: list[Fact] = []
    absent: list[Absent] = []
    odd: list[Odd] = []
    seen_failures: dict[frozenset[tuple[str, Value]], Entity] = {}
    for name, extract in extracts:
        rename = _failures(extract, seen_failures)
        for reading in extract.readings:
            entity = rename.get(reading.entity, reading.entity)
            fact = _fact(reading, entity, name, specs)
            if fact is None:
                odd.append((name, reading.line, _why_odd(reading)))
            else:
                facts.append(fact)
        for missing in extract.missing:
            if missing.fact in specs:
                entity = rename.get(missing.entity, missing.entity)
                absent.append(Absent(missing.fact, entity, missing.reason, _origin(name, missing.line, None)))
    facts, absent = _joined(facts, absent)
    facts = _detach(facts)
    one = _only_model(facts)
    if one is not None:
        facts = [replace(fact, entity=_renamed(fact.entity, one)) for fact in facts]
        absent = [replace(lack, entity=_renamed(lack.entity, one)) for lack in absent]
    return facts, absent, odd


def _origin(name: str, line: int | None, text: str | None, said: bool = False) -> Origin:
    return Origin(OriginKind.PERSON if said else OriginKind.ARTEFACT, name, line, text)


def _fact(reading: Reading, entity: Entity, name: str, specs: Mapping[str, FactSpec]) -> Fact | None:
    spec = specs.get(reading.fact)
    if spec is None:
        return None
    value = typed(reading.value, spec)
    if value is None:
        return None
    origin = _origin(name, reading.line, reading.text, reading.said)
    return Fact(reading.fact, value, spec.unit, entity, origin, reading.observed_at, reading.window_seconds)


def _why_odd(reading: Reading) -> str:
    value = reading.value
    if not isinstance(value, (bool, str)) and not is_number(value):
        return f"`{reading.fact}` is not readable: no number is that large"
    return f"`{reading.fact}` = {repr(value)[:_LONGEST_SHOWN]} does not fit the vocabulary"


def typed(value: Value, spec: FactSpec) -> Value | None:
    """The value as the vocabulary wants it (whole numbers as integers), or None if it does not fit."""
    if spec.type == "boolean":
        return value if isinstance(value, bool) else None
    if spec.type in ("text", "choice"):
        fits = isinstance(value, str) and (spec.type == "text" or value in spec.choices)
        return value if fits else None
    if isinstance(value, (bool, str)) or not is_number(value):
        return None
    if spec.type == "integer":
        return int(value) if value == int(value) else None
    return value


def _failures(extract: Extract, seen: dict[frozenset[tuple[str, Value]], Entity]) -> dict[Entity, Entity]:
    """Failures of one extract, numbered through all artefacts; the same failure printed again is the same failure."""
    own: dict[Entity, set[tuple[str, Value]]] = {}
    for reading in extract.readings:
        if reading.entity.kind == "failure":
            own.setdefault(reading.entity, set()).add((reading.fact, reading.value))
    renamed: dict[Entity, Entity] = {}
    for entity, values in own.items():
        key = frozenset(values)
        renamed[entity] = seen.setdefault(key, Entity("failure", str(len(seen) + 1), entity.parent))
    return renamed


def _joined(facts: list[Fact], absent: list[Absent]) -> tuple[list[Fact], list[Absent]]:
    """GPUs that one artefact names by their bus address and another by their index are the same."""
    entities = {one.entity for one in facts} | {one.entity for one in absent}
    if not any(one.kind == "gpu" and ":" in one.name for each in entities for one in each.lineage()):
        return facts, absent
    bus_ids = {one.entity: one.value for one in facts if one.id == "gpu.bus_id" and isinstance(one.value, str)}
    known = joined(entities, bus_ids)

    def moved(entity: Entity) -> Entity:
        parent = None if entity.parent is None else moved(entity.parent)
        return known.get(entity) or replace(entity, parent=parent)

    return (
        [replace(one, entity=moved(one.entity)) for one in facts],
        [replace(one, entity=moved(one.entity)) for one in absent],
    )


def _only_model(facts: list[Fact]) -> Entity | None:
    """The only model that has a name, if artefacts that name none are about a model too."""
    models = {one for entity in {fact.entity for fact in facts} for one in entity.lineage() if one.kind == "model"}
    named = [one for one in models if one.name != UNNAMED]
    return named[0] if len(named) == 1 and len(models) == 2 else None


def _renamed(entity: Entity, one: Entity) -> Entity:
    if entity.kind == "model":
        return one if entity.name == UNNAMED else entity
    return entity if entity.parent is None else replace(entity, parent=_renamed(entity.parent, one))


def _detach(facts: list[Fact]) -> list[Fact]:
    """Failures whose device plainly is not the GPU of that index belong to the job alone.

    A message counts devices as CUDA does, a table as NVML does; the two orders can differ.
    """
    totals = {one.entity: one.value for one in facts if one.id == "gpu.memory_total_bytes"}
    moved: dict[Entity, Entity] = {}
    for one in facts:
        parent = one.entity.parent
        if one.id == "oom.capacity_bytes" and parent in totals and not isinstance(one.value, str):
            total = totals[parent]
            if not isinstance(total, str) and abs(one.value - total) > MAX_CAPACITY_DIFFERENCE * total:
                moved[one.entity] = replace(one.entity, parent=JOB)
    return [replace(one, entity=moved[one.entity]) if one.entity in moved else one for one in facts] if moved else facts
