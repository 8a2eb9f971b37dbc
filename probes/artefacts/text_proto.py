"""Messages in the text format of Protocol Buffers, as configurations are written: tolerant, bounded, never raising.

Grammar: https://protobuf.dev/reference/protobuf/textformat-spec/ . Read are comments, `field: value`, `field { … }`,
`field: { … }`, `field < … >`, lists in brackets, adjacent strings, and separators; extensions are stepped over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuwhy.kb.records import dataclass, field

Scalar = bool | int | float | str
MAX_DEPTH = 40
MAX_TOKENS = 100_000

_TOKEN = re.compile(
    r"(?P<skip>[\s,;]{1,1000}|\#[^\n]{0,20000})"
    r"|(?P<string>\"(?:[^\"\\\n]|\\[^\n]){0,4000}\"|'(?:[^'\\\n]|\\[^\n]){0,4000}')"
    r"|(?P<number>[-+]?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,30}(?:\.[0-9]{0,30})?(?:[eE][-+]?[0-9]{1,3})?|"
    r"\.[0-9]{1,30}(?:[eE][-+]?[0-9]{1,3})?)[fF]?(?![A-Za-z0-9_]))"
    r"|(?P<word>-?[A-Za-z_][A-Za-z0-9_]{0,200})"
    r"|(?P<sign>[{}\[\]<>:])"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_ESCAPE = re.compile(r"\\(.)")


@dataclass
class Message:
    """Fields in order: each name with all its values, and the character at which it first stands."""

    values: dict[str, list[object]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, value: object, place: int) -> None:
        """Notes one value of a field; fields may repeat."""
        self.values.setdefault(name, []).append(value)
        self.places.setdefault(name, place)

    def plain(self) -> dict[str, list[object]]:
        """Plain dictionaries and lists: every field as the list of its values."""
        return {
            name: [one.plain() if isinstance(one, Message) else one for one in values]
            for name, values in self.values.items()
        }


@dataclass(frozen=True)
class Parsed:
    """A message, where it ends, and what was wrong: `cut` if the text ended within, `wrong` at what it stopped."""

    message: Message
    end: int
    cut: bool = False
    wrong: str = ""


class _Stop(Exception):
    """The text is no longer a message."""


class _Cut(Exception):
    """The text ended inside a message."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


class _Reader:
    def __init__(self, text: str, start: int, known: frozenset[str]) -> None:
        self.text, self.at, self.known, self.count = text, start, known, 0
        self.ahead: _Token | None = None

    def peek(self) -> _Token | None:
        """The next token; None at the end of the text."""
        while self.ahead is None and self.at < len(self.text):
            self.count += 1
            found = _TOKEN.match(self.text, self.at)
            if found is None or self.count > MAX_TOKENS:
                raise _Stop(self.text[self.at : self.at + 20].split("\n")[0])
            self.at = found.end()
            if found.lastgroup and found.lastgroup != "skip":
                self.ahead = _Token(found.lastgroup, found.group(), found.start(), found.end())
        return self.ahead

    def take(self) -> _Token:
        token = self.peek()
        if token is None:
            raise _Cut
        self.ahead = None
        return token

    def fields(self, message: Message, closing: str, depth: int) -> int:
        """Reads fields into a message until it closes (of the outermost: until no known field follows)."""
        end = self.at
        while True:
            token = self.peek()
            if token is None:
                if closing:
                    raise _Cut
                return end
            if closing and token.text == closing:
                return self.take().end
            if not closing and (token.kind != "word" or token.text not in self.known):
                return end
            if token.kind != "word":
                raise _Stop(token.text)
            end = self.one(message, self.take(), depth)

    def one(self, message: Message, name: _Token, depth: int) -> int:
        """One field after its name; gives where it ends."""
        token = self.peek()
        colon = token is not None and token.text == ":"
        if colon:
            self.take()
            token = self.peek()
        if token is None:
            raise _Cut
        if token.text in ("{", "<"):
            return self.nested(message, name, depth)
        if token.text == "[":
            return self.listed(message, name, depth)
        if not colon:
            raise _Stop(token.text)
        message.add(name.text, self.scalar(), name.start)
        return self.last_end

    def nested(self, message: Message, name: _Token, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise _Stop("{")
        inner = Message()
        message.add(name.text, inner, name.start)  # before it is read: what was read of a cut message stays
        closing = "}" if self.take().text == "{" else ">"
        return self.fields(inner, closing, depth + 1)

    def listed(self, message: Message, name: _Token, depth: int) -> int:
        self.take()
        while True:
            token = self.peek()
            if token is None:
                raise _Cut
            if token.text == "]":
                message.values.setdefault(name.text, [])
                message.places.setdefault(name.text, name.start)
                return self.take().end
            if token.text in ("{", "<"):
                self.nested(message, name, depth)
            else:
                message.add(name.text, self.scalar(), name.start)

    def scalar(self) -> Scalar:
        token = self.take()
        self.last_end = token.end
        if token.kind == "string":
            parts = [_unquoted(token.text)]
            while (more := self.peek()) is not None and more.kind == "string":
                self.last_end = more.end
                parts.append(_unquoted(self.take().text))
            return "".join(parts)
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "word":
            return {"true": True, "True": True, "t": True, "false": False, "False": False, "f": False}.get(
                token.text, token.text
            )
        raise _Stop(token.text)

    last_end = 0


def parse(text: str, start: int, known: frozenset[str]) -> Parsed:
    """The message that starts at a character of a text and goes on as long as fields of these names follow."""
    message = Message()
    reader = _Reader(text, start, known)
    try:
        return Parsed(message, reader.fields(message, "", 0))
    except _Cut:
        return Parsed(message, len(text), cut=True)
    except _Stop as stop:
        return Parsed(message, reader.at, wrong=str(stop))


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found.group(1), found.group(1)), text[1:-1])


def _number(text: str) -> int | float:
    plain = text.rstrip("fF") if not text.lower().lstrip("+-").startswith("0x") else text
    try:
        if plain.lower().lstrip("+-").startswith("0x"):
            return int(plain, 16)
        digits = plain.lstrip("+-")
        if digits.isdigit():
            return int(plain, 8) if len(digits) > 1 and digits[0] == "0" else int(plain)
        return float(plain)
    except ValueError:
        return 0.0


def normal(document: Mapping[str, object]) -> dict[str, list[object]]:
    """A JSON object in the form of `Message.plain`: every field as the list of its values."""
    found: dict[str, list[object]] = {}
    for name, value in document.items():
        values = value if isinstance(value, list) else [value]
        found[name] = [normal(one) if isinstance(one, dict) else one for one in values if one is not None]
    return found
