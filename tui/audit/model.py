"""What an audit found, as its reports show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from gpuwhy.engine.model import Status
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, field
from gpuwhy.tui.audit.use import Use

JUDGED, BROKEN = "judged", "broken"
CAUSE, ACCEPTED, SOUND, UNSURE = "cause", "accepted", "nothing to fix", "cannot tell"
NO_TYPE = "type not known"
_SURE = ("confirmed", "likely")


class Host(NamedTuple):  # there may be a million: a tuple takes a third of the time and memory of a record
    """A host of the audit. `says`: why it could not be read, or what in its files could not be."""

    name: str
    state: str = JUDGED
    instance_type: str = ""
    gpu_name: str = ""
    gpus: int = 0
    says: str = ""

    @property
    def group(self) -> str:
        """The machine type; where that is not known, the GPU."""
        return self.instance_type or self.gpu_name or NO_TYPE


class Finding(NamedTuple):
    """A conclusion about a host: its best status, for how many GPUs, what explains it, and since when."""

    host: str
    conclusion: str
    kind: str
    status: str
    entities: tuple[str, ...] = ()
    explained_by: str = ""
    change: str = ""
    waived: str = ""

    @property
    def is_cause(self) -> bool:
        """True for something to fix that is confirmed or likely, of a cause that nothing else explains."""
        return self.kind == "cause" and self.status in _SURE

    @property
    def level(self) -> str:
        """How grave it is: error (a confirmed cause), warning (a likely one) or note."""
        if self.kind != "cause" or self.explained_by:
            return "note"
        return "error" if self.status == "confirmed" else "warning" if self.status == "likely" else "note"


@dataclass(frozen=True)
class Group:
    """Hosts of one type with one cause, those with most GPUs concerned first."""

    type: str
    hosts: tuple[Finding, ...]


class Example(NamedTuple):
    """A host with a cause, the sentence that proves it there, and what to do first; each empty where not known."""

    host: str = ""
    says: str = ""
    step: str = ""


@dataclass(frozen=True)
class Cause:
    """A cause that hosts of the fleet have, by type, with one of them as an example."""

    id: str
    says: str
    status: str
    hosts: int
    gpus: int
    groups: tuple[Group, ...]
    example: Example = Example()

    @property
    def proof(self) -> str:
        """The host of the example, and the sentence that proves the cause there."""
        return f"{self.example.host}: {self.example.says}" if self.example.says else ""

    @property
    def confirmed(self) -> int:
        """On how many hosts it is confirmed."""
        return sum(one.status == "confirmed" for group in self.groups for one in group.hosts)

    @property
    def new(self) -> int:
        """On how many hosts it is new since an earlier report."""
        return sum(one.change == "new" for group in self.groups for one in group.hosts)


@dataclass(frozen=True)
class Audit:
    """Everything an audit found. `unread`: hosts by cause, fact, and why that could not be read; `unjudged`: hosts by
    cause that no rule could judge for want of readings. `known_sound`: whoever asks knows that nothing is wrong, so
    that every cause is a false alarm.

    Of tables only the hosts with a cause are among `hosts`. The others are in `counted` by verdict, what else is
    concluded about them in `others` (asserted) and `possible`, as numbers of hosts.
    """

    kb: KnowledgeBase
    hosts: Mapping[str, Host]
    findings: tuple[Finding, ...]
    unread: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    examples: Mapping[str, Example] = field(default_factory=dict)
    baseline: str = ""
    cleared: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    counted: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, int] = field(default_factory=dict)
    possible: Mapping[str, int] = field(default_factory=dict)
    use: tuple[Use, ...] = ()
    unjudged: Mapping[str, int] = field(default_factory=dict)
    known_sound: bool = False

    def causes(self) -> list[Cause]:
        """What is to be fixed, the most certain and most widespread first; what a cause explains is folded into it."""
        from gpuwhy.kb.texts import say

        made = []
        for name, found in self._open_causes().items():
            groups: dict[str, list[Finding]] = {}
            for one in sorted(sorted(found, key=itemgetter(0)), key=_concerned, reverse=True):
                groups.setdefault(self.hosts[one.host].group, []).append(one)
            ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
            best = min({one.status for one in found}, key=[each.value for each in Status].index)
            made.append(
                Cause(
                    name,
                    say(self.kb.conclusions[name].says),
                    best,
                    len(found),
                    sum(map(_concerned, found)),
                    tuple(Group(kind, tuple(members)) for kind, members in ordered),
                    self.examples.get(name, Example()),
                )
            )
        return sorted(made, key=lambda one: (one.status != "confirmed", -one.hosts, one.id))

    def _open_causes(self) -> dict[str, list[Finding]]:
        """What is to be fixed, by cause, without what other causes explain and what is accepted."""
        by_id: dict[str, list[Finding]] = {}
        for one in self._to_fix:
            if not one.explained_by:
                by_id.setdefault(one.conclusion, []).append(one)
        return by_id

    @cached_property
    def _to_fix(self) -> list[Finding]:
        """The causes that are not accepted: as `is_cause` says, without a call for each of very many."""
        return [one for one in self.findings if one.kind == "cause" and one.status in _SURE and not one.waived]

    def worst(self) -> list[tuple[str, str]]:
        """For each cause the host with most entities concerned; the most widespread causes first."""
        found = sorted(self._open_causes().items(), key=lambda item: (-len(item[1]), item[0]))
        most = {name: max(map(_concerned, all_)) for name, all_ in found}
        return [(name, min(one.host for one in all_ if len(one.entities) == most[name])) for name, all_ in found]

    def counts(self) -> dict[str, int]:
        """How many hosts there are, by what became of them."""
        return dict(self._counts)

    @cached_property
    def _counts(self) -> dict[str, int]:
        told = Counter(self.verdicts().values())
        standing = [one for one in self._to_fix if not one.explained_by]
        return {
            "hosts": len(self.hosts) + sum(self.counted.get(name, 0) for name in VERDICTS),
            "gpus": sum(one.gpus for one in self.hosts.values()) + self.counted.get("gpus", 0),
            **{name: told[name] + self.counted.get(name, 0) for name in VERDICTS},
            "errors": len({one.host for one in standing if one.status == "confirmed"}),
            "warnings": len({one.host for one in standing if one.status == "likely"}),
            "waived": sum(1 for one in self.findings if one.waived),
        }

    def changes(self) -> tuple[int, int, int]:
        """How many causes are new, persist and are cleared since the earlier report."""
        causes = [one for one in self.findings if one.is_cause and not one.explained_by]
        new, stays = (sum(one.change == change for one in causes) for change in ("new", "persisting"))
        return new, stays, len(self.cleared)

    def verdicts(self) -> dict[str, str]:
        """For each host its verdict, as the exit status of its diagnosis would be; accepted: all its causes are."""
        found = {name: BROKEN if one.state == BROKEN else UNSURE for name, one in self.hosts.items()}
        for one in self.findings:
            if one.kind == "normal" and one.status != "possible" and found[one.host] == UNSURE:
                found[one.host] = SOUND
        accepted = dict.fromkeys([one.host for one in self.findings if one.waived], ACCEPTED)
        return found | accepted | dict.fromkeys([one.host for one in self._to_fix], CAUSE)

    def cause_share(self) -> float | None:
        """The share of the hosts that could be read which have a cause to fix; None where none could be read.

        Of a fleet known to be sound it is the rate of false alarms.
        """
        counts = self._counts
        read = counts["hosts"] - counts[BROKEN]
        return counts[CAUSE] / read if read else None

    def unsure(self) -> list[tuple[str, list[str]]]:
        """The listed hosts of which nothing decides, by what was seen of them instead (empty: nothing); most first."""
        seen: dict[str, str] = {}
        for one in self.findings:
            if one.kind == "evidence" and one.status != "possible":
                seen.setdefault(one.host, one.conclusion)
        found: dict[str, list[str]] = {}
        for host, verdict in self.verdicts().items():
            if verdict == UNSURE:
                found.setdefault(seen.get(host, ""), []).append(host)
        return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))

    def undecided(self) -> list[tuple[str, int]]:
        """Causes that could not be judged for want of readings, with the number of hosts, most hosts first."""
        counts = Counter(self.possible)
        counts.update(self.unjudged)
        counts.update(one.conclusion for one in self.findings if one.status == "possible" and one.kind == "cause")
        return counts.most_common()


VERDICTS = (CAUSE, ACCEPTED, SOUND, UNSURE, BROKEN)


def _concerned(one: Finding) -> int:
    """Of how many GPUs a finding is."""
    return len(one.entities)
