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

UTILIZATION = "gpu.utilization_share"
_CARRIED = (UTILIZATION, "gpu.power_limit_watts", "gpu.event_software_power_cap")
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
        share = self.readings.get(UTILIZATION)
        return share is not None and share >= AT_WORK

    def key(self, group: str) -> Key | None:
        """What its peers of a group have in common; None where that is not known."""
        return key_of(group, self.host if group == "host" else self.machine, self.name)


def key_of(group: str, first: str, name: str) -> Key | None:
    """What the GPUs of this name have in common in a group; `first` is the host or the machine type."""
    first = "all" if group == "fleet" else first
    return (group, first, name) if first and name else None


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


def median_fact(group: str, stem: str) -> str:
    """The fact that the median of a group is."""
    return f"gpu.{stem}_{group}_median_{QUANTITIES[stem][1]}"


def ratio_fact(group: str, stem: str) -> str:
    """The fact that a GPU's reading to the median of its group is."""
    return f"gpu.{stem}_{group}_ratio"


Medians = Mapping[tuple[Key, str], tuple[int, float]]
"""By group and quantity: how many GPUs at work have a reading, and its median."""


class Peers:
    """The medians of all groups of a fleet. `beyond`: those of types and of the fleet with the GPUs of tables."""

    def __init__(self, fleet: Iterable[Member], beyond: Medians | None = None) -> None:
        values: dict[tuple[Key, str], list[float]] = {}
        for one in fleet:
            for key in (key for group in LEAST if (key := one.key(group)) is not None) if one.at_work else ():
                for stem, (fact, _) in QUANTITIES.items():
                    if fact in one.readings:
                        values.setdefault((key, stem), []).append(float(one.readings[fact]))
        known = {key: (len(found), median(found)) for key, found in values.items()} | dict(beyond or {})
        self._counts = {key: count for key, (count, _) in known.items()}
        self._medians = {key: found for key, (count, found) in known.items() if count >= LEAST[key[0][0]]}

    def median(self, group: str, stem: str, machine: str, name: str) -> float | None:
        """The median of a quantity of a machine type (group `type`) or the fleet; None where too few are known."""
        key = key_of(group, machine, name)
        return None if key is None else self._medians.get((key, stem))

    def of(self, one: Member) -> tuple[list[Fact], list[Absent]]:
        """What a GPU is to its peers; nothing for one that is not at work."""
        facts: list[Fact] = []
        absent: list[Absent] = []
        for group in LEAST if one.at_work else ():
            key = one.key(group)
            for stem, (fact, unit) in QUANTITIES.items():
                if key is None or fact not in one.readings:
                    continue
                middle, ratio = median_fact(group, stem), ratio_fact(group, stem)
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
    name for stem in QUANTITIES for group in LEAST for name in (median_fact(group, stem), ratio_fact(group, stem))
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


def with_peers(base: FactBase, host: str, peers: Peers) -> FactBase:
    """These facts of a host, and what its GPUs are to their peers, as far as that can be said."""
    return base.with_facts([fact for one in members(host, base) for fact in peers.of(one)[0]])


def has_peers(base: FactBase) -> bool:
    """True if a GPU of this host is compared with others."""
    return any(name in PEER_FACTS for name, _ in base.by_key)


def judge_peers(kb: KnowledgeBase, bases: Mapping[str, FactBase]) -> Any:
    """What the rules about peers hold for hosts: rows as those of `judge_hosts`."""
    rows = judge_hosts(about_peers(kb), bases)
    return rows.filter(rows.get_column("rank") <= Status.LIKELY.rank)


def about_peers(kb: KnowledgeBase) -> KnowledgeBase:
    """The rules that read facts about peers, and the derivations that they rest on, without the catalogue.

    They are judged apart: what excludes one of them must not lower what other rules say of the same cause.
    """
    rules = kb.signatures.only(lambda one: not PEER_FACTS.isdisjoint(one.reads))
    reading = needs(kb)
    needed = {fact for one in rules.outlines for fact in reading[one.id]}
    derivations = kb.derivations.only(lambda one: not needed.isdisjoint(one.about))
    return replace(kb, signatures=rules, derivations=derivations, catalogue=Catalogue())
