"""`gpuwhy rules`: look at rules, test them, check them, compare versions of them."""

from __future__ import annotations

import click

from gpuwhy.tui.lazy_commands import LazyGroup

PLACES = {
    "diff": "gpuwhy.tui.rules_commands.diff:diff_command",
    "docs": "gpuwhy.tui.rules_commands.docs:docs_command",
    "export": "gpuwhy.tui.rules_commands.export:export_command",
    "graph": "gpuwhy.tui.rules_commands.graph:graph_command",
    "lint": "gpuwhy.tui.rules_commands.lint:lint_command",
    "list": "gpuwhy.tui.rules_commands.show:list_command",
    "lock": "gpuwhy.tui.rules_commands.lock:lock_command",
    "mutate": "gpuwhy.tui.rules_commands.mutate:mutate_command",
    "suggest": "gpuwhy.tui.rules_commands.suggest:suggest_command",
    "new": "gpuwhy.tui.rules_commands.new:new_command",
    "schemas": "gpuwhy.tui.rules_commands.schemas:schemas_command",
    "selftest": "gpuwhy.tui.rules_commands.test:selftest_command",
    "show": "gpuwhy.tui.rules_commands.show:show_command",
    "test": "gpuwhy.tui.rules_commands.test:test_command",
}


@click.group(cls=LazyGroup, places=PLACES)
def rules() -> None:
    """Rules as reviewed content: list, show, test, check and compare them. No Python is needed.

    Exit status: 0 nothing to complain of, 1 something was found, 2 unusable input, arguments or rules.
    """
