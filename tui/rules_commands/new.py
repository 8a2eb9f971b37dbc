"""`gpuwhy rules new`: a signature with its cases, and stubs of the words that it needs, to start from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
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


@dataclass(frozen=True)
class _Stub:
    """What a new conclusion or reference says, as far as it was given."""

    says: str | None
    collect: str | None
    address: str | None
    strength: str


@click.command("new")
@click.argument("name", metavar="sig.AREA.SLUG")
@click.option("--title", help="What is the case, in a few words.")
@click.option("--concludes", help="The conclusion that it recognises; a new one needs --says.")
@click.option("--fact", help="The fact that decides, a number.")
@click.option("--op", help="It holds where the fact is lt, le, gt or ge the threshold.")
@click.option("--value", help="The threshold.")
@click.option("--source", help="What the threshold rests on: a reference; a new one needs --address.")
@click.option("--address", help="Where a new reference was read: an address.")
@click.option("--strength", type=click.Choice(_STRENGTHS), default="vendor", help="How strong a new reference is.")
@click.option("--says", help="What a new conclusion says, in a sentence.")
@click.option("--collect", help="What would decide a new conclusion, where nothing mends it: a reading, a command.")
@rules_option
def new_command(
    name: str,
    title: str | None,
    concludes: str | None,
    fact: str | None,
    op: str | None,
    value: str | None,
    source: str | None,
    address: str | None,
    strength: str,
    says: str | None,
    collect: str | None,
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
    area, slug = match.groups()
    path = folder / "signatures" / area / f"{slug}.yaml"
    tests = path.with_suffix("").with_suffix(".test.yaml")
    if path.exists() or tests.exists():
        fail(f"{path} exists")
    stub = _Stub(says, collect, address, strength)
    title = _answer(title, "What is the case, in a few words", str.strip)
    concludes, told = _conclusion(kb, folder / "conclusions" / f"{area}.yaml", concludes, stub)
    spec = kb.facts[_answer(fact, "The fact that decides, a number", lambda word: _number(kb, word))]
    op = _answer(op, f"It holds where the fact is ({', '.join(_BESIDE)})", _operator)
    value = _answer(value, f"… than the threshold{_example(spec)}", lambda text: _quantity(spec, text))
    source, rests = _reference(kb, folder / "references" / f"{area}.yaml", source, stub)
    for where, text in (*told, *rests):
        _append(where, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    schemas = "../../schema/v1/" if (folder / "schema" / "v1").is_dir() else ""
    path.write_text(_rule(_Asked(name, title, concludes, spec.id, op, value, source), schemas), encoding="utf-8")
    tests.write_text(_tests(kb, spec, op, _parsed(spec, value), schemas), encoding="utf-8")
    front = shown_folder(folder)
    for one in (*(where for where, _ in (*told, *rests)), path, tests):
        out(f"wrote {front}{one.relative_to(folder).as_posix()}\n")
    option = "" if rules is None else f" --rules {rules}"
    out(f"now: gpuwhy rules test {name} --coverage{option}; gpuwhy rules lint{option}\n")


def _answer(given: str | None, question: str, fit: Callable[[str], str]) -> str:
    """What was given; else what is answered, asked again until it fits. Ends the process if what was given does not."""
    if given is None:
        return str(click.prompt(question, value_proc=fit))
    try:
        return fit(given)
    except click.BadParameter as error:
        fail(error.message)


def _number(kb: KnowledgeBase, word: str) -> str:
    if word not in kb.facts:
        raise click.BadParameter(f"no fact `{word}` ({close(word, kb.facts) or '`gpuwhy facts WORD` finds facts'})")
    if not kb.facts[word].is_number:
        raise click.BadParameter(
            f"`{word}` is {kb.facts[word].type}, not a number: docs/rules.md says how a rule asks for that"
        )
    return word


def _operator(word: str) -> str:
    if word not in _BESIDE:
        raise click.BadParameter(f"`{word}` is none of {', '.join(_BESIDE)}")
    return word


def _example(spec: FactSpec) -> str:
    return f" (a number of {spec.unit})" if spec.unit else ""


def _parsed(spec: FactSpec, text: str) -> float:
    """A threshold in the unit of its fact. Raises `click.BadParameter`."""
    from gpuwhy.kb.units import UNITS, parse_quantity

    try:
        number: float | None = float(text)
    except ValueError:
        number = parse_quantity(text, spec.unit)
    if number is None or not math.isfinite(number):
        units = ", ".join(UNITS[spec.unit].spellings) if spec.unit else "none"
        what = spec.unit or "plain numbers"
        raise click.BadParameter(f"`{text}` is no quantity in {what} (a number, with one of: {units})")
    return number


def _quantity(spec: FactSpec, text: str) -> str:
    _parsed(spec, text)
    return text


_Entries = list[tuple[Path, tuple[str, str]]]
"""What is to be put at the end of files of words: the file, its key, the entry."""


def _conclusion(kb: KnowledgeBase, path: Path, given: str | None, stub: _Stub) -> tuple[str, _Entries]:
    """The conclusion, and its entry if it is new."""

    def fit(word: str) -> str:
        own = kb.packs[-1].namespace
        if word not in kb.conclusions and own and not word.startswith(f"{own}."):
            told = close(word, kb.conclusions) or f"a new one: {own}.{word.replace('.', '-')}"
            raise click.BadParameter(f"`{word}` is no conclusion, nor in the namespace of the pack ({told})")
        return word

    kind = _Kind("conclusion", "that it recognises", "What does it say, in a sentence", "--says adds it")
    word, says = _known_or_new(kb.conclusions, given, kind, fit, stub.says)
    if says is None:
        return word, []
    collect = stub.collect
    if collect is None and given is None:
        question = "What would decide it, a reading or a command (may be empty)"
        collect = click.prompt(question, default="", show_default=False)
    more = f", collect: {_quoted(collect)}" if collect else ""
    return word, [(path, ("conclusions:\n", f"  - {{id: {word}, kind: cause, says: {_quoted(says)}{more}}}\n"))]


def _reference(kb: KnowledgeBase, path: Path, given: str | None, stub: _Stub) -> tuple[str, _Entries]:
    """The reference, and its entry if it is new."""
    from datetime import date

    known = {one.rpartition(":")[2] for one in kb.references}

    def fit(word: str) -> str:
        if word not in known and not _REFERENCE.match(word):
            raise click.BadParameter(f"`{word}` is no name of a reference: small letters, digits and hyphens")
        return word

    kind = _Kind("reference", "that the threshold rests on", "Where was it read (https://…)", "--address adds it")
    word, address = _known_or_new(known, given, kind, fit, stub.address)
    if address is None:
        return word, []
    if not address.startswith(("https://", "http://", "docs/", "bench/")):
        fail(f"`{address}` is no address", "such as https://…")
    fields = f"title: {_quoted(word.replace('-', ' '))}, address: {_quoted(address)}"
    entry = f"  - {{id: {word}, {fields}, accessed: {date.today()}, strength: {stub.strength}}}\n"
    return word, [(path, ("references:\n", entry))]


@dataclass(frozen=True)
class _Kind:
    """A kind of words: what it is called and what for, what is asked of a new one, how an option adds it."""

    name: str
    meant: str
    asks: str
    option: str


def _known_or_new(
    known: Collection[str], given: str | None, kind: _Kind, fit: Callable[[str], str], text: str | None
) -> tuple[str, str | None]:
    """A word, and the text that a new one comes with; None for a known one.

    Where the word was asked for, its text is too, and an empty one leads back to the word.
    """
    while True:
        word = _answer(given, f"The {kind.name} {kind.meant}", fit)
        if word in known:
            return word, None
        similar = close(word, known)
        if text is None and given is not None:
            fail(f"no {kind.name} `{word}`", similar or kind.option)
        if text is None:
            new = f"`{word}` is new" + (f" ({similar})" if similar else "")
            text = click.prompt(f"{new}. {kind.asks}; empty: another one", default="", show_default=False) or None
        if text is not None:
            return word, text


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
