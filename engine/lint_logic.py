"""Findings about what rules say: conditions that cannot hold or always do, parts and rules that add nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuwhy.engine.intervals import implies, possible
from gpuwhy.engine.lint_codes import Finding, finding
from gpuwhy.kb.build import Source
from gpuwhy.kb.conditions import All, Comparison, Condition, Not, Operator, references, to_plain
from gpuwhy.kb.model import Derivation, FactSpec, Fix, KnowledgeBase, Selection, Signature
from gpuwhy.kb.plain_trees import conditions_in
from gpuwhy.kb.units import parse_quantity

Path = tuple[str | int, ...]
RULES = ("derivations", "signatures", "fixes", "selections")


def check(kb: KnowledgeBase, sources: Iterable[Source]) -> Iterator[Finding]:
    """All findings about the logic of rules."""
    by_id = {source.data["id"]: source for source in sources if source.kind in RULES}
    for signature in kb.signatures:
        if signature.id in by_id:
            alone = len(kb.signatures.about(signature.concludes)) == 1
            yield from _signature(kb.facts, signature, by_id[signature.id], alone)
    for derivation in kb.derivations:
        if derivation.id in by_id and derivation.when is not None:
            yield from _alone(kb.facts, derivation.when, by_id[derivation.id], ("when",))
    for selection in kb.selections:
        if selection.id in by_id:
            yield from _alone(kb.facts, selection.when, by_id[selection.id], ("when",))
    for fix in kb.fixes:
        if fix.id in by_id:
            yield from _fix(kb.facts, fix, by_id[fix.id])
    for source in by_id.values():
        yield from _shares(kb.facts, source)
    yield from _repeated(kb, by_id)
    yield from _shadowed(kb, by_id)


def _signature(specs: Mapping[str, FactSpec], rule: Signature, source: Source, alone: bool) -> Iterator[Finding]:
    """`alone`: no other signature has its conclusion, which an exclusion here would speak against too."""
    held: list[Condition] = []
    for name, condition in (("given", rule.given), ("requires", rule.requires), ("confirms", rule.confirms)):
        if condition is None or condition in held:
            continue
        own = list(_alone(specs, condition, source, (name,)))
        yield from own
        if not own and held and not possible(specs, *held, condition):
            after = "given" if name == "requires" else "given and requires"
            yield finding(source.at(name), "impossible", f"`{name}` cannot hold together with {after}")
        held.append(condition)
    for index, exclusion in enumerate(rule.excludes):
        path: Path = ("excludes", index, "when")
        own = list(_alone(specs, exclusion.when, source, path))
        yield from own
        if alone and not own and not possible(specs, rule.given, rule.requires, exclusion.when):
            yield finding(source.at(*path), "dead-exclusion", "this cannot hold where `given` and `requires` do")
    for index, support in enumerate(rule.supports):
        yield from _alone(specs, support.when, source, ("supports", index, "when"))


def _fix(specs: Mapping[str, FactSpec], rule: Fix, source: Source) -> Iterator[Finding]:
    if rule.when is not None:
        yield from _alone(specs, rule.when, source, ("when",))
    for index, exclusion in enumerate(rule.unless):
        yield from _alone(specs, exclusion.when, source, ("unless", index, "when"))
    if rule.verify is not None and rule.verify.when is not None:
        yield from _alone(specs, rule.verify.when, source, ("verify", "when"))


def _alone(specs: Mapping[str, FactSpec], condition: Condition, source: Source, path: Path) -> Iterator[Finding]:
    """A condition by itself: impossible, always true, or with a part that follows from the others."""
    if not possible(specs, condition):
        yield finding(source.at(*path), "impossible", "no readings can make this true")
        return
    if not _asks_for_presence(condition) and not possible(specs, Not(condition)):
        yield finding(source.at(*path), "always", "this is true of all readings")
        return
    yield from _redundant(specs, condition, source, path)


def _asks_for_presence(condition: Condition) -> bool:
    """`known`, and a count of at least one, are true of all that is known; they are there for what is not."""
    if isinstance(condition, Comparison):
        counted = condition.ref.over is not None and condition.ref.over.value == "count"
        return condition.op is Operator.KNOWN or counted
    parts = (condition.part,) if isinstance(condition, Not) else condition.parts
    return any(_asks_for_presence(part) for part in parts)


def _redundant(specs: Mapping[str, FactSpec], condition: Condition, source: Source, path: Path) -> Iterator[Finding]:
    if isinstance(condition, Comparison):
        return
    if isinstance(condition, Not):
        yield from _redundant(specs, condition.part, source, (*path, "not"))
        return
    key = "all" if isinstance(condition, All) else "any"
    for index, part in enumerate(condition.parts):
        here = (*path, key, index)
        others = [*condition.parts[:index], *condition.parts[index + 1 :]]
        if isinstance(condition, All) and not _asks_for_presence(part) and _follows(specs, others, part):
            yield finding(source.at(*here), "redundant", "this follows from the other parts")
        else:
            yield from _redundant(specs, part, source, here)


def _follows(specs: Mapping[str, FactSpec], others: list[Condition], part: Condition) -> bool:
    """True if a part follows from others that read the same facts, so that it adds no question either."""
    return any(_reads(part) <= _reads(other) and implies(specs, [other], part) for other in others)


def _reads(condition: Condition) -> set[str]:
    return {str(ref) for ref in references(condition)}


def _shares(specs: Mapping[str, FactSpec], source: Source) -> Iterator[Finding]:
    for path, plain in conditions_in(source.data, ()):
        spec, value = specs.get(plain["fact"]), plain.get("value")
        if spec is None or spec.unit != "share" or plain.get("over") == "count":
            continue
        number = parse_quantity(value, "share") if isinstance(value, str) else value
        if isinstance(number, (int, float)) and not isinstance(number, bool) and number > 2:
            yield finding(source.at(*path, "value"), "share-range", f"a share of {number:g} is {number * 100:g} %")


def _repeated(kb: KnowledgeBase, by_id: Mapping[str, Source]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    rules: list[Signature | Derivation] = [*kb.signatures, *kb.derivations]
    for rule in rules:
        first = seen.setdefault(repr(logic(rule)), rule.id)
        if first != rule.id and rule.id in by_id:
            yield finding(by_id[rule.id].at("id"), "duplicate-rule", f"the same logic as {first}")


def logic(rule: Signature | Derivation | Fix | Selection) -> dict[str, Any]:
    """What a rule says, as plain data: without words, references, version and status."""
    if isinstance(rule, Signature):
        return {
            "concludes": rule.concludes,
            "scope": rule.scope,
            **{name: _bare(one) for name, one in rule.parts()},
            "demotes": [one.demotes for one in rule.excludes],
        }
    if isinstance(rule, Derivation):
        parts: dict[str, Any] = {"gives": rule.gives, "scope": rule.scope, "formula": repr(rule.formula)}
        return parts | {"value": repr(rule.value), "otherwise": repr(rule.otherwise), "when": _bare(rule.when)}
    if isinstance(rule, Selection):
        return {"then": rule.then, "scope": rule.scope, "when": _bare(rule.when), "claim": rule.claim}
    unless = [(_bare(one.when), one.demotes) for one in rule.unless]
    return {"conclusions": rule.conclusions, "scope": rule.scope, "when": _bare(rule.when), "unless": unless}


def _bare(condition: Condition | None) -> Any:
    return None if condition is None else _without_source(to_plain(condition))


def _without_source(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _without_source(value) for key, value in plain.items() if key != "source"}
    return [_without_source(one) for one in plain] if isinstance(plain, list) else plain


def _shadowed(kb: KnowledgeBase, by_id: Mapping[str, Source]) -> Iterator[Finding]:
    """Derivations behind one of the same fact that needs no more and asks for nothing."""
    open_ones: dict[str, list[tuple[frozenset[str], Derivation]]] = {}
    for one, outline in zip(kb.derivations, kb.derivations.outlines, strict=True):
        reads = frozenset(outline.reads)
        before = [other for read, other in open_ones.get(one.gives, []) if read <= reads and other.scope == one.scope]
        if before and one.id in by_id:
            yield finding(by_id[one.id].at("id"), "shadowed", f"{before[0].id} gives `{one.gives}` whenever this could")
        total = one.when is None or (one.formula is None and one.otherwise is not None and one.value is not None)
        if total and not _divides(one) and one.status != "deprecated":
            open_ones.setdefault(one.gives, []).append((reads, one))


def _divides(one: Derivation) -> bool:
    """True for a formula that may give nothing although all that it reads is known."""
    return one.formula is not None and "'/'" in repr(one.formula)
