"""`gpuwhy rules new`: a signature with its cases, to start from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.tui.rules_commands.common import close, out, own_pack, shown_folder
from gpuwhy.tui.rules_option import fail, rules_option

if TYPE_CHECKING:
    from gpuwhy.kb.model import FactSpec, KnowledgeBase

_ID = re.compile(r"sig\.([a-z0-9]{1,40})\.([a-z0-9-]{1,60})\Z")
_BESIDE = {"lt": 0.99, "le": 1.01, "gt": 1.01, "ge": 0.99}


@click.command("new")
@click.argument("name", metavar="sig.AREA.SLUG")
@click.option("--title", prompt=True, help="What is the case, in a few words.")
@click.option("--concludes", prompt="Conclusion", help="The conclusion that it recognises.")
@click.option("--fact", prompt="A number that decides it (fact)", help="The fact that decides.")
@click.option("--op", type=click.Choice(sorted(_BESIDE)), prompt="It holds where the fact is", help="lt, le, gt or ge.")
@click.option("--value", type=float, prompt="than (in the unit of the fact)", help="The threshold.")
@click.option("--source", prompt="The number rests on (reference)", help="The id of a reference.")
@rules_option
def new_command(
    name: str, title: str, concludes: str, fact: str, op: str, value: float, source: str, rules: Path | None
) -> None:
    """Write a signature with one threshold, and its cases; what is not given is asked for.

    Its cases lie on the threshold, beside it, and where nothing is known. The rule starts as experimental; nothing that
    exists is overwritten.
    """
    match = _ID.match(name)
    if match is None:
        fail(f"`{name}` is no id of a signature", "sig.<area>.<slug>")
    kb, folder = own_pack(rules)
    for word, known in ((concludes, kb.conclusions), (fact, kb.facts), (source, kb.references)):
        if word not in known:
            fail(f"`{word}` does not exist", close(word, known))
    if not kb.facts[fact].is_number:
        fail(f"`{fact}` is {kb.facts[fact].type}, not a number")
    area, slug = match.groups()
    path = folder / "signatures" / area / f"{slug}.yaml"
    tests = path.with_suffix("").with_suffix(".test.yaml")
    if path.exists() or tests.exists():
        fail(f"{path} exists")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_rule(name, title, concludes, fact, op, value, source), encoding="utf-8")
    tests.write_text(_tests(kb, kb.facts[fact], op, value), encoding="utf-8")
    front = shown_folder(folder)
    for one in (path, tests):
        out(f"wrote {front}{one.relative_to(folder).as_posix()}\n")
    out(f"now: gpuwhy rules test {name}; gpuwhy rules lint\n")


def _rule(name: str, title: str, concludes: str, fact: str, op: str, value: float, source: str) -> str:
    return (
        "# yaml-language-server: $schema=../../schema/v1/signature.schema.json\n"
        f"id: {name}\nversion: 1.0.0\nstatus: experimental\ntitle: {json.dumps(title, ensure_ascii=False)}\n"
        f"concludes: {concludes}\npriority: 50\n"
        f"requires: {{fact: {fact}, op: {op}, value: {value:g}, source: {source}}}\n"
        f'because: ["{title.replace(chr(34), chr(39))}: {{{fact}}}"]\n'
    )


def _tests(kb: KnowledgeBase, fact: FactSpec, op: str, value: float) -> str:
    """On the threshold, on the other side of it, and unknown; beside a threshold of zero there is one."""
    beside = value * _BESIDE[op] if value else (1.0 if op in ("le", "gt") else -1.0)
    on = "likely" if op in ("le", "ge") else "ruled-out"
    off = "ruled-out" if on == "likely" else "likely"
    if value < 0:
        beside = value * (2 - _BESIDE[op])
    return (
        "# yaml-language-server: $schema=../../schema/v1/test.schema.json\ncases:\n"
        f"  - {{name: on the threshold, facts: {{{fact.id}: {value:g}}}, expect: {on}}}\n"
        f"  - {{name: beside the threshold, facts: {{{fact.id}: {beside:.12g}}}, expect: {off}}}\n"
        f"  - {{name: not known, facts: {_without(kb, fact)}\n"
    )


def _without(kb: KnowledgeBase, fact: FactSpec) -> str:
    """The end of a case in which the fact is unknown of something that exists: something else is known of it."""
    unknown = f"expect: unknown, missing: [{fact.id}]}}"
    if fact.entity in ("host", "job"):
        return f"{{}}, {unknown}"
    same = (one for one in kb.facts.values() if one.entity == fact.entity and one.is_number and one.id != fact.id)
    other = next(same, None)
    return "{}, expect: silent}" if other is None else f"{{{other.id}: 1}}, {unknown}"
