"""Conditions as durable_rules rules: compiled once per knowledge base, for sessions to tell facts to.

Unknown is a message that never came, so a condition needs two rules: one that makes it true, one that makes it false.
A comparison is true or false of one message (or of two, with `than`). Of an `all`, one rule joins what makes every part
true, one fires on anything that makes a part false; `any` is the mirror image, `not` swaps the two. A part that is
itself an `all`, `any` or `than` tells its outcome as a message.

A rule set has room for some hundred alternatives only (see `durable_adapter`), so rules are dealt out to shards, each
for one kind of entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from gpuwhy.engine.durable_adapter import (
    ChainRule,
    Network,
    Pattern,
    Scalar,
    both,
    either,
    holds,
    holds_against,
    present,
    to_json,
)
from gpuwhy.engine.values import fitting, kind_of
from gpuwhy.kb.conditions import All, Any_, Comparison, Condition, FactRef, Not, Operator
from gpuwhy.kb.expressions import refs_of
from gpuwhy.kb.model import Derivation, FactSpec, KnowledgeBase
from gpuwhy.kb.records import dataclass, field, replace

SHARD_RULES = 120
"""When a shard is full. A state of it takes memory for every rule, and an entity has one only if a fact concerns it."""
CROWDED = 40
"""When a shard takes no more rules because one fact has so many different tests in it; one fact may satisfy 60."""
WIDEST = 12
"""Parts of one node; a wider `all` or `any` becomes a tree. Well under what a rule can join."""

_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


@dataclass(frozen=True)
class Outcome:
    """Where the truth of a condition shows: a node of a shard, `negated` under an odd number of `not`."""

    shard: int
    node: int
    negated: bool = False


@dataclass
class Shard:
    """Some rules for one kind of entity. `fired` holds what happened, as (state, node, truth), until it is drained."""

    number: int
    scope: str
    keys: dict[FactRef, str] = field(default_factory=dict)
    twins: dict[FactRef, str] = field(default_factory=dict)
    told: set[tuple[int, bool]] = field(default_factory=set)
    waiting: dict[tuple[int, bool], list[tuple[int, bool]]] = field(default_factory=dict)
    rules: list[ChainRule] = field(default_factory=list)
    fired: list[tuple[str, int, bool]] = field(default_factory=list)
    network: Network | None = None

    def tell(self, state: str, key: str, value: Scalar) -> list[tuple[str, int, bool]]:
        """Tell one message; what fired, drained."""
        if self.network is None:
            self.network = Network(f"{self.scope}-{self.number}", self.rules)
        self.network.tell(state, key, value)
        fired, self.fired[:] = list(self.fired), []
        return fired

    def forget(self, state: str) -> None:
        """Drop everything that was told about one entity."""
        if self.network is not None:
            self.network.forget(state)


def event(node: int, truth: bool) -> str:
    """The key of the message that tells the truth of a node."""
    return f"n{node}{'t' if truth else 'f'}"


class _ShardCompiler:
    """Puts conditions into one shard; equal conditions become one node."""

    def __init__(self, specs: Mapping[str, FactSpec], shard: Shard) -> None:
        self.specs = specs
        self.shard = shard
        self.nodes: dict[Condition, int] = {}
        self.tests: dict[str, set[str]] = {}

    @property
    def full(self) -> bool:
        """True if the next rule should go to another shard."""
        return len(self.shard.rules) >= SHARD_RULES or max(map(len, self.tests.values()), default=0) >= CROWDED

    def outcome(self, condition: Condition) -> Outcome:
        bare, negated = self.bare(condition)
        return Outcome(self.shard.number, self.node(bare), negated)

    def bare(self, condition: Condition) -> tuple[Condition, bool]:
        """The condition without `not`, and if it is negated. Two numbers are equal if each is at most the other."""
        negated = False
        while isinstance(condition, Not):
            condition, negated = condition.part, not negated
        if isinstance(condition, Comparison) and condition.than is not None and not condition.op.orders:
            kinds = {kind_of(self.specs, condition.ref), kind_of(self.specs, condition.than)}
            if kinds == {float} and condition.op is not Operator.KNOWN:
                sides = tuple(replace(condition, op=op) for op in (Operator.LE, Operator.GE))
                return All(sides), negated is not (condition.op is Operator.NE)
        return condition, negated

    def key(self, ref: FactRef) -> str:
        return self.shard.keys.setdefault(ref, f"x{len(self.shard.keys)}")

    def node(self, condition: Condition) -> int:
        if isinstance(condition, Comparison):
            condition = replace(condition, source=None)
        if condition not in self.nodes:
            number = self.nodes[condition] = len(self.nodes)
            for truth in (True, False):
                for patterns in self.patterns(condition, truth):
                    act = partial(self.note, number, truth)
                    self.shard.rules.append(ChainRule(patterns, act))
        return self.nodes[condition]

    def note(self, node: int, truth: bool, state: str) -> None:
        self.shard.fired.append((state, node, truth))

    def patterns(self, condition: Condition, truth: bool) -> Iterator[tuple[Pattern, ...]]:
        """The rules that give a node this truth, each as the messages that it joins."""
        if isinstance(condition, Comparison):
            yield from self.comparison(condition, truth)
            return
        assert not isinstance(condition, Not)
        parts = [self.part(*self.bare(one), truth) for one in _narrow(condition).parts]
        if isinstance(condition, All) is truth:
            yield from _joined(parts)
        else:
            possible = [pattern for _, pattern in parts if pattern is not None]
            if possible:
                yield (either(possible),)

    def part(self, condition: Condition, negated: bool, truth: bool) -> tuple[str, Pattern | None]:
        """What makes a part true or false, as one message: its key, and the pattern; None if nothing can."""
        wanted = truth is not negated
        if isinstance(condition, Comparison) and condition.than is None:
            return self.key(condition.ref), self.literal(condition, wanted)
        node = self.node(condition)
        self.shard.told.add((node, wanted))
        return event(node, wanted), present(event(node, wanted))

    def comparison(self, condition: Comparison, truth: bool) -> Iterator[tuple[Pattern, ...]]:
        if condition.than is not None:
            yield from self.against(condition, condition.than, truth)
            return
        pattern = self.literal(condition, truth)
        if pattern is not None:
            yield (pattern,)

    def literal(self, condition: Comparison, truth: bool) -> Pattern | None:
        """The one message that makes a comparison with values true or false; None if none can."""
        pattern = self.test(condition, truth)
        self.tests.setdefault(self.key(condition.ref), set()).add(to_json(pattern or {}))
        return pattern

    def test(self, condition: Comparison, truth: bool) -> Pattern | None:
        key, kind, op = self.key(condition.ref), kind_of(self.specs, condition.ref), condition.op
        if op is Operator.KNOWN:
            return present(key) if truth else None
        values = fitting(self.specs, condition.ref, condition.value)
        if op.orders:
            if kind is not float or len(values) != 1:
                raise TypeError(f"{condition.ref} {op.value} {condition.value!r}: only numbers have an order")
            return holds(key, op.value if truth else _OPPOSITE[op.value], values[0])
        if (op is Operator.NE) is truth:
            return both([holds(key, "ne", one) for one in values]) if values else present(key)
        return either([holds(key, "eq", one) for one in values]) if values else None

    def against(self, condition: Comparison, than: FactRef, truth: bool) -> Iterator[tuple[Pattern, ...]]:
        """The rules over two messages. A message is never joined with itself, so a fact against itself gets a twin."""
        op = condition.op.value if truth else _OPPOSITE[condition.op.value]
        kind, other = kind_of(self.specs, condition.ref), self.key(than)
        key = self.key(condition.ref)
        if than == condition.ref:
            key = self.shard.twins.setdefault(than, f"{other}again")
        if kind is not kind_of(self.specs, than) or (condition.op.orders and kind is not float):
            if condition.op.orders:
                raise TypeError(f"{condition.ref} {condition.op.value} {than}: only numbers have an order")
            if op == "ne":
                yield present(other), present(key)
            return
        yield present(other), holds_against(key, op, other, condition.times if kind is float else None)


def _narrow(condition: All | Any_) -> All | Any_:
    """The same with at most `WIDEST` parts, by putting the parts into parts of the same kind."""
    parts = tuple(dict.fromkeys(condition.parts))
    while len(parts) > WIDEST:
        parts = tuple(type(condition)(parts[at : at + WIDEST]) for at in range(0, len(parts), WIDEST))
    return type(condition)(parts)


def _joined(parts: Iterable[tuple[str, Pattern | None]]) -> Iterator[tuple[Pattern, ...]]:
    by_key: dict[str, list[Pattern]] = {}
    for key, pattern in parts:
        if pattern is None:
            return
        if pattern not in by_key.setdefault(key, []):
            by_key[key].append(pattern)
    yield tuple(both(patterns) for patterns in by_key.values())


class RuleBook:
    """All derivations and signatures of a knowledge base as rules, with where each outcome shows.

    `parts` has, for each rule id and part (`given`, `requires`, `confirms`, `excludes.0`, `supports.0`), its outcome.
    `level` orders facts: 0 is never derived, and a derived fact is above all that it is computed from.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.shards: list[Shard] = []
        self.parts: dict[tuple[str, str], Outcome] = {}
        self.unconditional: list[int] = []
        self._open: dict[str, _ShardCompiler] = {}
        for number, derivation in enumerate(kb.derivations):
            if derivation.status != "deprecated":
                self._derivation(number, derivation)
        for signature in kb.signatures:
            if signature.status != "deprecated":
                for part, condition in signature.parts():
                    compiler = self._compiler(signature.scope)
                    self.parts[(signature.id, part)] = compiler.outcome(condition)
        self.level = _levels(kb)
        self.readers: dict[str, list[tuple[Shard, FactRef, tuple[str, ...]]]] = {}
        for shard in self.shards:
            for ref, key in shard.keys.items():
                keys = (key, shard.twins[ref]) if ref in shard.twins else (key,)
                self.readers.setdefault(ref.fact, []).append((shard, ref, keys))

    def _compiler(self, scope: str) -> _ShardCompiler:
        compiler = self._open.get(scope)
        if compiler is None or compiler.full:
            compiler = self._open[scope] = _ShardCompiler(self.kb.facts, Shard(len(self.shards), scope))
            self.shards.append(compiler.shard)
        return compiler

    def _derivation(self, number: int, derivation: Derivation) -> None:
        """A formula is ready once its condition holds and all that it reads is known; a value follows its condition."""
        compiler = self._compiler(derivation.scope)
        conditions = [] if derivation.when is None else [derivation.when]
        if derivation.formula is not None:
            refs = dict.fromkeys(refs_of(derivation.formula))
            conditions += [Comparison(ref, Operator.KNOWN) for ref in refs]
        if not conditions:
            self.unconditional.append(number)
            return
        outcome = compiler.outcome(conditions[0] if len(conditions) == 1 else All(tuple(conditions)))
        branches = (True,) if derivation.formula is not None else (True, False)
        for truth in branches:
            compiler.shard.waiting.setdefault((outcome.node, truth is not outcome.negated), []).append((number, truth))
        self.parts[(derivation.id, "ready")] = outcome

    def close(self) -> None:
        """Free the rules; no session of this book can be used any more."""
        for shard in self.shards:
            if shard.network is not None:
                shard.network.close()


def _levels(kb: KnowledgeBase) -> Mapping[str, int]:
    reads: dict[str, set[str]] = {}
    for derivation in kb.derivations:
        names = {ref.fact for ref in (*refs_of(derivation.formula), *refs_of(derivation.when))}
        reads.setdefault(derivation.gives, set()).update(names - {derivation.gives})
    levels: dict[str, int] = {}

    def level(fact: str) -> int:
        if fact not in levels:
            levels[fact] = 1 + max(map(level, reads[fact]), default=0) if fact in reads else 0
        return levels[fact]

    for fact in kb.facts:
        level(fact)
    return levels
