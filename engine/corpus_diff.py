"""Two versions of a pack compared over recorded hosts: what each host would be told otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import Absent, Fact, FactBase
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass


@dataclass(frozen=True)
class HostFlip:
    """A conclusion about a host whose status differs; empty where it was not spoken of."""

    host: str
    conclusion: str
    before: str
    after: str
    critical: bool


@dataclass(frozen=True)
class CorpusDiff:
    """How many hosts were looked at, which conclusions flip, and which hosts have a cause that they had not before."""

    hosts: int
    flips: tuple[HostFlip, ...]

    @property
    def changed(self) -> int:
        """How many hosts are told something else."""
        return len({one.host for one in self.flips})

    @property
    def newly_critical(self) -> int:
        """How many hosts have a cause confirmed or likely that was not before."""
        return len({one.host for one in self.flips if one.critical})


def compare(
    old: KnowledgeBase, new: KnowledgeBase, hosts: Iterable[tuple[str, list[Fact], list[Absent]]]
) -> CorpusDiff:
    """Every host diagnosed by both; questions and texts are left out."""
    flips: list[HostFlip] = []
    count = 0
    for name, facts, absent in hosts:
        count += 1
        before, after = (_statuses(kb, facts, absent) for kb in (old, new))
        for word in sorted({*before, *after}):
            was, now = before.get(word, ""), after.get(word, "")
            if was != now:
                cause = word in new.conclusions and new.conclusions[word].kind == "cause"
                critical = cause and now in _ASSERTED and was not in _ASSERTED
                flips.append(HostFlip(name, word, was, now, critical))
    return CorpusDiff(count, tuple(flips))


_ASSERTED = ("confirmed", "likely")


def _statuses(kb: KnowledgeBase, facts: list[Fact], absent: list[Absent]) -> dict[str, str]:
    base = FactBase.of([one for one in facts if one.id in kb.facts], absent)
    found = diagnose(kb, base, ask=False)
    return {one.id: one.status.value for one in (*found.conclusions, *found.ruled_out)}
