"""Did a fix work: the condition that should hold afterwards, judged over what was read since it was carried out."""

from __future__ import annotations

from gpuwhy.engine.model import Status, Truth, Verdict
from gpuwhy.engine.proof import judge
from gpuwhy.engine.view import World
from gpuwhy.kb.facts import JOB, FactBase
from gpuwhy.kb.model import Fix, KnowledgeBase
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.units import show
from gpuwhy.tui.report import Report

RECOVERED, PARTLY, NOT, CANNOT_TELL = "recovered", "partly", "not recovered", "cannot tell yet"
_BETTER = 0.1  # of the distance to the wanted value: less is noise


@dataclass(frozen=True)
class Compared:
    """One figure before and after, and what was wanted."""

    fact: str
    before: str
    after: str
    wanted: str


@dataclass(frozen=True)
class Verification:
    """The outcome, why, and the figures."""

    outcome: str
    because: str
    figures: tuple[Compared, ...] = ()


def verify(kb: KnowledgeBase, fix: Fix, conclusion: str, before: Report, after: Report | None) -> Verification:
    """What a report made from readings after the fix says against the one before."""
    if after is None or not after.diagnosis.facts:
        return Verification(CANNOT_TELL, "nothing was read since the fix was carried out")
    figures = tuple(_figures(conclusion, before, after))
    condition = fix.verify.when if fix.verify is not None else None
    if condition is not None:
        world = World(kb.facts, FactBase.of(after.diagnosis.facts))
        verdict = judge(condition, world, JOB)
        if verdict.truth is Truth.TRUE:
            return Verification(RECOVERED, "what the fix should bring about holds", figures)
        if verdict.truth is Truth.FALSE:
            earlier = judge(condition, World(kb.facts, FactBase.of(before.diagnosis.facts)), JOB)
            outcome = PARTLY if _closer(earlier, verdict) else NOT
            return Verification(outcome, "what the fix should bring about does not hold", figures)
    now = {one.id: one.status for one in (*after.diagnosis.conclusions, *after.diagnosis.ruled_out)}.get(conclusion)
    if now is Status.RULED_OUT:
        return Verification(RECOVERED, f"{conclusion} is ruled out now", figures)
    if now in (Status.CONFIRMED, Status.LIKELY):
        return Verification(NOT, f"{conclusion} still holds", figures)
    return Verification(CANNOT_TELL, f"the new readings do not decide {conclusion}", figures)


def _closer(before: Verdict, after: Verdict) -> bool:
    """True if a figure that still fails has come a good part of the way."""
    old = {one.condition: one.margin for one in before.leaves() if one.margin is not None}
    pairs = [
        (old[one.condition], one.margin) for one in after.leaves() if one.margin is not None and one.condition in old
    ]
    return any(was < 0 and now - was >= _BETTER * abs(was) for was, now in pairs)


def _figures(conclusion: str, before: Report, after: Report) -> list[Compared]:
    """The numbers that the conclusion rested on, then and now."""
    lead = next((one.lead for one in before.diagnosis.conclusions if one.id == conclusion), None)
    if lead is None:
        return []
    now = {fact.id: fact for fact in after.diagnosis.facts}
    found = []
    for verdict in (lead.requires, lead.confirms):
        for leaf in verdict.leaves() if verdict is not None else ():
            fact = leaf.fact
            if (
                fact is None
                or leaf.bound is None
                or isinstance(leaf.bound, tuple)
                or isinstance(fact.value, (bool, str))
            ):
                continue
            later = now.get(fact.id)
            shown = "not read" if later is None else show(later.value, later.unit)
            bound = show(leaf.bound, fact.unit)
            found.append(Compared(fact.id, show(fact.value, fact.unit), shown, f"past {bound}: trouble"))
    return list(dict.fromkeys(found))[:4]
