"""Every number that a rule judges by, with what it rests on: the page `docs/thresholds.md` is written from this."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from gpuwhy.kb.conditions import Comparison, Condition, comparisons
from gpuwhy.kb.model import Derivation, Fix, KnowledgeBase, Reference, Selection, Signature
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.units import show


@dataclass(frozen=True)
class Threshold:
    """One judged number: the rule, the comparison, and the reference it rests on."""

    rule: str
    comparison: Comparison
    reference: Reference


def thresholds(kb: KnowledgeBase) -> Iterator[Threshold]:
    """All thresholds of all rules, in rule order."""
    rules: list[Signature | Derivation | Fix | Selection]
    rules = [*kb.signatures, *kb.derivations, *kb.fixes, *kb.selections]
    for rule in rules:
        for condition in conditions_of(rule):
            for one in comparisons(condition):
                if one.source is not None:
                    yield Threshold(rule.id, one, kb.references[one.source])


def conditions_of(rule: Signature | Derivation | Fix | Selection) -> list[Condition]:
    """All conditions of one rule."""
    if isinstance(rule, (Derivation, Selection)):
        found = [rule.when]
    elif isinstance(rule, Fix):
        found = [rule.when, rule.verify.when if rule.verify else None, *(one.when for one in rule.unless)]
    else:
        found = [rule.given, rule.requires, rule.confirms]
        found += [one.when for one in rule.excludes] + [one.when for one in rule.supports]
    return [one for one in found if one is not None]


def page(kb: KnowledgeBase) -> str:
    """The page as Markdown: how many thresholds rest on what, and each one with its source."""
    found = list(thresholds(kb))
    counts = Counter(one.reference.strength for one in found)
    lines = [
        "# Thresholds",
        "",
        "Every number that a rule judges by, and what it rests on. Written by `make docs`.",
        "",
    ]
    lines += ["| rests on | thresholds |", "|---|---|"]
    lines += [f"| {strength} | {number} |" for strength, number in sorted(counts.items())]
    lines += ["", "| rule | condition | source |", "|---|---|---|"]
    for one in sorted(found, key=lambda one: (one.rule, str(one.comparison.ref))):
        if one.reference.strength != "definition":
            source = f"[{one.reference.title}]({_link(one.reference.address)})"
            source += f", {one.reference.strength}, {one.reference.accessed}"
            lines.append(f"| `{one.rule}` | `{_condition(kb, one.comparison)}` | {source} |")
    return "\n".join(lines) + "\n"


def _link(address: str) -> str:
    """An address as seen from the page, which stands in docs/."""
    if "://" in address:
        return address
    return address.removeprefix("docs/") if address.startswith("docs/") else f"../{address}"


def _condition(kb: KnowledgeBase, one: Comparison) -> str:
    if one.than is not None:
        return f"{one.ref} {one.op.value} {one.times:g} x {one.than}"
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    unit = kb.facts[one.ref.fact].unit
    return f"{one.ref} {one.op.value} {', '.join(show(value, unit) for value in values if value is not None)}"


if __name__ == "__main__":
    from gpuwhy.kb.load import load

    sys.stdout.write(page(load()))
