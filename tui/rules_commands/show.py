"""`gpuwhy rules list` and `gpuwhy rules show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import chosen, readable_cases, shown_folder
from gpuwhy.tui.rules_option import close, fail, kb_option, knowledge, packs, rules_option

if TYPE_CHECKING:
    from gpuwhy.engine.rule_cases import AnyRule
    from gpuwhy.kb.model import KnowledgeBase


@click.command("list")
@click.argument("names", nargs=-1)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rules_option
@kb_option
def list_command(names: tuple[str, ...], form: str, rules: Path | None, revision: str | None) -> None:
    """List rules with version, status and title. NAMES: ids, patterns (sig.oom.*), areas (oom), files."""
    from gpuwhy.engine.rule_cases import rules_of
    from gpuwhy.kb.texts import say
    from gpuwhy.tui.wording import wrapped

    kb = knowledge(rules, revision)
    found = chosen(rules_of(kb), names)
    if form == "json":
        out(json.dumps([_entry(one) for one in found], indent=1, ensure_ascii=False) + "\n")
        return
    for one in found:
        status = "" if one.status == "stable" else f" {one.status}"
        lines = wrapped(f"{one.id} {one.version}{status}", "", "    ", 80)
        out("\n".join([*lines, *wrapped(say(one.title), "    ", "    ", 80)]) + "\n")


def _entry(rule: AnyRule) -> dict[str, object]:
    from gpuwhy.kb.texts import say

    return {
        "id": rule.id,
        "version": rule.version,
        "status": rule.status,
        "title": say(rule.title),
        "file": rule.file,
        "about": list(_about(rule)),
    }


def _about(rule: AnyRule) -> tuple[str, ...]:
    """The conclusion, fact or conclusions that a rule is about."""
    from gpuwhy.kb.model import Derivation, Fix, Signature

    if isinstance(rule, Signature):
        return (rule.concludes,)
    if isinstance(rule, Derivation):
        return (rule.gives,)
    return rule.conclusions if isinstance(rule, Fix) else ()


@click.command("show")
@click.argument("name")
@rules_option
@kb_option
def show_command(name: str, rules: Path | None, revision: str | None) -> None:
    """Show a rule, a fact, a conclusion or a reference: what it says, rests on, and is used by."""
    from gpuwhy.engine.rule_cases import rules_of
    from gpuwhy.kb.model import pack_of
    from gpuwhy.tui.rules_commands import pages

    kb, folders = packs(rules, revision)
    if name in kb.facts or name in kb.conclusions or name in kb.references:
        out(pages.of_word(kb, name))
        return
    known = [rule.id for rule in rules_of(kb)]
    if name not in {*known, *(one.rpartition(":")[2] for one in known)} and "/" not in name and "*" not in name:
        fail(f"no rule, fact, conclusion or reference `{name}`", close(name, _words(kb, known)))
    homes = {pack.namespace: folder for pack, folder in zip(kb.packs, folders, strict=True)}
    found = chosen(rules_of(kb), [name])
    for number, rule in enumerate(found):
        home = homes[pack_of(rule.id)]
        with readable_cases(shown_folder(home)):
            out("\n" * (number > 0) + pages.of_rule(kb, rule, home))


def _words(kb: KnowledgeBase, known: list[str]) -> list[str]:
    return [*known, *kb.facts, *kb.conclusions, *kb.references]
