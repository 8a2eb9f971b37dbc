"""The whole site: all pages, their lists, and what search looks through, written into a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from gpuwhy.engine.rule_cases import rules_of
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.tui import rules_stamp
from gpuwhy.tui.rules_site import machine_pages, rule_pages, word_pages
from gpuwhy.tui.rules_site.layout import KINDS, Links, Page, file_name, framed, section, table

ASSETS = ("style.css", "search.js")
MARK = "made-by-gpuwhy-rules-docs"
"""A file in the site that tells it from a folder of something else."""


class NotASite(ValueError):
    """A folder that holds something else than such a site; it is left alone."""


def write(kb: KnowledgeBase, stack: Sequence[Path], into: Path) -> int:
    """Write the site of packs; how many pages it has.

    What an earlier run wrote there goes. Raises `NotASite` for a folder with other files, `OSError` where it cannot
    be written.
    """
    _empty(into)
    pages = _pages(kb, stack)
    stamp = f"Made from {rules_stamp.packs(kb)}, digest {rules_stamp.digest(kb)}"
    for kind, title in KINDS.items():
        (into / kind).mkdir(parents=True)
        those = [page for page in pages if page.kind == kind]
        (into / kind / "index.html").write_text(framed(title, _list(those), stamp, "../"), "utf-8")
    for page in pages:
        (into / page.path).write_text(framed(page.title, page.body, stamp, "../"), "utf-8")
    (into / "index.html").write_text(framed("What gpuwhy knows", _start(kb, pages), stamp, ""), "utf-8")
    (into / "search-index.js").write_text(_index(pages), "utf-8")
    for name in ASSETS:
        shutil.copyfile(Path(__file__).parent / name, into / name)
    return len(pages)


def _empty(into: Path) -> None:
    if into.exists() and any(into.iterdir()):
        if not (into / MARK).is_file():
            raise NotASite(f"{into} holds other files")
        for name in (*KINDS, "index.html", "search-index.js", *ASSETS):
            path = into / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    into.mkdir(parents=True, exist_ok=True)
    (into / MARK).write_text("This folder is written anew by every run.\n", "utf-8")


def _pages(kb: KnowledgeBase, stack: Sequence[Path]) -> list[Page]:
    rules = rules_of(kb)
    links = Links(
        {
            "rules": [rule.id for rule in rules],
            "facts": kb.facts,
            "conclusions": kb.conclusions,
            "references": kb.references,
            "machines": machine_pages.names(kb),
        }
    )
    homes = {pack.namespace: folder for pack, folder in zip(kb.packs, stack, strict=True)}
    return [
        *rule_pages.pages(kb, rules, links, homes),
        *word_pages.facts(kb, links),
        *word_pages.conclusions(kb, links),
        *word_pages.references(kb, rules, links),
        *machine_pages.pages(kb, links),
    ]


def _list(pages: Iterable[Page]) -> str:
    """Pages by area: the second part of the id of a rule, the first of other words."""
    areas: dict[str, list[Page]] = {}
    for page in sorted(pages, key=lambda one: one.name):
        parts = page.name.split(".")
        areas.setdefault(parts[1] if page.kind == "rules" else parts[0] if len(parts) > 1 else "all", []).append(page)
    return "".join(
        section(area, table((), ((_link(page), escape(page.words)) for page in those)))
        for area, those in sorted(areas.items())
    )


def _link(page: Page) -> str:
    return f'<a href="{escape(file_name(page.name))}"><code>{escape(page.name)}</code></a>'


def _start(kb: KnowledgeBase, pages: Sequence[Page]) -> str:
    counts = (
        (f'<a href="{kind}/index.html">{title}</a>', str(sum(page.kind == kind for page in pages)))
        for kind, title in KINDS.items()
    )
    packs = (
        (escape(one.name), escape(one.version), f"<code>{one.digest[:12]}</code>", escape(one.namespace or "none"))
        for one in kb.packs
    )
    aside = "".join(f"<p>{escape(text)}</p>" for text in rules_stamp.set_aside(kb))
    return (
        "<p>Everything that a diagnosis, a choice of a machine or an audit rests on: rules with the sources of their "
        "numbers, the words they are written in, and the machines they know.</p>"
        + table(("pages", "number"), counts)
        + section("Packs", table(("pack", "version", "digest", "namespace"), packs))
        + section("Set aside", aside)
    )


def _index(pages: Iterable[Page]) -> str:
    """The entries of search as a script: a page opened from a folder cannot fetch a file."""
    entries = [[page.name, KINDS[page.kind], page.path, page.words] for page in pages]
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return f"window.SEARCH_INDEX={text.replace(chr(0x2028), '').replace(chr(0x2029), '')};\n"
