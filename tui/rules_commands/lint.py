"""`gpuwhy rules lint`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import FINE, FOUND, pack_folder, shown_folder
from gpuwhy.tui.rules_option import rules_option, unusable

if TYPE_CHECKING:
    from gpuwhy.engine.lint import Linted


@click.command("lint")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text", show_default=True
)
@click.option("--fix", is_flag=True, help="Mend what is mechanical: schema lines, spaces, ids that follow the path.")
@click.option("--waived", is_flag=True, help="Show what is waived too, with the reasons.")
@click.option("--codes", is_flag=True, help="List the kinds of findings and end.")
@rules_option
@click.pass_context
def lint_command(context: click.Context, form: str, fix: bool, waived: bool, codes: bool, rules: Path | None) -> None:
    """Look for defects of rules: words, units, conditions that cannot hold, what nobody supplies, what is stale.

    waivers.yaml in the pack names findings that may stay, each with its reason.
    """
    from gpuwhy.tui.rules_commands import findings

    if codes:
        out(findings.codes())
        return
    folder = pack_folder(rules)
    if fix:
        for name in _mend(folder):
            click.echo(f"mended {shown_folder(folder)}{name}", err=True)
    found = _lint(folder)
    front = shown_folder(folder)
    shown = [findings.placed(one, folder, front) for one in found.findings]
    if form != "text":
        out({"json": findings.as_json, "sarif": findings.as_sarif, "github": findings.as_github}[form](shown))
    else:
        _tell(found, waived, folder, front)
    context.exit(FOUND if shown else FINE)


def _lint(folder: Path) -> Linted:
    from datetime import date

    from gpuwhy.engine.lint import lint
    from gpuwhy.kb.load import load, rules_folder, stack_of
    from gpuwhy.tui.rules_commands.supplied import supplied

    home = folder.resolve().parent
    try:
        alone = len(stack_of(folder)) == 1
        words = (_words(folder) if alone else ()) or load(rules_folder()).facts  # nothing of ours gives a team's words
        return lint(folder, supplied(words), date.today(), home if (home / "docs").is_dir() else None)
    except KnowledgeError as error:
        unusable(error, "the rules cannot be read")


def _words(folder: Path) -> list[str]:
    """The ids that stand in the fact files of a pack, read loosely: what is wrong with them is told elsewhere."""
    import re

    found = []
    for path in sorted((folder / "facts").glob("*.yaml")):
        text = path.read_text("utf-8", "replace")
        found += re.findall(r"\bid: *([a-z][a-z0-9_.]{1,200})", text)
    return found


def _mend(folder: Path) -> list[str]:
    """Mend files in place; the names of those that changed."""
    from gpuwhy.engine.lint_text import mended
    from gpuwhy.kb.load import rule_files

    changed = []
    for relative in rule_files(folder):
        path = folder / relative
        before = path.read_bytes()
        after = mended(folder, relative, before)
        if after != before:
            path.write_bytes(after)
            changed.append(relative)
    return changed


def _tell(found: Linted, waived: bool, folder: Path, front: str) -> None:
    from gpuwhy.tui.rules_commands import findings

    for one in found.findings:
        out(f"{findings.placed(one, folder, front)}\n")
    if waived:
        for one, reason in found.waived:
            out(f"{findings.placed(one, folder, front)}\n    waived: {reason}\n")
    counts = [sum(one.severity == severity for one in found.findings) for severity in ("error", "warning")]
    out(f"{found.files} files, {counts[0]} errors, {counts[1]} warnings, {len(found.waived)} waived\n")
