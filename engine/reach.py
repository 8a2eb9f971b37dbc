"""What answers can still decide: the facts that a person has yet to be asked for until a rule holds.

A rule that reads what nobody can be asked for, or what whoever was asked does not know, cannot come to hold by answers,
and no question is worth asking for its sake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping

from gpuwhy.engine.model import Truth
from gpuwhy.engine.proof import judge
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import All, Comparison, Condition, Not, Operator
from gpuwhy.kb.expressions import references
from gpuwhy.kb.facts import HOST, Entity, FactBase, OriginKind
from gpuwhy.kb.model import Derivation, FactSpec, KnowledgeBase, Signature

Path = frozenset[str]
NOTHING: Path = frozenset()

COST: Mapping[str, float] = {"question": 1.0, "reading": 2.0, "probe": 3.0, "restart": 8.0}
"""By effort, for a person who is asked: least what is known off-hand, then a command, a measurement, a new run."""
TYPED = 2.0
"""What a number costs, which has to be looked up and typed, against an answer that is picked in words."""


class Effort:
    """What facts cost to learn for the person who is asked.

    Whoever did not know one fact of a kind (`step.`, `gpu.`) is the less likely to know the next; whoever knew is the
    more likely.
    """

    def __init__(self, base: FactBase) -> None:
        self._refused = Counter(_kind(one.id) for one in base.absent if one.origin.kind is OriginKind.PERSON)
        self._known = Counter(_kind(one.id) for one in base.facts() if one.origin.kind is OriginKind.PERSON)

    def of(self, spec: FactSpec) -> float:
        """The cost of the cheapest way to learn a fact, over how likely it is to be known."""
        efforts = [COST[one.effort] for one in spec.obtain] or [COST["question"]]
        typed = TYPED if spec.is_number and not spec.answers else 1.0
        kind = _kind(spec.id)
        return min(efforts) * typed * (1 + self._refused[kind] / (1 + self._known[kind]))


def _kind(fact: str) -> str:
    return fact.partition(".")[0]


class Reach:
    """Ways to what is unknown, by the facts to ask for on each; `refused` are those that nobody can tell."""

    def __init__(self, kb: KnowledgeBase, world: World, refused: Container[str], effort: Effort) -> None:
        self._kb = kb
        self._world = world
        self._refused = refused
        self.effort = effort
        self._paths: dict[str, Path | None] = {}

    def price(self, path: Path) -> float:
        """What it costs to learn all facts of a path."""
        return sum(self.effort.of(self._kb.facts[name]) for name in path)

    def holding(self, signature: Signature) -> Path | None:
        """The cheapest facts to ask for until a signature may hold; None if answers cannot bring that about."""
        return self._signature(signature, signature.given, signature.requires)

    def in_play(self, signature: Signature) -> Path | None:
        """The cheapest facts to ask for until a signature may be in play."""
        return self._signature(signature, signature.given)

    def _signature(self, signature: Signature, *parts: Condition | None) -> Path | None:
        entities = self._world.entities(signature.scope) or [Entity(signature.scope, "0", HOST)]
        return self._cheapest(
            self._all(self._condition(part, entity, Truth.TRUE) for part in parts if part is not None)
            for entity in entities
        )

    def _fact(self, name: str) -> Path | None:
        if name in self._world.known:
            return NOTHING
        if name not in self._paths:
            self._paths[name] = None  # what would be needed to derive itself leads nowhere
            spec = self._kb.facts[name]
            asked = frozenset((name,)) if (spec.ask or spec.obtain) and name not in self._refused else None
            derived = (self._derivation(one) for one in self._kb.derivations.about(name))
            self._paths[name] = self._cheapest((asked, *derived))
        return self._paths[name]

    def _derivation(self, derivation: Derivation) -> Path | None:
        entity = (self._world.entities(derivation.scope) or [Entity(derivation.scope, "0", HOST)])[0]
        holds = NOTHING if derivation.when is None else self._condition(derivation.when, entity, Truth.TRUE)
        if derivation.formula is not None:
            return self._all((holds, *(self._fact(one.fact) for one in references(derivation.formula))))
        if derivation.otherwise is None or derivation.when is None:
            return holds
        return self._cheapest((holds, self._condition(derivation.when, entity, Truth.FALSE)))

    def _condition(self, condition: Condition, entity: Entity, wanted: Truth) -> Path | None:
        """The cheapest facts to ask for until a condition may have the truth that is wanted."""
        if isinstance(condition, Not):
            return self._condition(condition.part, entity, Truth.FALSE if wanted is Truth.TRUE else Truth.TRUE)
        if isinstance(condition, Comparison):
            return self._comparison(condition, entity, wanted)
        parts = (self._condition(part, entity, wanted) for part in condition.parts)
        return self._all(parts) if isinstance(condition, All) is (wanted is Truth.TRUE) else self._cheapest(parts)

    def _comparison(self, condition: Comparison, entity: Entity, wanted: Truth) -> Path | None:
        truth = judge(condition, self._world, entity).truth
        if truth is not Truth.UNKNOWN:
            return NOTHING if truth is wanted else None
        if condition.op is Operator.KNOWN and wanted is Truth.FALSE:
            return None
        read = [condition.ref.fact, *([condition.than.fact] if condition.than is not None else [])]
        return self._all(self._fact(name) for name in read)

    def _all(self, paths: Iterable[Path | None]) -> Path | None:
        found: Path = NOTHING
        for path in paths:
            if path is None:
                return None
            found |= path
        return found

    def _cheapest(self, paths: Iterable[Path | None]) -> Path | None:
        return min((path for path in paths if path is not None), key=self.price, default=None)
