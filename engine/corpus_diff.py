"""Two versions of a pack compared over recorded hosts: what each host would be told otherwise.

Only what the change can reach is judged, as long as that can be told: the conclusions of rules that differ, and those
that rest on a fact which is derived otherwise. Where what words mean, catalogue or stages differ, everything is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import TypeVar

from gpuwhy.engine.catalogue import with_catalogue
from gpuwhy.engine.conclusions import INSUFFICIENT, conclude
from gpuwhy.engine.derive import derive
from gpuwhy.engine.diagnose import diagnose
from gpuwhy.engine.rule_diff import OF_CONCLUSIONS, OF_FACTS
from gpuwhy.engine.signatures import evaluate, needs
from gpuwhy.engine.view import World
from gpuwhy.kb.catalogue import SECTIONS
from gpuwhy.kb.facts import Absent, Fact, FactBase
from gpuwhy.kb.model import KnowledgeBase, Rule
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.kb.ruleset import Rules

_R = TypeVar("_R", bound=Rule)


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
    """Every host judged by both; questions and texts are left out."""
    flips: list[HostFlip] = []
    count = 0
    reached = affected(old, new)
    parts = None if reached is None else (_part(old, reached), _part(new, reached))
    for name, facts, absent in hosts:
        count += 1
        if reached is not None and not reached:
            continue
        before, after = _both(old, new, parts, facts, absent)
        for word in sorted({*before, *after}):
            was, now = before.get(word, ""), after.get(word, "")
            if was != now:
                cause = word in new.conclusions and new.conclusions[word].kind == "cause"
                critical = cause and now in _ASSERTED and was not in _ASSERTED
                flips.append(HostFlip(name, word, was, now, critical))
    return CorpusDiff(count, tuple(flips))


_ASSERTED = ("confirmed", "likely")
_STANDING = (*_ASSERTED, "possible")
_Pair = tuple[dict[str, str], dict[str, str]]


def affected(old: KnowledgeBase, new: KnowledgeBase) -> frozenset[str] | None:
    """The conclusions whose status can differ between two versions; None where any can."""
    if not (
        _alike(old.facts, new.facts, OF_FACTS)
        and _alike(old.conclusions, new.conclusions, OF_CONCLUSIONS)
        and old.pipeline == new.pipeline
        and all(old.catalogue.sections.get(one, ()) == new.catalogue.sections.get(one, ()) for one in SECTIONS)
    ):
        return None
    derived = {one.gives for one in _differing(old.derivations, new.derivations)}
    found = {one.concludes for one in _differing(old.signatures, new.signatures)}
    for kb in (old, new) if derived else ():
        reading = needs(kb)
        found |= {one.about[0] for one in kb.signatures.outlines if not derived.isdisjoint(reading[one.id])}
    return None if INSUFFICIENT in found else frozenset(found)  # that hangs on all the others


def _alike(old: Mapping[str, object], new: Mapping[str, object], decides: tuple[str, ...]) -> bool:
    """True if two versions have the same words, and what decides verdicts is the same of each."""
    of = attrgetter(*decides)
    return old.keys() == new.keys() and all(of(old[name]) == of(new[name]) for name in old)


def _differing(old: Rules[_R], new: Rules[_R]) -> list[_R]:
    before, after = ({rule.id: rule for rule in rules} for rules in (old, new))
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return [rules[name] for name in names for rules in (before, after) if name in rules]


def _part(kb: KnowledgeBase, conclusions: frozenset[str]) -> KnowledgeBase:
    """The knowledge with the signatures of these conclusions alone, and the derivations that they rest on."""
    signatures = kb.signatures.only(lambda outline: outline.about[0] in conclusions)
    reading = needs(kb)
    wanted = {fact for outline in signatures.outlines for fact in reading[outline.id]}
    derivations = kb.derivations.only(lambda outline: outline.about[0] in wanted)
    return replace(kb, signatures=signatures, derivations=derivations)


def _both(
    old: KnowledgeBase,
    new: KnowledgeBase,
    parts: tuple[KnowledgeBase, KnowledgeBase] | None,
    facts: list[Fact],
    absent: list[Absent],
) -> _Pair:
    """The statuses of conclusions by both versions; of those alone that can differ, where that is known."""
    if parts is not None:
        base = with_catalogue(old, FactBase.of([one for one in facts if one.id in old.facts], absent))
        before, after = _some(parts[0], base), _some(parts[1], base)
        if _stands(before) == _stands(after):  # otherwise that nothing can be told may be told, or no longer
            return before, after
    return _all(old, facts, absent), _all(new, facts, absent)


def _some(part: KnowledgeBase, base: FactBase) -> dict[str, str]:
    world = World(part.facts, base)
    derive(part.derivations.in_play(world.known), world)
    found = conclude(part, evaluate(part.signatures.in_play(world.known), world))
    return {one.id: one.status.value for one in found if one.lead is not None or one.id != INSUFFICIENT}


def _stands(found: Mapping[str, str]) -> bool:
    return any(status in _STANDING for status in found.values())


def _all(kb: KnowledgeBase, facts: list[Fact], absent: list[Absent]) -> dict[str, str]:
    base = FactBase.of([one for one in facts if one.id in kb.facts], absent)
    found = diagnose(kb, base, ask=False)
    return {one.id: one.status.value for one in (*found.conclusions, *found.ruled_out)}
