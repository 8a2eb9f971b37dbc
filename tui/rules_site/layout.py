"""What all pages of the site share: the frame, links between pages, texts in which known words are links.

Everything that comes from rules is escaped here. Pages load nothing but the style sheet and the two scripts beside
them, so that the site works from a folder, without a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from urllib.parse import quote

from gpuwhy.kb.records import dataclass

KINDS = {
    "rules": "Rules",
    "facts": "Facts",
    "conclusions": "Conclusions",
    "references": "References",
    "machines": "Machine types",
}
"""The folders of the site and their titles."""

_WORD = re.compile(r"(?<![\w.:/-])[a-z][a-z0-9_:-]{1,40}(?:\.[a-z0-9_-]{1,80}){1,6}(?![\w/])")
_ADDRESS = re.compile(r"https?://[^\s<>\"']{1,400}")


@dataclass(frozen=True)
class Page:
    """A page to write: its folder and name, its title and its body in HTML; `words` are what search finds it by."""

    kind: str
    name: str
    title: str
    body: str
    words: str

    @property
    def path(self) -> str:
        """Where the page stands in the site."""
        return f"{self.kind}/{file_name(self.name)}"


class Links:
    """Which words have a page, and how to link to them from a page one folder deep."""

    def __init__(self, pages: Mapping[str, Iterable[str]]) -> None:
        self._kind = {name: kind for kind, names in pages.items() for name in names}

    def to(self, name: str, shown: str | None = None) -> str:
        """A link to the page of a word; the word alone where it has none."""
        text = f"<code>{escape(shown or name)}</code>"
        kind = self._kind.get(name)
        return text if kind is None else f'<a href="../{kind}/{quote(file_name(name))}">{text}</a>'

    def several(self, names: Iterable[str]) -> str:
        """A list of links."""
        return listed(self.to(name) for name in names)

    def text(self, text: str) -> str:
        """A text in which words that have a page, and addresses, are links."""
        parts, end = [], 0
        for match in re.finditer(f"{_ADDRESS.pattern}|{_WORD.pattern}", text):
            word = match.group()
            if word.startswith("http"):
                link = address(word.rstrip(".,;)"), word)
            elif word.rstrip(".") in self._kind:
                link = self.to(word)
            else:
                continue
            parts += [escape(text[end : match.start()]), link]
            end = match.end()
        return "".join([*parts, escape(text[end:])])


def file_name(name: str) -> str:
    """The file of a word's page; the namespace of a pack is set off by two hyphens."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name.replace(":", "--")) + ".html"


def address(target: str, shown: str | None = None) -> str:
    """A link out of the site; anything but http is shown, not linked."""
    text = escape(shown or target)
    return f'<a href="{escape(target)}" rel="noopener">{text}</a>' if target.startswith("http") else text


def listed(items: Iterable[str]) -> str:
    """Items of HTML as a list; empty where there are none."""
    found = "".join(f"<li>{one}</li>" for one in items)
    return f"<ul>{found}</ul>" if found else ""


def section(title: str, body: str) -> str:
    """A section with a heading; nothing where it is empty."""
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of HTML cells; empty where there are no rows."""
    found = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    names = "".join(f"<th>{escape(one)}</th>" for one in head)
    return (
        f'<div class="wide"><table><thead><tr>{names}</tr></thead><tbody>{found}</tbody></table></div>' if found else ""
    )


def meta(pairs: Iterable[tuple[str, str]]) -> str:
    """What a page is about, as pairs of a name and HTML."""
    found = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in pairs if value)
    return f"<dl>{found}</dl>" if found else ""


def framed(title: str, body: str, stamp: str, up: str) -> str:
    """A whole page; `up` leads to the top of the site, `stamp` says which rules it is made from."""
    tabs = "".join(f'<a href="{up}{kind}/index.html">{name}</a>' for kind, name in KINDS.items())
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{up}style.css"></head>\n<body data-up="{up}">'
        f'<header><nav><a class="home" href="{up}index.html">gpuwhy rules</a>{tabs}</nav>'
        '<div class="search"><input type="search" id="search" placeholder="Search rules, facts, machines  ( / )" '
        'aria-label="Search" autocomplete="off"><ol id="found" hidden></ol></div></header>\n'
        f"<main><h1>{escape(title)}</h1>\n{body}\n</main>\n<footer>{escape(stamp)}</footer>"
        f'<script src="{up}search-index.js"></script><script src="{up}search.js"></script></body></html>\n'
    )
