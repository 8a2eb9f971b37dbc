"""Did a fix work: the condition that should hold afterwards, judged over what was read since it was carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwhy.engine.model import Status, Truth, Verdict
from gpuwhy.engine.proof import judge
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import Comparison, Operator
from gpuwhy.kb.facts import JOB, FactBase
from gpuwhy.kb.model import Fix, KnowledgeBase
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.kb.units import show
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import SIGNS, bound

RECOVERED, PARTLY, NOT, CANNOT_TELL = "recovered", "partly", "not recovered", "cannot tell yet"
NOT_READ = "not read"
MOST_FIGURES = 4
_BETTER = 0.1  # of the distance to the wanted value: less is noise


@dataclass(frozen=True)
class Compared:
    """One figure before and after, and what is wanted, or from where it is trouble: `wanted < 10 %`."""

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
    condition = fix.verify.when if fix.verify is not None else None
    earlier, later = (judge(condition, World(kb.facts, FactBase.of(one.diagnosis.facts)), JOB) if condition else None
                      for one in (before, after))  # fmt: skip
    figures = tuple(_figures(conclusion, before, after, earlier, later))
    if earlier is not None and later is not None:
        if later.truth is Truth.TRUE:
            return Verification(RECOVERED, "what the fix should bring about holds", figures)
        if later.truth is Truth.FALSE:
            outcome = PARTLY if _closer(earlier, later) else NOT
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


def _figures(
    conclusion: str, before: Report, after: Report, earlier: Verdict | None, later: Verdict | None
) -> Iterator[Compared]:
    """What the fix should bring about, then the numbers that the conclusion rested on; what was read anew first."""
    found = [one for one in (earlier, later) if one is not None]
    wanted = list(_compared(found, "wanted"))
    lead = next((one.lead for one in before.diagnosis.conclusions if one.id == conclusion), None)
    told = [one for one in (lead.requires, lead.confirms) if one is not None] if lead is not None else []
    now = {fact.id: show(fact.value, fact.unit) for fact in after.diagnosis.facts}
    named = {one.fact for one in wanted}
    trouble = [
        replace(one, after=now.get(one.fact, NOT_READ))
        for verdict in told
        for one in _compared([verdict], "trouble")
        if one.fact not in named
    ]
    yield from sorted(dict.fromkeys((*wanted, *trouble)), key=lambda one: one.after == NOT_READ)[:MOST_FIGURES]


def _compared(verdicts: Sequence[Verdict], word: str) -> Iterator[Compared]:
    """The comparisons of a condition as it was judged before and, where it was judged twice, after."""
    for leaves in zip(*(verdict.leaves() for verdict in verdicts), strict=True):
        facts = [leaf.fact for leaf in leaves]
        known = next((fact for fact in facts if fact is not None), None)
        limit = next((leaf.bound for leaf in reversed(leaves) if leaf.bound is not None), None)
        condition = leaves[0].condition
        if known is None or not isinstance(condition, Comparison) or condition.op is Operator.KNOWN:
            continue
        if word == "trouble" and not condition.op.orders:
            continue
        values = [NOT_READ if fact is None else show(fact.value, fact.unit) for fact in facts]
        bounded = bound(condition.value if limit is None else limit, known.unit)
        yield Compared(known.id, values[0], values[-1], f"{word} {SIGNS[condition.op]} {bounded}")
