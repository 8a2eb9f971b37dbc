"""Lines that a terminal or a console window has cut in the middle of a word, put together again.

A text editor breaks lines between words, a terminal at its width. Which of the two it was cannot be told of one line,
so the lines put together are a second reading of the same text, beside the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Text

NARROWEST = 60
"""No console is narrower, in characters."""
MOST_PIECES = 60
MOST_LINES = 20_000
"""Lines looked at; a longer artefact is a log written to a file, which no terminal has cut."""


@dataclass(frozen=True)
class Rejoined:
    """Lines put together, under the number of their first piece, and the numbers of all pieces of each."""

    text: Text
    pieces: Mapping[int, frozenset[int]]


def rejoined(text: Text) -> Rejoined | None:
    """The lines of a text that seem to be cut in a word, whole again; None if there are none."""
    lines = text.lines
    if len(lines) > MOST_LINES:
        return None
    whole: list[Line] = []
    pieces: dict[int, frozenset[int]] = {}
    start = 0
    while start < len(lines):
        end = start
        while end + 1 < len(lines) and end - start < MOST_PIECES and _full(lines, start, end):
            end += 1
        if any(_cut(lines, index) for index in range(start, end)):
            joined = "".join(line.text for line in lines[start : end + 1])
            whole.append(Line(lines[start].number, joined))
            pieces[lines[start].number] = frozenset(line.number for line in lines[start : end + 1])
        start = end + 1
    return Rejoined(Text(text.name, tuple(whole)), pieces) if whole else None


def news(first: Sequence[Extract], again: Sequence[Extract], pieces: Mapping[int, frozenset[int]]) -> list[Extract]:
    """What the second reading found and the first did not."""
    known = {(reading.fact, reading.entity) for extract in first for reading in extract.readings}
    found = []
    for extract in again:
        readings = tuple(one for one in extract.readings if (one.fact, one.entity) not in known)
        if readings:
            claimed = frozenset(number for line in extract.claimed for number in pieces.get(line, (line,)))
            found.append(Extract(extract.format, readings, claimed=claimed))
    return found


def _full(lines: Sequence[Line], start: int, index: int) -> bool:
    """True if a line is as wide as the first of its run, and none near it a little wider: it has ended at a space."""
    width = len(lines[index].text)
    if width < NARROWEST or width != len(lines[start].text) or not lines[index + 1].text[:1].strip():
        return False
    nearby = lines[max(0, index - 3) : index + 4]
    return not any(width < len(other.text) <= width + 12 for other in nearby)


def _cut(lines: Sequence[Line], index: int) -> bool:
    """True if a line ends in a letter and the next begins with a small one."""
    return lines[index].text[-1].isalpha() and lines[index + 1].text[0].islower()
