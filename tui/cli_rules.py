"""`gpuwhy rules`: look at rules, test them, check them, compare versions of them."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "diff": "diff",
    "graph": "graph",
    "lint": "lint",
    "list": "show",
    "lock": "lock",
    "mutate": "mutate",
    "new": "new",
    "selftest": "test",
    "show": "show",
    "test": "test",
}
"""Where each command stands: a module of `rules_commands`, imported when the command is used."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"gpuwhy.tui.rules_commands.{COMMANDS[cmd_name]}")
        found = getattr(module, f"{cmd_name}_command")
        assert isinstance(found, click.Command)
        return found


@click.group(cls=_Commands)
def rules() -> None:
    """Rules as reviewed content: list, show, test, check and compare them. No Python is needed.

    Exit status: 0 nothing to complain of, 1 something was found, 2 unusable input, arguments or rules.
    """
