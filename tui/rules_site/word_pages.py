"""Pages of facts, conclusions and references: what they say, and every rule that gives, reads or rests on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from gpuwhy.engine.rule_cases import AnyRule
from gpuwhy.kb.conditions import comparisons
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.texts import say
from gpuwhy.kb.thresholds import conditions_of
from gpuwhy.tui.rules_commands.graph import edges
from gpuwhy.tui.rules_commands.svg import drawn
from gpuwhy.tui.rules_site.layout import Links, Page, address, file_name, listed, meta, section, table


def facts(kb: KnowledgeBase, links: Links) -> Iterator[Page]:
    """A page for each fact."""
    groups = (kb.derivations, kb.signatures, kb.fixes, kb.selections)
    readers: dict[str, list[str]] = {}
    for group in groups:
        for outline in group.outlines:
            for fact in outline.reads:
                readers.setdefault(fact, []).append(outline.id)
    givers: dict[str, list[str]] = {}
    for outline in kb.derivations.outlines:
        givers.setdefault(outline.about[0], []).append(outline.id)
    for name, spec in kb.facts.items():
        takes = spec.unit or ", ".join(spec.choices) or spec.type
        ways = (
            (escape(one.effort), escape(say(one.says)), f"<code>{escape(one.command)}</code>") for one in spec.obtain
        )
        body = (
            f"<p>{links.text(say(spec.says))}</p>"
            + meta([("Of", f"a {spec.entity}"), ("Type", spec.type), ("Takes", escape(takes))])
            + section("Asked as", f"<p>{escape(say(spec.ask))}</p>" if spec.ask else "")
            + section("Answers", table(("value", "means"), ((escape(str(one.value)), escape(say(one.says)))
                                                            for one in spec.answers)))
            + section("How to learn it", table(("effort", "how", "command"), ways))
            + section("Derived by", links.several(dict.fromkeys(givers.get(name, ()))))
            + section("Read by", links.several(dict.fromkeys(readers.get(name, ()))))
        )  # fmt: skip
        yield Page("facts", name, name, body, say(spec.says))


def conclusions(kb: KnowledgeBase, links: Links) -> Iterator[Page]:
    """A page for each conclusion, with a drawing of what leads to it."""
    behind: dict[str, list[str]] = {}
    for name, spec in kb.conclusions.items():
        for one in spec.explains:
            behind.setdefault(one, []).append(name)
    for name, spec in kb.conclusions.items():
        found = list(dict.fromkeys(edges(kb, [name])))
        picture = drawn(found, lambda word: f"../{_folder(kb, word)}/{file_name(word)}")
        collect = f"<p>{links.text(say(spec.collect))}</p>" if spec.collect else ""
        body = (
            f"<p>{links.text(say(spec.says))}</p>"
            + meta([("Kind", spec.kind)])
            + section("What would decide", collect)
            + section("Concluded by", links.several(one.id for one in kb.signatures.about(name)))
            + section("Explains", links.several(spec.explains))
            + section("Explained by", links.several(behind.get(name, ())))
            + section("Fixes", _fixes(kb, name, links))
            + section("What leads to it", f'<div class="wide">{picture}</div>' if picture else "")
        )
        yield Page("conclusions", name, name, body, say(spec.says))


def _fixes(kb: KnowledgeBase, name: str, links: Links) -> str:
    return listed(f"{links.to(fix.id)} {escape(say(fix.title))}" for fix in kb.fixes.about(name))


def _folder(kb: KnowledgeBase, word: str) -> str:
    return "facts" if word in kb.facts else "conclusions" if word in kb.conclusions else "rules"


def references(kb: KnowledgeBase, rules: Iterable[AnyRule], links: Links) -> Iterator[Page]:
    """A page for each reference, with the rules whose numbers rest on it."""
    used: dict[str, list[str]] = {}
    for rule in rules:
        sources = [one.source for tree in conditions_of(rule) for one in comparisons(tree) if one.source]
        for one in dict.fromkeys([*rule.references, *sources]):
            used.setdefault(one, []).append(rule.id)
    for name, reference in kb.references.items():
        pairs = [
            ("Address", address(reference.address)),
            ("Strength", reference.strength),
            ("Read", reference.accessed),
        ]
        body = (
            f"<p>{escape(reference.title)}</p>"
            + meta([*pairs, ("To be looked at again", reference.review_by)])
            + section("Says", f"<p>{links.text(reference.says)}</p>" if reference.says else "")
            + section("Rules that rest on it", links.several(used.get(name, ())))
        )
        yield Page("references", name, name, body, f"{reference.title} {reference.says}")
