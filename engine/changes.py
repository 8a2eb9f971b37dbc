"""Whether facts have changed enough that judging them again can come to something else."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from gpuwhy.engine.signatures import needs
from gpuwhy.kb.conditions import Condition, comparisons
from gpuwhy.kb.facts import Entity, Fact, Value
from gpuwhy.kb.model import KnowledgeBase

TOLERANCE = 0.1
"""A number that moved by a tenth since it was last judged may matter where it is compared with another fact."""

SHARE_TOLERANCE = 0.05
"""Of shares small numbers move by much more than a tenth all the time, and mean nothing."""

Key = tuple[str, Entity]


def facts_read(kb: KnowledgeBase) -> frozenset[str]:
    """Every fact that some signature can depend on."""
    return frozenset(fact for facts in needs(kb).values() for fact in facts)


class Changes:
    """Compares facts with those that were judged last. Facts that no rule reads do not count."""

    def __init__(self, kb: KnowledgeBase) -> None:
        read = facts_read(kb)
        self._units = {name: spec.unit for name, spec in kb.facts.items() if name in read}
        self._bounds = _thresholds(kb)
        self._judged: Mapping[Key, Value] = {}

    def of(self, facts: Iterable[Fact]) -> dict[Key, Value]:
        """The values that count."""
        return {(one.id, one.entity): one.value for one in facts if one.id in self._units}

    def since(self, values: Mapping[Key, Value]) -> Iterable[str]:
        """The facts that came, went or moved enough since the last `judged`: across a threshold, or by a tenth."""
        judged = self._judged
        yield from (key[0] for key in judged.keys() - values.keys())
        for key, value in values.items():
            before = judged.get(key)
            if before is None or (value != before and self._moved(key[0], before, value)):
                yield key[0]

    def judged(self, values: Mapping[Key, Value]) -> None:
        """These values are judged now."""
        self._judged = dict(values)

    def _moved(self, fact: str, before: Value, now: Value) -> bool:
        if isinstance(before, (bool, str)) or isinstance(now, (bool, str)):
            return True
        bounds = self._bounds.get(fact, ())
        if bisect_right(bounds, before) != bisect_right(bounds, now):
            return True
        if (now in bounds) is not (before in bounds):
            return True
        if self._units[fact] == "share":
            return abs(now - before) > SHARE_TOLERANCE
        return abs(now - before) > TOLERANCE * max(abs(now), abs(before))


def _thresholds(kb: KnowledgeBase) -> dict[str, tuple[float, ...]]:
    """Every number that a rule compares a fact with, by fact, in order."""
    found: dict[str, set[float]] = {}
    for condition in _conditions(kb):
        for one in comparisons(condition):
            values = one.value if isinstance(one.value, tuple) else (one.value,)
            numbers = {float(v) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)}
            found.setdefault(one.ref.fact, set()).update(numbers)
    return {fact: tuple(sorted(numbers)) for fact, numbers in found.items() if numbers}


def _conditions(kb: KnowledgeBase) -> Iterable[Condition]:
    for signature in kb.signatures:
        trees = [signature.given, signature.requires, signature.confirms]
        trees += [one.when for one in signature.excludes] + [one.when for one in signature.supports]
        yield from (tree for tree in trees if tree is not None)
    yield from (one.when for one in kb.derivations if one.when is not None)
