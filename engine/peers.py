"""GPUs compared with their peers: median, and ratio to it, within a host, a machine type and the fleet.

Peers are GPUs of the same name at work, because clocks and power at rest say nothing. A median needs members: two on a
host, three beyond it; with fewer the fact is absent with that reason. Medians and ratios, no standard deviations: with
the few GPUs of a host one outlier moves those so much that it hides itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpuwhy.engine.fleet import judge_hosts
from gpuwhy.engine.model import Status
from gpuwhy.engine.signatures import needs
from gpuwhy.kb.averages import median
from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.facts import HOST, Absent, Entity, Fact, FactBase, Origin, OriginKind
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, replace

AT_WORK = 0.5
"""Utilisation from which a GPU is at work; the share that gpumedic takes for its straggler check
(https://pypi.org/project/gpumedic/)."""

QUANTITIES = {
    "sm_clock": ("gpu.sm_clock_megahertz", "megahertz"),
    "power": ("gpu.power_watts", "watts"),
    "temperature": ("gpu.temperature_celsius", "celsius"),
}
LEAST = {"host": 2, "type": 3, "fleet": 3}
"""How many members a median needs."""

_CARRIED = ("gpu.utilization_share", "gpu.power_limit_watts", "gpu.event_software_power_cap")
_ORIGIN = Origin(OriginKind.DERIVED, "peers")
Key = tuple[str, ...]


@dataclass(frozen=True)
class Member:
    """One GPU of a fleet, with the readings that peers are compared by and those that rules about peers need."""

    host: str
    device: Entity
    machine: str
    name: str
    readings: Mapping[str, float | bool]

    @property
    def at_work(self) -> bool:
        """True if it is known to be busy enough to be compared."""
        share = self.readings.get("gpu.utilization_share")
        return share is not None and share >= AT_WORK

    def key(self, group: str) -> Key | None:
        """What its peers of a group have in common; None where that is not known."""
        first = {"host": self.host, "type": self.machine, "fleet": "all"}[group]
        return (group, first, self.name) if first and self.name else None


def members(host: str, base: FactBase) -> Iterator[Member]:
    """The GPUs of a host that have a name and a reading to compare."""
    machine = base.get("host.instance_type", HOST)
    wanted = (*(fact for fact, _ in QUANTITIES.values()), *_CARRIED)
    for device in base.entities("gpu"):
        name = base.get("gpu.name", device)
        found = {one: fact.value for one in wanted if (fact := base.get(one, device)) is not None}
        readings = {one: value for one, value in found.items() if not isinstance(value, str)}
        if name is not None and readings:
            yield Member(host, device, "" if machine is None else str(machine.value), str(name.value), readings)


class Peers:
    """The medians of all groups of a fleet."""

    def __init__(self, fleet: Iterable[Member]) -> None:
        values: dict[tuple[Key, str], list[float]] = {}
        for one in fleet:
            for key in (key for group in LEAST if (key := one.key(group)) is not None) if one.at_work else ():
                for stem, (fact, _) in QUANTITIES.items():
                    if fact in one.readings:
                        values.setdefault((key, stem), []).append(float(one.readings[fact]))
        self._counts = {key: len(found) for key, found in values.items()}
        self._medians = {key: median(found) for key, found in values.items() if len(found) >= LEAST[key[0][0]]}

    def of(self, one: Member) -> tuple[list[Fact], list[Absent]]:
        """What a GPU is to its peers; nothing for one that is not at work."""
        facts: list[Fact] = []
        absent: list[Absent] = []
        for group in LEAST if one.at_work else ():
            key = one.key(group)
            for stem, (fact, unit) in QUANTITIES.items():
                if key is None or fact not in one.readings:
                    continue
                middle, ratio = f"gpu.{stem}_{group}_median_{unit}", f"gpu.{stem}_{group}_ratio"
                found = self._medians.get((key, stem))
                if found is None:
                    why = f"{self._counts.get((key, stem), 0)} GPUs of this name at work, {LEAST[group]} are needed"
                    absent += [Absent(each, one.device, why, _ORIGIN) for each in (middle, ratio)]
                    continue
                facts.append(Fact(middle, found, unit, one.device, _ORIGIN))
                if found == 0:
                    absent.append(Absent(ratio, one.device, "the median of its peers is 0", _ORIGIN))
                    continue
                facts.append(Fact(ratio, float(one.readings[fact]) / found, "ratio", one.device, _ORIGIN))
        return facts, absent


PEER_FACTS = frozenset(
    name
    for stem, (_, unit) in QUANTITIES.items()
    for group in LEAST
    for name in (f"gpu.{stem}_{group}_median_{unit}", f"gpu.{stem}_{group}_ratio")
)


def base_of(kb: KnowledgeBase, some: Sequence[Member], peers: Peers) -> FactBase:
    """What is known of the GPUs of one host, with what they are to their peers."""
    facts, absent = [], []
    for one in some:
        if one.machine:
            facts.append(Fact("host.instance_type", one.machine, None, HOST, _ORIGIN))
        facts.append(Fact("gpu.name", one.name, None, one.device, _ORIGIN))
        facts += [Fact(name, value, kb.facts[name].unit, one.device, _ORIGIN) for name, value in one.readings.items()]
        more, lacking = peers.of(one)
        facts += more
        absent += lacking
    return FactBase.of(facts, absent)


def has_peers(base: FactBase) -> bool:
    """True if a GPU of this host is compared with others."""
    return any(name in PEER_FACTS for name, _ in base.by_key)


def judge_peers(kb: KnowledgeBase, bases: Mapping[str, FactBase]) -> Any:
    """What the rules about peers hold for hosts: rows as those of `judge_hosts`."""
    rows = judge_hosts(_about_peers(kb), bases)
    return rows.filter(rows.get_column("rank") <= Status.LIKELY.rank)


def _about_peers(kb: KnowledgeBase) -> KnowledgeBase:
    """The rules that read facts about peers, and the derivations that they rest on, without the catalogue."""
    rules = kb.signatures.only(lambda one: not PEER_FACTS.isdisjoint(one.reads))
    reading = needs(kb)
    needed = {fact for one in rules.outlines for fact in reading[one.id]}
    derivations = kb.derivations.only(lambda one: not needed.isdisjoint(one.about))
    return replace(kb, signatures=rules, derivations=derivations, catalogue=Catalogue())
