"""Reads the terminal as it really is: a paste that never ends, bytes that are no UTF-8, a terminal that is gone."""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from textual._parser import ParseError
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Paste
from textual.message import Message

from gpuwhy.tui.app.terminal import plain

GONE = 129
"""Exit status where the terminal is gone: that of a process which ended by SIGHUP."""

_READ_BYTES = 4096
_WAIT_SECONDS = 0.1
_ESCAPES = ("\x1b", "\x1b[27u", "\x1b[99;5u", "\x1b[100;5u", "\x1b[113;5u")
"""Escape alone, and Escape, Ctrl-C, Ctrl-D and Ctrl-Q as kitty sends them."""

_CONTROLS = ("\x03", "\x04", "\x11")
"""Ctrl-C, Ctrl-D and Ctrl-Q: no text that is pasted ends with one."""


class Keys:
    """Turns what a terminal sends into text for the parser.

    A paste whose end was lost with a connection would swallow every key: one of these keys ends it.
    """

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._pasting, self._tail = False, ""

    def take(self, data: bytes) -> str:
        """The text of these bytes; empty where a sign is not whole yet."""
        text = self._decode(data)
        if self._pasting and text in _ESCAPES:
            text = BRACKETED_PASTE_END + text
        elif self._pasting and text[-1:] in _CONTROLS:
            text = text[:-1] + BRACKETED_PASTE_END + text[-1]
        seen = self._tail + text
        begun, ended = seen.rfind(BRACKETED_PASTE_START), seen.rfind(BRACKETED_PASTE_END)
        if begun != ended:
            self._pasting = begun > ended
        self._tail = seen[-len(BRACKETED_PASTE_START) + 1 :]  # shorter than a mark: none is seen twice
        return text


class Pastes:
    """Takes pastes out of what a terminal sends, whole; `feed` turns the rest into messages.

    Textual looks at each sign of a paste, which takes seconds for a long log.
    """

    def __init__(self, feed: Callable[[str], Iterable[Message]]) -> None:
        self._feed = feed
        self._pieces: list[str] | None = None

    def take(self, text: str) -> Iterator[Message]:
        """The messages in the order in which they were typed."""
        while text:
            if self._pieces is None:
                before, begins, text = text.partition(BRACKETED_PASTE_START)
                if before:
                    yield from self._feed(before)
                self._pieces = [""] if begins else None
            else:
                held = self._pieces.pop()  # it may hold the first signs of the end
                piece, ends, text = (held + text).partition(BRACKETED_PASTE_END)
                self._pieces += (piece[: -len(BRACKETED_PASTE_END)], piece[-len(BRACKETED_PASTE_END) :])
                if ends:
                    whole, self._pieces = "".join(self._pieces), None
                    yield Paste(whole.replace("\0", ""))


class SteadyDriver(LinuxDriver):
    """Textual's driver for Linux, whose reading withstands what a bad connection brings."""

    def run_input_thread(self) -> None:
        """Read until the application ends, or the terminal does."""
        parser, keys = XTermParser(self._debug), Keys()
        pastes = Pastes(parser.feed)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_WAIT_SECONDS):
                    self._pass_on(pastes.take(keys.take(self._read())))
                self._pass_on(parser.tick())
        with suppress(EOFError, ParseError):
            self._pass_on(parser.feed(""))

    def _read(self) -> bytes:
        data = b""
        with suppress(OSError):
            data = os.read(self.fileno, _READ_BYTES)
        if not data:
            # Nothing can be shown any more, and whatever writes would wait for ever. Every step is on the disk.
            os._exit(GONE)
        return data

    def _pass_on(self, messages: Iterable[Message]) -> None:
        for one in messages:
            self.process_message(one)


class PlainDriver(SteadyDriver):
    """Writes ASCII alone."""

    def write(self, data: str) -> None:
        super().write(plain(data))
