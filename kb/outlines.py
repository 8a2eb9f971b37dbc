"""Outlines of made rules: what each is about, what it reads, and what must be known before it matters."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.kb.conditions import Condition
from gpuwhy.kb.expressions import Expression, refs_of
from gpuwhy.kb.gates import ALWAYS, of_derivation, of_truth
from gpuwhy.kb.model import Derivation, Fix, Selection, Signature
from gpuwhy.kb.ruleset import Outline, Rules


def of_derivations(rules: Iterable[Derivation]) -> Rules[Derivation]:
    """Derivations in the order given, with their outlines."""
    made = list(rules)
    return Rules(
        [Outline(one.id, (one.gives,), _reads((one.formula, one.when)), of_derivation(one)) for one in made],
        made.__getitem__,
    )


def of_signatures(rules: Iterable[Signature]) -> Rules[Signature]:
    """Signatures in the order given, with their outlines."""
    made = list(rules)
    return Rules([_of_signature(one) for one in made], made.__getitem__)


def of_fixes(rules: Iterable[Fix]) -> Rules[Fix]:
    """Fixes in the order given, with their outlines."""
    made = list(rules)
    trees = [(one.when, *(exclusion.when for exclusion in one.unless)) for one in made]
    outlines = [Outline(one.id, one.conclusions, _reads(read), ALWAYS) for one, read in zip(made, trees, strict=True)]
    return Rules(outlines, made.__getitem__)


def of_selections(rules: Iterable[Selection]) -> Rules[Selection]:
    """Selection rules in the order given, with their outlines."""
    made = list(rules)
    return Rules([Outline(one.id, (), _reads((one.when,)), of_truth(one.when)) for one in made], made.__getitem__)


def _of_signature(one: Signature) -> Outline:
    gate = of_truth(one.given) if one.given is not None else ALWAYS
    return Outline(one.id, (one.concludes,), _reads(tree for _, tree in one.parts()), gate)


def _reads(trees: Iterable[Condition | Expression | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref.fact for tree in trees for ref in refs_of(tree)))
