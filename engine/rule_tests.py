"""Runs the test cases that stand beside each rule: facts in, the rule's own verdict out; no Python in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuwhy.engine.derive import derive
from gpuwhy.engine.fixes import offer
from gpuwhy.engine.model import SignatureResult, Status
from gpuwhy.engine.signatures import evaluate
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import Comparison
from gpuwhy.kb.errors import KnowledgeError, Problem
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, FactBase, Origin, OriginKind, Value, gpu
from gpuwhy.kb.model import Derivation, FactSpec, Fix, KnowledgeBase, Signature
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.schema import violations
from gpuwhy.kb.strict_yaml import load
from gpuwhy.kb.units import parse_quantity

_EXPECT = {
    Status.CONFIRMED: "confirmed",
    Status.LIKELY: "likely",
    Status.POSSIBLE: "unknown",
    Status.RULED_OUT: "ruled-out",
    None: "silent",
}


@dataclass(frozen=True)
class Case:
    """One test case of a rule: its facts, and what the rule must say."""

    rule: Signature | Derivation | Fix
    name: str
    facts: tuple[Fact, ...]
    expect: Value
    missing: tuple[str, ...] = ()
    because: str | None = None


def cases(kb: KnowledgeBase, folder: Path) -> Iterator[Case]:
    """All cases of all rules of a pack. Raises `KnowledgeError` for a test file that is no good."""
    rules: list[Signature | Derivation | Fix] = [*kb.signatures, *kb.derivations, *kb.fixes]
    for rule in rules:
        path = folder / (rule.file.removesuffix(".yaml") + ".test.yaml")
        if path.is_file():
            yield from cases_of(kb, rule, path, folder)


def cases_of(kb: KnowledgeBase, rule: Signature | Derivation | Fix, path: Path, folder: Path) -> list[Case]:
    """The cases of one rule's test file."""
    document = load(path, str(path.relative_to(folder)))
    problems = violations(document, "test", folder / "schema" / "v1")
    if problems:
        raise KnowledgeError(problems)
    made, problems = [], []
    for index, plain in enumerate(document.data["cases"]):
        facts = []
        for key, value in plain["facts"].items():
            fact = _fact(kb.facts, key, value, document.path)
            if isinstance(fact, str):
                problems.append(Problem(document.at("cases", index, "facts", key), fact))
            else:
                facts.append(fact)
        made.append(_case(rule, plain, facts, kb))
    if problems:
        raise KnowledgeError(problems)
    return made


def _case(rule: Signature | Derivation | Fix, plain: Mapping[str, Any], facts: list[Fact], kb: KnowledgeBase) -> Case:
    expect: Value = plain["expect"]
    if isinstance(rule, Derivation) and isinstance(expect, str):
        number = parse_quantity(expect, kb.facts[rule.gives].unit)
        expect = expect if number is None else number
    return Case(rule, plain["name"], tuple(facts), expect, tuple(plain.get("missing", ())), plain.get("because"))


def _fact(specs: Mapping[str, FactSpec], key: str, value: Value, source: str) -> Fact | str:
    owner, _, name = key.rpartition(" ")
    spec = specs.get(name)
    if spec is None:
        return f"no fact `{name}`"
    if spec.is_number and isinstance(value, str):
        number = parse_quantity(value, spec.unit)
        if number is None:
            return f"{value!r} is no quantity in {spec.unit}"
        value = number
    return Fact(name, value, spec.unit, _entity(spec.entity, owner), Origin(OriginKind.MEASURED, source))


def _entity(kind: str, owner: str) -> Entity:
    name = owner.partition(":")[2] or "0"
    if kind in ("host", "job"):
        return HOST if kind == "host" else JOB
    if kind == "gpu":
        return gpu(name)
    return Entity(kind, name, gpu("0") if kind in ("process", "partition") else JOB if kind != "disk" else HOST)


def run(kb: KnowledgeBase, case: Case) -> list[str]:
    """What is wrong with a case, in words; empty if the rule says what is expected."""
    world = World(kb.facts, FactBase.of(case.facts))
    if isinstance(case.rule, Derivation):
        return _run_derivation(kb, case, case.rule, world)
    derive(kb.derivations, world)
    if isinstance(case.rule, Fix):
        entity = (world.entities(case.rule.scope) or [JOB])[0]
        made = offer(case.rule, world, entity)
        got = "offered" if made is not None and made.offered else "not-offered"
        return [] if got == case.expect else [f"expected {case.expect}, got {got}"]
    results = evaluate([case.rule], world)
    best = min(results, key=lambda one: one.status.rank if one.status else len(Status), default=None)
    return _against(case, best)


def _run_derivation(kb: KnowledgeBase, case: Case, rule: Derivation, world: World) -> list[str]:
    upstream = kb.derivations[: kb.derivations.index(rule)]
    derive([one for one in upstream if one.gives != rule.gives], world)
    derive([rule], world)
    found = [fact for fact in world.base.facts() if fact.id == rule.gives and fact.origin.source == rule.id]
    got = found[0].value if found else "underived"
    if isinstance(got, float) and isinstance(case.expect, (int, float)):
        same = abs(got - case.expect) <= 1e-6 * max(abs(got), abs(float(case.expect)), 1e-12)
    else:
        same = got == case.expect
    return [] if same else [f"expected {case.expect!r}, got {got!r}"]


def _against(case: Case, best: SignatureResult | None) -> list[str]:
    wrong = []
    got = _EXPECT[best.status if best else None]
    if got != case.expect:
        wrong.append(f"expected {case.expect}, got {got}")
    needed = missing_facts(best) if best else set()
    if not set(case.missing) <= needed:
        wrong.append(f"expected to miss {', '.join(case.missing)}; misses {', '.join(sorted(needed)) or 'nothing'}")
    if case.because is not None and best is not None and best.because != case.because:
        wrong.append(f"expected the sentence {case.because!r}, got {best.because!r}")
    return wrong


def missing_facts(result: SignatureResult) -> set[str]:
    """The facts whose absence leaves a signature open."""
    found = set()
    for verdict in result.verdicts():
        for leaf in verdict.unknown_leaves():
            if isinstance(leaf.condition, Comparison):
                found.add(leaf.condition.ref.fact)
                if leaf.condition.than is not None:
                    found.add(leaf.condition.than.fact)
    return found
