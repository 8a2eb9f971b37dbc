"""Words and signs that several reports share: labels, comparisons in plain signs, wrapping to a width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from gpuwhy.engine.model import Conclusion, Status, Truth, Verdict
from gpuwhy.kb.conditions import Comparison, Operator
from gpuwhy.kb.facts import Fact, Value
from gpuwhy.kb.units import show

LABELS = {
    Status.CONFIRMED: "CONFIRMED",
    Status.LIKELY: "LIKELY",
    Status.POSSIBLE: "POSSIBLE",
    Status.RULED_OUT: "RULED OUT",
}

CANNOT_TELL = "CANNOT TELL"

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


def status_label(one: Conclusion) -> str:
    """The status of a conclusion as a report prints it; that nothing decides is no finding of a rule."""
    return CANNOT_TELL if one.lead is None else LABELS[one.status]


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
        return "your answer" if fact.origin.line is None else f"{fact.origin.where()}, as said"
    if kind == "assumed":
        return "assumed"
    return fact.origin.where()


CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that steer a terminal, hide, or turn the reading direction; tabs and line ends are not among them."""

_WORD = re.compile(r"(\s*)(\S+)")
_PLAIN_SIGNS = str.maketrans(
    {"…": "...", "“": '"', "”": '"', "’": "'", "–": "-", "—": "-", "µ": "u", "°": "", "≤": "<=", "≥": ">=", "×": "x"}
)


"""Characters that steer a terminal, hide, or turn the reading direction; tabs and line ends are not among them."""


def visible(text: str) -> str:
    """Text without characters that steer a terminal or turn the reading direction; line ends stay.

    Artefacts are cleaned when they are read; names of files and arguments come as they are.
    """
    return CONTROLS.sub("\ufffd", text)


def encodable(text: str, encoding: str) -> str:
    """Text that an encoding can show; signs it lacks become plain ones, other characters question marks."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN_SIGNS).encode(encoding, "replace").decode(encoding)
    return text


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(sign) for sign in text)


def _columns(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    """Text wrapped to a width with a first and a following indent; words longer than a line are broken."""
    lines: list[str] = []
    current, empty = first, True
    for gap, word in _words(text, width - max(len(first), len(rest))):
        if not empty and columns(current) + len(gap) + columns(word) > width:
            lines.append(current)
            current, empty = rest, True
        current += word if empty else gap + word
        empty = False
    return [*lines, current] if not empty else [first.rstrip()]


def _words(text: str, room: int) -> Iterator[tuple[str, str]]:
    """Words, each with the one or two spaces before it; those longer than the room cut into pieces that fit."""
    for match in _WORD.finditer(text):
        gap, word = "  " if match.group(1) == "  " else " ", match.group(2)
        while columns(word) > room:
            end = next(index for index in range(1, len(word) + 1) if columns(word[: index + 1]) > room)
            yield gap, word[:end]
            gap, word = "", word[end:]
        yield gap, word


def some_of(names: Sequence[str], most: int = 5) -> str:
    """The first of these names, and that there are others where there are."""
    return ", ".join(names[:most]) + (" and others" if len(names) > most else "")


def command_lines(command: str, indent: str, width: int) -> list[str]:
    """A command on lines of its own; one that does not fit continues after a backslash.

    Inside quotes that happens only between statements of a double-quoted script, where more space means nothing. What
    still does not fit stands further left, and a word longer than a line stays whole: it can be copied as it is.
    """
    lines = [broken for line in command.splitlines() for broken in _broken(line, indent, width)]
    if any(columns(line) > width for line in lines):
        lines = [broken for line in command.splitlines() for broken in _broken(line, "  ", width)]
    return lines


def _broken(line: str, indent: str, width: int) -> list[str]:
    parts, lines = _parts_of(line), []
    current = indent + parts[0]
    for part in parts[1:]:
        if len(current) + 1 + len(part) + 2 > width:
            lines.append(current + " \\")
            current = f"{indent}  {part}"
        else:
            current += " " + part
    return [*lines, current]


def _parts_of(line: str) -> list[str]:
    """A line cut at the spaces that separate words or quoted statements; indents, quoted texts, comments stay whole."""
    parts, start, quote = [], 0, ""
    begin = len(line) - len(line.lstrip())
    for index in range(begin, len(line)):
        sign = line[index]
        if quote and sign == quote:
            quote = ""
        elif quote:
            if quote == '"' and sign == " " and line[index - 1] == ";":
                parts.append(line[start:index])
                start = index + 1
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and index and line[index - 1] == " ":
            break
        elif sign == " ":
            parts.append(line[start:index])
            start = index + 1
    return [*parts, line[start:]]
