"""Every rule by its own example, in a whole diagnosis rather than alone: does it still do what it is for here?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gpuwhy.engine.derive import derive
from gpuwhy.engine.rule_cases import AnyRule, Case, cases_beside
from gpuwhy.engine.rule_tests import FIRES, HOLDS, against, prepare, say
from gpuwhy.engine.signatures import evaluate
from gpuwhy.engine.view import World
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.model import Fix, KnowledgeBase, Selection, Signature


def selftest(kb: KnowledgeBase, rules: Iterable[AnyRule], folder: Path) -> tuple[list[str], int]:
    """What does not work of rules of a pack, and how many do what they are for. Raises `KnowledgeError`."""
    failures, fired = [], 0
    for rule in rules:
        if rule.status == "deprecated":
            continue
        example = next((case for case in cases_beside(kb, rule, folder) if does(case)), None)
        wrong = "none of its cases shows it at work" if example is None else _tried(kb, rule, example)
        if wrong:
            failures.append(f"{rule.id}: {wrong}")
        else:
            fired += 1
    return failures, fired


def does(case: Case) -> bool:
    """True for a case in which the rule does what it is for: asserts, gives, is offered."""
    if isinstance(case.rule, Signature):
        return case.expect in FIRES
    if isinstance(case.rule, Selection):
        return case.expect in HOLDS.values()
    return case.expect == "offered" if isinstance(case.rule, Fix) else case.expect != "underived"


def _tried(kb: KnowledgeBase, rule: AnyRule, case: Case) -> str:
    wrong = against(case, say(rule, prepare(kb, case)))
    if wrong or not isinstance(rule, Signature):
        return "; ".join(wrong)
    return "" if _among_all(kb, rule, case) else f"`{case.name}`: it does not hold among the other rules"


def _among_all(kb: KnowledgeBase, rule: Signature, case: Case) -> bool:
    """True if the signature is judged, and holds, where all rules are looked at as a diagnosis does."""
    world = World(kb.facts, FactBase.of(case.facts, case.absent))
    derive(kb.derivations.in_play(world.known), world)
    found = evaluate(kb.signatures.in_play(world.known), world)
    return any(one.signature.id == rule.id and one.status is not None and one.status.asserted for one in found)
