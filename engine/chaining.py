"""The chaining reading: facts are told one by one, rules fire, derived facts are told in turn, until nothing fires.

Every entity has its own state: it is told the facts that it sees, and the aggregates as facts of their own. New facts
only ever add. Where one changes what was told before (an answer is corrected, a second GPU makes "the GPU" ambiguous,
an average moves, a reading replaces a computed value) the session starts over by itself from the facts given so far.

Derived facts are told level by level: a fact only after everything it is computed from. So an aggregate is told once
all readings of it are in, and of two derivations of one fact the first wins, as in the proof reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from gpuwhy.engine.chaining_rules import Outcome, RuleBook, Shard, event
from gpuwhy.engine.derive import target_of
from gpuwhy.engine.model import Truth
from gpuwhy.engine.values import typed
from gpuwhy.engine.view import World
from gpuwhy.kb import expressions
from gpuwhy.kb.conditions import FactRef
from gpuwhy.kb.facts import HOST, Absent, Entity, Fact, FactBase, Origin, OriginKind, Value
from gpuwhy.kb.model import Derivation, KnowledgeBase
from gpuwhy.kb.records import dataclass, field, replace

Part = tuple[str, Entity, str]
"""A rule id, the entity it is judged for, and the part of the rule."""

_numbers = count()


@dataclass(frozen=True)
class Made:
    """A derived fact, and what gave it: the place of the derivation and of the entity it was evaluated for."""

    fact: Fact
    derivation: Derivation
    entity: Entity
    rank: tuple[int, int]


@dataclass
class _View:
    """What one entity was told, and what came out."""

    entity: Entity
    state: str
    shown: dict[FactRef, Value] = field(default_factory=dict)
    told: dict[tuple[int, FactRef], Value] = field(default_factory=dict)
    truths: dict[tuple[int, int], bool] = field(default_factory=dict)


class _Changed(Exception):
    """Something that was told before is no longer so."""


class Session:
    """One diagnosis that grows: tell it facts, read what follows."""

    def __init__(self, book: RuleBook) -> None:
        self.book = book
        self._specs = book.kb.facts
        self._given = FactBase()
        self._views: dict[Entity, _View] = {}
        self._states: dict[str, _View] = {}
        self._start()

    @property
    def world(self) -> World:
        """All facts, given and derived, as seen from any entity."""
        return self._world

    @property
    def derived(self) -> Mapping[tuple[str, Entity], Made]:
        """The derived facts, by fact id and entity, in the order they were derived."""
        return self._made

    def tell(self, facts: Iterable[Fact], absent: Iterable[Absent] = ()) -> None:
        """Add facts, and readings that could not be taken. Raises TypeError, adding none, if one is of a wrong type."""
        news = list(facts)
        for fact in news:
            typed(self._specs, FactRef(fact.id), fact.value)
        given = self._given.with_facts(news)
        self._given = replace(given, absent=(*given.absent, *absent))
        if any((fact.id, fact.entity) in self._made for fact in news):
            self._start()
            return
        self._world = World(self._specs, self._given)
        for made in self._made.values():
            self._world.add(made.fact)
        self._dirty.update(fact.id for fact in news)
        try:
            self._settle()
        except _Changed:
            self._start()

    def truth(self, rule_id: str, part: str, entity: Entity) -> Truth:
        """The truth of a part of a rule for an entity of its scope."""
        outcome, view = self.book.parts[(rule_id, part)], self._views.get(entity)
        return Truth.UNKNOWN if view is None else _truth(view, outcome)

    def truths(self) -> dict[Part, Truth]:
        """The truth of every condition of every signature, for every entity of its scope."""
        return {
            (rule_id, entity, part): self.truth(rule_id, part, entity)
            for (rule_id, part), outcome in self.book.parts.items()
            if part != "ready"
            for entity in self._world.entities(self.book.shards[outcome.shard].scope)
        }

    def close(self) -> None:
        """Forget everything that was told; the rules stay for other sessions."""
        for view in self._views.values():
            for shard in self.book.shards:
                if shard.scope == view.entity.kind:
                    shard.forget(view.state)
        self._views, self._states = {}, {}

    def _start(self) -> None:
        self.close()
        self._world = World(self._specs, self._given)
        self._made: dict[tuple[str, Entity], Made] = {}
        self._ready: dict[int, set[tuple[int, Entity, bool]]] = {}
        self._counted: dict[str, int] = {}
        self._dirty: set[str] = set()
        self._settle()

    def _settle(self) -> None:
        self._notice_entities()
        for level in range(1 + max(self.book.level.values(), default=0)):
            self._derive(level)
            self._show(level)

    def _notice_entities(self) -> None:
        """A new entity sees facts of its own, and may end that there is only one of its kind."""
        kinds = {spec.entity for spec in self._specs.values()} | {shard.scope for shard in self.book.shards}
        counted = {kind: len(self._world.entities(kind)) for kind in kinds}
        if counted == self._counted:
            return
        self._counted = counted
        self._dirty.update(self.book.readers)
        for scope in {shard.scope for shard in self.book.shards}:
            for entity in self._world.entities(scope):
                if entity not in self._views:
                    self._add_view(entity)

    def _add_view(self, entity: Entity) -> None:
        view = _View(entity, str(next(_numbers)))
        self._views[entity] = self._states[view.state] = view
        for number in self.book.unconditional:
            if self.book.kb.derivations[number].scope == entity.kind:
                self._note_ready(number, entity, True)

    def _note_ready(self, number: int, entity: Entity, truth: bool) -> None:
        level = self.book.level[self.book.kb.derivations[number].gives]
        self._ready.setdefault(level, set()).add((number, entity, truth))

    def _derive(self, level: int) -> None:
        """Compute the facts of a level that became ready; the first derivation, for the first entity, wins."""
        places: dict[str, dict[Entity, int]] = {}
        queue = []
        for number, entity, truth in self._ready.pop(level, ()):
            if entity.kind not in places:
                places[entity.kind] = {one: at for at, one in enumerate(self._world.entities(entity.kind))}
            queue.append(((number, places[entity.kind][entity]), entity, truth))
        for rank, entity, truth in sorted(queue, key=lambda one: one[0]):
            self._make(rank, self.book.kb.derivations[rank[0]], entity, truth)

    def _make(self, rank: tuple[int, int], derivation: Derivation, entity: Entity, truth: bool) -> None:
        target = target_of(self._specs[derivation.gives].entity, entity)
        if target is None:
            return
        key = (derivation.gives, target)
        better = key in self._made and rank < self._made[key].rank
        if self._world.has(derivation.gives, target) and not better:
            return
        value = self._value(derivation, entity, truth)
        if value is None:
            return
        if better:
            raise _Changed
        origin = Origin(OriginKind.DERIVED, derivation.id)
        fact = Fact(derivation.gives, value, self._specs[derivation.gives].unit, target, origin)
        self._made[key] = Made(fact, derivation, entity, rank)
        self._world.add(fact)
        self._dirty.add(derivation.gives)

    def _value(self, derivation: Derivation, entity: Entity, truth: bool) -> Value | None:
        if derivation.formula is None:
            return derivation.value if truth else derivation.otherwise
        shown = self._views[entity].shown

        def value_of(ref: FactRef) -> float | None:
            value = shown.get(ref)
            return None if value is None or isinstance(value, str) else float(value)

        number = expressions.evaluate(derivation.formula, value_of)
        whole = self._specs[derivation.gives].type == "integer"
        return round(number) if whole and number is not None else number

    def _show(self, level: int) -> None:
        """Tell every entity what it now sees of the facts of a level."""
        words = [word for word in self._dirty if self.book.level[word] == level]
        self._dirty.difference_update(words)
        for word in words:
            for shard, ref, keys in self.book.readers.get(word, ()):
                shared = self._world.get(ref, HOST) if ref.over is not None else None
                for entity in self._world.entities(shard.scope):
                    fact = self._world.get(ref, entity) if ref.over is None else shared
                    self._show_one(shard, ref, keys, self._views[entity], fact)

    def _show_one(self, shard: Shard, ref: FactRef, keys: tuple[str, ...], view: _View, fact: Fact | None) -> None:
        value = None if fact is None else typed(self._specs, ref, fact.value)
        told = view.told.get((shard.number, ref))
        if value == told:
            return
        if told is not None:
            raise _Changed
        assert value is not None
        view.told[(shard.number, ref)] = view.shown[ref] = value
        for key in keys:
            self._chain(shard, view, key, value)

    def _chain(self, shard: Shard, view: _View, key: str, value: Value) -> None:
        """Tell one message to a shard, then what follows from it there, until nothing fires."""
        agenda: list[tuple[str, Value]] = [(key, value)]
        while agenda:
            for state, node, truth in shard.tell(view.state, *agenda.pop()):
                assert state == view.state
                if (shard.number, node) in view.truths:
                    continue
                view.truths[(shard.number, node)] = truth
                for number, branch in shard.waiting.get((node, truth), ()):
                    self._note_ready(number, view.entity, branch)
                if (node, truth) in shard.told:
                    agenda.append((event(node, truth), True))


def _truth(view: _View, outcome: Outcome) -> Truth:
    found = view.truths.get((outcome.shard, outcome.node))
    if found is None:
        return Truth.UNKNOWN
    return Truth.TRUE if found is not outcome.negated else Truth.FALSE


def chain(kb: KnowledgeBase, base: FactBase) -> tuple[tuple[Fact, ...], dict[Part, Truth]]:
    """The facts derived from a base, and the truth of every condition of every signature."""
    book = RuleBook(kb)
    try:
        session = Session(book)
        session.tell(base.facts(), base.absent)
        return tuple(made.fact for made in session.derived.values()), session.truths()
    finally:
        book.close()
