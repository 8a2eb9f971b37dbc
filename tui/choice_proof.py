"""Why a machine type was kept or rejected: what the work needs of it and by which rules, and every rule's verdict."""

from __future__ import annotations

from typing import Any

from gpuwhy.engine.model import Truth, Verdict
from gpuwhy.engine.selection import Proof
from gpuwhy.engine.workload import Work
from gpuwhy.kb.conditions import Comparison
from gpuwhy.kb.facts import JOB
from gpuwhy.kb.model import KnowledgeBase, Selection
from gpuwhy.kb.texts import say
from gpuwhy.kb.units import show
from gpuwhy.tui.choice_text import summary
from gpuwhy.tui.proof_text import ProofText

EFFECTS = {"reject": "REJECTED", "open": "OPEN", "lower": "LOWERED", "warn": "WARNING", "know": "KNOW"}
"""What a rule leads to where it holds, in the order in which they are told."""


def why(kb: KnowledgeBase, work: Work, proof: Proof) -> str:
    """The proof for one machine type: rules that hold with their readings, what is not known, and those that pass."""
    text = ProofText(kb, proof.derived)
    one = proof.candidate
    verdict = "REJECTED" if one.rejected else "KEPT, BUT OPEN" if one.open else "KEPT"
    text.line(0, f"{verdict}  {one.machine.name}  {one.machine.gpus} x {one.machine.gpu}, {one.machine.provider}")
    text.line(1, summary(work))
    for said in one.rejected:
        if not said.rule:
            text.line(1, said.because)
    for effect, word in EFFECTS.items():
        for rule, judged in proof.verdicts:
            if rule.then == effect and judged.truth is Truth.TRUE:
                _rule(text, proof, word, rule, judged)
    _passed(text, proof)
    _not_known(text, proof)
    _needs(text, proof)
    return text.finish()


def as_data(proof: Proof) -> dict[str, Any]:
    """The same as JSON data: each rule with its verdict and readings, each need with its rule and inputs."""
    one = proof.candidate
    return {
        "type": one.machine.name,
        "kept": not one.rejected,
        "open": bool(one.open),
        "rules": [
            {
                "rule": rule.id,
                "version": rule.version,
                "then": rule.then,
                "holds": judged.truth.value,
                "because": proof.said[rule.id].because if rule.id in proof.said else None,
                "claim": rule.claim,
                "facts": sorted({fact.id for fact in judged.facts()}),
            }
            for rule, judged in proof.verdicts
        ],
        "needs": [
            {"fact": name, "rule": made.derivation.id, "from": [fact.id for fact in made.inputs]}
            for (name, _), made in proof.derived.items()
        ],
        "facts": [
            {"fact": fact.id, "value": fact.value, "unit": fact.unit, "source": fact.origin.source}
            for fact in proof.facts
        ],
    }


def _rule(text: ProofText, proof: Proof, word: str, rule: Selection, judged: Verdict) -> None:
    text.out.append("")
    text.line(1, f"{word}  {rule.id} {rule.version} ({rule.status})")
    text.line(2, proof.said[rule.id].because)
    text.verdict(judged, 3, False)
    if rule.claim is not None:
        text.line(2, f"against the claim {rule.claim} (gpuwhy catalog claims {rule.claim})")


def _passed(text: ProofText, proof: Proof) -> None:
    """Rules that do not hold: those that compare need and offer with their readings, the others by name."""
    named = []
    for rule, judged in proof.verdicts:
        if judged.truth is Truth.FALSE:
            leaf = next((one for one in judged.leaves() if one.truth is Truth.FALSE and one.other is not None), None)
            if leaf is None:
                named.append(rule.id.removeprefix("select."))
                continue
            if "PASSED" not in text.out:
                text.out += ["", "PASSED"]
            text.line(1, f"{rule.id}: not {text.comparison(leaf)}")
    text.out.append("")
    text.line(1, "passed too: " + (", ".join(named) or "none"))


def _not_known(text: ProofText, proof: Proof) -> None:
    """Rules that decide nothing, with the first fact that is not known; those about what nobody asked for by name."""
    unknown = [(rule, judged) for rule, judged in proof.verdicts if judged.truth is Truth.UNKNOWN]
    missing = [(rule, list(judged.unknown_leaves())) for rule, judged in unknown]
    asked = [(rule, leaves) for rule, leaves in missing if not any(_of_work(leaf) for leaf in leaves)]
    if asked:
        text.out += ["", "NOT KNOWN, so it decides nothing"]
    for rule, leaves in asked:
        text.line(1, f"{rule.id}: {say(rule.title)}? {text.comparison(leaves[0])}")
    others = [rule.id.removeprefix("select.") for rule, _ in missing if rule not in [one for one, _ in asked]]
    if others:
        text.line(1, "not asked for: " + ", ".join(others))


def _of_work(leaf: Verdict) -> bool:
    """The fact that is missing is one of the work: nobody said it."""
    condition = leaf.condition
    assert isinstance(condition, Comparison)
    missing = [condition.ref, *([condition.than] if condition.than is not None else [])]
    known = {fact.id for fact in leaf.facts()}
    return any(one.fact not in known and not one.fact.startswith("offer.") for one in missing)


def _needs(text: ProofText, proof: Proof) -> None:
    """What the work needs, as rules derived it; their inputs follow among what was computed."""
    text.out += ["", "NEEDS"]
    by_id = {fact.id: fact for fact in proof.facts if fact.entity == JOB}
    for (name, entity), made in proof.derived.items():
        fact = by_id[name]
        text.rested_on.setdefault((name, entity), fact)
        text.line(1, f"{show(fact.value, fact.unit):>12}  {say(text.kb.facts[name].says)}  [{made.derivation.id}]")
