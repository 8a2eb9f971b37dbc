"""Pages of rules: conditions with links to facts and to what their numbers rest on, texts, cases, the file itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from gpuwhy.engine.rule_cases import AnyRule, cases_file
from gpuwhy.kb.conditions import All, Comparison, Condition, Not, comparisons
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.model import Derivation, Exclusion, Fix, KnowledgeBase, Selection, Signature, Text, pack_of
from gpuwhy.kb.strict_yaml import loads
from gpuwhy.kb.texts import say
from gpuwhy.kb.thresholds import conditions_of
from gpuwhy.tui.rules_commands.pages import formula
from gpuwhy.tui.rules_site.layout import Links, Page, listed, meta, section, table
from gpuwhy.tui.wording import comparison


def pages(kb: KnowledgeBase, rules: Iterable[AnyRule], links: Links, homes: Mapping[str, Path]) -> Iterator[Page]:
    """A page for each rule; `homes` are the folders of the packs by namespace."""
    maker = _Maker(kb, links)
    for rule in rules:
        home = homes[pack_of(rule.id)]
        yield Page("rules", rule.id, rule.id, maker.body(rule, home), say(rule.title))


class _Maker:
    def __init__(self, kb: KnowledgeBase, links: Links) -> None:
        self.kb = kb
        self.links = links

    def body(self, rule: AnyRule, home: Path) -> str:
        pairs = [
            ("Version", f"{rule.version} <span class=tag>{rule.status}</span>"),
            ("Judged for", f"each {rule.scope}"),
        ]
        pairs += [("Pack", escape(pack_of(rule.id))), ("File", f"<code>{escape(rule.file)}</code>")]
        parts = [f"<p>{escape(say(rule.title))}</p>", meta(pairs)]
        if isinstance(rule, Signature):
            parts += self.signature(rule)
        elif isinstance(rule, Derivation):
            parts += self.derivation(rule)
        elif isinstance(rule, Fix):
            parts += self.fix(rule)
        else:
            parts += self.selection(rule)
        parts += [self.sources(rule), self.cases(rule, home), self.file(rule, home)]
        return "\n".join(part for part in parts if part)

    def signature(self, rule: Signature) -> Iterator[str]:
        spec = self.kb.conclusions.get(rule.concludes)
        told = f": {escape(say(spec.says))}" if spec is not None else ""
        yield section("Concludes", f"<p>{self.links.to(rule.concludes)}{told}</p>")
        yield self.part("In play where", rule.given)
        yield self.part("Requires", rule.requires)
        yield self.part("Confirmed by", rule.confirms)
        if rule.confirms is None:
            yield section("Confirmed by", "<p class=dim>nothing: it is circumstantial, and likely at best</p>")
        yield self.exclusions("Ruled out where", rule.excludes)
        yield section(
            "Supported by", "".join(self.condition(one.when) + self.because(one.because) for one in rule.supports)
        )
        yield section("Says", self.texts(rule.because))
        yield section("Says where it fails", self.texts(rule.refuted))
        yield section("Fixes", self.links.several(fix.id for fix in self.kb.fixes.about(rule.concludes)))

    def derivation(self, rule: Derivation) -> Iterator[str]:
        yield section("Gives", f"<p>{self.links.to(rule.gives)}</p>")
        if rule.formula is not None:
            yield section("Formula", f"<p><code>{self.links.text(formula(rule.formula))}</code></p>")
        if rule.value is not None:
            yield section("Value", f"<p>{escape(str(rule.value))}</p>")
        yield self.part("Where", rule.when)
        if rule.otherwise is not None:
            yield section("Otherwise", f"<p>{escape(str(rule.otherwise))}</p>")

    def fix(self, rule: Fix) -> Iterator[str]:
        yield section("For", self.links.several(rule.conclusions))
        steps = (f"{self.links.text(say(one.says))}{_command(one.command)}" for one in rule.steps)
        yield section("Do", listed(steps))
        told = (("Effect", rule.effect), ("Risk", rule.risk), ("Undo", rule.undo))
        restart = [("Restart", "needed")] if rule.restart else []
        yield meta([*((name, self.links.text(say(text))) for name, text in told), *restart])
        yield self.part("Offered where", rule.when)
        yield self.exclusions("Not where", rule.unless)
        if rule.verify is not None:
            verify = rule.verify
            yield section("Verify", f"<p>{self.links.text(say(verify.says))}</p>{_command(verify.command)}")

    def selection(self, rule: Selection) -> Iterator[str]:
        yield section("Then", f"<p>{escape(rule.then)}</p>")
        yield self.part("Where", rule.when)
        yield section("Says", f"<p>{self.links.text(say(rule.because))}</p>")
        if rule.claim is not None:
            yield section("Claim", f"<p><code>{escape(rule.claim)}</code></p>")

    def part(self, title: str, condition: Condition | None) -> str:
        return "" if condition is None else section(title, self.condition(condition))

    def exclusions(self, title: str, found: Iterable[Exclusion]) -> str:
        parts = []
        for one in found:
            unknown = "while unknown: likely at best" if one.demotes else "while unknown: nothing"
            parts.append(f"{self.condition(one.when)}{self.because(one.because)}<p class=dim>{unknown}</p>")
        return section(title, "".join(parts))

    def because(self, text: Text) -> str:
        return f"<p>because {self.links.text(say(text))}</p>" if text else ""

    def texts(self, found: Iterable[Text]) -> str:
        return listed(self.links.text(say(text)) for text in found)

    def condition(self, condition: Condition) -> str:
        return f"<ul><li>{self.tree(condition)}</li></ul>"

    def tree(self, condition: Condition) -> str:
        if isinstance(condition, Comparison):
            return self.comparison(condition)
        if isinstance(condition, Not):
            return f"not<ul><li>{self.tree(condition.part)}</li></ul>"
        word = "all of" if isinstance(condition, All) else "any of"
        return word + listed(self.tree(part) for part in condition.parts)

    def comparison(self, one: Comparison) -> str:
        spec = self.kb.facts.get(one.ref.fact)
        counted = one.ref.over is not None and one.ref.over.value == "count"
        text = self.links.text(comparison(one, None if spec is None or counted else spec.unit))
        if one.source is None or one.source == "definition":
            return text
        return f"{text} <span class=dim>({self.links.to(one.source)})</span>"

    def sources(self, rule: AnyRule) -> str:
        used = [one.source for tree in conditions_of(rule) for one in comparisons(tree) if one.source]
        ids = [one for one in dict.fromkeys([*rule.references, *used]) if one != "definition"]
        found = (
            f"{self.links.to(one)} {escape(self.kb.references[one].title)} "
            f"<span class=dim>({self.kb.references[one].strength}, {self.kb.references[one].accessed})</span>"
            for one in ids
        )
        return section("Rests on", listed(found))

    def cases(self, rule: AnyRule, home: Path) -> str:
        """The cases as they are written; a file that cannot be read is for `rules lint`."""
        path = home / cases_file(rule)
        try:
            plain = loads(path.read_bytes(), path.name).data["cases"] if path.is_file() else []
        except (KnowledgeError, OSError, KeyError, TypeError):
            return ""
        rows = ((escape(str(one.get("name"))), self.given(one), escape(_flat(one.get("expect")))) for one in plain)
        return section("Cases", table(("case", "facts", "expected"), rows))

    def given(self, case: Mapping[str, Any]) -> str:
        facts = {**case.get("facts", {}), **case.get("series", {})}
        recorded = f"<div>recorded: {escape(str(case['snapshot']))}</div>" if "snapshot" in case else ""
        lines = (f"<div>{self.links.text(name)} = {escape(_flat(value))}</div>" for name, value in facts.items())
        return recorded + "".join(lines)

    def file(self, rule: AnyRule, home: Path) -> str:
        text = (home / rule.file).read_text("utf-8", "replace")
        return f"<details><summary>{escape(rule.file)}</summary><pre>{self.links.text(text)}</pre></details>"


def _command(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text else ""


def _flat(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(_flat, value)) if isinstance(value, list) else str(value)
