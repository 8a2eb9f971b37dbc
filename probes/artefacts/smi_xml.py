"""`nvidia-smi -q -x`: the XML log, as a file or pasted into a text, of all document type versions.

The document type is never fetched and no entity is ever resolved: declarations are taken out before the XML parser sees
them, and a document that declares entities is refused.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, XMLPullParser

from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Line, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.gauges import Gauges
from gpuwhy.probes.artefacts.smi_log import DeviceLog
from gpuwhy.probes.artefacts.smi_rows import indices_by_bus

NAME = "nvidia-smi-xml"
TITLE = "nvidia-smi -q -x (XML)"
SIZE_LIMIT = 64 * 1024 * 1024

_ROOT = "nvidia_smi_log"
_DEEPEST = 40
_CONTAINERS = frozenset({_ROOT, "gpu"})


def accepts(head: bytes, name: str) -> bool:
    """True if a file begins as the XML log does."""
    del name
    start = _decoded(head).lstrip()
    return start.startswith("<") and f"<{_ROOT}" in start


def read(source: Path | bytes, name: str) -> Extract:
    """The readings of an XML log, plain or compressed with gzip. At most 64 MiB of it are read."""
    del name
    data, trouble = _content(source)
    lines = (Line(n, part) for n, part in enumerate(_decoded(data).splitlines(), 1))
    extract = _Reader(Gauges(), {}).extract(lines)
    return extract if trouble is None else _with_trouble(extract, trouble)


def scan(text: Text) -> Iterator[Extract]:
    """The readings of every XML log in a text."""
    start = _next_log(text.lines, 0)
    if start is None:
        return
    indices = indices_by_bus(text)
    while start is not None:
        stop = _end_of_log(text.lines, start)
        yield _Reader(Gauges(), indices).extract(text.lines[start:stop])
        start = _next_log(text.lines, stop)


def _content(source: Path | bytes) -> tuple[bytes, str | None]:
    try:
        data = source if isinstance(source, bytes) else _first_bytes(source)
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(wbits=31).decompress(data, SIZE_LIMIT)
    except (OSError, EOFError, zlib.error) as error:
        return b"", f"cannot be read: {error}"
    return data[:SIZE_LIMIT], "longer than 64 MiB: the rest was not read" if len(data) >= SIZE_LIMIT else None


def _decoded(data: bytes) -> str:
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as PowerShell redirects
    return data.decode("utf-16" if wide else "utf-8-sig", "replace")


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(SIZE_LIMIT)


def _with_trouble(extract: Extract, message: str) -> Extract:
    troubles = (*extract.troubles, Trouble(None, message))
    return Extract(extract.format, extract.readings, extract.missing, extract.claimed, troubles)


def _next_log(lines: Sequence[Line], start: int) -> int | None:
    for number in range(start, len(lines)):
        text = lines[number].text
        if f"<{_ROOT}" in text or "<gpu id=" in text:
            return _with_prologue(lines, number, start)
    return None


def _with_prologue(lines: Sequence[Line], number: int, floor: int) -> int:
    while number > floor and any(mark in lines[number - 1].text for mark in ("<?xml", "<!")):
        number -= 1
    return number


def _end_of_log(lines: Sequence[Line], start: int) -> int:
    opened = False
    for number in range(start, len(lines)):
        text = lines[number].text
        if f"</{_ROOT}>" in text:
            return number + 1
        if opened and f"<{_ROOT}" in text:
            return _with_prologue(lines, number, start)
        opened = opened or f"<{_ROOT}" in text or "<gpu id=" in text
    return len(lines)


class _Refused(Exception):
    """The document declares entities, or is nested deeper than any log."""


class _Reader:
    """Feeds the XML line by line, so that every leaf has the number of its line."""

    def __init__(self, gauges: Gauges, indices: dict[str, int]) -> None:
        self._log = DeviceLog(gauges, indices)
        self._gauges = gauges
        self._parser: XMLPullParser[Any] = XMLPullParser(["start", "end"])
        self._path: list[str] = []
        self._children: list[bool] = []
        self._in_declaration = False
        self._whole = 0
        self._in_device = False
        self._done = False

    def extract(self, lines: Iterable[Line]) -> Extract:
        claimed: set[int] = set()
        trouble = self._feed(lines, claimed)
        if trouble is None and not self._done:
            trouble = Trouble(max(claimed, default=None), self._cut_message())
        self._log.close(complete=False)
        readings, missing = self._gauges.fold()
        troubles = (*self._log.troubles, *(() if trouble is None else (trouble,)))
        return Extract(NAME, readings, missing, frozenset(claimed), troubles)

    def _feed(self, lines: Iterable[Line], claimed: set[int]) -> Trouble | None:
        self._parser.feed("<paste>")
        for line in lines:
            try:
                self._parser.feed(self._without_declarations(line.text) + "\n")
                happened: Any
                for happened in self._parser.read_events():
                    event, element = happened
                    self._take(event, element, line.number)
            except _Refused:
                return Trouble(line.number, "declares entities or is nested too deep: refused")
            except ParseError as error:
                return Trouble(line.number, f"{self._cut_message()}: {error.msg}")
            claimed.add(line.number)
            if self._done:
                break
        return None

    def _cut_message(self) -> str:
        return f"the XML is cut off or damaged after {self._whole} whole GPU{'' if self._whole == 1 else 's'}"

    def _without_declarations(self, text: str) -> str:
        if "<!ENTITY" in text.upper():
            raise _Refused
        kept: list[str] = []
        while text:
            if self._in_declaration:
                inside, closed, text = text.partition(">")
                if "[" in inside:
                    raise _Refused
                self._in_declaration = not closed
                continue
            at = min((n for n in (text.find("<!DOCTYPE"), text.find("<?")) if n >= 0), default=-1)
            if at < 0:
                kept.append(text)
                break
            kept.append(text[:at])
            text = text[at:]
            self._in_declaration = True
        return "".join(kept)

    def _take(self, event: str, element: Any, line: int) -> None:
        tag = str(element.tag)
        if event == "start":
            self._start(tag, element.get("id"), line)
        else:
            self._end(tag, (element.text or "").strip(), line)
            element.clear()

    def _start(self, tag: str, id_: str | None, line: int) -> None:
        if self._children:
            self._children[-1] = True
        if len(self._path) >= _DEEPEST:
            raise _Refused
        self._path.append(tag)
        self._children.append(False)
        if tag == "gpu":
            self._log.open(id_, line)
            self._in_device = True
        elif tag == "processes":
            self._log.begin_processes()

    def _end(self, tag: str, printed: str, line: int) -> None:
        path = [part for part in self._path if part != "paste"]
        has_children = self._children.pop()
        self._path.pop()
        if tag == "gpu":
            self._log.close(complete=True)
            self._in_device = False
            self._whole += 1
        elif tag == _ROOT:
            self._done = True
        elif not has_children and printed and (self._in_device or path[:-1] == [_ROOT]):
            if path == [_ROOT, "timestamp"]:
                self._gauges.begin(printed)
            else:
                inner = [part for part in path if part not in _CONTAINERS]
                self._log.leaf(inner, printed, line)


FORMATS: tuple[TextFormat | FileFormat, ...] = (
    FileFormat(NAME, TITLE, accepts, read),
    TextFormat(NAME, TITLE, (f"<{_ROOT}", "<gpu id="), scan),
)
