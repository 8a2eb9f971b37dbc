"""Runs an audit: hosts are read and judged in portions, so that a fleet of any size takes the memory of a portion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from gpuwhy.engine.fleet import STATUS_OF, folded, judge_hosts, needs
from gpuwhy.kb.facts import HOST, Absent, FactBase
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.fleet_inputs import Broken, Fleet, HostFiles, read_host
from gpuwhy.tui.audit.model import BROKEN, Audit, Finding, Host
from gpuwhy.tui.audit.tables import add_table

if TYPE_CHECKING:
    from gpuwhy.engine.model import Diagnosis

PORTION = 400
EXAMPLES = 20

Progress = Callable[[int], object]


@dataclass
class Collected:
    """What an audit found so far."""

    kb: KnowledgeBase
    hosts: dict[str, Host] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unread: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    kept: dict[str, tuple[str, FactBase]] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    possible: Counter[str] = field(default_factory=Counter)
    kept_up_to: int = 0
    _needed: dict[str, frozenset[str]] = field(default_factory=dict)

    def needed(self, conclusion: str) -> frozenset[str]:
        """The facts that a conclusion may rest on."""
        if conclusion not in self._needed:
            self._needed[conclusion] = needs(self.kb, conclusion)
        return self._needed[conclusion]

    def broken(self, one: Broken) -> None:
        """Notes a host that could not be read."""
        name = self.unused(one.host)
        self.hosts[name] = Host(name, BROKEN, says=one.says)

    def unused(self, name: str) -> str:
        """This name, or one like it that no host has yet."""
        count, made = 1, name
        while made in self.hosts:
            count += 1
            made = f"{name}#{count}"
        return made

    def audit(self) -> Audit:
        """The audit of everything noted."""
        return Audit(
            self.kb,
            self.hosts,
            tuple(self.findings),
            self.unread,
            notes=tuple(self.notes),
            counted=self.counted,
            others=self.others,
            possible=self.possible,
        )

    def add_table_hosts(self, rows: Iterable[tuple[str, int, str | None, str | None]]) -> dict[str, str]:
        """Notes hosts of a table: name, number of GPUs, machine type and GPU; gives the names that the audit uses."""
        names = {}
        for host, gpus, machine, device in rows:
            names[host] = self.unused(host)
            self.hosts[names[host]] = Host(names[host], instance_type=machine or "", gpu_name=device or "", gpus=gpus)
        return names

    def add_findings(self, rows: Iterable[tuple[str, str, str, int]]) -> dict[str, dict[str, int]]:
        """Notes conclusions by host and entity, consequences folded; gives the best rank of each by host."""
        ranks: dict[str, dict[str, int]] = {}
        where: dict[tuple[str, str, int], list[str]] = {}
        for host, entity, conclusion, rank in rows:
            best = ranks.setdefault(host, {})
            best[conclusion] = min(rank, best.get(conclusion, rank))
            where.setdefault((host, conclusion, rank), []).append(entity)
        for host, best in ranks.items():
            explained = folded(self.kb, best)
            for name, rank in best.items():
                kind = self.kb.conclusions[name].kind
                entities = tuple(shown for one in where[host, name, rank] if (shown := _shown(one)))
                self.findings.append(Finding(host, name, kind, STATUS_OF[rank], entities, explained.get(name, "")))
        return ranks


def run(kb: KnowledgeBase, fleet: Fleet, progress: Progress = lambda _: None) -> Collected:
    """Reads and judges every host; `progress` is told how many more are done."""
    collected = Collected(kb)
    for one in fleet.broken:
        collected.broken(one)
    waiting = iter(fleet.hosts)
    while portion := list(islice(waiting, PORTION)):
        bases = dict(_read(collected, portion, progress))
        add_judged(collected, bases)
    for path in fleet.tables:
        add_table(collected, path, progress)
    return collected


def _read(collected: Collected, portion: Iterable[HostFiles], progress: Progress) -> Iterator[tuple[str, FactBase]]:
    for one in portion:
        found = read_host(one, collected.kb.facts)
        progress(1)
        if isinstance(found, Broken):
            collected.broken(found)
            continue
        base = FactBase.of(found.facts, found.absent)
        name = collected.unused(one.name)
        collected.hosts[name] = host_of(name, base, found.says)
        yield name, base


def host_of(name: str, base: FactBase, says: str) -> Host:
    """The row of a host in the report."""
    machine = base.get("host.instance_type", HOST)
    devices = base.entities("gpu")
    names = {str(one.value) for device in devices if (one := base.get("gpu.name", device)) is not None}
    return Host(
        name,
        instance_type="" if machine is None else str(machine.value),
        gpu_name=", ".join(sorted(names)),
        gpus=len(devices),
        says=says,
    )


def add_judged(collected: Collected, bases: dict[str, FactBase]) -> None:
    """Judges hosts by the column reading and notes what is concluded."""
    if not bases:
        return
    rows = judge_hosts(collected.kb, bases).select("host", "entity", "conclusion", "rank")
    for host, best in collected.add_findings(rows.iter_rows()).items():
        possible = [name for name, rank in best.items() if STATUS_OF[rank] == "possible"]
        collected.unread.update(_unread(collected, possible, bases[host].absent))


def _shown(entity: str) -> str:
    """An entity as a report names it; a host or a job needs no name beside that of the host."""
    kind, _, name = entity.partition("/")[0].partition(":")
    return "" if kind in ("host", "job") else f"{kind} {name}"


def _unread(collected: Collected, possible: Iterable[str], absent: Iterable[Absent]) -> set[tuple[str, str, str]]:
    """Which readings that could not be taken keep which causes from being judged, with the reasons."""
    lacking = {(one.id, one.reason) for one in absent}
    found = set()
    for name in possible if lacking else ():
        needed = collected.needed(name)
        found |= {(name, fact, reason) for fact, reason in lacking if fact in needed}
    return found


def diagnosed(kb: KnowledgeBase, base: FactBase) -> Diagnosis:
    """The diagnosis of one host, without the search for questions."""
    from gpuwhy.engine.diagnose import diagnose

    return diagnose(kb, base, ask=False)


def examples(audit: Audit, fleet: Fleet, kept: Mapping[str, tuple[str, FactBase]]) -> dict[str, str]:
    """For the first causes, a host and the sentence that proves it; `kept`: by cause, facts of a host of a table."""
    by_name = {one.name: one for one in fleet.hosts}
    found: dict[str, str] = {}
    for cause in audit.causes()[:EXAMPLES]:
        worst = by_name.get(cause.groups[0].hosts[0].host)
        name, base = kept.get(cause.id, ("", None)) if worst is None else (worst.name, _facts_of(audit.kb, worst))
        made = diagnosed(audit.kb, base).conclusions if base is not None else ()
        found.update({one.id: f"{name}: {one.because}" for one in made if one.id == cause.id and one.because})
    return found


def _facts_of(kb: KnowledgeBase, host: HostFiles) -> FactBase | None:
    read = read_host(host, kb.facts)
    return None if isinstance(read, Broken) else FactBase.of(read.facts, read.absent)
