"""The proof of a conclusion as a tree: signatures, conditions, readings, where those stand, what they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwhy.engine.diagnose import not_in_play
from gpuwhy.engine.model import SignatureResult, Truth, Verdict
from gpuwhy.kb.conditions import All, Any_, Comparison, Condition, Not, Operator
from gpuwhy.kb.facts import Entity, Fact
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.texts import say
from gpuwhy.kb.units import show
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import LABELS, SIGNS, bound, comparison, reading, where

_MOST_DEPTH = 12
_ALL = "all of"


@dataclass(frozen=True)
class Node:
    """One line of a proof and what is beneath it. `truth` is None where nothing was judged; `open`: shown at once.

    `text` is short enough for a narrow pane; `whole` says more, where there is more to say.
    """

    text: str
    below: tuple[Node, ...] = ()
    truth: Truth | None = None
    open: bool = True
    whole: str = ""


def proof(report: Report, name: str) -> tuple[Node, ...]:
    """Every signature of a conclusion that is in play, the leading one first and open; of a single one its parts."""
    results = [
        result
        for one in (*report.diagnosis.conclusions, *report.diagnosis.ruled_out)
        if one.id == name
        for result in one.results
    ]
    if len(results) == 1:
        return _signature(report, results[0], "", first=True).below
    told = _told_apart(results)
    return tuple(_signature(report, result, told[index], first=index == 0) for index, result in enumerate(results))


def _told_apart(results: Sequence[SignatureResult]) -> list[str]:
    """For each result in what its entity differs from those of the same rule; empty where it is the only one."""
    steps = [(result.signature.id, result.entity.path.split("/")) for result in results]
    told = []
    for rule, mine in steps:
        others = [path for other, path in steps if other == rule]
        shared = set(mine).intersection(*others)
        told.append("/".join(step for step in mine if step not in shared))
    return told


def missing(report: Report, name: str) -> tuple[Node, ...]:
    """What keeps a conclusion from holding: conditions that fail or are unknown, and signatures not in play."""
    found: list[Node] = []
    for one in (*report.diagnosis.conclusions, *report.diagnosis.ruled_out):
        if one.id == name:
            if one.contradicted:
                found.append(Node(f"but: {one.contradicted}"))
            for result in one.results:
                parts = tuple(
                    part for part in _parts(report, result) if part.truth is not Truth.TRUE or "ruled" in part.text
                )
                found.append(Node(f"{result.signature.id}: {_status(result)}", parts))
    for result in not_in_play(report.kb, report.diagnosis, name, report.language):
        assert result.given is not None
        failed = [leaf for leaf in result.given.leaves() if leaf.truth is not Truth.TRUE]
        below = tuple(_verdict(report, leaf, 0) for leaf in failed[:4])
        found.append(Node(f"{result.signature.id}: not in play", below, open=False))
    return tuple(found)


def _status(result: SignatureResult) -> str:
    return LABELS[result.status] if result.status is not None else "not in play"


def _signature(report: Report, result: SignatureResult, of: str, first: bool) -> Node:
    about = "" if result.entity.kind in ("host", "job") else f", about {result.entity.path}"
    title = say(result.signature.title, report.language)
    rule = Node(f"rule {result.signature.id} {result.signature.version}{about}", open=False)
    whole = f"{_status(result)}: {result.because or title}"
    text = f"{_status(result)}{f', {of}' if of else ''}: {title}"
    return Node(text, (*_parts(report, result), rule), open=first, whole=whole)


def _parts(report: Report, result: SignatureResult) -> Iterator[Node]:
    named = (("in play because", result.given), ("requires", result.requires), ("confirmed by", result.confirms))
    for title, verdict in named:
        if verdict is not None:
            yield _titled(report, title, verdict, open=title != "in play because")
    for exclusion, verdict in zip(result.signature.excludes, result.excludes, strict=True):
        word = "ruled out because" if verdict.truth is Truth.TRUE else "ruled out if"
        text = f"{word} {say(exclusion.because, report.language)}" if verdict.truth is not Truth.TRUE else word
        yield Node(_plain(text), (_verdict(report, verdict, 0),), _negated(verdict.truth), verdict.truth is Truth.TRUE)
    for verdict in result.supports:
        yield _titled(report, "supported by", verdict, open=False)


def _titled(report: Report, title: str, verdict: Verdict, open: bool) -> Node:
    """A part of a rule; where all of its conditions must hold they stand right beneath its name."""
    made = _verdict(report, verdict, 0)
    below = made.below if isinstance(verdict.condition, All) and made.text == _ALL else (made,)
    return Node(title, below, verdict.truth, open)


def _plain(text: str) -> str:
    from gpuwhy.kb.texts import PLACEHOLDER

    return PLACEHOLDER.sub("…", text)


def _negated(truth: Truth) -> Truth:
    return {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE}.get(truth, truth)


def _verdict(report: Report, verdict: Verdict, depth: int) -> Node:
    condition: Condition = verdict.condition
    if isinstance(condition, Comparison):
        return _comparison(report, condition, verdict, depth)
    if len(verdict.parts) == 1 and not isinstance(condition, Not):
        return _verdict(report, verdict.parts[0], depth)
    word = {All: _ALL, Any_: "any of", Not: "not"}[type(condition)]
    return Node(word, tuple(_verdict(report, part, depth + 1) for part in verdict.parts), verdict.truth)


def _comparison(report: Report, condition: Comparison, verdict: Verdict, depth: int) -> Node:
    whole = comparison(condition, report.kb.facts[condition.ref.fact].unit)
    text = whole
    if not (condition.op is Operator.EQ and verdict.truth is Truth.TRUE):
        text = _short(condition, verdict) or f"{whole}: {reading(verdict)}"
        whole += f": {reading(verdict)}"
    below = [_fact(report, fact, depth, frozenset()) for fact in (verdict.fact, verdict.other) if fact is not None]
    reference = report.kb.references.get(condition.source or "")
    if reference is not None and reference.strength != "definition":
        title = f"threshold: {reference.title} ({reference.strength}, {reference.accessed})"
        below.append(Node(title, (Node(reference.address),), open=False))
    if verdict.truth is Truth.UNKNOWN:
        below.extend(_obtain(report, condition))
    return Node(text, tuple(below), verdict.truth, verdict.truth is Truth.UNKNOWN, whole)


def _short(condition: Comparison, verdict: Verdict) -> str:
    """`step.data_wait_share 63 %, needs >= 20 %`; empty where nothing was read, or it is no matter of more and less."""
    if verdict.fact is None or verdict.unknown is not None or condition.op in (Operator.IN, Operator.KNOWN):
        return ""
    unit = verdict.fact.unit
    limit = bound(verdict.bound, unit) if verdict.bound is not None else bound(condition.value, unit)
    return f"{condition.ref} {show(verdict.fact.value, unit)}, needs {SIGNS[condition.op]} {limit}"


def _obtain(report: Report, condition: Comparison) -> Iterator[Node]:
    for name in dict.fromkeys([condition.ref.fact, *([condition.than.fact] if condition.than else [])]):
        for one in report.kb.facts[name].obtain[:1]:
            yield Node(f"to learn {name} ({one.effort}): {one.command or say(one.says, report.language)}")


def _fact(report: Report, fact: Fact, depth: int, above: frozenset[tuple[str, Entity]]) -> Node:
    value = f"{fact.id} = {show(fact.value, fact.unit)}"
    made = report.diagnosis.derived.get((fact.id, fact.entity))
    if made is None or depth > _MOST_DEPTH or (fact.id, fact.entity) in above:
        quote = (Node(f"“{fact.origin.text[:200]}”"),) if fact.origin.text else ()
        return Node(f"{value}  [{where(fact)}]", quote)
    seen = above | {(fact.id, fact.entity)}
    below = tuple(_fact(report, one, depth + 1, seen) for one in made.inputs)
    return Node(f"{value}  computed", (*below, Node(f"rule {made.derivation.id} {made.derivation.version}")))
