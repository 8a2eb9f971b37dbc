"""The document that a collector prints on a host: found among whatever else the login printed, checked, taken apart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from gpuwhy.kb.records import dataclass, field

MAX_ENTRIES = 20_000
_BEGIN = b"<<gpuwhy %s begin "
_END = re.compile(rb"end bytes=(\d{1,10}) sha256=([0-9a-f]{64}|-)>>")
_SECTION = re.compile(rb"section\t([^\t\n]{1,1200})\t(-?\d{1,5})\t(\d{1,10})\Z")
_NAMED = re.compile(rb"(absent|link)\t([^\t\n]{1,1200})\t([^\t\n]{0,1200})\Z")


class Damaged(Exception):
    """The document is not there, or not whole; `begun` says whether its beginning was there."""

    def __init__(self, message: str, begun: bool) -> None:
        super().__init__(message)
        self.begun = begun


@dataclass(frozen=True)
class Section:
    """What a command printed (with its exit status), or the text of a file (status 0)."""

    content: bytes
    status: int


@dataclass(frozen=True)
class Document:
    """All sections by name, why others are absent, and symbolic links. `collector` is `python` or `sh`."""

    collector: str
    sections: dict[str, Section] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


def parse(output: bytes, token: str) -> Document:
    """The document with this token in what a login printed. Raises `Damaged` if it is missing, cut short or altered."""
    mark = _BEGIN % token.encode("ascii")
    at = output.find(mark)
    if at < 0:
        raise Damaged("the host printed no document", begun=False)
    line_end = output.find(b">>\n", at)
    if line_end < 0:
        raise Damaged("the document is cut short in its first line", begun=True)
    collector = output[at + len(mark) : line_end].decode("ascii", "replace")
    body = _body(output[line_end + 3 :], token)
    return _document("python" if collector == "python" else "sh", body)


def _body(rest: bytes, token: str) -> bytes:
    """The bytes between the marks: as many as announced, with the announced digest."""
    mark = f"\n<<gpuwhy {token} ".encode("ascii")
    at = rest.rfind(mark)
    found = _END.match(rest, at + len(mark)) if at >= 0 else None
    if found is None:
        raise Damaged(f"the document is cut short after {len(rest)} bytes", begun=True)
    body, size, digest = rest[:at], int(found[1]), found[2].decode("ascii")
    if len(body) != size:
        raise Damaged(f"the document has {len(body)} bytes and should have {size}", begun=True)
    if digest not in ("-", hashlib.sha256(body).hexdigest()):
        raise Damaged("the document was altered on its way: its SHA-256 is another", begun=True)
    return body


def _document(collector: str, body: bytes) -> Document:
    document = Document(collector)
    for kind, name, value in _entries(body):
        if isinstance(value, Section):
            document.sections.setdefault(name, value)
        elif kind == "absent":
            document.absent.setdefault(name, value)
        else:
            document.links.setdefault(name, value)
    return document


def _entries(body: bytes) -> Iterator[tuple[str, str, Section | str]]:
    at = 0
    for _ in range(MAX_ENTRIES):
        if at >= len(body):
            return
        line_end = body.find(b"\n", at)
        line = body[at : line_end if line_end >= 0 else len(body)]
        after = at + len(line) + 1
        section, named = _SECTION.match(line), _NAMED.match(line)
        if section is not None:
            size = int(section[3])
            if after + size > len(body):
                raise Damaged(f"the section {_text(section[1])} is cut short", begun=True)
            yield "section", _text(section[1]), Section(body[after : after + size], int(section[2]))
            after += size + 1
        elif named is not None:
            yield named[1].decode("ascii"), _text(named[2]), _text(named[3])
        else:
            raise Damaged("the document has a line that is no heading where one should be", begun=True)
        at = after


def _text(raw: bytes) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in raw.decode("utf-8", "replace"))
