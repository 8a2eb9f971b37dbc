"""Reads a Chrome trace (JSON) event by event from a stream, in bounded memory, and gets past broken events.

PyTorch wrote names with unescaped quotes and backslashes for years, and traces are cut off when a job dies: what stands
before, between and after the breaks is read.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuwhy.kb.records import dataclass, field

CHUNK = 1 << 20
VALUE_LIMIT = 16 << 20
"""Longest single JSON value (an event, a metadata entry) in characters."""
BROKEN_LIMIT = 10_000
"""Most broken events that are gone past."""
TEXT_LIMIT = 16 << 30
"""Most characters that are read of one trace, after decompression."""

_KEPT = frozenset({"deviceProperties", "distributedInfo"})
_UTF8 = codecs.getincrementaldecoder("utf-8-sig")
_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[\s\ufeff]*")
_BETWEEN = re.compile(r"[\s,]*")
_EVENT_END = re.compile(r"\}\s{0,40},\s{0,40}(?=\{\s{0,40}\")")
_BACKSLASH = re.compile(r"(\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4}))|\\")
_NAMED_TEXT = re.compile(r'"(?:name|Name|Call stack|Trace name)"\s{0,4}:\s{0,4}"')
_TEXT_END = re.compile(r'"(?=\s{0,40}(?:,\s{0,40}"[A-Za-z][^"\n]{0,60}"\s{0,4}:|\}))')
_MISSING_VALUE = re.compile(r':\s{0,4}(?=,\s{0,40}"|\})')
_READ_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError)


class Unreadable(Exception):
    """The text at the current position is no JSON value."""


@contextmanager
def open_bytes(source: Path | bytes) -> Iterator[io.BufferedIOBase]:
    """The plain bytes of a file or of bytes in memory, decompressed where they begin as gzip, bzip2 or xz do.

    Raises OSError where the file cannot be opened.
    """
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as raw:
        start = raw.read(6)
        raw.seek(0)
        if start.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=raw) as plain:
                yield plain
        elif start.startswith(b"BZh"):
            with bz2.BZ2File(raw) as plain_bz2:
                yield plain_bz2
        elif start == b"\xfd7zXZ\x00":
            with lzma.LZMAFile(raw) as plain_xz:
                yield plain_xz
        else:
            yield raw


@dataclass
class Window:
    """A sliding piece of the text, from which whole JSON values are taken."""

    stream: io.BufferedIOBase
    text: str = ""
    at: int = 0
    line: int = 1
    read: int = 0
    ended: bool = False
    failure: str | None = None
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: _UTF8("replace"))

    def more(self, size: int = CHUNK) -> bool:
        """Reads on; False at the end of the text (or where the compressed stream breaks off, which `failure` tells)."""
        if self.ended:
            return False
        self.shorten()
        piece = self._read(size)
        self.text += piece
        self.read += len(piece)
        if self.read > TEXT_LIMIT:
            self.failure = "the trace is longer than this program reads"
        self.ended = self.ended or self.read > TEXT_LIMIT
        return bool(piece)

    def shorten(self) -> None:
        """Drops the text before the current position."""
        self.line += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :], 0

    def _read(self, size: int) -> str:
        """At least `size` bytes as text, fewer at the end; of a stream that breaks off all that can be unpacked."""
        parts: list[str] = []
        got = 0
        while got < size and not self.ended:
            try:
                piece = self.stream.read1(CHUNK)
            except _READ_ERRORS as error:
                piece, self.failure = b"", f"the compressed stream breaks off: {error}"
            self.ended = not piece
            parts.append(self.decoder.decode(piece, final=not piece))
            got += len(piece)
        return "".join(parts)

    def peek(self) -> str:
        """The next character that is no space, or an empty text at the end."""
        while True:
            matched = _SPACE.match(self.text, self.at)
            self.at = matched.end() if matched else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def skip(self) -> None:
        """Goes past one character."""
        self.at += 1

    @property
    def here(self) -> int:
        """Line number of the current position."""
        return self.line + self.text.count("\n", 0, self.at)

    def value(self) -> object:
        """The JSON value at the current position. Raises Unreadable where there is none or the text ends within it."""
        size = CHUNK
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except (json.JSONDecodeError, RecursionError) as error:
                settled = isinstance(error, json.JSONDecodeError) and error.pos < len(self.text) - CHUNK
                if settled or len(self.text) - self.at > VALUE_LIMIT or not self.more(size):
                    raise Unreadable(str(error)) from error
                size *= 2
                continue
            if end == len(self.text) and not isinstance(value, (dict, list, str)) and self.more():
                continue
            self.at = end
            return value


@dataclass
class EventStream:
    """The events of a trace, and beside them what the trace says about itself."""

    stream: io.BufferedIOBase
    metadata: dict[str, object] = field(default_factory=dict)
    broken: int = 0
    repaired: int = 0
    first_broken_line: int | None = None
    truncated: str | None = None
    line: int = 1

    def __iter__(self) -> Iterator[dict[str, object]]:
        window = Window(self.stream)
        first = window.peek()
        if first == "[":
            yield from self._events(window)
        elif first == "{":
            window.skip()
            yield from self._members(window)
        if window.failure is not None:
            self.truncated = window.failure
        self.line = window.here

    def _members(self, window: Window) -> Iterator[dict[str, object]]:
        while True:
            mark = window.peek()
            if mark == ",":
                window.skip()
                continue
            if mark != '"':
                if mark != "}" and self.truncated is None:
                    self.truncated = "the trace ends early"
                return
            try:
                key = window.value()
                if window.peek() != ":":
                    raise Unreadable("no colon")
                window.skip()
                if key == "traceEvents" and window.peek() == "[":
                    yield from self._events(window)
                    continue
                window.peek()
                value = window.value()
                if key in _KEPT:
                    self.metadata[str(key)] = value
            except Unreadable:
                self._note(window)
                self.truncated = "what stands after the broken part was not read"
                return

    def _events(self, window: Window) -> Iterator[dict[str, object]]:
        window.skip()
        while True:
            yield from self._whole_events(window)
            mark = window.peek()
            if mark == "]":
                window.skip()
                return
            if mark == "":
                self.truncated = "the trace ends within its events"
                return
            if mark == ",":
                window.skip()
                continue
            if self.broken >= BROKEN_LIMIT:
                self.truncated = "too many broken parts, the rest was not read"
                return
            window.shorten()  # an error message of the decoder costs as much time as there is text before it
            try:
                event = window.value()
                if not isinstance(event, dict):
                    self._note(window)
            except Unreadable:
                event = self._repair(window)
            if isinstance(event, dict):
                yield event

    def _whole_events(self, window: Window) -> Iterator[dict[str, object]]:
        """The events that stand whole in the window's text; stops before anything else, which needs a closer look."""
        text, at = window.text, window.at
        while (between := _BETWEEN.match(text, at)) is not None:
            window.at = between.end()
            if not text.startswith("{", window.at):
                break
            try:
                event, at = _DECODER.raw_decode(text, window.at)
            except (json.JSONDecodeError, RecursionError):
                break
            window.at = at
            yield event

    def _repair(self, window: Window) -> object:
        """One attempt on a broken event: the text up to the next one with quotes and backslashes escaped; else None."""
        self._note(window)
        while (end := _EVENT_END.search(window.text, window.at)) is None:
            if len(window.text) - window.at > VALUE_LIMIT or not window.more():
                break
        stop = len(window.text) if end is None else end.start() + 1
        text = window.text[window.at : stop]
        window.at = stop
        if end is None:
            text = text.rstrip().removesuffix("}").rstrip().removesuffix("]").rstrip()
        try:
            event: object = _DECODER.decode(mended(text))
        except (ValueError, RecursionError):
            return None
        self.repaired += 1
        return event

    def _note(self, window: Window) -> None:
        self.broken += 1
        if self.first_broken_line is None:
            self.first_broken_line = window.here


def mended(text: str) -> str:
    """The text of one event with stray backslashes and quotes inside its names escaped, and missing values as null."""
    text = _BACKSLASH.sub(lambda match: match[1] or "\\\\", text)
    parts: list[str] = []
    at = 0
    for opening in _NAMED_TEXT.finditer(text):
        if opening.start() < at:
            continue
        closing = _TEXT_END.search(text, opening.end())
        if closing is None:
            break
        inner = text[opening.end() : closing.start()]
        parts += [text[at : opening.end()], re.sub(r'(?<!\\)"', r"\\" + '"', inner)]
        at = closing.start()
    return _MISSING_VALUE.sub(": null", "".join([*parts, text[at:]]))
