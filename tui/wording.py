"""Words and signs that several reports share: labels, comparisons in plain signs, wrapping to a width."""

from __future__ import annotations

import textwrap

from gpuwhy.engine.model import Status, Truth, Verdict
from gpuwhy.kb.conditions import Comparison, Operator
from gpuwhy.kb.facts import Fact, Value
from gpuwhy.kb.units import show

LABELS = {
    Status.CONFIRMED: "CONFIRMED",
    Status.LIKELY: "LIKELY",
    Status.POSSIBLE: "POSSIBLE",
    Status.RULED_OUT: "RULED OUT",
}

SIGNS = {
    Operator.EQ: "=",
    Operator.NE: "is not",
    Operator.LT: "<",
    Operator.LE: "<=",
    Operator.GT: ">",
    Operator.GE: ">=",
    Operator.IN: "one of",
    Operator.KNOWN: "is known",
}

MARKS = {Truth.TRUE: "✔", Truth.FALSE: "✘", Truth.UNKNOWN: "?"}
ASCII_MARKS = {Truth.TRUE: "yes", Truth.FALSE: "no ", Truth.UNKNOWN: "?  "}


def bound(value: Value | tuple[Value, ...] | None, unit: str | None) -> str:
    """A threshold as a person reads it."""
    if isinstance(value, tuple):
        return ", ".join(show(one, unit) for one in value)
    return "" if value is None else show(value, unit)


def comparison(condition: Comparison, unit: str | None) -> str:
    """`step.data_wait_share >= 20 %`, `oom.slack_bytes >= 1.5 x oom.request_bytes`."""
    if condition.op is Operator.KNOWN:
        return f"{condition.ref} is known"
    if condition.than is not None:
        factor = f"{condition.times:g} x " if condition.times != 1 else ""
        return f"{condition.ref} {SIGNS[condition.op]} {factor}{condition.than}"
    return f"{condition.ref} {SIGNS[condition.op]} {bound(condition.value, unit)}"


def reading(verdict: Verdict) -> str:
    """What was read, against what, and by how much: `63 %, by 43 %`; of an unknown one, why."""
    if verdict.fact is None or verdict.unknown is not None:
        return verdict.unknown or "not known"
    shown = show(verdict.fact.value, verdict.fact.unit)
    if verdict.other is not None:
        shown += f" against {bound(verdict.bound, verdict.fact.unit)}"
    if verdict.margin is not None:
        word = "by" if verdict.margin >= 0 else "short by"
        shown += f", {word} {show(abs(verdict.margin), verdict.fact.unit)}"
    return shown


def where(fact: Fact) -> str:
    """Where a fact comes from, in a few words."""
    kind = fact.origin.kind.value
    if kind == "person":
        return "your answer"
    if kind == "assumed":
        return "assumed"
    return fact.origin.where()


def wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    """Text wrapped to a width with a first and a following indent; long words are broken."""
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest) or [first.rstrip()]


def command_lines(command: str, indent: str, width: int) -> list[str]:
    """A command on lines of its own, broken at spaces with a backslash where it would not fit."""
    lines: list[str] = []
    for line in command.splitlines():
        words, current = line.split(" "), indent
        for word in words:
            if len(current) + len(word) + 3 > width and current.strip():
                lines.append(current + " \\")
                current = indent + "  " + word
            else:
                current = current + word if not current.strip() else f"{current} {word}"
        lines.append(current)
    return lines
