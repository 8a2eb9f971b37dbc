"""Artefacts in, facts out: files, folders and pasted text, each read by whatever formats are in it.

Nothing is lost: lines that no format understands and parts that could not be read are given back beside the facts.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from gpuwhy.kb.facts import Absent, Fact
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts import registry
from gpuwhy.probes.artefacts.attach import attach
from gpuwhy.probes.artefacts.cleaning import clean, looks_utf16
from gpuwhy.probes.artefacts.context import is_context
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Line, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.large_scan import LARGE_BYTES, Ahead
from gpuwhy.probes.artefacts.unwrapping import news, rejoined

HEAD_BYTES = 64 << 10
DEFECT = "a defect of gpuwhy"
MAX_FILES = 2000
MAX_UNPACKED_BYTES = 1 << 31


class UnusableInput(Exception):
    """Input that cannot be read at all: its name, what is wrong, and what to do."""

    def __init__(self, name: str, message: str, hint: str = "") -> None:
        self.message = message
        super().__init__(f"{name}: {message}" + (f" ({hint})" if hint else ""))


@dataclass(frozen=True)
class NotUnderstood:
    """Lines of an artefact that no format understands (`first` None: the whole of it), with how they begin."""

    artefact: str
    first: int | None
    last: int | None
    reason: str
    begins: str = ""


@dataclass(frozen=True)
class Gathered:
    """What was read: facts, readings that could not be had, formats per artefact, and what was not understood."""

    facts: tuple[Fact, ...] = ()
    absent: tuple[Absent, ...] = ()
    formats: tuple[tuple[str, str], ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()


Found = tuple[list[Extract], list[NotUnderstood]]


class Reader:
    """Reads an artefact, and each content once, however often it is asked for and from whatever thread.

    One at a time: who asks for what is being read waits for that, and is not the second to read it.
    """

    MOST = 8

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, bytes], Found] = {}

    def __call__(self, name: str, source: Path | bytes, ahead: Ahead | None) -> Found:
        """What the artefact holds. Raises `UnusableInput`."""
        if isinstance(source, Path):
            return _read_one(name, source, ahead)
        with self._lock:
            found = self._kept.pop((name, source), None) or _read_one(name, source, ahead)
            self._kept[name, source] = found
            for oldest in [*self._kept][: -self.MOST]:
                del self._kept[oldest]
        return found


def gather(
    inputs: Iterable[tuple[str, Path | bytes]],
    specs: Mapping[str, FactSpec],
    ahead: Ahead | None = None,
    reader: Reader | None = None,
) -> Gathered:
    """Facts from artefacts, given as (display name, path or content). `ahead` may have searched some of them already.

    A `reader` keeps what it has read. Raises `UnusableInput` if nothing can be opened; of several artefacts those that
    can are read, the others are named.
    """
    extracts: list[tuple[str, Extract]] = []
    unread: list[NotUnderstood] = []
    opened, failures = 0, []
    for name, source in inputs:
        try:
            found, missed = (reader or _read_one)(name, source, ahead)
        except UnusableInput as error:
            failures.append(error)
            unread.append(NotUnderstood(name, None, None, error.message))
            continue
        opened += 1
        extracts.extend((name, extract) for extract in found)
        unread.extend(missed)
    if failures and not opened:
        raise failures[0]
    extracts.extend(_together(extracts))
    extracts = _between(extracts)
    facts, absent, odd = attach(extracts, specs)
    if opened > 1:
        from gpuwhy.probes.artefacts.file_moments import one_moment

        facts, aside = one_moment(facts)
        odd = [*odd, *aside]
    unread.extend(NotUnderstood(name, line, line, message) for name, line, message in odd)
    for name, extract in extracts:
        unread.extend(NotUnderstood(name, one.line, one.line, one.message) for one in extract.troubles)
    formats = tuple(dict.fromkeys((name, extract.format) for name, extract in extracts))
    return Gathered(tuple(facts), tuple(absent), formats, tuple(dict.fromkeys(unread)))


def _together(extracts: Iterable[tuple[str, Extract]]) -> Iterator[tuple[str, Extract]]:
    """What dumps of several ranks say together, if there are any."""
    named = [(name, dump) for name, extract in extracts for dump in extract.dumps]
    if named:
        from gpuwhy.probes.artefacts.rank_dumps import compared

        found = compared([dump for _, dump in named])
        if found is not None:
            yield named[0][0] if len(named) == 1 else f"{len(named)} dumps of ranks", found


def _between(extracts: list[tuple[str, Extract]]) -> list[tuple[str, Extract]]:
    """The same, with counters of one server that were read in several artefacts told as one window."""
    if sum(one.reads is not None for _, one in extracts) < 2:
        return extracts
    from gpuwhy.probes.artefacts.triton_between import joined

    return joined(extracts)


def find_inputs(arguments: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Files behind path arguments; a folder gives the files below it, in name order. Raises `UnusableInput`."""
    for argument in arguments:
        path = Path(argument)
        if path.is_dir():
            yield from _below(path)
        elif path.exists():
            yield path.name, path
        else:
            raise UnusableInput(argument, "no such file or folder", "give a path, or - to paste on standard input")


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    count = 0
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            path = Path(base) / name
            if name.startswith(".") or not path.is_file():
                continue
            count += 1
            if count > MAX_FILES:
                raise UnusableInput(str(folder), f"more than {MAX_FILES} files", "name the files that matter")
            yield str(path.relative_to(folder)), path


def _read_one(name: str, source: Path | bytes, ahead: Ahead | None) -> Found:
    head, packed = _head(name, source)
    known = registry.file_format(head, name)
    if known is not None:
        return [_whole(known, source, name)], []
    if _binary(head):
        return [], [NotUnderstood(name, None, None, "binary file of no known format")]
    text, skipped = _text(name, source, packed, ahead)
    extracts = _scan(text)
    return extracts, [*_unclaimed(text, extracts), *skipped]


def _head(name: str, source: Path | bytes) -> tuple[bytes, bool]:
    """The first bytes, unpacked if they are gzip."""
    try:
        if isinstance(source, bytes):
            raw = source[:HEAD_BYTES]
        else:
            with open(source, "rb") as file:
                raw = file.read(HEAD_BYTES)
    except OSError as error:
        raise UnusableInput(name, f"cannot be read: {error.strerror}") from error
    if raw[:2] != b"\x1f\x8b":
        return raw, False
    try:
        return zlib.decompressobj(31).decompress(raw, HEAD_BYTES), True
    except zlib.error as error:
        raise UnusableInput(name, f"damaged gzip file: {error}", "copy it again") from error


def _binary(head: bytes) -> bool:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or looks_utf16(head):
        return False
    return head.count(0) > len(head) // 50


def _text(name: str, source: Path | bytes, packed: bool, ahead: Ahead | None) -> tuple[Text, list[NotUnderstood]]:
    if not packed:
        return _plain_text(name, source, ahead)
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="gpuwhy-") as file:
        complete = _unpack(source, file)
        file.flush()
        text, skipped = _plain_text(name, Path(file.name), None)
    if not complete:
        reason = "gzip file damaged, cut short or larger than is read; its start was read"
        skipped.append(NotUnderstood(name, None, None, reason))
    return text, skipped


def _plain_text(name: str, source: Path | bytes, ahead: Ahead | None) -> tuple[Text, list[NotUnderstood]]:
    if isinstance(source, Path) and source.stat().st_size > LARGE_BYTES:
        from gpuwhy.probes.artefacts.large_text import select

        large = select(source, name, ahead)
        note = "only searched for failures and sampled: the file is large"
        return large.text, [NotUnderstood(name, first, last, note) for first, last in large.skipped]
    raw = source if isinstance(source, bytes) else source.read_bytes()
    return Text(name, tuple(Line(number, line) for number, line in enumerate(clean(raw), 1))), []


def _unpack(source: Path | bytes, into: IO[bytes]) -> bool:
    """Write out what a gzip file holds, all its members; False if that is not the whole."""
    import gzip
    import io

    written = 0
    with gzip.open(io.BytesIO(source) if isinstance(source, bytes) else source) as packed:
        try:
            while piece := packed.read1(HEAD_BYTES):
                written += into.write(piece)
                if written > MAX_UNPACKED_BYTES:
                    return False
        except (EOFError, OSError, zlib.error):
            return False
    return True


def _scan(text: Text) -> list[Extract]:
    lowered = "\n".join(line.text for line in text.lines).lower()
    extracts = [extract for one in registry.text_formats(lowered) for extract in scanned(one, text)]
    if whole := rejoined(text):
        again = "\n".join(line.text for line in whole.text.lines).lower()
        second = [extract for one in registry.text_formats(again) for extract in scanned(one, whole.text)]
        extracts += news(extracts, second, whole.pieces)
    claimed = {number for extract in extracts for number in extract.claimed}
    rest = Text(text.name, tuple(line for line in text.lines if line.number not in claimed))
    for one in registry.fallback_formats() if any(line.text.strip() for line in rest.lines) else ():
        extracts.extend(scanned(one, rest))
    return extracts


def _whole(one: FileFormat, source: Path | bytes, name: str) -> Extract:
    try:
        return one.read(source, name)
    except Exception as error:  # noqa: BLE001 - as for the readers of text
        return Extract(one.name, troubles=(_defect(one, error),))


def _defect(one: TextFormat | FileFormat, error: Exception) -> Trouble:
    return Trouble(None, f"could not be read as {one.title}: {DEFECT} ({type(error).__name__})")


def scanned(one: TextFormat, text: Text) -> list[Extract]:
    """What one format makes of a text. A defect of its reader costs what only it could read, and is told."""
    try:
        return list(one.scan(text))
    except Exception as error:  # noqa: BLE001 - the boundary of the readers: no artefact ends a diagnosis
        return [Extract(one.name, troubles=(_defect(one, error),))]


def _unclaimed(text: Text, extracts: Iterable[Extract]) -> list[NotUnderstood]:
    """Ranges of lines that nobody claimed; blank lines, headings, fences and prompts are context and need no reader."""
    claimed = {number for extract in extracts for number in extract.claimed}
    found: list[NotUnderstood] = []
    start: Line | None = None
    last = 0
    for line in text.lines:
        if line.number in claimed:
            _close(found, text.name, start, last)
            start = None
        elif not is_context(line.text):
            start = start or line
            last = line.number
    _close(found, text.name, start, last)
    return found


def _close(found: list[NotUnderstood], name: str, start: Line | None, last: int) -> None:
    if start is not None:
        found.append(NotUnderstood(name, start.number, last, "no known format", start.text.strip()[:80]))
