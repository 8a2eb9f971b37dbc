"""What a parser gets and what it gives: the contract between the reader of artefacts and one module per format.

A parser looks for its format anywhere in a text: artefacts come mixed, indented, cut at both ends, with a prompt in
front of them. It claims the lines it understood, gives readings with the line each stands on, and says what it could
not read. It never raises on bad input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gpuwhy.kb.facts import HOST, Entity, Value
from gpuwhy.kb.records import dataclass

if TYPE_CHECKING:
    from gpuwhy.probes.artefacts.rank_dumps import RankDump
    from gpuwhy.probes.artefacts.triton_between import Reads


@dataclass(frozen=True)
class Line:
    """One line of an artefact: its number in the file (1-based), and its text without control sequences."""

    number: int
    text: str


@dataclass(frozen=True)
class Text:
    """A text artefact, cleaned: no ANSI sequences, no carriage returns, no NULs; Markdown fences and indents are kept.

    `lines` need not be contiguous: of a very large file only the parts worth reading are here, with their numbers.
    """

    name: str
    lines: tuple[Line, ...]

    def __len__(self) -> int:
        return len(self.lines)


def once(scan: Callable[[Text], Iterable[Extract]]) -> Callable[[Text], tuple[Extract, ...]]:
    """A reader that remembers what it made of the last text: for a format that others ask what it understands."""
    last: list[tuple[Text, tuple[Extract, ...]]] = []

    def remembered(text: Text) -> tuple[Extract, ...]:
        if not (last and last[0][0] is text):
            last[:] = [(text, tuple(scan(text)))]
        return last[0][1]

    return remembered


@dataclass(frozen=True)
class Reading:
    """One value read from an artefact, in the vocabulary's unit of its fact (bytes, seconds, a share of 1, …).

    `said`: no tool printed it, a person states it in a sentence; what a tool printed of the same thing wins.
    """

    fact: str
    value: Value
    line: int | None = None
    text: str | None = None
    entity: Entity = HOST
    observed_at: str | None = None
    window_seconds: float | None = None
    said: bool = False


@dataclass(frozen=True)
class Missing:
    """A reading that the artefact says cannot be had, with the artefact's own reason (`N/A`, `Unknown Error`)."""

    fact: str
    reason: str
    line: int | None = None
    entity: Entity = HOST


@dataclass(frozen=True)
class Trouble:
    """A part of a recognised format that could not be read: where, and what was wrong with it."""

    line: int | None
    message: str


@dataclass(frozen=True)
class Extract:
    """What one parser made of an artefact. `claimed` are the line numbers it understood.

    `dumps` and `reads` say more beside those of other artefacts: a dump of one rank of a job, counters read once.
    """

    format: str
    readings: tuple[Reading, ...] = ()
    missing: tuple[Missing, ...] = ()
    claimed: frozenset[int] = frozenset()
    troubles: tuple[Trouble, ...] = ()
    dumps: tuple[RankDump, ...] = ()
    reads: Reads | None = None


@dataclass(frozen=True)
class TextFormat:
    """A format found inside text. `hints` are lower-case literals: without any of them the parser is not tried.

    `scan` gets the whole text and yields one extract per occurrence (or one for all). A `fallback` format only sees
    the lines that no other format claimed.
    """

    name: str
    title: str
    hints: tuple[str, ...]
    scan: Callable[[Text], Iterable[Extract]]
    fallback: bool = False


@dataclass(frozen=True)
class FileFormat:
    """A format that is a whole file (XML, JSON trace, pickle), recognised by its first bytes after decompression.

    `accepts` gets up to 64 KiB from the start and the file's name; `read` gets the path of the (compressed or plain)
    file, or the bytes where the artefact came from standard input, and its display name.
    """

    name: str
    title: str
    accepts: Callable[[bytes, str], bool]
    read: Callable[[Path | bytes, str], Extract]
