"""The next best question: the unknown fact that separates the open conclusions best for its effort.

For every fact that an open conclusion still needs, each answer is tried out: the rules that can depend on it are judged
again as if it were known. A fact is worth the conclusions that its answers would settle, over what it costs to learn.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from gpuwhy.engine.conclusions import conclude
from gpuwhy.engine.derive import derive
from gpuwhy.engine.model import Conclusion, Question, SignatureResult, Status
from gpuwhy.engine.reach import COST, Effort, Path, Reach
from gpuwhy.engine.signatures import evaluate, needs, sources
from gpuwhy.engine.view import World
from gpuwhy.kb.build import Words
from gpuwhy.kb.conditions import Comparison, Condition, FactRef, comparisons
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind, Value
from gpuwhy.kb.model import FactSpec, KnowledgeBase, Signature
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.texts import say

MAX_TRIED = 24
MAX_UNHEARD = 60

PRIOR: Mapping[Status | None, float] = {Status.LIKELY: 3.0, Status.POSSIBLE: 2.0, None: 1.0}
"""How likely a conclusion is before the answer, in proportion; None: nothing speaks of it yet."""

FITS: Mapping[Status | None, float] = {
    Status.CONFIRMED: 1.0, Status.LIKELY: 1.0, Status.POSSIBLE: 0.6, None: 0.1, Status.RULED_OUT: 0.02,
}  # fmt: skip
"""How well an answer fits a conclusion that holds, by how it stands after the answer."""

BITS_OF_A_WAY = 0.4
"""What it is worth beside its own information that a fact leads on to where a conclusion can hold."""


def questions(
    kb: KnowledgeBase, base: FactBase, found: Sequence[Conclusion], language: str = "en", areas: Collection[str] = ()
) -> tuple[Question, ...]:
    """Questions worth asking, best first. `base` holds the given facts, without derived ones.

    `areas` are those of the trouble that a person came with: as long as no cause in them stands, all of them are asked
    about. Then, and where no fact alone would change anything, facts that decide together are asked for one by one.
    """
    open_ones = [one for one in found if one.status in (Status.LIKELY, Status.POSSIBLE)]
    unheard = _unheard(kb, found, areas)
    if not open_ones and not unheard:
        return ()
    base = _relevant(kb, base)
    world = World(kb.facts, base)
    refused = {one.id for one in base.absent if one.origin.kind is OriginKind.PERSON}
    refused |= set(_of_other_areas(kb, areas)) if areas else set()
    reach = Reach(kb, world, refused, Effort(base))
    ways = _ways(kb, reach.holding, [*(one.id for one in open_ones), *unheard])
    if unheard and ways.keys().isdisjoint(unheard):
        unheard, more = _next_best(kb, reach, found, unheard)
        ways.update(more)
    unheard = [name for name in unheard if name in ways]
    now: dict[str, Status | None] = {one.id: one.status for one in open_ones}
    wanted = _wanted(kb, open_ones, world)
    asleep = _causes(kb, found)
    for fact in _entrances(kb, asleep, world) if asleep else ():
        wanted.setdefault(fact.id, (fact, _entity(fact, JOB, world)))
    tried = list(wanted.values())[:MAX_TRIED]
    for name in _first_steps(ways, unheard)[:MAX_UNHEARD]:
        if name not in wanted:
            tried.append((kb.facts[name], _entity(kb.facts[name], JOB, world)))
    tried = [(fact, entity) for fact, entity in tried if fact.id not in refused and (areas or not fact.areas)]
    now.update(dict.fromkeys((*asleep, *unheard)))
    asking = _Asking(kb, base, now, ways, reach, language)
    for in_part in (True,) if unheard else (False, True):
        asked = [_worth(asking, fact, entity, in_part) for fact, entity in tried]
        if any(asked):
            break
    return tuple(sorted((one for one in asked if one is not None), key=lambda one: (-one.worth, one.fact)))


def _of_other_areas(kb: KnowledgeBase, areas: Collection[str]) -> Iterator[str]:
    """The facts that tell of troubles, none of them in these areas."""
    for name in kb.facts.holding("areas") if isinstance(kb.facts, Words) else kb.facts:
        told = kb.facts[name].areas
        if told and not set(told) & set(areas):
            yield name


def troubles(kb: KnowledgeBase, world: World) -> frozenset[str]:
    """The areas of the troubles that are told: a report that work is slow, a failure for lack of memory."""
    of_troubles = [kb.facts[name] for name in world.known if kb.facts[name].areas]
    told = [(spec, world.get(FactRef(spec.id), JOB)) for spec in of_troubles]
    return frozenset(area for spec, fact in told if fact and fact.value is not False for area in spec.areas)


def _relevant(kb: KnowledgeBase, base: FactBase) -> FactBase:
    """The facts that some rule reads; an artefact can hold thousands that none does.

    Of the others one for each of two entities of a kind: whether a kind has one entity or several changes what is seen.
    """
    read = frozenset().union(*needs_of(kb).values())
    kept = {key for key in base.by_key if key[0] in read}
    seen = {one for _, entity in kept for one in entity.lineage()}
    counted = Counter(one.kind for one in seen)
    for key in base.by_key:
        new = [one for one in key[1].lineage() if one not in seen]
        if any(counted[one.kind] < 2 for one in new):
            kept.add(key)
            seen.update(new)
            counted.update(one.kind for one in new)
    return FactBase({key: fact for key, fact in base.by_key.items() if key in kept}, base.absent)


def _causes(kb: KnowledgeBase, found: Sequence[Conclusion]) -> list[str]:
    """Conclusions that nothing speaks of yet, and that would explain one that holds and that nothing explains.

    They are of the same area: hardly anything cannot end in a rank that is missing, and to be asked about memory then
    is to be asked about nothing in particular.
    """
    names = {one.id for one in found}
    loose = {one.id for one in found if one.status.asserted and one.explained_by is None}
    areas = {_area(name) for name in loose}
    return [
        name
        for name in kb.conclusions
        if name not in names and _area(name) in areas and not loose.isdisjoint(kb.conclusions[name].explains)
    ]


def _unheard(kb: KnowledgeBase, found: Sequence[Conclusion], areas: Collection[str]) -> list[str]:
    """The causes in these areas of which nothing speaks yet; none once one of them is known."""
    if not areas:
        return []  # without a look at every conclusion there is
    known = {one.id: one.status for one in found}
    names = [name for name, spec in kb.conclusions.items() if spec.kind != "evidence" and _area(name) in areas]
    if any(name in known and known[name].asserted for name in names):
        return []
    return [name for name in names if name not in known]


def _ways(kb: KnowledgeBase, way: Callable[[Signature], Path | None], names: Sequence[str]) -> dict[str, list[Path]]:
    """For each of these conclusions that answers lead to, the ways there, shortest first."""
    found: dict[str, list[Path]] = {}
    for signature in kb.signatures.about(*names):
        path = way(signature)
        if path:
            found.setdefault(signature.concludes, []).append(path)
    return {name: sorted(paths, key=len) for name, paths in found.items()}


def _next_best(
    kb: KnowledgeBase, reach: Reach, found: Sequence[Conclusion], unheard: list[str]
) -> tuple[list[str], dict[str, list[Path]]]:
    """What to ask about where answers decide no cause in the areas of the trouble, and the ways there.

    It is what evidence there is, such as a reading that does not say what it seems to; else causes that answers bring
    into play at least, so that it is told what to collect.
    """
    known = {one.id for one in found}
    evidence = [name for name, spec in kb.conclusions.items() if spec.kind == "evidence" and name not in known]
    ways = _ways(kb, reach.holding, evidence)
    return (evidence, ways) if ways else (unheard, _ways(kb, reach.in_play, unheard))


def _first_steps(ways: Mapping[str, list[Path]], names: Sequence[str]) -> list[str]:
    """The facts on the ways to these conclusions, those on most ways first."""
    times = Counter(name for one in names for path in ways[one] for name in sorted(path))
    return [name for name, _ in times.most_common()]


def _area(conclusion: str) -> str:
    return conclusion.partition(".")[0]


def _entrances(kb: KnowledgeBase, causes: Sequence[str], world: World) -> list[FactSpec]:
    """What a person can be asked that would bring a rule about one of these causes into play."""
    found: dict[str, FactSpec] = {}
    for signature in kb.signatures.about(*causes):
        for condition in comparisons(signature.given) if signature.given is not None else ():
            spec = kb.facts[condition.ref.fact]
            if spec.ask and spec.answers and spec.entity in ("job", "host") and spec.id not in world.known:
                found[spec.id] = spec
    return list(found.values())


def _wanted(kb: KnowledgeBase, open_ones: Iterable[Conclusion], world: World) -> dict[str, tuple[FactSpec, Entity]]:
    """Facts that can be learnt and that an open conclusion needs, directly or for a derivation; the best first."""
    givers = sources(kb)
    wanted: dict[str, tuple[FactSpec, Entity]] = {}
    for one in open_ones:
        for result in one.results:
            todo = list(_missing(result))
            while todo:
                name = todo.pop(0)
                spec = kb.facts[name]
                entity = _entity(spec, result.entity, world)
                tells = (spec.ask or spec.obtain) and not world.has(name, entity)
                if name not in wanted and tells and not _one_of_several(spec, result.entity, world):
                    wanted[name] = (spec, entity)
                todo.extend(
                    read for read in givers.get(name, ()) if read not in todo and read != name and read not in wanted
                )
                if len(todo) > 200:
                    break
    return wanted


def _missing(result: SignatureResult) -> Iterable[str]:
    """What the verdict waits for. What would exclude it, but is ignored while it is unknown, is not waited for."""
    if result.status not in (Status.LIKELY, Status.POSSIBLE):
        return
    excludes = zip(result.signature.excludes, result.excludes, strict=True)
    ignored = {id(verdict) for exclusion, verdict in excludes if not exclusion.demotes}
    for verdict in (one for one in result.verdicts() if id(one) not in ignored):
        for leaf in verdict.unknown_leaves():
            if isinstance(leaf.condition, Comparison):
                yield (
                    leaf.condition.ref.fact
                    if leaf.fact is None or leaf.condition.than is None
                    else leaf.condition.than.fact
                )


def _entity(spec: FactSpec, near: Entity, world: World) -> Entity:
    """Whom a question about a fact is about: the entity whose fact `near` sees, or a first one of its kind."""
    return world.home(spec.id, near) or {"job": JOB, "host": HOST}.get(spec.entity, Entity(spec.entity, "0", HOST))


def _one_of_several(spec: FactSpec, near: Entity, world: World) -> bool:
    """Whether `near` sees several that a fact could be of: an answer about one of them tells it nothing."""
    return world.home(spec.id, near) is None and len(world.entities(spec.entity)) > 1


@dataclass(frozen=True)
class _Asking:
    """What is known, how the conclusions that are asked about stand `now`, and the ways to where each holds."""

    kb: KnowledgeBase
    base: FactBase
    now: Mapping[str, Status | None]
    ways: Mapping[str, list[Path]]
    reach: Reach
    language: str

    def nearness(self, fact: str) -> float:
        """How far a fact leads to where a conclusion can hold: the likelier that is, and the less is to be asked."""
        near = 0.0
        for name, status in self.now.items():
            way = next((one for one in self.ways.get(name, ()) if fact in one), None)
            near += PRIOR[status] / self.reach.price(way) if way is not None else 0.0
        return near / sum(PRIOR[status] for status in self.now.values())


def _worth(asking: _Asking, spec: FactSpec, entity: Entity, in_part: bool) -> Question | None:
    """The question about a fact, if answers to it would change a conclusion.

    With `in_part`, a fact that only together with others decides anything is asked for as well.
    """
    kb, base, now, language = asking.kb, asking.base, asking.now, asking.language
    read = needs_of(kb)
    touched = {name for outline in kb.signatures.outlines if spec.id in read[outline.id] for name in outline.about}
    names = touched & now.keys()
    if not names:
        return None
    concerned = kb.signatures.about(*names)
    derived = frozenset().union(*(read[one.id] for one in concerned))
    outcomes = [_outcome(kb, base, spec, entity, value, concerned, derived) for value in _answers(kb, spec, concerned)]
    separates = tuple(sorted(name for name in names if len({outcome.get(name) for outcome in outcomes}) > 1))
    if not separates and not in_part:
        return None
    cheapest = min(spec.obtain, key=lambda one: COST[one.effort], default=None)
    return Question(
        fact=spec.id,
        entity=entity,
        ask=say(spec.ask, language) or say(spec.says, language),
        how=say(cheapest.says, language) if cheapest else "",
        command=cheapest.command if cheapest else "",
        effort=cheapest.effort if cheapest else "question",
        separates=separates or tuple(sorted(names)),
        answers=tuple((one.value, say(one.says, language)) for one in spec.answers),
        worth=_bits(outcomes, now) / asking.reach.effort.of(spec) + BITS_OF_A_WAY * asking.nearness(spec.id),
    )


def _bits(outcomes: Sequence[Mapping[str, Status]], now: Mapping[str, Status | None]) -> float:
    """The expected information of an answer about which of the open conclusions holds, or none of them, in bits.

    Of each, an answer is the likelier the better the conclusion stands after it; of those that do not read the fact,
    all answers are equally likely.
    """
    if not outcomes:
        return 0.0
    even = [1 / len(outcomes)] * len(outcomes)
    weighed = [(PRIOR[status], _fits([outcome.get(name) for outcome in outcomes])) for name, status in now.items()]
    weighed.append((PRIOR[None], even))
    whole = sum(weight for weight, _ in weighed)
    overall = [sum(weight * given[at] for weight, given in weighed) / whole for at in range(len(outcomes))]
    return sum(
        weight / whole * share * math.log2(share / mean)
        for weight, given in weighed
        for share, mean in zip(given, overall, strict=True)
    )


def _fits(statuses: Sequence[Status | None]) -> list[float]:
    """How likely each answer is if a conclusion holds, by how it stands after each answer."""
    fits = [FITS[status] for status in statuses]
    return [one / sum(fits) for one in fits]


_NEEDS: dict[str, dict[str, frozenset[str]]] = {}


def needs_of(kb: KnowledgeBase) -> dict[str, frozenset[str]]:
    """All facts that each signature can depend on, by signature id; computed once per knowledge base."""
    if kb.digest not in _NEEDS:
        _NEEDS[kb.digest] = needs(kb)
    return _NEEDS[kb.digest]


def _outcome(
    kb: KnowledgeBase,
    base: FactBase,
    spec: FactSpec,
    entity: Entity,
    value: Value,
    concerned: Sequence[Signature],
    derived: frozenset[str],
) -> dict[str, Status]:
    """How the conclusions of the `concerned` rules stand if a fact has this value; `derived` is all that they read."""
    supposed = Fact(spec.id, value, spec.unit, entity, Origin(OriginKind.ASSUMED, "question"))
    world = World(kb.facts, base.with_facts((supposed,)))
    derive(kb.derivations.in_play(world.known, derived), world)
    return {one.id: one.status for one in conclude(kb, evaluate(concerned, world))}


def _answers(kb: KnowledgeBase, spec: FactSpec, concerned: Iterable[Signature]) -> list[Value]:
    """The values to try: those a person can answer, all choices, or one on each side of every threshold."""
    if spec.answers:
        return [one.value for one in spec.answers]
    if spec.type == "boolean":
        return [True, False]
    if spec.type == "choice":
        return list(spec.choices)
    bounds = sorted({bound for tree in _conditions(kb, concerned, spec.id) for bound in _bounds(tree, spec.id)})
    if not spec.is_number or not bounds:
        return []
    below = bounds[0] * 0.5 if bounds[0] > 0 else bounds[0] - 1
    between = [(low + high) / 2 for low, high in itertools.pairwise(bounds)]
    return [below, *between, bounds[-1] * 1.5 if bounds[-1] > 0 else bounds[-1] + 1]


def _conditions(kb: KnowledgeBase, concerned: Iterable[Signature], fact: str) -> Iterable[Condition]:
    for signature in concerned:
        yield from (tree for _, tree in signature.parts())
    yield from (one.when for one in kb.derivations.reading(fact) if one.when is not None)


def _bounds(tree: Condition, fact: str) -> Iterable[float]:
    for comparison in comparisons(tree):
        value = comparison.value
        if comparison.ref.fact == fact and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield float(value)
