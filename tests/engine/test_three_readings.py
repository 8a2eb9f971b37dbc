"""One rule, three readings: chaining, proof and columns come to the same, whatever the rules and the facts.

Figures that are added up or averaged are multiples of a power of two, so that they are exact in whatever order they are
added; a column adds in another order than a list.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuwhy.engine.columns import add_derived, frame_of, key_of, statuses, truths
from gpuwhy.engine.derive import derive
from gpuwhy.engine.durable_adapter import available
from gpuwhy.engine.model import Truth
from gpuwhy.engine.proof import judge
from gpuwhy.engine.signatures import evaluate
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import All, Any_, Comparison, Condition, FactRef, Not, Operator, Over, comparisons
from gpuwhy.kb.expressions import Call, Expression, FactValue, Number
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind, Value, gpu
from gpuwhy.kb.load import load, rules_folder
from gpuwhy.kb.model import Derivation, Exclusion, FactSpec, KnowledgeBase, Signature
from tests.engine.small import derivation, knowledge, signature

pytest.importorskip("polars")
pytestmark = pytest.mark.skipif(available() is not None, reason=str(available()))
if available() is None:
    from gpuwhy.engine.chaining import Session, chain
    from gpuwhy.engine.chaining_rules import RuleBook

MEASURED = Origin(OriginKind.MEASURED, "generated")
KINDS = ("host", "job", "gpu", "process", "failure")
ENTITIES: dict[str, tuple[Entity, ...]] = {
    "host": (HOST,),
    "job": (JOB, Entity("job", "second", HOST)),
    "gpu": tuple(gpu(number) for number in range(3)),
    "process": tuple(Entity("process", str(number), gpu(number % 2)) for number in range(3)),
    "failure": (Entity("failure", "0", JOB), Entity("failure", "1", gpu(1)), Entity("failure", "2", gpu(2))),
}
WORDS = ("train", "serve", "51", 'a "quoted" \\ word', "ünï", "")
EXACT = (-3.5, 0.0, 1, 2.5, 2**40)
WILD = (-7e-9, 0.0, 5e-324, 0.1 + 0.2, 0.3, 2**53, 1.7e308)


def spec(name: str, entity: str, type_: str) -> FactSpec:
    return FactSpec(name, entity, type_, name, choices=WORDS if type_ == "choice" else ())


@st.composite
def vocabularies(draw: st.DrawFn) -> dict[str, FactSpec]:
    """Facts `exact.*` and `wild.*` (numbers never added up), `flag.*`, `word.*`, and `made.*` to derive."""
    kinds = st.sampled_from(KINDS)
    made = [spec(f"exact.n{n}", draw(kinds), draw(st.sampled_from(("number", "integer")))) for n in range(2)]
    made += [spec(f"wild.n{n}", draw(kinds), "number") for n in range(2)]
    made += [spec(f"flag.n{n}", draw(kinds), "boolean") for n in range(2)]
    made += [spec(f"word.n{n}", draw(kinds), draw(st.sampled_from(("text", "choice")))) for n in range(2)]
    types = st.sampled_from(("number", "integer", "boolean", "text"))
    made += [spec(f"made.n{n}", draw(kinds), draw(types)) for n in range(3)]
    made += [spec(f"own.{kind}", kind, "number") for kind in KINDS]  # every kind has a fact
    return {one.id: one for one in made}


def values_of(one: FactSpec) -> st.SearchStrategy[Value]:
    if one.type == "boolean":
        return st.booleans()
    if not one.is_number:
        return st.sampled_from(WORDS)
    return st.sampled_from(WILD if one.id.startswith("wild") else EXACT)


def overs_of(one: FactSpec) -> tuple[Over, ...]:
    if not one.is_number:
        return (Over.COUNT,)
    return tuple(Over) if one.id.startswith(("exact", "own")) else (Over.MAX, Over.MIN, Over.COUNT)


@st.composite
def references(draw: st.DrawFn, specs: Sequence[FactSpec], numbers: bool = False) -> FactRef:
    one = draw(st.sampled_from(specs))
    over: Over | None = draw(st.sampled_from((None, None, *overs_of(one))))
    if numbers and not one.is_number:
        over = Over.COUNT
    return FactRef(one.id, over)


@st.composite
def conditions_over(draw: st.DrawFn, specs: dict[str, FactSpec], readable: Sequence[FactSpec]) -> Condition:
    leaves = one_comparison(specs, readable)
    parts = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=4).map(lambda some: All(tuple(some))),
            st.lists(inner, min_size=1, max_size=4).map(lambda some: Any_(tuple(some))),
            inner.map(Not),
        ),
        max_leaves=8,
    )
    return draw(parts)


@st.composite
def one_comparison(draw: st.DrawFn, specs: dict[str, FactSpec], readable: Sequence[FactSpec]) -> Comparison:
    ref = draw(references(readable))
    one = specs[ref.fact]
    number = one.is_number or ref.over is not None
    ops = list(Operator) if number else [Operator.EQ, Operator.NE, Operator.IN, Operator.KNOWN]
    op = draw(st.sampled_from(ops))
    if op is Operator.KNOWN:
        return Comparison(ref, op)
    values = values_of(one) if ref.over is None else st.sampled_from((*EXACT, *WILD))
    if op is Operator.IN:
        return Comparison(ref, op, tuple(draw(st.lists(values, min_size=1, max_size=4))))
    if draw(st.booleans()):
        than = draw(references(readable, numbers=op.orders))
        return Comparison(ref, op, than=than, times=draw(st.sampled_from((1.0, 1.0, 0.5, 2.0, -1.0, 1e-3))))
    return Comparison(ref, op, draw(values))


def formulas(readable: Sequence[FactSpec]) -> st.SearchStrategy[Expression]:
    leaves: st.SearchStrategy[Expression] = st.one_of(
        references(readable, numbers=True).map(FactValue), st.sampled_from((0.0, 2.0, 0.5)).map(Number)
    )

    def calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        pair, some = st.tuples(inner, inner), st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            st.builds(Call, st.sampled_from("+-*/"), pair),
            st.builds(Call, st.sampled_from(("min", "max")), some),
            st.builds(Call, st.sampled_from(("neg", "abs", "ceil", "floor")), st.tuples(inner)),
        )

    return st.recursive(leaves, calls, max_leaves=5)


@st.composite
def derivations_for(draw: st.DrawFn, specs: dict[str, FactSpec]) -> list[Derivation]:
    """Up to two derivations for each `made` fact, reading given facts and those made before."""
    found: list[Derivation] = []
    readable = [one for one in specs.values() if not one.id.startswith("made")]
    for one in [one for one in specs.values() if one.id.startswith("made")]:
        for number in range(draw(st.integers(0, 2))):
            when = draw(st.none() | conditions_over(specs, readable))
            name, scope = f"derive.{one.id}.{number}", draw(st.sampled_from(KINDS))
            plain = derivation(one.id, scope, name=name, when=when)
            if one.is_number and draw(st.booleans()):
                found.append(Derivation(**(vars(plain) | {"formula": draw(formulas(readable))})))
            else:
                value, otherwise = draw(values_of(one)), draw(st.none() | values_of(one))
                found.append(Derivation(**(vars(plain) | {"value": value, "otherwise": otherwise})))
        readable.append(one)
    return found


@st.composite
def knowledge_bases(draw: st.DrawFn) -> KnowledgeBase:
    specs = draw(vocabularies())
    some = conditions_over(specs, list(specs.values()))
    made = []
    for number in range(draw(st.integers(1, 3))):
        excludes = draw(st.lists(st.builds(Exclusion, some, st.just("no"), st.booleans()), max_size=2))
        made.append(
            signature(
                f"sig.n{number}",
                draw(st.sampled_from(KINDS)),
                draw(some),
                given=draw(st.none() | some),
                confirms=draw(st.none() | some),
                excludes=tuple(excludes),
            )
        )
    return knowledge(draw(derivations_for(specs)), made, specs=specs)


@st.composite
def bases(draw: st.DrawFn, kb: KnowledgeBase) -> FactBase:
    places = [(one, entity) for one in kb.facts.values() for entity in ENTITIES[one.entity]]
    left_out = draw(st.sets(st.sampled_from(range(len(places))), max_size=len(places)))
    chosen = [place for number, place in enumerate(places) if number not in left_out]
    return FactBase.of(Fact(one.id, draw(values_of(one)), None, entity, MEASURED) for one, entity in chosen)


WORLDS = knowledge_bases().flatmap(lambda kb: st.tuples(st.just(kb), bases(kb)))
NAMED = {Truth.TRUE: True, Truth.FALSE: False, Truth.UNKNOWN: None}


def by_proof(kb: KnowledgeBase, base: FactBase) -> tuple[dict[Any, Value], dict[Any, Truth], World]:
    world = World(kb.facts, base)
    derived = derive(kb.derivations, world)
    facts = {(fact.id, fact.entity): fact.value for fact in world.base.facts() if (fact.id, fact.entity) in derived}
    found = {
        (one.id, entity, part): judge(condition, world, entity).truth
        for one in kb.signatures
        if one.status != "deprecated"
        for part, condition in one.parts()
        for entity in world.entities(one.scope)
    }
    return facts, found, world


def by_chaining(session: Session) -> tuple[dict[Any, Value], dict[Any, Truth]]:
    return {key: made.fact.value for key, made in session.derived.items()}, session.truths()


def assert_columns_agree(kb: KnowledgeBase, hosts: dict[str, FactBase]) -> None:
    """Both ways to compute columns: a frame in memory, and expressions that another engine computes."""
    frame = frame_of(kb, hosts)
    conditions = {f"{one.id} {part}": tree for one in kb.signatures for part, tree in one.parts()}
    judged = truths(kb.facts, statuses(kb, add_derived(kb, frame)), conditions)
    assert_rows_agree(kb, hosts, judged)
    assert_rows_agree(kb, hosts, truths(kb.facts, statuses(kb, add_derived(kb, frame.lazy())), conditions).collect())


def assert_rows_agree(kb: KnowledgeBase, hosts: dict[str, FactBase], judged: Any) -> None:
    rows = {(row["host"], row["entity"]): row for row in judged.to_dicts()}
    for host, base in hosts.items():
        facts, found, world = by_proof(kb, base)
        for (name, entity), value in facts.items():
            assert (name, rows[(host, key_of(entity))][name]) == (name, value)
        for (name, entity, part), truth in found.items():
            assert (name, part, rows[(host, key_of(entity))][f"{name} {part}"]) == (name, part, NAMED[truth])
        for result in evaluate(kb.signatures, world):
            status = result.status.value if result.status is not None else None
            assert rows[(host, key_of(result.entity))][result.signature.id] == status


QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@settings(QUIET, max_examples=50)
@given(WORLDS)
def test_the_three_readings_agree(made: tuple[KnowledgeBase, FactBase]) -> None:
    kb, base = made
    facts, found, _ = by_proof(kb, base)
    derived, chained = chain(kb, base)
    assert {(fact.id, fact.entity): fact.value for fact in derived} == facts
    assert chained == found
    assert_columns_agree(kb, {"a": base, "b": FactBase.of(base.facts()[::2])})


@settings(QUIET, max_examples=100)
@given(WORLDS)
def test_a_rule_that_is_passed_over_would_have_said_nothing(made: tuple[KnowledgeBase, FactBase]) -> None:
    kb, base = made
    world = World(kb.facts, base)
    derive(kb.derivations.in_play(world.known), world)
    _, found, every = by_proof(kb, base)
    assert set(world.base.facts()) == set(every.base.facts())
    in_play = {one.id for one in kb.signatures.in_play(world.known)}
    assert not [
        key for key, truth in found.items() if key[2] == "given" and key[0] not in in_play and truth is Truth.TRUE
    ]


@settings(QUIET, max_examples=20)
@given(WORLDS)
def test_chaining_fact_by_fact_agrees_with_proof_after_every_fact(made: tuple[KnowledgeBase, FactBase]) -> None:
    kb, base = made
    book = RuleBook(kb)
    session = Session(book)
    told: list[Fact] = []
    for fact in base.facts():
        session.tell([fact])
        told.append(fact)
        assert by_chaining(session) == by_proof(kb, FactBase.of(told))[:2]
    book.close()


# The shipped rules ---------------------------------------------------------------------------------------------------


def thresholds(kb: KnowledgeBase) -> dict[str, set[float]]:
    """What the rules compare each number with."""
    found: dict[str, set[float]] = {}
    trees = [tree for one in kb.signatures for _, tree in one.parts()]
    trees += [one.when for one in kb.derivations if one.when is not None]
    for tree in trees:
        for comparison in comparisons(tree):
            value = comparison.value
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found.setdefault(comparison.ref.fact, set()).add(float(value))
    return found


def generated(kb: KnowledgeBase, seed: int) -> FactBase:
    """Some facts of the vocabulary, about up to two entities of a kind, with numbers on and around the thresholds."""
    chance, bounds = random.Random(seed), thresholds(kb)
    return FactBase.of(
        Fact(one.id, drawn(one, sorted(bounds.get(one.id, {1.0})), chance), one.unit, entity, MEASURED)
        for one in chance.sample(sorted(kb.facts.values(), key=lambda each: each.id), chance.randint(10, 90))
        for entity in chance.sample(entities_of(one.entity), chance.choice((1, 1, 2)))
    )


def entities_of(kind: str) -> list[Entity]:
    if kind in ("host", "job"):
        return [HOST if kind == "host" else JOB] * 2
    parent = gpu(1) if kind in ("process", "partition") else JOB
    return [gpu(n) if kind == "gpu" else Entity(kind, str(n), parent) for n in range(2)]


def drawn(one: FactSpec, bounds: list[float], chance: random.Random) -> Value:
    if one.type == "boolean":
        return chance.random() < 0.5
    if not one.is_number:
        return chance.choice(one.choices or WORDS)
    bound = chance.choice(bounds)
    number = chance.choice((bound, bound * 0.5, bound * 1.5, bound * 1.01, bound - 1e-3, 2.0 ** chance.randint(-9, 40)))
    return round(number) if one.type == "integer" else number


def test_the_three_readings_agree_on_the_shipped_rules() -> None:
    kb = load(rules_folder())
    book = RuleBook(kb)
    held: set[str] = set()
    hosts = {f"seed {seed}": generated(kb, seed) for seed in range(50)}
    for name, base in hosts.items():
        session = Session(book)
        session.tell(base.facts())
        facts, found, _ = by_proof(kb, base)
        assert (name, *by_chaining(session)) == (name, facts, found)
        held.update(rule for (rule, _, part), truth in found.items() if truth is Truth.TRUE and part == "requires")
        session.close()
    book.close()
    assert len(held) > len(kb.signatures) / 4  # the facts do decide something
    assert_columns_agree(kb, hosts)


def test_every_signature_of_the_shipped_rules_is_read_by_all_three() -> None:
    kb = load(rules_folder())
    active: list[Signature] = [one for one in kb.signatures if one.status != "deprecated"]
    assert {rule for rule, part in RuleBook(kb).parts if part == "requires"} == {one.id for one in active}
