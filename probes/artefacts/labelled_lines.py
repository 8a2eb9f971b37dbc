"""Labelled numbers of ad-hoc benchmarks, line by line: a label, a number, a unit, and what stands in front of them all.

Only what reads as a label and its number is taken; sentences, code and stack traces are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Line
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number, parse_size


class Kind(Enum):
    """What sort of quantity a labelled number is, by its unit."""

    SECONDS = "seconds"
    BYTES = "bytes"
    SHARE = "share"
    COUNT = "count"
    BYTE_RATE = "bytes per second"
    RATE = "per second"
    RATIO = "ratio"
    VALUE = "value"


@dataclass(frozen=True)
class Labelled:
    """One number under its label. `row` is what stands before all labels of the line (`Eager`, `num_workers=2`).

    `value` is in seconds, bytes, a share of 1 or bytes per second where the kind says so, else as printed.
    """

    row: str
    label: str
    value: float
    kind: Kind
    unit: str
    line: Line

    @property
    def name(self) -> str:
        """Row and label together, as the name of a reading."""
        parts = [self.row, self.label if self.label.lower() != self.row.lower() else ""]
        return " ".join(" ".join(part for part in parts if part).split())[:120]


_TIME = r"ms|msecs?|us|usecs?|µs|μs|ns|s|secs?|seconds?|mins?|minutes?|hours?|h"
_NOUNS = (
    r"kernels?|launches|calls|threads?|workers?|GPUs?|samples|images|tokens|steps|iterations|requests|batches|frames"
)
_UNIT = (
    rf"(?P<per>(?:{_TIME})\s?/\s?[A-Za-z]{{1,16}})(?![A-Za-z/])"
    r"|(?P<byte_rate>[KMGT]i?B\s?/\s?s(?:ec(?:ond)?)?)(?![A-Za-z])"
    r"|(?P<rate>[A-Za-z]{0,16}\s?/\s?s(?:ec(?:ond)?)?)(?![A-Za-z])"
    rf"|(?P<time>{_TIME})(?![A-Za-z0-9/])"
    r"|(?P<size>[KMGT]i?B|bytes|B)(?![A-Za-z0-9/])"
    r"|(?P<share>%)"
    r"|(?P<ratio>[xX×])(?![A-Za-z0-9])"
    r"|(?P<other>W|MHz|GHz|°C|[MGTP]?FLOP/?[sS]|[MGTP]FLOPS)(?![A-Za-z0-9])"
    rf"|(?P<noun>(?:[a-z]{{2,12}} )?(?:{_NOUNS}))(?![A-Za-z0-9])"
)
_NUMBER = re.compile(rf"(?<![A-Za-z0-9_./:%#@\\-])[~≈]?(?P<number>[-+]?{NUMBER})(?![0-9])(?:\s{{0,2}}(?:{_UNIT}))?")
_BULLET = re.compile(r"^\s*(?:>\s{0,3})?(?:[*•+-]\s{1,4})?(?:\*\*)?")
_EMPHASIS = re.compile(r"\*\*|`|__(?=\s|$)")
_STAMP = re.compile(
    r"^\s*(?:\[?[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[ T][0-9:.,]{5,18}Z?\]?\s*)?"
    r"(?:\[?(?:INFO|DEBUG|WARNING|WARN|ERROR)\s?\]?[ :-]{0,4})?"
)
_HEAD = re.compile(r"^(?P<head>[^:|]{1,100}?(?:\([^)|]{0,60}\))?)\s{0,4}:\s{1,20}(?=\S)")
_SEPARATED = re.compile(r"[:=]\s{0,20}$")
_NOT_LABELLED = re.compile(
    r"(?i)^#{1,6}\s|\bFile \"|\bline [0-9]|https?://|\btraceback\b|0x[0-9a-f]{4}"
    r"|^\s*(?:[$#>]\s|import |from |def |return |class |for |if |print)"
    r"|[{}\\;]\s*$|\bXid\b|\bNCCL\b|\[notice\]|error:"
)
_GLUE = {
    "the",
    "is",
    "was",
    "were",
    "are",
    "we",
    "i",
    "you",
    "it",
    "that",
    "this",
    "but",
    "when",
    "because",
    "which",
    "have",
}
_GLUE |= {"has", "had", "can", "will", "should", "would", "my", "if", "so", "be", "as", "there", "than", "not"}
_WORD = re.compile(r"[A-Za-z']+")
_UNIT_IN_LABEL = re.compile(r"(?:[(\[]|_|, )(ms|us|µs|ns|s|sec|seconds|[KMGT]i?B(?:/s)?)[)\]]?$")
_TIME_LABEL = re.compile(r"(?i)(?:^|[ _-])(?:time|seconds|secs|duration|elapsed)(?:$|[ _-])")
MOST_UNNAMED = 2
"""More numbers than this without a label of their own make a line a row of a table whose header is not known."""

LONGEST = 400
"""Longer lines are dumps of configuration or code."""


def read_labelled(line: Line) -> list[Labelled]:
    """The labelled numbers of a line; none unless the whole line reads like a line of results."""
    text, logged = _bare(line.text)
    if not text or len(text) > LONGEST or _NOT_LABELLED.search(text):
        return []
    head, rest = _head(text)
    entries: list[Labelled] = []
    sure = unnamed = end = 0
    label, headed = "", bool(head)
    for found in _NUMBER.finditer(rest):
        if not _stands_alone(rest, found):
            continue
        before = rest[end : found.start()]
        end = found.end()
        own, row = _label(before, first=not entries)
        head = head or row
        label = own or (label if found["noun"] is None else "")
        entry = _entry(found, head, label or head, line)
        if entry is None or (entries and not own and not entry.unit):
            unnamed += 1
            continue
        separated = _SEPARATED.search(before) is not None or (not entries and not own and headed)
        sure += _is_sure(entry, before, separated, rest[end:], logged=logged, named=bool(own))
        entries.append(entry)
    if not sure or unnamed > MOST_UNNAMED or _is_prose(text, sure):
        return []
    return entries


def _bare(text: str) -> tuple[str, bool]:
    """The line without bullets, emphasis and a log prefix, and whether it had such a prefix."""
    stamp = _STAMP.match(text)
    cut = stamp.end() if stamp else 0
    body = _BULLET.sub("", text[cut:])
    return _EMPHASIS.sub("", body).strip(), bool(text[:cut].strip())


def _head(text: str) -> tuple[str, str]:
    """What stands before the first colon, where results follow it; it may hold numbers, which are settings."""
    found = _HEAD.match(text)
    if found is None or not _NUMBER.search(text[found.end() :]) or not any(map(str.isalpha, found["head"])):
        return "", text
    return " ".join(found["head"].split()).strip("['\""), text[found.end() :]


def _stands_alone(text: str, found: re.Match[str]) -> bool:
    """False for a number that is part of a word, a version, a path or a range."""
    after = text[found.end() : found.end() + 1]
    if found.lastgroup not in (None, "number"):
        return True
    after = text[found.end() : found.end() + 2]
    return not re.match(r"[A-Za-z0-9_/\\-]|[.:][0-9]", after)


def _label(before: str, *, first: bool) -> tuple[str, str]:
    """The label in the text before a number; and, before the first number, the name of the row in front of it."""
    stripped = before.strip(" \t:=~≈([<>|*,;/&-→")
    if not any(map(str.isalpha, stripped)):
        return "", ""
    parts = re.split(r"\s{2,}|\t|->|,\s|;\s", stripped)
    own = parts[-1].rpartition("]")[2].strip(" :=([{)'\"")
    row = parts[0].strip(" :=['\"") if first and len(parts) > 1 and re.search("[A-Za-z]", parts[0]) else ""
    return (own if any(map(str.isalpha, own)) else ""), row


def _entry(found: re.Match[str], row: str, label: str, line: Line) -> Labelled | None:
    value = parse_number(found["number"])
    if value is None:
        return None
    kind, scaled, unit = _scaled(found, value, label)
    if found["noun"]:
        label = f"{label} {unit}" if label and label != row else unit
    return Labelled(row, label, scaled, kind, unit, line) if label and len(label) <= 80 else None


def _scaled(found: re.Match[str], value: float, label: str) -> tuple[Kind, float, str]:
    """Kind, value in the unit of that kind, and the unit as printed."""
    for group, kind in (
        ("per", Kind.SECONDS),
        ("time", Kind.SECONDS),
        ("byte_rate", Kind.BYTE_RATE),
        ("size", Kind.BYTES),
    ):
        if found[group]:
            scaled = in_unit(kind, abs(value), found[group])
            if scaled is not None:
                return kind, scaled if value >= 0 else -scaled, found[group]
    if found["share"]:
        return Kind.SHARE, value / 100.0, "%"
    for group, kind in (("rate", Kind.RATE), ("ratio", Kind.RATIO), ("noun", Kind.COUNT), ("other", Kind.VALUE)):
        if found[group]:
            return kind, value, found[group]
    return (*unit_of_label(value, label), "")


def in_unit(kind: Kind, value: float, unit: str) -> float | None:
    """Seconds, bytes or bytes per second of a value with this unit; None if the unit is of no such kind.

    Of rates kB, MB, GB are powers of 1000, of sizes powers of 1024.
    """
    first = unit.partition("/")[0].strip()
    if kind is Kind.SECONDS:
        return parse_duration(f"{value!r} {first}")
    return parse_size(f"{value!r} {first}", decimal=kind is Kind.BYTE_RATE)


def unit_of_label(value: float, label: str) -> tuple[Kind, float]:
    """Kind and scaled value of a number without a unit, by what its label says (`time`, `latency_ms`, `mem (GiB)`)."""
    told = _UNIT_IN_LABEL.search(label)
    if told:
        kind = (
            Kind.SECONDS
            if parse_duration(f"1 {told[1]}") is not None
            else Kind.BYTE_RATE
            if "/s" in told[1]
            else Kind.BYTES
        )
        scaled = in_unit(kind, value, told[1])
        if scaled is not None:
            return kind, scaled
    if label.endswith(("%", "%)", "percent", "pct")):
        return Kind.SHARE, value / 100.0
    if label.endswith(("/s", "/sec", "/second", "/s)", "per second")):
        return Kind.RATE, value
    return (Kind.SECONDS if _TIME_LABEL.search(label) else Kind.VALUE), value


def _is_sure(entry: Labelled, before: str, separated: bool, after: str, *, logged: bool, named: bool) -> bool:
    """True if this reads as a label and its number: joined by a sign, set apart like a column, or ending the line."""
    words = len(entry.label.split())
    if entry.unit and not logged:
        apart = before.endswith(("  ", "\t")) or not after.strip() or after.startswith(("  ", "\t", " /", ",", " ("))
        return (separated or apart) and words <= 8
    column = named and before.endswith(("  ", "\t")) and not after.strip() and not logged
    return (separated and (bool(entry.unit) or not logged) and words <= 6) or (column and words <= 3)


def _is_prose(text: str, sure: int) -> bool:
    words = [word.lower() for word in _WORD.findall(text)]
    glue = sum(1 for word in words if word in _GLUE)
    if glue >= 2 or (glue and len(words) > 8):
        return True
    return len(words) > 10 + 6 * sure or (text.endswith((".", "?", "!")) and len(words) > 6)


def read_lines(lines: Sequence[Line]) -> Iterator[Labelled]:
    """The labelled numbers of all lines."""
    for line in lines:
        yield from read_labelled(line)
