"""Fixes for a conclusion: which apply here, which would not help and why, which need a check first."""

from __future__ import annotations

from gpuwhy.engine.model import FixOffer, Truth, Verdict
from gpuwhy.engine.proof import combined, judge
from gpuwhy.engine.signatures import sentence
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import Comparison, Operator
from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.model import Fix, KnowledgeBase
from gpuwhy.kb.texts import PLACEHOLDER, say


def offers(
    kb: KnowledgeBase, conclusion_id: str, world: World, entity: Entity | None, language: str = "en"
) -> tuple[FixOffer, ...]:
    """The fixes of a conclusion in their order; after them those of which nothing says that they are for this case.

    Last those that would not help, with the reason.
    """
    chosen = [fix for fix in kb.fixes.about(conclusion_id) if fix.status != "deprecated"]
    about = entity or JOB
    made = [offer(fix, world, about, language) for fix in sorted(chosen, key=lambda fix: (fix.order, fix.id))]
    told = [one for one in made if one is not None]
    return tuple(sorted(told, key=lambda one: (not one.offered, _unsure(one.fix, world, about))))


def _unsure(fix: Fix, world: World, entity: Entity) -> bool:
    return fix.when is not None and _applies(judge(fix.when, world, entity)) is Truth.UNKNOWN


def _applies(verdict: Verdict) -> Truth:
    """The truth of a `when`, in which it is no open question whether something is known: nobody said it."""
    if not isinstance(verdict.condition, Comparison):
        return combined(verdict.condition, map(_applies, verdict.parts))
    unsaid = verdict.condition.op is Operator.KNOWN and verdict.truth is Truth.UNKNOWN
    return Truth.FALSE if unsaid else verdict.truth


def offer(fix: Fix, world: World, entity: Entity, language: str = "en") -> FixOffer | None:
    """One fix seen from an entity; None where what it is for is not the case."""
    if fix.when is not None and _applies(judge(fix.when, world, entity)) is Truth.FALSE:
        return None
    check_first = ""
    for exclusion in fix.unless:
        truth = judge(exclusion.when, world, entity).truth
        if truth is Truth.TRUE:
            because = sentence(exclusion.because, world, entity, language)
            return FixOffer(fix, False, because or _bare(say(exclusion.because, language)))
        if truth is Truth.UNKNOWN and exclusion.demotes and not check_first:
            check_first = _bare(say(exclusion.because, language))

    def text(source: object) -> str:
        spoken = say(source, language) if isinstance(source, (str, dict)) else ""
        return sentence(spoken, world, entity, language) or _bare(spoken)

    return FixOffer(
        fix=fix,
        offered=True,
        check_first=check_first,
        steps=tuple((text(step.says), step.command) for step in fix.steps),
        effect=text(fix.effect),
        risk=text(fix.risk),
        undo=text(fix.undo),
        verify=text(fix.verify.says) if fix.verify else "",
        verify_command=fix.verify.command if fix.verify else "",
    )


def _bare(text: str) -> str:
    """A text whose readings are not known: the placeholders become an ellipsis."""
    return PLACEHOLDER.sub("…", text)
