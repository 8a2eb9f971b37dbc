"""`gpuwhy rules suggest`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.kb.units import parse_quantity
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import FINE, FOUND, chosen, own_pack, own_rules, readable_cases, shown_folder
from gpuwhy.tui.rules_option import rules_option

if TYPE_CHECKING:
    from gpuwhy.engine.rule_suggest import Suggestion
    from gpuwhy.kb.facts import Entity, Fact, Value
    from gpuwhy.kb.model import FactSpec, KnowledgeBase

HEAD = "# yaml-language-server: $schema=../../schema/v1/test.schema.json\ncases:\n"

_PLAIN = re.compile(r"[A-Za-z<>=][A-Za-z0-9 ._%/+<>=-]{0,200}(?<! )\Z")
_NOT_PLAIN = ("true", "false", "yes", "no", "on", "off", "y", "n", "null", "inf", "nan")


@click.command("suggest")
@click.argument("names", nargs=-1)
@click.option("--write", is_flag=True, help="Append them to the files of cases, for you to read.")
@rules_option
@click.pass_context
def suggest_command(context: click.Context, names: tuple[str, ...], write: bool, rules: Path | None) -> None:
    """Suggest cases that would notice what none does: changes that survive `mutate`, gaps that `test --coverage` names.

    A suggested case says what the rule says now: read each, and keep it only if the rule is right to say so. Nothing is
    written unless --write is given. NAMES: ids, patterns (sig.oom.*), areas (oom), files.
    """
    from gpuwhy.engine.rule_cases import cases_beside, cases_file
    from gpuwhy.engine.rule_suggest import suggestions

    kb, folder = own_pack(rules)
    count, open_ones = 0, 0
    with readable_cases(shown_folder(folder)):
        for rule in chosen(own_rules(kb), names):
            if rule.status != "stable" and not (names and rule.status == "experimental"):
                continue
            cases = cases_beside(kb, rule, folder)
            made, failed = suggestions(kb, rule, cases)
            lines = _lines(kb, made, [case.name for case in cases])
            path = folder / cases_file(rule)
            if lines:
                out(f"{shown_folder(folder)}{cases_file(rule)}:\n" + "".join(f"{line}\n" for line in lines))
            for says in failed:
                out(f"{shown_folder(folder)}{rule.file}: {rule.id}: no case found for: {says}\n")
            if write and lines:
                _append(path, lines)
            count, open_ones = count + len(made), open_ones + len(failed)
    none = f"; for {open_ones} changes and gaps none was found" if open_ones else ""
    out(f"{count} cases suggested{none}\n" if count or none else "no case is missing\n")
    context.exit(FOUND if count or open_ones else FINE)


def _append(path: Path, lines: Iterable[str]) -> None:
    text = path.read_text("utf-8") if path.is_file() else HEAD
    path.write_text(text.rstrip("\n") + "\n" + "".join(f"{line}\n" for line in lines), "utf-8")


def _lines(kb: KnowledgeBase, made: Iterable[Suggestion], taken: list[str]) -> list[str]:
    lines = []
    for one in made:
        name = ", ".join(_edit(kb.facts[fact], value) for fact, _, value in one.edits) or "as it stands"
        while name in taken:
            name += ", again"
        taken.append(name)
        facts = ", ".join(f"{_key(fact)}: {_value(kb.facts[fact.id], fact.value)}" for fact in one.facts)
        missing = f", missing: [{', '.join(one.missing)}]" if one.missing else ""
        lines.append(f"  - {{name: {_scalar(name)}, facts: {{{facts}}}, expect: {_scalar(one.expect)}{missing}}}")
    return lines


def _edit(spec: FactSpec, value: Value | None) -> str:
    if value is None:
        return f"without {spec.id}"
    written = _value(spec, value)
    return f"{spec.id} {written.strip(chr(34))}"


def _key(fact: Fact) -> str:
    entity: Entity = fact.entity
    named = entity.kind not in ("host", "job") and entity.name != "0"
    return f'"{entity.kind}:{entity.name} {fact.id}"' if named else fact.id


def _value(spec: FactSpec, value: Value) -> str:
    if isinstance(value, (bool, str)) or not spec.is_number:
        return _scalar(value)
    short = _with_unit(spec, value)
    if short and parse_quantity(short, spec.unit) == value:
        return short
    return str(int(value)) if float(value).is_integer() else f"{value!r}"


def _with_unit(spec: FactSpec, value: float) -> str:
    if spec.unit == "share":
        return f"{value * 100:.12g} %"
    if spec.unit == "bytes" and value >= 2**20:
        return f"{value / 2**30:.6g} GiB" if value >= 2**30 else f"{value / 2**20:.6g} MiB"
    return f"{value * 1000:.12g} ms" if spec.unit == "seconds" and 0 < value < 1 else ""


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = _PLAIN.match(value) and value.lower() not in _NOT_PLAIN
        return value if plain else json.dumps(value, ensure_ascii=False)
    return str(int(value)) if float(value).is_integer() else f"{value!r}"
