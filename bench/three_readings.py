"""What the three readings of the shipped rules cost, side by side: `.venv/bin/python bench/three_readings.py`.

Facts are generated: of every vocabulary fact that rules read, a share is known, numbers on and around the thresholds.
Times are medians; ratios are to the proof reading in the same run, as the machine is not the same from run to run.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from gpuwhy.engine.chaining import Session
from gpuwhy.engine.chaining_rules import RuleBook
from gpuwhy.engine.columns import add_derived, statuses
from gpuwhy.engine.derive import derive
from gpuwhy.engine.signatures import evaluate
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import comparisons
from gpuwhy.kb.expressions import refs_of
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind, Value, gpu
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.kb.model import FactSpec, KnowledgeBase

KNOWN_SHARE = 0.3
BASES = 20
ROWS = 100_000
ENTITIES = {"host": HOST, "job": JOB, "gpu": gpu(0)}


def read_facts(kb: KnowledgeBase) -> list[FactSpec]:
    """Facts that a rule reads and none derives."""
    trees = [tree for one in kb.signatures for _, tree in one.parts()]
    names = {ref.fact for tree in trees for ref in refs_of(tree)}
    names |= {ref.fact for one in kb.derivations for ref in (*refs_of(one.formula), *refs_of(one.when))}
    return [kb.facts[name] for name in sorted(names - {one.gives for one in kb.derivations})]


def thresholds(kb: KnowledgeBase) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for one in kb.signatures:
        for _, tree in one.parts():
            for comparison in comparisons(tree):
                if isinstance(comparison.value, (int, float)) and not isinstance(comparison.value, bool):
                    found.setdefault(comparison.ref.fact, []).append(float(comparison.value))
    return found


def value(spec: FactSpec, bounds: dict[str, list[float]], chance: random.Random) -> Value:
    if spec.type == "boolean":
        return chance.random() < 0.5
    if not spec.is_number:
        return chance.choice(spec.choices or ("word",))
    return chance.choice(bounds.get(spec.id, [1.0])) * chance.choice((0.5, 1.0, 1.5))


def base(kb: KnowledgeBase, seed: int) -> FactBase:
    chance, bounds = random.Random(seed), thresholds(kb)
    origin = Origin(OriginKind.MEASURED, "bench")
    return FactBase.of(
        Fact(
            one.id, value(one, bounds, chance), one.unit, ENTITIES.get(one.entity, Entity(one.entity, "1", JOB)), origin
        )
        for one in read_facts(kb)
        if chance.random() < KNOWN_SHARE
    )


def table(kb: KnowledgeBase) -> Any:
    """A fleet: one row for each GPU, with everything that it sees as columns."""
    import polars

    chance, bounds = random.Random(0), thresholds(kb)
    types = {"boolean": polars.Boolean, "number": polars.Float64, "integer": polars.Float64}
    columns: dict[str, Any] = {"host": [f"h{row // 8}" for row in range(ROWS)]}
    for spec in read_facts(kb):
        if chance.random() < KNOWN_SHARE:
            some = [value(spec, bounds, chance) for _ in range(50)] + [None] * 20
            plain = [float(one) if spec.is_number and one is not None else one for one in some]
            columns[spec.id] = polars.Series(chance.choices(plain, k=ROWS), dtype=types.get(spec.type, polars.String))
    return polars.DataFrame(columns)


def milliseconds(action: Callable[[], object], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken)


def by_proof(kb: KnowledgeBase, facts: FactBase) -> World:
    world = World(kb.facts, facts)
    derive(kb.derivations, world)
    evaluate(kb.signatures, world)
    return world


def by_chaining(book: RuleBook, facts: FactBase, one_by_one: bool) -> None:
    session = Session(book)
    for told in [[fact] for fact in facts.facts()] if one_by_one else [facts.facts()]:
        session.tell(told)
    session.close()


def by_proof_after_every_fact(kb: KnowledgeBase, facts: FactBase) -> None:
    told: list[Fact] = []
    for fact in facts.facts():
        told.append(fact)
        by_proof(kb, FactBase.of(told))


def main() -> None:
    kb = load(rules_folder())
    rules = len(kb.signatures) + len(kb.derivations)
    bases = [base(kb, seed) for seed in range(BASES)]
    known = statistics.median(len(one.facts()) for one in bases)
    print(f"{len(kb.signatures)} signatures, {len(kb.derivations)} derivations; {known:.0f} facts a diagnosis\n")

    def mean(action: Callable[[FactBase], object]) -> float:
        return statistics.median(milliseconds(lambda one=one: action(one), 3) for one in bases)  # type: ignore[misc]

    book = RuleBook(kb)
    compiled = milliseconds(lambda: RuleBook(kb))
    proof = mean(lambda one: by_proof(kb, one))
    rows = {
        "proof, all facts at once": proof,
        "chaining, all facts at once": mean(lambda one: by_chaining(book, one, one_by_one=False)),
        "proof, again after every fact": mean(lambda one: by_proof_after_every_fact(kb, one)),
        "chaining, fact by fact": mean(lambda one: by_chaining(book, one, one_by_one=True)),
    }
    print(f"{'reading':34}{'ms':>10}{'us a rule':>12}{'ratio':>9}")
    for name, taken in rows.items():
        print(f"{name:34}{taken:10.2f}{taken * 1e3 / rules:12.2f}{taken / proof:9.2f}")
    frame = table(kb)
    columns = milliseconds(lambda: statuses(kb, add_derived(kb, frame)), 3)
    name = f"columns, {ROWS:,} rows"
    print(f"{name:34}{columns:10.0f}{columns * 1e3 / rules:12.1f}{columns / ROWS / proof:9.4f}  (ratio a row)")
    print(f"\ncompiling the rules for chaining, once: {compiled:.0f} ms ({len(book.shards)} rule sets)")


if __name__ == "__main__":
    main()
