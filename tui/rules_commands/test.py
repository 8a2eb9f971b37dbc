"""`gpuwhy rules test` and `gpuwhy rules selftest`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import FINE, FOUND, chosen, own_pack, own_rules, readable_cases, shown_folder
from gpuwhy.tui.rules_option import rules_option

if TYPE_CHECKING:
    from gpuwhy.engine.rule_cases import AnyRule, Case
    from gpuwhy.kb.model import KnowledgeBase


@click.command("test")
@click.argument("names", nargs=-1)
@click.option("--coverage", is_flag=True, help="What the cases reach: conditions, edges of thresholds, unknown facts.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write the results as JUnit XML.")
@rules_option
@click.pass_context
def test_command(
    context: click.Context, names: tuple[str, ...], coverage: bool, junit: Path | None, rules: Path | None
) -> None:
    """Run the cases that stand beside rules. NAMES: ids, patterns (sig.oom.*), areas (oom), files."""
    from gpuwhy.engine.rule_tests import run

    kb, folder = own_pack(rules)
    front = shown_folder(folder)
    results: list[tuple[Case, list[str]]] = []
    untested: list[AnyRule] = []
    by_rule: list[tuple[AnyRule, list[Case]]] = []
    for rule in chosen(own_rules(kb), names):
        cases = _cases(kb, rule, folder, front)
        by_rule.append((rule, cases))
        if not cases:
            untested.append(rule)
        results.extend((case, run(kb, case)) for case in cases)
    if junit is not None:
        from gpuwhy.tui.rules_commands.junit import document

        junit.write_text(document(results, front), encoding="utf-8")
    _tell(results, untested, front)
    if coverage:
        _tell_coverage(kb, by_rule)
    context.exit(FOUND if untested or any(wrong for _, wrong in results) else FINE)


def _cases(kb: KnowledgeBase, rule: AnyRule, folder: Path, front: str) -> list[Case]:
    from gpuwhy.engine.rule_cases import cases_beside

    with readable_cases(front):
        return cases_beside(kb, rule, folder)


def _tell(results: list[tuple[Case, list[str]]], untested: list[AnyRule], front: str) -> None:
    failed = 0
    for case, wrong in results:
        failed += bool(wrong)
        for text in wrong:
            out(f"{front}{case.location}: {case.rule.id}: {case.name}: {text}\n")
    for rule in untested:
        out(f"{front}{rule.file}:1:1: {rule.id}: no test cases\n")
    rules = len({case.rule.id for case, _ in results}) + len(untested)
    out(f"{rules} rules, {len(results)} cases, {failed} failed, {len(untested)} rules without cases\n")


def _tell_coverage(kb: KnowledgeBase, by_rule: list[tuple[AnyRule, list[Case]]]) -> None:
    from gpuwhy.engine.rule_coverage import coverage

    total = {"condition": [0, 0], "edge": [0, 0], "unknown": [0, 0]}
    for rule, cases in by_rule:
        found = coverage(kb, rule, cases)
        for gap in found.gaps:
            out(f"{rule.id}: {gap.says}\n")
        for kind, (reached, all_) in total.items():
            total[kind] = [reached + found.reached(kind), all_ + found.total.get(kind, 0)]
    for kind, (reached, all_) in total.items():
        out(f"{kind:10}{reached} of {all_} reached\n")


@click.command("selftest")
@rules_option
@click.pass_context
def selftest_command(context: click.Context, rules: Path | None) -> None:
    """Let every rule give what it is for, by the first of its own cases that does, on this machine."""
    from gpuwhy.engine.rule_selftest import selftest

    kb, folder = own_pack(rules)
    with readable_cases(shown_folder(folder)):
        failures, fired = selftest(kb, own_rules(kb), folder)
    for failure in failures:
        out(f"{failure}\n")
    version = sys.version.split()[0]
    out(
        f"{fired} of {fired + len(failures)} rules of {kb.packs[-1].version} did what they are for (Python {version})\n"
    )
    context.exit(FOUND if failures else FINE)
