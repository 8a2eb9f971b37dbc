"""Signatures judged: is it in play, does it hold, what rules it out, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from gpuwhy.engine.model import SignatureResult, Status, Truth
from gpuwhy.engine.proof import judge
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import FactRef, Over
from gpuwhy.kb.facts import Entity
from gpuwhy.kb.model import KnowledgeBase, Signature, Text
from gpuwhy.kb.texts import fill, fill_all
from gpuwhy.kb.units import show


def evaluate(signatures: Iterable[Signature], world: World, language: str = "en") -> list[SignatureResult]:
    """Each signature for each entity of its scope."""
    return [
        evaluate_one(signature, world, entity, language)
        for signature in signatures
        if signature.status != "deprecated"
        for entity in world.entities(signature.scope)
    ]


def evaluate_one(signature: Signature, world: World, entity: Entity, language: str = "en") -> SignatureResult:
    """One signature for one entity.

    Confirmed: it holds, nothing excludes it, and what confirms it holds. Likely: it holds, but only circumstantially or
    while a discriminating fact is unknown. Possible: facts it needs are unknown. Ruled out: it fails or is excluded.
    """
    given = judge(signature.given, world, entity) if signature.given is not None else None
    if given is not None and given.truth is not Truth.TRUE:
        return SignatureResult(signature, entity, None, given)
    requires = judge(signature.requires, world, entity)
    confirms = judge(signature.confirms, world, entity) if signature.confirms is not None else None
    excludes = tuple(judge(one.when, world, entity) for one in signature.excludes)
    supports = tuple(judge(one.when, world, entity) for one in signature.supports)
    result = SignatureResult(signature, entity, None, given, requires, confirms, excludes, supports)
    status = _status(result)
    because = _because(result, status, world, language)
    return SignatureResult(signature, entity, status, given, requires, confirms, excludes, supports, because)


def _status(result: SignatureResult) -> Status:
    assert result.requires is not None
    if result.vetoed or result.requires.truth is Truth.FALSE:
        return Status.RULED_OUT
    if result.requires.truth is Truth.UNKNOWN:
        return Status.POSSIBLE
    pairs = zip(result.signature.excludes, result.excludes, strict=True)
    if any(exclusion.demotes and verdict.truth is Truth.UNKNOWN for exclusion, verdict in pairs):
        return Status.LIKELY
    sure = result.confirms is not None and result.confirms.truth is Truth.TRUE
    return Status.CONFIRMED if sure else Status.LIKELY


def _because(result: SignatureResult, status: Status, world: World, language: str) -> str:
    signature, shower = result.signature, reader(world, result.entity)
    if status is not Status.RULED_OUT:
        supporting = [
            one.because
            for one, verdict in zip(signature.supports, result.supports, strict=True)
            if verdict.truth is Truth.TRUE
        ]
        return fill_all([*signature.because, *(text for text in supporting if text)], shower, language)
    if result.vetoed:
        pairs = zip(signature.excludes, result.excludes, strict=True)
        texts: list[Text] = [one.because for one, verdict in pairs if verdict.truth is Truth.TRUE]
        return fill_all(texts[:1], shower, language)
    return fill_all(signature.refuted, shower, language)


def reader(world: World, entity: Entity) -> Callable[[str, str | None], str | None]:
    """Shows a fact as seen from an entity, for filling texts; None where it is unknown."""

    def shown(fact_id: str, over: str | None) -> str | None:
        fact = world.get(FactRef(fact_id, Over(over) if over else None), entity)
        return None if fact is None else show(fact.value, fact.unit)

    return shown


def sources(kb: KnowledgeBase) -> dict[str, list[str]]:
    """For every fact that can be derived, the facts that its derivations read."""
    found: dict[str, list[str]] = {}
    for outline in kb.derivations.outlines:
        found.setdefault(outline.about[0], []).extend(outline.reads)
    return found


def needs(kb: KnowledgeBase) -> dict[str, frozenset[str]]:
    """All facts that each signature can depend on, through derivations, whatever is known; by signature id."""
    read = sources(kb)

    @cache
    def behind(fact: str) -> frozenset[str]:
        direct = [one for one in read.get(fact, ()) if one != fact]
        return frozenset(direct).union(*(behind(one) for one in direct))

    return {
        outline.id: frozenset(outline.reads).union(*(behind(one) for one in outline.reads))
        for outline in kb.signatures.outlines
    }


def rests_on(kb: KnowledgeBase, conclusion: str, fixes: bool = False) -> frozenset[str]:
    """The facts that the signatures of a conclusion read (`fixes`: its fixes too), and what those are derived from."""
    found: set[str] = set()
    read = [*kb.signatures.outlines, *(kb.fixes.outlines if fixes else ())]
    waiting = {fact for one in read if conclusion in one.about for fact in one.reads}
    while waiting:
        found |= waiting
        reads = {fact for one in kb.derivations.outlines if waiting.intersection(one.about) for fact in one.reads}
        waiting = reads - found
    return frozenset(found)


def sentence(text: Text, world: World, entity: Entity, language: str = "en") -> str:
    """A text with its readings; empty if one of them is unknown."""
    return fill(text, reader(world, entity), language) or ""
