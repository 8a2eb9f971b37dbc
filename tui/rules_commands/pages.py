"""Rules and words of the vocabulary as text for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from gpuwhy.engine.rule_cases import AnyRule, cases_beside
from gpuwhy.engine.rule_coverage import words
from gpuwhy.kb.conditions import All, Comparison, Condition, Not, comparisons
from gpuwhy.kb.expressions import Call, Expression, FactValue
from gpuwhy.kb.model import Derivation, Exclusion, Fix, KnowledgeBase, Selection, Signature
from gpuwhy.kb.texts import say
from gpuwhy.kb.thresholds import conditions_of
from gpuwhy.kb.units import show
from gpuwhy.tui.wording import wrapped

WIDTH = 80


def of_rule(kb: KnowledgeBase, rule: AnyRule, folder: Path) -> str:
    """A rule in words: what it is about, its conditions, what its numbers rest on, how many test cases it has."""
    lines = [f"{rule.id} {rule.version} ({rule.status}), for each {rule.scope}", *_wrap(say(rule.title), 2)]
    if isinstance(rule, Signature):
        lines += _signature(kb, rule)
    elif isinstance(rule, Derivation):
        lines += _derivation(rule)
    elif isinstance(rule, Fix):
        lines += _fix(kb, rule)
    else:
        lines += _selection(kb, rule)
    lines += _sources(kb, rule)
    cases = cases_beside(kb, rule, folder)
    lines += ["", f"file     {rule.file}", f"tests    {len(cases)} cases"]
    return "\n".join(lines) + "\n"


def _wrap(text: str, indent: int) -> list[str]:
    return list(wrapped(text, " " * indent, " " * (indent + 2), WIDTH))


def _signature(kb: KnowledgeBase, rule: Signature) -> Iterator[str]:
    spec = kb.conclusions.get(rule.concludes)
    yield ""
    yield from _wrap(f"concludes {rule.concludes}: {say(spec.says) if spec else ''} (priority {rule.priority})", 0)
    for name, condition in (("given", rule.given), ("requires", rule.requires), ("confirmed if", rule.confirms)):
        yield from _part(kb, name, condition)
    yield from _exclusions(kb, "ruled out if", rule.excludes)
    for support in rule.supports:
        yield from _part(kb, "supported by", support.when)
    yield ""
    yield "says"
    for text in rule.because:
        yield from _wrap(say(text), 2)
    fixes = [fix.id for fix in kb.fixes.about(rule.concludes)]
    if fixes:
        yield from ["", "fixes    " + "\n         ".join(fixes)]


def _derivation(rule: Derivation) -> Iterator[str]:
    yield ""
    yield f"gives {rule.gives}"
    if rule.formula is not None:
        yield from _wrap(f"= {formula(rule.formula)}", 2)
    if rule.when is not None:
        yield from _condition_lines(rule.when, 2, f"{rule.value if rule.value is not None else 'that'} where")
    if rule.otherwise is not None:
        yield f"  else {rule.otherwise}"


def _fix(kb: KnowledgeBase, rule: Fix) -> Iterator[str]:
    yield ""
    yield "for      " + "\n         ".join(rule.conclusions)
    yield from _part(kb, "where", rule.when)
    yield from _exclusions(kb, "not if", rule.unless)
    yield ""
    for step in rule.steps:
        yield from _wrap(say(step.says), 2)
        yield from (f"    {line}" for line in step.command.splitlines())
    for name, text in (("effect", rule.effect), ("risk", rule.risk), ("undo", rule.undo)):
        yield from wrapped(f"{name:8} {say(text)}", "", " " * 9, WIDTH)


def _selection(kb: KnowledgeBase, rule: Selection) -> Iterator[str]:
    leads_to = {"reject": "rejects a machine type", "open": "leaves open whether a machine type does", "warn": "warns"}
    leads_to |= {
        "lower": "warns of a machine type, and ranks it below others,",
        "know": "tells of a machine type",
        "note": "notes",
    }
    yield from _part(kb, f"{leads_to[rule.then]} where", rule.when)
    yield ""
    yield from _wrap(f"says {say(rule.because)}", 0)
    if rule.claim is not None:
        yield f"claim    {rule.claim} (gpuwhy catalog claims {rule.claim})"


def _part(kb: KnowledgeBase, name: str, condition: Condition | None) -> Iterator[str]:
    if condition is not None:
        yield ""
        yield name
        yield from _condition_lines(condition, 2, "", kb)


def _exclusions(kb: KnowledgeBase, name: str, found: Iterable[Exclusion]) -> Iterator[str]:
    for one in found:
        unknown = "while unknown, likely at best" if one.demotes else "while unknown, nothing"
        yield from _part(kb, f"{name} ({unknown})", one.when)
        yield from _wrap(f"because {say(one.because)}", 2)


def _condition_lines(
    condition: Condition, indent: int, lead: str = "", kb: KnowledgeBase | None = None
) -> Iterator[str]:
    start = f"{lead} " if lead else ""
    if isinstance(condition, Comparison):
        yield from _wrap(start + _shown(condition, kb), indent)
    elif isinstance(condition, Not):
        yield " " * indent + f"{start}not"
        yield from _condition_lines(condition.part, indent + 2, "", kb)
    else:
        yield " " * indent + start + ("all of" if isinstance(condition, All) else "any of")
        for part in condition.parts:
            yield from _condition_lines(part, indent + 2, "", kb)


def _shown(one: Comparison, kb: KnowledgeBase | None) -> str:
    """A comparison with its value in the unit that a person reads."""
    spec = kb.facts.get(one.ref.fact) if kb is not None else None
    if spec is None or one.than is not None or isinstance(one.value, tuple) or one.value is None:
        return words(one)
    unit = "count" if one.ref.over is not None and one.ref.over.value == "count" else spec.unit
    return f"{one.ref} {one.op.value} {show(one.value, unit)}"


def _sources(kb: KnowledgeBase, rule: AnyRule) -> Iterator[str]:
    used = [one.source for condition in conditions_of(rule) for one in comparisons(condition) if one.source]
    ids = [one for one in dict.fromkeys([*rule.references, *used]) if one != "definition"]
    if ids:
        yield from ["", "rests on"]
    for one in ids:
        reference = kb.references[one]
        yield from _wrap(f"{reference.title} ({reference.strength}, {reference.accessed})", 2)
        yield f"    {reference.address}"


def formula(tree: Expression) -> str:
    """A formula as it would be written."""
    if isinstance(tree, FactValue):
        return tree.ref.fact if tree.ref.over is None else f"{tree.ref.over.value}_over({tree.ref.fact})"
    if not isinstance(tree, Call):
        return f"{tree.value:g}"
    parts = [formula(one) for one in tree.arguments]
    if tree.name in ("+", "-", "*", "/"):
        grouped = [f"({text})" if isinstance(one, Call) and one.name in ("+", "-", "*", "/") else text
                   for one, text in zip(tree.arguments, parts, strict=True)]  # fmt: skip
        return f" {tree.name} ".join(grouped)
    return f"-{parts[0]}" if tree.name == "neg" else f"{tree.name}({', '.join(parts)})"


def of_word(kb: KnowledgeBase, name: str) -> str:
    """A fact, a conclusion or a reference: what it says, and the rules that use it."""
    lines = []
    if name in kb.facts:
        fact = kb.facts[name]
        takes = ", ".join(fact.choices) or fact.unit or fact.type
        lines += [f"{name}: fact of a {fact.entity}, {takes}", *_wrap(say(fact.says), 2)]
        lines += _users("derived by", [one.id for one in kb.derivations.about(name)])
        reading = [
            one.id for group in (kb.derivations, kb.signatures, kb.fixes, kb.selections) for one in group.reading(name)
        ]
        lines += _users("read by", reading)
    if name in kb.conclusions:
        spec = kb.conclusions[name]
        lines += [f"{name}: conclusion ({spec.kind})", *_wrap(say(spec.says), 2)]
        lines += _users("concluded by", [one.id for one in kb.signatures.about(name)])
        lines += _users("fixes", [one.id for one in kb.fixes.about(name)])
        lines += _users("explains", spec.explains)
    if name in kb.references:
        reference = kb.references[name]
        lines += [f"{name}: reference ({reference.strength}, read {reference.accessed})", f"  {reference.title}"]
        lines += [f"  {reference.address}", *_wrap(reference.says, 2)]
        lines += _users("used by", _resting_on(kb, name))
    return "\n".join(lines) + "\n"


def _resting_on(kb: KnowledgeBase, reference: str) -> list[str]:
    rules: list[AnyRule] = [*kb.signatures, *kb.derivations, *kb.fixes, *kb.selections]
    return [
        rule.id
        for rule in rules
        if reference in rule.references
        or any(one.source == reference for condition in conditions_of(rule) for one in comparisons(condition))
    ]


def _users(title: str, names: Iterable[str]) -> list[str]:
    found = list(names)
    return ["", title, *(f"  {name}" for name in found)] if found else []
