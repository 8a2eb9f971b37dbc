"""From signature results to conclusions: one per id, causes before consequences, best first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuwhy.engine.model import Conclusion, SignatureResult, Status
from gpuwhy.kb.facts import Entity
from gpuwhy.kb.model import ConclusionSpec, KnowledgeBase
from gpuwhy.kb.texts import say

INSUFFICIENT = "evidence.insufficient"


def conclude(kb: KnowledgeBase, results: Iterable[SignatureResult], language: str = "en") -> list[Conclusion]:
    """All conclusions that are in play, ordered: asserted causes, their consequences, possible ones, ruled-out ones."""
    by_id: dict[str, list[SignatureResult]] = {}
    for result in results:
        if result.status is not None:
            by_id.setdefault(result.signature.concludes, []).append(result)
    found = [_merge(kb.conclusions[name], group) for name, group in by_id.items()]
    if not any(one.status in (Status.CONFIRMED, Status.LIKELY, Status.POSSIBLE) for one in found):
        found = [one for one in found if one.id != INSUFFICIENT]
        spec = kb.conclusions[INSUFFICIENT]
        found.append(Conclusion(spec, Status.CONFIRMED, None, say(spec.says, language)))
    return _ordered(_linked(found))


def _merge(spec: ConclusionSpec, results: Sequence[SignatureResult]) -> Conclusion:
    by_entity: dict[Entity, list[SignatureResult]] = {}
    for result in results:
        by_entity.setdefault(result.entity, []).append(result)
    judged = [_for_entity(group) for group in by_entity.values()]
    status, lead, contradicted = min(judged, key=lambda one: (one[0].rank, _order(one[1])))
    ordered = tuple(sorted(results, key=_order))
    return Conclusion(spec, status, lead, lead.because, ordered, contradicted=contradicted)


def _order(result: SignatureResult) -> tuple[int, int, int]:
    rank = result.status.rank if result.status is not None else len(Status)
    return rank, -result.signature.priority, -result.support_count


def _for_entity(results: Sequence[SignatureResult]) -> tuple[Status, SignatureResult, str]:
    """The status of a conclusion for one entity, the signature that leads, and what contradicts it.

    An exclusion speaks against the conclusion, however it was seen: what another signature holds to be likely is then
    only possible, what it confirms is only likely.
    """
    best = min(results, key=_order)
    assert best.status is not None
    against = next((one for one in results if one.vetoed), None)
    if against is None or (not best.status.asserted and best.status is not Status.POSSIBLE):
        return best.status, best, ""
    lowered = {Status.CONFIRMED: Status.LIKELY, Status.LIKELY: Status.POSSIBLE, Status.POSSIBLE: Status.RULED_OUT}[
        best.status
    ]
    return lowered, (against if lowered is Status.RULED_OUT else best), against.because


def _linked(found: list[Conclusion]) -> list[Conclusion]:
    """The same conclusions, each asserted one told which asserted cause explains it."""
    asserted = {one.id: one for one in found if one.status.asserted}
    explained: dict[str, str] = {}
    for one in sorted(asserted.values(), key=_lead_order):
        for consequence in one.spec.explains:
            if (
                consequence in asserted
                and consequence not in explained
                and not _reaches(consequence, one.id, explained)
            ):
                explained[consequence] = one.id
    return [_with_links(one, explained) for one in found]


def _reaches(start: str, goal: str, explained: Mapping[str, str]) -> bool:
    """True if `goal` is already explained, directly or not, by `start`."""
    at: str | None = goal
    while at is not None:
        if at == start:
            return True
        at = explained.get(at)
    return False


def _with_links(one: Conclusion, explained: Mapping[str, str]) -> Conclusion:
    from gpuwhy.kb.records import replace

    consequences = tuple(name for name, cause in explained.items() if cause == one.id)
    return replace(one, explains=consequences, explained_by=explained.get(one.id))


def _lead_order(one: Conclusion) -> tuple[int, int, int, int, int]:
    """Status first; then priority and support of the leading signature; a leaf before its parent."""
    kind = {"cause": 0, "normal": 1, "evidence": 1}[one.spec.kind]
    if one.lead is None:
        return one.status.rank, 0, kind, 0, 0
    return one.status.rank, -one.lead.signature.priority, kind, -one.lead.support_count, -one.id.count(".")


def _ordered(found: list[Conclusion]) -> list[Conclusion]:
    by_id = {one.id: one for one in found}
    roots = sorted((one for one in found if one.explained_by is None), key=_lead_order)
    ordered: list[Conclusion] = []

    def place(one: Conclusion) -> None:
        ordered.append(one)
        for name in sorted(one.explains, key=lambda each: _lead_order(by_id[each])):
            place(by_id[name])

    for root in roots:
        place(root)
    return ordered
