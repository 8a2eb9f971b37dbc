"""Two versions of a pack compared by what their rules say, not by their text: what changed, and the bump that needs.

A verdict that flips on an old case or a recorded host needs a major bump, changed logic without a flip a minor one,
changed words a patch. The cases of the old version are replayed, so that editing a case together with its rule hides
nothing. What cannot be compared needs a major bump.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuwhy.engine.lint_logic import logic
from gpuwhy.engine.rule_cases import AnyRule, Case, cases_file, read, rules_of
from gpuwhy.engine.rule_selftest import does
from gpuwhy.engine.rule_tests import prepare, same, say
from gpuwhy.engine.signatures import needs
from gpuwhy.kb.catalogue import FACT_SECTIONS, SECTIONS
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.expressions import refs_of
from gpuwhy.kb.model import Derivation, Fix, KnowledgeBase, Selection, Signature, pack_of
from gpuwhy.kb.records import dataclass, replace

BUMPS = ("none", "patch", "minor", "major")
OF_FACTS, OF_CONCLUSIONS = ("entity", "type", "unit", "choices"), ("kind", "explains")
"""What of a word decides verdicts; all else is how it is told or asked for."""


@dataclass(frozen=True)
class Pack:
    """A version of a pack: its rules, and the folder that its files stand in. `absent`: there was none yet."""

    kb: KnowledgeBase
    folder: Path
    absent: bool = False

    def rules(self) -> list[AnyRule]:
        """The rules of this pack, without those of the one that it extends."""
        if self.absent:
            return []
        own = self.kb.packs[-1].namespace if self.kb.packs else ""
        return [rule for rule in rules_of(self.kb) if pack_of(rule.id) == own]


@dataclass(frozen=True)
class Flip:
    """A verdict that differs: of which rule, on which case, before and after."""

    rule: str
    case: str
    before: str
    after: str


@dataclass(frozen=True)
class Change:
    """What became of a rule. `needed` and `given` are bumps; `reasons` say why that much is needed.

    `about` are the conclusions that its logic decides or takes part in.
    """

    id: str
    kind: str
    before: str
    after: str
    needed: str
    given: str
    reasons: tuple[str, ...] = ()
    flips: tuple[Flip, ...] = ()
    logic: tuple[tuple[str, str, str], ...] = ()
    sentence: tuple[str, str] | None = None
    about: tuple[str, ...] = ()

    @property
    def enough(self) -> bool:
        """True if the version says as much as changed, or more."""
        return self.given in BUMPS and BUMPS.index(self.given) >= BUMPS.index(self.needed)


def compare(old: Pack, new: Pack) -> list[Change]:
    """Every rule that was added, removed or changed, by id."""
    before, after = ({rule.id: rule for rule in pack.rules()} for pack in (old, new))
    found = []
    for name in sorted({*before, *after}):
        if name not in before:
            found.append(Change(name, "added", "", after[name].version, "none", "none"))
        elif name not in after:
            reasons = ("ids are never removed without a major version of the pack",)
            found.append(Change(name, "removed", before[name].version, "", "major", "none", reasons))
        elif _content(old, before[name]) != _content(new, after[name]):
            found.append(_changed(old, new, before[name], after[name]))
    return found


def words(old: Pack, new: Pack) -> list[Change]:
    """What became of facts, conclusions, stages, catalogue and what is set aside: no rule's version tells of it.

    What a word means or is told as, and what is expected of a card or machine, can flip verdicts and severities that no
    case of a rule shows, so that it needs a major bump of the pack.
    """
    found: list[Change] = []
    for name, before, after in _pairs(old.kb.facts, new.kb.facts):
        found += _word_change(name, before, after, OF_FACTS)
    for name, before, after in _pairs(old.kb.conclusions, new.kb.conclusions):
        found += _word_change(name, before, after, OF_CONCLUSIONS)
    was, now = ({one.id: one for pack in each.kb.packs for one in pack.set_aside} for each in (old, new))
    for name in sorted({*was, *now}):
        left, right = was.get(name), now.get(name)
        if (left and left.by) != (right and right.by) or (left is None) != (right is None):
            told = "is set aside" if right is not None else "is used again"
            found.append(Change(name, "word", "", "", "major", "none", (f"it {told}",)))
    if old.kb.pipeline != new.kb.pipeline:
        found.append(Change("pipeline.yaml", "word", "", "", "major", "none", ("the stages of a step differ",)))
    return [*found, *_catalogue(old.kb, new.kb)]


def _catalogue(old: KnowledgeBase, new: KnowledgeBase) -> Iterator[Change]:
    for section in SECTIONS:
        before, after = ({repr(one) for one in kb.catalogue.sections.get(section, ())} for kb in (old, new))
        gone, fresh = len(before - after), len(after - before)
        if gone or fresh:
            needed = "patch" if section not in FACT_SECTIONS else "major" if gone else "minor"
            told = (f"{gone} entries changed or removed, {fresh} changed or new",)
            yield Change(f"catalogue: {section}", "word", "", "", needed, "none", told)


def with_hosts(changes: Iterable[Change], flipped: Collection[str]) -> list[Change]:
    """The changes where conclusions flip on recorded hosts: a rule whose logic can be behind it needs a major bump."""
    told = "recorded hosts are told otherwise"
    return [
        replace(one, needed="major", reasons=(told,))
        if one.kind == "changed" and one.logic and one.needed != "major" and not set(one.about).isdisjoint(flipped)
        else one
        for one in changes
    ]


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield name, before, after


def _word_change(name: str, before: Any, after: Any, grave: tuple[str, ...]) -> Iterator[Change]:
    if after is None:
        yield Change(name, "word", "", "", "major", "none", ("the word was removed",))
    elif before is not None:
        parts = tuple(
            (field, _plain(getattr(before, field) or ""), _plain(getattr(after, field) or ""))
            for field in grave
            if getattr(before, field) != getattr(after, field)
        )
        reasons = tuple(f"its {field} changed" for field, _, _ in parts) or ("words only",)
        yield Change(name, "word", "", "", "major" if parts else "patch", "none", reasons, logic=parts)


def pack_bump(changes: Iterable[Change]) -> str:
    """The bump that the pack needs: the largest of its rules; a new rule is minor, a removed one major."""
    needed = ["minor" if one.kind == "added" else one.needed for one in changes]
    return max(needed, key=BUMPS.index, default="none")


def bump(before: str, after: str) -> str:
    """The bump from one version to the next; `lower` where the next one is no later."""
    old, new = ([int(part) for part in one.split(".")] for one in (before, after))
    if old == new:
        return "none"
    if new < old:
        return "lower"
    return ("major", "minor", "patch")[next(place for place in range(3) if old[place] != new[place])]


def _content(pack: Pack, rule: AnyRule) -> bytes:
    return (pack.folder / rule.file).read_bytes()


def _changed(old: Pack, new: Pack, before: AnyRule, after: AnyRule) -> Change:
    reasons = list(_grave(before, after))
    flips, trouble = _replay(old, new, before, after)
    for rule in _behind(old, new, before):
        more, _ = _replay(old, new, rule, next(one for one in rules_of(new.kb) if one.id == rule.id))
        flips += more
    reasons += trouble
    if flips:
        reasons.append(f"{len(flips)} old case{'s' if len(flips) > 1 else ''} judged otherwise")
    parts = tuple(_parts(before, after))
    needed = "major" if reasons else "minor" if parts else "patch"
    if parts and not reasons:
        reasons.append("the logic changed; no known verdict flips")
    return Change(
        id=before.id,
        kind="changed",
        before=before.version,
        after=after.version,
        needed=needed,
        given=bump(before.version, after.version),
        reasons=tuple(reasons) or ("words only",),
        flips=tuple(flips),
        logic=parts,
        sentence=_sentences(old, new, before, after),
        about=_decides(old.kb, before),
    )


def _grave(before: AnyRule, after: AnyRule) -> Iterator[str]:
    """Changes that need a major bump whatever the cases say."""
    about = (_about(before), _about(after))
    if about[0] != about[1]:
        yield f"it is about {', '.join(about[1])} instead of {', '.join(about[0])}"
    if before.scope != after.scope:
        yield f"it is judged for each {after.scope} instead of each {before.scope}"
    if before.status != after.status and after.status != "stable":
        yield f"its status became {after.status}"
    if isinstance(before, Signature) and isinstance(after, Signature) and after.priority < before.priority:
        yield f"its priority fell from {before.priority} to {after.priority}"
    fresh = _required(after) - _required(before)
    if fresh:
        yield f"it newly needs {', '.join(sorted(fresh))}"


def _about(rule: AnyRule) -> tuple[str, ...]:
    if isinstance(rule, Signature):
        return (rule.concludes,)
    if isinstance(rule, Selection):
        return (rule.then,)
    return (rule.gives,) if isinstance(rule, Derivation) else rule.conclusions


def _decides(kb: KnowledgeBase, rule: AnyRule) -> tuple[str, ...]:
    """The conclusions that a rule decides or, giving a fact, takes part in."""
    if isinstance(rule, Signature):
        return (rule.concludes,)
    if not isinstance(rule, Derivation):
        return ()
    reading = needs(kb)
    return tuple(sorted({one.about[0] for one in kb.signatures.outlines if rule.gives in reading[one.id]}))


def _required(rule: AnyRule) -> set[str]:
    trees: list[Any] = []
    if isinstance(rule, Signature):
        trees = [rule.given, rule.requires]
    elif isinstance(rule, Derivation):
        trees = [rule.formula, rule.when]
    else:
        trees = [rule.when]
    return {ref.fact for tree in trees for ref in refs_of(tree)}


def _replay(old: Pack, new: Pack, before: AnyRule, after: AnyRule) -> tuple[list[Flip], list[str]]:
    """The old cases of a rule, judged by the old pack and by the new one; and what keeps cases from being judged."""
    path = old.folder / cases_file(before)
    if not path.is_file():
        return [], ["the old version has no cases to compare by"]
    content, name = path.read_bytes(), cases_file(before)
    try:
        first = read(old.kb, before, content, name, old.folder)
        second = read(new.kb, after, content, name, old.folder)
    except KnowledgeError as error:
        return [], [f"old cases cannot be judged any more: {error.problems[0]}"]
    flips = []
    for one, other in zip(first, second, strict=True):
        was, now = _verdict(old.kb, one), _verdict(new.kb, other)
        if not same(was, now):
            flips.append(Flip(before.id, one.name, _word(was), _word(now)))
    return flips, []


def _verdict(kb: KnowledgeBase, case: Case) -> Any:
    return say(case.rule, prepare(kb, case)).verdict


def _word(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _behind(old: Pack, new: Pack, rule: AnyRule) -> list[Signature]:
    """The signatures of the pack that read what a derivation gives, however far behind, and are in both versions."""
    if not isinstance(rule, Derivation):
        return []
    reading, there = needs(old.kb), {outline.id for outline in new.kb.signatures.outlines}
    own = (one for one in old.rules() if isinstance(one, Signature))
    return [one for one in own if rule.gives in reading[one.id] and one.id in there]


def _parts(before: AnyRule, after: AnyRule) -> Iterator[tuple[str, str, str]]:
    """The parts of the logic that differ, before and after."""
    left, right = _whole_logic(before), _whole_logic(after)
    for key in dict.fromkeys([*left, *right]):
        if left.get(key) != right.get(key):
            yield key, _plain(left.get(key)), _plain(right.get(key))


def _whole_logic(rule: AnyRule) -> Mapping[str, Any]:
    """What a rule does: its conditions, its rank, and of a fix the commands."""
    found = logic(rule)
    if isinstance(rule, Signature):
        return found | {"priority": rule.priority, "status": rule.status}
    if isinstance(rule, Fix):
        commands = [step.command for step in rule.steps]
        return found | {"order": rule.order, "restart": rule.restart, "commands": commands, "status": rule.status}
    return found | {"status": rule.status}


def _plain(value: Any) -> str:
    if isinstance(value, dict) and "fact" in value:
        than = value.get("than", {}).get("fact")
        right = than if than else value.get("value", "")
        times = f"{value['times']:g} x " if "times" in value else ""
        over = f"{value['over']}(" if "over" in value else ""
        return f"{over}{value['fact']}{')' if over else ''} {value['op']} {times}{right}".strip()
    if isinstance(value, dict):
        return "; ".join(f"{key} ({_plain(one)})" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(one) for one in value)
    return "" if value is None else str(value)


def _sentences(old: Pack, new: Pack, before: AnyRule, after: AnyRule) -> tuple[str, str] | None:
    """The sentence of the first old case in which the rule does what it is for, before and after, if they differ."""
    path = old.folder / cases_file(before)
    if not isinstance(before, Signature) or not path.is_file():
        return None
    try:
        case = next((one for one in read(old.kb, before, path.read_bytes(), "", old.folder) if does(one)), None)
        if case is None:
            return None
        was = say(before, prepare(old.kb, case)).because or ""
        now = say(after, prepare(new.kb, replace(case, rule=after))).because or ""
    except (KnowledgeError, KeyError):
        return None
    return None if was == now else (was, now)
