"""`gpuwhy rules new`: a signature with its cases, and stubs of the words that it needs, to start from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.kb.records import dataclass
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import own_pack, shown_folder
from gpuwhy.tui.rules_option import close, fail, rules_option

if TYPE_CHECKING:
    from gpuwhy.kb.model import FactSpec, KnowledgeBase

_ID = re.compile(r"sig\.([a-z0-9]{1,40})\.([a-z0-9-]{1,60})\Z")
_REFERENCE = re.compile(r"[a-z0-9][a-z0-9-]{0,80}\Z")
_BESIDE = {"lt": 0.99, "le": 1.01, "gt": 1.01, "ge": 0.99}
_STRENGTHS = ("vendor", "peer", "measured", "heuristic")


@dataclass(frozen=True)
class _Asked:
    """What the new rule says."""

    name: str
    title: str
    concludes: str
    fact: str
    op: str
    value: str
    source: str


@click.command("new")
@click.argument("name", metavar="sig.AREA.SLUG")
@click.option("--title", prompt=True, help="What is the case, in a few words.")
@click.option("--concludes", prompt="Conclusion", help="The conclusion that it recognises; a new one needs --says.")
@click.option("--fact", prompt="A number that decides it (fact)", help="The fact that decides.")
@click.option("--op", type=click.Choice(sorted(_BESIDE)), prompt="It holds where the fact is", help="lt, le, gt or ge.")
@click.option("--value", prompt="than (a number in the fact's unit, or such as 20 %, 2 GiB)", help="The threshold.")
@click.option("--source", prompt="The number rests on (reference)", help="A reference; a new one needs --address.")
@click.option("--address", help="Where a new reference was read: an address.")
@click.option("--strength", type=click.Choice(_STRENGTHS), default="vendor", help="How strong a new reference is.")
@click.option("--says", help="What a new conclusion says, in a sentence.")
@rules_option
def new_command(
    name: str,
    title: str,
    concludes: str,
    fact: str,
    op: str,
    value: str,
    source: str,
    address: str | None,
    strength: str,
    says: str | None,
    rules: Path | None,
) -> None:
    """Write a signature with one threshold, and its cases; what is not given is asked for.

    Its cases lie on the threshold, beside it, and where nothing is known. The rule starts as experimental. A reference
    or conclusion that does not exist yet is added as a stub; nothing else that exists is changed.
    """
    match = _ID.match(name)
    if match is None:
        fail(f"`{name}` is no id of a signature", "sig.<area>.<slug>")
    kb, folder = own_pack(rules)
    spec, number = _threshold(kb, fact, value)
    area, slug = match.groups()
    path = folder / "signatures" / area / f"{slug}.yaml"
    tests = path.with_suffix("").with_suffix(".test.yaml")
    if path.exists() or tests.exists():
        fail(f"{path} exists")
    stubs = [*_conclusion(kb, folder, area, concludes, says), *_reference(kb, folder, area, source, address, strength)]
    for where, text in stubs:
        _append(where, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    schemas = "../../schema/v1/" if (folder / "schema" / "v1").is_dir() else ""
    path.write_text(_rule(_Asked(name, title, concludes, fact, op, value, source), schemas), encoding="utf-8")
    tests.write_text(_tests(kb, spec, op, number, schemas), encoding="utf-8")
    front = shown_folder(folder)
    for one in (*(where for where, _ in stubs), path, tests):
        out(f"wrote {front}{one.relative_to(folder).as_posix()}\n")
    option = "" if rules is None else f" --rules {rules}"
    out(f"now: gpuwhy rules test {name} --coverage{option}; gpuwhy rules lint{option}\n")


def _threshold(kb: KnowledgeBase, fact: str, value: str) -> tuple[FactSpec, float]:
    """The fact that decides, and the threshold in its unit."""
    from gpuwhy.kb.units import UNITS, parse_quantity

    if fact not in kb.facts:
        fail(f"no fact `{fact}`", close(fact, kb.facts) or "`gpuwhy facts WORD` finds facts")
    spec = kb.facts[fact]
    if not spec.is_number:
        fail(f"`{fact}` is {spec.type}, not a number")
    try:
        number: float | None = float(value)
    except ValueError:
        number = parse_quantity(value, spec.unit)
    if number is None or number != number or number in (float("inf"), float("-inf")):
        units = ", ".join(UNITS[spec.unit].spellings) if spec.unit else "none"
        fail(f"`{value}` is no quantity in {spec.unit or 'plain numbers'}", f"a number, with one of: {units}")
    return spec, number


def _conclusion(
    kb: KnowledgeBase, folder: Path, area: str, word: str, says: str | None
) -> list[tuple[Path, tuple[str, str]]]:
    if word in kb.conclusions:
        return []
    own = kb.packs[-1].namespace
    if says is None:
        fail(
            f"no conclusion `{word}`", close(word, kb.conclusions) or "--says adds it, with a sentence of what it says"
        )
    if own and not word.startswith(f"{own}."):
        fail(f"`{word}` is not in the namespace of the pack", f"{own}.{word.replace('.', '-')}")
    entry = (
        f"  - {{id: {word}, kind: cause, says: {_quoted(says)}, collect: {_quoted('Say here what would decide.')}}}\n"
    )
    return [(folder / "conclusions" / f"{area}.yaml", ("conclusions:\n", entry))]


def _reference(
    kb: KnowledgeBase, folder: Path, area: str, word: str, address: str | None, strength: str
) -> list[tuple[Path, tuple[str, str]]]:
    from datetime import date

    own = kb.packs[-1].namespace
    if word in kb.references or f"{own}:{word}" in kb.references:
        return []
    known = [one.rpartition(":")[2] for one in kb.references]
    if address is None:
        fail(f"no reference `{word}`", close(word, known) or "--address adds it, with the page that you read")
    if not _REFERENCE.match(word) or not address.startswith(("https://", "http://", "docs/", "bench/")):
        fail("a reference has an id of small letters and hyphens, and an address such as https://…")
    fields = f"title: {_quoted(word.replace('-', ' '))}, address: {_quoted(address)}"
    entry = f"  - {{id: {word}, {fields}, accessed: {date.today()}, strength: {strength}}}\n"
    return [(folder / "references" / f"{area}.yaml", ("references:\n", entry))]


def _append(path: Path, text: tuple[str, str]) -> None:
    """Put an entry at the end of a file of words; a new file begins with its key."""
    head, entry = text
    before = path.read_text("utf-8") if path.is_file() else head
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before + ("" if before.endswith("\n") else "\n") + entry, encoding="utf-8")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _line(schemas: str, kind: str) -> str:
    return f"# yaml-language-server: $schema={schemas}{kind}.schema.json\n" if schemas else ""


def _rule(asked: _Asked, schemas: str) -> str:
    try:
        value = f"{float(asked.value):.12g}"
    except ValueError:
        value = _quoted(asked.value)
    return (
        f"{_line(schemas, 'signature')}"
        f"id: {asked.name}\nversion: 1.0.0\nstatus: experimental\ntitle: {_quoted(asked.title)}\n"
        f"concludes: {asked.concludes}\npriority: 50\n"
        f"requires: {{fact: {asked.fact}, op: {asked.op}, value: {value}, source: {asked.source}}}\n"
        f'because: ["{asked.title.replace(chr(34), chr(39))}: {{{asked.fact}}}"]\n'
    )


def _tests(kb: KnowledgeBase, fact: FactSpec, op: str, value: float, schemas: str) -> str:
    """On the threshold, on the other side of it, and unknown; beside a threshold of zero there is one."""
    beside = value * _BESIDE[op] if value else (1.0 if op in ("le", "gt") else -1.0)
    on = "likely" if op in ("le", "ge") else "ruled-out"
    off = "ruled-out" if on == "likely" else "likely"
    if value < 0:
        beside = value * (2 - _BESIDE[op])
    return (
        f"{_line(schemas, 'test')}cases:\n"
        f"  - {{name: on the threshold, facts: {{{fact.id}: {value:.12g}}}, expect: {on}}}\n"
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
