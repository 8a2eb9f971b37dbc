"""Two moments of one GPU in different artefacts: one of them is used as a whole, and the other is told.

`gauges` does this within one artefact. Between artefacts the same holds: a table from before a job and one from during
it are both true, and the utilisation of one beside the memory of the other never was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuwhy.kb.facts import Entity, Fact
from gpuwhy.probes.artefacts.gauges import (
    EVENTS,
    GAUGES,
    LISTS,
    SAMPLE_COUNT,
    SPREAD,
    UTILIZATION,
    instant,
    used_moment,
)

Odd = tuple[str, "int | None", str]

_BASES = {spread: gauge for gauge, several in SPREAD.items() for spread, _ in several} | {
    f"{event}_sample_share": event for event in EVENTS
}
"""Facts that stand beside a gauge, and the gauge."""


def one_moment(facts: Sequence[Fact]) -> tuple[list[Fact], list[Odd]]:
    """The facts without the moments that are not used, and what to tell of those (artefact, line, message)."""
    devices: dict[Entity, dict[str, dict[str, Fact]]] = {}
    for fact in facts:
        if fact.entity.kind == "gpu" and fact.id in GAUGES and fact.id not in LISTS:
            devices.setdefault(fact.entity, {}).setdefault(fact.origin.source, {})[fact.id] = fact
    left = list(facts)
    told: list[Odd] = []
    for device, by_artefact in devices.items():
        differing = _differing(by_artefact)
        if differing:
            used = _used(differing, by_artefact)
            left = _without(left, device, used, [name for name in differing if name != used])
            told.extend(
                (name, next(iter(by_artefact[name].values())).origin.line, _told(device, by_artefact, name, used))
                for name in differing
                if name != used
            )
    return left, told


def _differing(by_artefact: Mapping[str, Mapping[str, Fact]]) -> list[str]:
    """The artefacts that say something of one gauge and do not agree, in their order; of agreeing ones none."""
    found: dict[str, None] = {}
    names = list(by_artefact)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            first, second = by_artefact[one], by_artefact[other]
            if any(second[id_].value != fact.value for id_, fact in first.items() if id_ in second):
                found[one] = found[other] = None
    return [name for name in names if name in found]


def _used(names: Sequence[str], by_artefact: Mapping[str, Mapping[str, Fact]]) -> str:
    """The latest of the moments at work; by the times that the artefacts print, else by the order they are named in."""
    times = [instant(next(iter(by_artefact[name].values())).observed_at) for name in names]
    known = [one for one in times if one is not None]
    ordered = list(names)
    if len(known) == len(names) and len({one.year for one in known}) == 1:
        ordered = [name for _, name in sorted(zip(known, names, strict=True), key=lambda one: one[0])]
    work = {
        place: by_artefact[name][UTILIZATION] for place, name in enumerate(ordered) if UTILIZATION in by_artefact[name]
    }
    return ordered[used_moment(range(len(ordered)), {place: float(fact.value) for place, fact in work.items()})]


def _without(facts: Sequence[Fact], device: Entity, used: str, others: Sequence[str]) -> list[Fact]:
    """The facts without those of the other moments that the used one has of its own."""
    own = {fact.id for fact in facts if fact.origin.source == used and fact.entity == device}
    listed = bool(own & LISTS)

    def stays(fact: Fact) -> bool:
        if fact.origin.source not in others or device not in fact.entity.lineage():
            return True
        if fact.entity.kind == "process" or fact.id in LISTS:
            return not listed
        if fact.entity != device:
            return True
        if fact.id == SAMPLE_COUNT:
            return SAMPLE_COUNT not in own
        base = _BASES.get(fact.id, fact.id)
        return not (base in own and (base in GAUGES or base in EVENTS))

    return [fact for fact in facts if stays(fact)]


def _told(device: Entity, by_artefact: Mapping[str, Mapping[str, Fact]], aside: str, used: str) -> str:
    def shown(name: str) -> str:
        fact = by_artefact[name].get(UTILIZATION)
        return "" if fact is None else f" (utilisation {float(fact.value) * 100:.0f} %)"

    return f"this moment of {device.path}{shown(aside)} is set aside for that of {used}{shown(used)}"
