"""From facts to a diagnosis: derive, judge, conclude, offer fixes, ask what would decide more."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gpuwhy.engine.catalogue import with_catalogue
from gpuwhy.engine.conclusions import conclude
from gpuwhy.engine.derive import Derived, derive
from gpuwhy.engine.fixes import offers
from gpuwhy.engine.gains import expected_gain
from gpuwhy.engine.model import Conclusion, Diagnosis, SignatureResult, Status
from gpuwhy.engine.questions import questions, troubles
from gpuwhy.engine.signatures import evaluate, rests_on
from gpuwhy.engine.view import World
from gpuwhy.kb.facts import Fact, FactBase
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import replace
from gpuwhy.kb.texts import say


def diagnose(
    kb: KnowledgeBase, base: FactBase, language: str = "en", ask: bool = True, areas: Collection[str] = ()
) -> Diagnosis:
    """The diagnosis of these facts. `ask` False leaves out the search for the next question.

    `areas` are those of the trouble (`slow`, `oom`): questions are asked about it where nothing is known yet. Without
    them it is what is told of it (see `troubles`).
    """
    base = with_catalogue(kb, base)
    world = World(kb.facts, base)
    return reason(
        kb, base, world, derive(kb.derivations.in_play(world.known), world), language=language, ask=ask, areas=areas
    )


def reason(
    kb: KnowledgeBase,
    base: FactBase,
    world: World,
    derived: Derived,
    *,
    engine: str = "proof",
    language: str = "en",
    ask: bool = True,
    areas: Collection[str] = (),
) -> Diagnosis:
    """The diagnosis of a world that already has its derived facts; `engine` says which reading gave them, and why."""
    results = evaluate(kb.signatures.in_play(world.known), world, language)
    found = conclude(kb, results, language)
    standing = [_with_fixes(kb, one, world, language) for one in found if one.status is not Status.RULED_OUT]
    known = world.base
    return Diagnosis(
        conclusions=tuple(standing),
        ruled_out=tuple(one for one in found if one.status is Status.RULED_OUT),
        questions=questions(kb, base, found, language, areas or troubles(kb, world)) if ask else (),
        gain=expected_gain(kb, world),
        facts=tuple(known.facts()),
        absent=base.absent,
        contradictions=known.contradictions,
        derived=derived,
        engine=engine,
    )


def proof_and_step(kb: KnowledgeBase, base: FactBase, name: str, language: str = "en") -> tuple[str, str]:
    """The sentence that proves a conclusion by these facts, empty where it is not concluded, and what to do first.

    That is the title of the first fix that applies; without one, what to collect.
    """
    world = World(kb.facts, with_catalogue(kb, base))
    derive(kb.derivations.in_play(world.known, rests_on(kb, name, fixes=True)), world)
    found = conclude(kb, evaluate(kb.signatures.about(name), world, language), language)
    one = next((each for each in found if each.id == name and each.status.asserted), None)
    entity = None if one is None or one.lead is None else one.lead.entity
    offered = [each for each in offers(kb, name, world, entity, language) if each.offered]
    step = say(offered[0].fix.title if offered else kb.conclusions[name].collect, language)
    return "" if one is None else one.because, step


def what_if(kb: KnowledgeBase, base: FactBase, assumed: Iterable[Fact], language: str = "en") -> Diagnosis:
    """The diagnosis that would follow if these facts were so; they replace what was read."""
    return diagnose(kb, base.with_facts(assumed), language)


def not_in_play(kb: KnowledgeBase, found: Diagnosis, name: str, language: str = "en") -> list[SignatureResult]:
    """The signatures of a conclusion that are not in play in a diagnosis, with the condition that keeps them out."""
    world = World(kb.facts, FactBase.of(found.facts, found.absent))
    return [one for one in evaluate(kb.signatures.about(name), world, language) if one.status is None]


def _with_fixes(kb: KnowledgeBase, one: Conclusion, world: World, language: str) -> Conclusion:
    entity = one.lead.entity if one.lead is not None else None
    return replace(one, fixes=offers(kb, one.id, world, entity, language))
