"""`gpuwhy rules graph`: what leads to what, as Mermaid, DOT or SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.svg import Edge, drawn
from gpuwhy.tui.rules_option import close, fail, kb_option, knowledge, rules_option

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase


@click.command("graph")
@click.argument("names", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["mermaid", "dot", "svg"]), default="mermaid", show_default=True)
@rules_option
@kb_option
def graph_command(names: tuple[str, ...], form: str, rules: Path | None, revision: str | None) -> None:
    """Draw what leads to conclusions: facts, derivations, signatures, conclusions, fixes. NAMES: conclusions or areas.

    Mermaid is what GitHub and GitLab draw in Markdown; an SVG is a picture by itself.
    """
    kb = knowledge(rules, revision)
    wanted = [one for one in kb.conclusions if one in names or one.split(".")[0] in names]
    unknown = [one for one in names if not any(word == one or word.split(".")[0] == one for word in wanted)]
    if unknown:
        fail(f"no conclusion `{unknown[0]}`", close(unknown[0], kb.conclusions))
    found = list(dict.fromkeys(edges(kb, wanted)))
    if form == "svg":
        out(drawn(found, style=True) + "\n")
    else:
        out(_mermaid(found) if form == "mermaid" else _dot(found))


def edges(kb: KnowledgeBase, conclusions: list[str]) -> list[Edge]:
    """What leads to these conclusions, back to the facts that are read, and the fixes that they lead to."""
    found: list[Edge] = []
    facts: list[str] = []
    for word in conclusions:
        for signature, outline in zip(kb.signatures, kb.signatures.outlines, strict=True):
            if signature.concludes == word:
                found += [(fact, signature.id, "read") for fact in outline.reads]
                found.append((signature.id, word, "concludes"))
                facts += outline.reads
        found += [(word, one, "explains") for one in kb.conclusions[word].explains]
        found += [(word, fix.id, "fixed by") for fix in kb.fixes.about(word)]
    seen: set[str] = set()
    while facts:
        fact = facts.pop()
        if fact in seen:
            continue
        seen.add(fact)
        for outline in kb.derivations.outlines:
            if outline.about[0] == fact:
                found += [(one, outline.id, "read") for one in outline.reads]
                found.append((outline.id, fact, "gives"))
                facts += outline.reads
    return found


def _mermaid(edges: list[Edge]) -> str:
    names = {name: f"n{number}" for number, name in enumerate(dict.fromkeys(one for edge in edges for one in edge[:2]))}
    lines = ["flowchart LR", *(f'  {key}["{name}"]' for name, key in names.items())]
    lines += [f"  {names[start]} -->|{word}| {names[end]}" for start, end, word in edges]
    return "\n".join(lines) + "\n"


def _dot(edges: list[Edge]) -> str:
    lines = ["digraph rules {", "  rankdir=LR; node [shape=box];"]
    lines += [f'  "{start}" -> "{end}" [label="{word}"];' for start, end, word in edges]
    return "\n".join([*lines, "}"]) + "\n"
