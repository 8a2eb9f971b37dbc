"""Runs an audit: hosts are read and judged in portions, so that a fleet of any size takes the memory of a portion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from gpuwhy.engine.diagnose import proof_and_step
from gpuwhy.engine.fleet import STATUS_OF, folded, judge_hosts
from gpuwhy.engine.model import Status
from gpuwhy.engine.peers import Medians, Member, Peers, base_of, has_peers, judge_peers, members
from gpuwhy.engine.signatures import rests_on
from gpuwhy.kb.facts import HOST, Absent, FactBase
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.fleet_inputs import Broken, Fleet, HostFiles, read_host, shown
from gpuwhy.tui.audit.cleared import known_of
from gpuwhy.tui.audit.model import BROKEN, JUDGED, Audit, Example, Finding, Host
from gpuwhy.tui.audit.tables import add_tables
from gpuwhy.tui.audit.unjudged import Unjudged
from gpuwhy.tui.audit.use import Count, Type, of_base, summed, uses
from gpuwhy.tui.wording import some_of

PORTION = 400
_NEVER = 9

Progress = Callable[[int], object]


@dataclass
class Collected:
    """What an audit found so far. `seen`: columns with the names of hosts of tables; `named`: those of other inputs.

    `watched`: hosts of which the facts that were read are noted, in `known`."""

    kb: KnowledgeBase
    hosts: dict[str, Host] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unread: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    named: list[list[str]] = field(default_factory=list)
    watched: frozenset[str] = frozenset()
    known: dict[str, frozenset[str]] = field(default_factory=dict)
    kept: dict[str, tuple[str, FactBase]] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    possible: Counter[str] = field(default_factory=Counter)
    use: dict[Type, Count] = field(default_factory=dict)
    unjudged: Counter[str] = field(default_factory=Counter)
    members: list[Member] = field(default_factory=list)
    beyond_hosts: Medians = field(default_factory=dict)
    kept_up_to: int = 0
    _needed: dict[str, frozenset[str]] = field(default_factory=dict)
    _patterns: dict[tuple[tuple[str, int], ...], Mapping[str, str]] = field(default_factory=dict)

    def needed(self, conclusion: str) -> frozenset[str]:
        """The facts that a conclusion may rest on."""
        if conclusion not in self._needed:
            self._needed[conclusion] = rests_on(self.kb, conclusion)
        return self._needed[conclusion]

    @cached_property
    def without_rule(self) -> Unjudged:
        """Says which causes no rule could judge for want of readings."""
        return Unjudged(self.kb)

    @cached_property
    def peers(self) -> Peers:
        """What GPUs are compared with, once all hosts of files are read and those of tables counted."""
        return Peers(self.members, self.beyond_hosts)

    def anew(self) -> Collected:
        """An audit with nothing found yet."""
        return Collected(self.kb)

    def absorb(self, other: Collected) -> None:
        """Notes everything that another found."""
        if self.hosts.keys().isdisjoint(other.hosts):
            self.hosts |= other.hosts
            self.findings += other.findings
        else:
            names = {}
            for name, host in other.hosts.items():
                names[name] = self.unused(name)
                self.hosts[names[name]] = host._replace(name=names[name])
            self.findings += [one._replace(host=names[one.host]) for one in other.findings]
        self.notes += other.notes
        self.seen += other.seen
        for mine, theirs in (
            (self.counted, other.counted),
            (self.others, other.others),
            (self.possible, other.possible),
        ):
            mine.update(theirs)
        self.kept = other.kept | self.kept
        summed(other.use.items(), self.use)

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
        """The audit of everything noted, GPUs compared with their peers among it."""
        add_peers(self)
        return Audit(
            self.kb,
            self.hosts,
            tuple(self.findings),
            self.unread,
            notes=tuple(map(shown, self.notes)),
            counted=self.counted,
            others=self.others,
            possible=self.possible,
            use=uses(self.kb, self.use),
            unjudged=self.unjudged,
        )

    def add_table_hosts(self, rows: Iterable[tuple[str, int, str | None, str | None]]) -> list[str]:
        """Notes hosts of a table: name, number of GPUs, machine type and GPU; gives the names that the audit uses."""
        names = []
        for host, gpus, machine, device in rows:
            name = self.unused(host)
            self.hosts[name] = Host(name, JUDGED, machine or "", device or "", gpus)
            names.append(name)
        return names

    def add_table_findings(
        self, hosts: Sequence[str], conclusions: Sequence[str], gpus: Mapping[int, str], rows: Any
    ) -> None:
        """Notes what holds for hosts of a table: a Polars frame, sorted by host, with the places of host and conclusion
        among these, the best rank, and the numbers of the GPUs. There may be millions: no more is done for each than
        must be."""
        of_host, number, rank, numbers = (rows.get_column(name).to_list() for name in rows.columns)
        names = [conclusions[one] for one in number]
        explained: list[str] = []
        for _, held in groupby(zip(of_host, names, rank, strict=True), key=itemgetter(0)):
            best = {name: best for _, name, best in held}
            causes = self._folded(best)
            explained += [causes.get(name, "") for name in best]
        kind = {name: self.kb.conclusions[name].kind for name in conclusions}
        entities = _named({number: f"gpu {name}" for number, name in gpus.items()}, map(tuple, numbers))
        kinds, statuses = [kind[one] for one in names], [STATUS_OF[one] for one in rank]
        self.findings += map(Finding, [hosts[one] for one in of_host], names, kinds, statuses, entities, explained)

    def add_findings(self, rows: Iterable[tuple[str, str, str, int]]) -> dict[str, dict[str, int]]:
        """Notes conclusions by host and entity, consequences folded; gives the best rank of each by host."""
        held: dict[str, dict[str, tuple[int, list[str]]]] = {}
        for host, entity, conclusion, rank in rows:
            of_host = held.get(host)
            if of_host is None:
                of_host = held[host] = {}
            best = of_host.get(conclusion)
            if best is None or rank < best[0]:
                of_host[conclusion] = (rank, [entity])
            elif rank == best[0]:
                best[1].append(entity)
        kinds = {name: self.kb.conclusions[name].kind for name in {name for one in held.values() for name in one}}
        ranks: dict[str, dict[str, int]] = {}
        for host, of_host in held.items():
            found = ranks[host] = {name: rank for name, (rank, _) in of_host.items()}
            explained = self._folded(found)
            for name, (rank, entities) in of_host.items():
                shown = tuple([one for entity in entities if (one := _shown(entity))])
                self.findings.append(Finding(host, name, kinds[name], STATUS_OF[rank], shown, explained.get(name, "")))
        return ranks

    def _folded(self, best: Mapping[str, int]) -> Mapping[str, str]:
        """Which conclusion explains which. Hosts of a fleet resemble each other: each pattern is folded once."""
        pattern = tuple(best.items())
        found = self._patterns.get(pattern)
        if found is None:
            found = self._patterns[pattern] = folded(self.kb, best)
        return found


def run(
    kb: KnowledgeBase, fleet: Fleet, progress: Progress = lambda _: None, watched: frozenset[str] = frozenset()
) -> Collected:
    """Reads and judges every host; `progress` is told how many more are done.

    Of hosts that are `watched` it is noted what is known of them.
    """
    collected = Collected(kb, watched=watched)
    for one in fleet.broken:
        collected.broken(one)
    collected.named.append([one.name for one in fleet.hosts])
    waiting = iter(fleet.hosts)
    while portion := list(islice(waiting, PORTION)):
        bases = dict(_read(collected, portion, progress))
        add_judged(collected, bases)
    add_tables(collected, fleet.tables, progress)
    return collected


def add_twice(collected: Collected, tables: int) -> None:
    """Notes hosts that more than one input has: each counts for itself, as two machines of one name would."""
    import polars

    if sum(map(bool, collected.named)) + tables < 2:
        return
    names = polars.concat([polars.Series(one, dtype=polars.String) for one in collected.named] + collected.seen)
    twice = names.filter(names.is_duplicated()).unique().sort()
    if len(twice):
        told = "1 host is" if len(twice) == 1 else f"{len(twice):,} hosts are"
        collected.notes.append(f"{told} in more than one input and counted in each: {some_of(twice.to_list())}")


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
    for base in bases.values():
        summed(of_base(collected.kb, base), collected.use)
    for host, base in bases.items():
        collected.members += members(host, base)
        if host in collected.watched:
            collected.known[host] = known_of(collected.kb, base)
    rows = judge_hosts(collected.kb, bases).select("host", "entity", "conclusion", "rank")
    found = collected.add_findings(rows.iter_rows())
    for host, base in bases.items():
        possible = [name for name, rank in found.get(host, {}).items() if STATUS_OF[rank] == "possible"]
        collected.unread.update(_unread(collected, possible, base.absent))
        for name, why in collected.without_rule.of(base).items():
            if name not in found.get(host, {}):
                collected.unjudged[name] += 1
                collected.unread.update((name, fact, reason) for fact, reason in why)


def add_peers(collected: Collected) -> None:
    """Judges what rests on comparisons of GPUs with those of other hosts, once all hosts are read."""
    if not collected.members:
        return
    peers, possible = collected.peers, Status.POSSIBLE.value
    told = {(one.host, one.conclusion) for one in collected.findings if one.status != possible}
    hosts = groupby(collected.members, key=lambda one: one.host)
    while portion := {host: base_of(collected.kb, list(some), peers) for host, some in islice(hosts, PORTION)}:
        compared = {host: base for host, base in portion.items() if has_peers(base)}
        rows = (
            judge_peers(collected.kb, compared).select("host", "entity", "conclusion", "rank").rows()
            if compared
            else []
        )
        new = [row for row in rows if (row[0], row[2]) not in told]
        outdone = {(row[0], row[2]) for row in new}
        if outdone:
            collected.findings = [one for one in collected.findings if (one.host, one.conclusion) not in outdone]
        collected.add_findings(new)
        for host, _, name, _ in new:
            collected.kept.setdefault(name, (host, portion[host]))
    collected.members.clear()


def _named(names: Mapping[int, str], numbers: Iterable[tuple[int, ...]]) -> list[tuple[str, ...]]:
    """The names of these numbers. Equal ones are named once: hosts of a fleet resemble each other."""
    known: dict[tuple[int, ...], tuple[str, ...]] = {}
    for some in (all_ := list(numbers)):
        if some not in known:
            known[some] = tuple([names[one] for one in some])
    return [known[some] for some in all_]


@cache
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


def examples(audit: Audit, fleet: Fleet, kept: Mapping[str, tuple[str, FactBase]]) -> dict[str, Example]:
    """For every cause a host, the sentence that proves it there, and what to do first; `kept`: by cause, facts of a
    host whose files do not tell them: of a table, of a server, or compared with other hosts."""
    by_name = {one.name: one for one in fleet.hosts}
    return {cause: _example(audit.kb, cause, by_name.get(host), kept.get(cause)) for cause, host in audit.worst()}


def _example(kb: KnowledgeBase, cause: str, worst: HostFiles | None, kept: tuple[str, FactBase] | None) -> Example:
    step = ""
    for name, base in (("", None) if worst is None else (worst.name, _facts_of(kb, worst)), kept or ("", None)):
        if base is not None:
            says, step = proof_and_step(kb, base, cause)
            if says:  # else it rests on a comparison with other hosts, which its own files do not hold
                return Example(name, says, step)
    return Example(step=step or proof_and_step(kb, FactBase.of(()), cause)[1])


def _facts_of(kb: KnowledgeBase, host: HostFiles) -> FactBase | None:
    read = read_host(host, kb.facts)
    return None if isinstance(read, Broken) else FactBase.of(read.facts, read.absent)
