"""`gpuwhy rules mutate`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import FINE, FOUND, chosen, own_pack, own_rules, readable_cases, shown_folder
from gpuwhy.tui.rules_option import rules_option


@click.command("mutate")
@click.argument("names", nargs=-1)
@click.option("--at-least", type=click.FloatRange(0, 100), default=100.0, show_default=True, help="Per cent noticed.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rules_option
@click.pass_context
def mutate_command(
    context: click.Context, names: tuple[str, ...], at_least: float, form: str, rules: Path | None
) -> None:
    """Change stable rules a little, and name the changes that none of their cases notices.

    Thresholds and factors are shifted by 5 % (whole numbers by at least one), operators turned to their neighbours,
    conditions, exclusions and parts dropped, formulas bent. NAMES: ids, patterns (sig.oom.*), areas (oom), files;
    experimental rules are changed too where NAMES are given.
    """
    from gpuwhy.engine.rule_cases import cases_beside
    from gpuwhy.engine.rule_mutants import survivors

    kb, folder = own_pack(rules)
    total, lived = 0, []
    with readable_cases(shown_folder(folder)):
        for rule in chosen(own_rules(kb), names):
            if rule.status == "stable" or (names and rule.status == "experimental"):
                found, made = survivors(kb, rule, cases_beside(kb, rule, folder))
                total += made
                lived += [(rule, one.change) for one in found]
    noticed = total - len(lived)
    if form == "json":
        entries = [{"id": rule.id, "file": rule.file, "change": change} for rule, change in lived]
        out(json.dumps({"mutants": total, "noticed": noticed, "survivors": entries}, indent=1) + "\n")
    else:
        for rule, change in lived:
            out(f"{shown_folder(folder)}{rule.file}: {rule.id}: no case notices: {change}\n")
        out(f"{noticed} of {total} changes noticed ({_per_cent(noticed, total)})\n")
    context.exit(FINE if noticed * 100 >= at_least * total else FOUND)


def _per_cent(part: int, whole: int) -> str:
    """Rounded down: only what is all is 100 %."""
    return f"{part * 1000 // whole / 10:g} %" if whole else "none"
