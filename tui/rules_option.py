"""What commands share that use the rules: the option that names another pack, and the end with a reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.tui.exit_codes import ExitCode

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase

rules_option = click.option(
    "--rules", type=click.Path(path_type=Path), help="Another rule pack instead of the shipped one."
)


def knowledge(rules: Path | None) -> KnowledgeBase:
    """The knowledge of a pack (the shipped one by default). Ends the process where it cannot be used, and says why."""
    from gpuwhy.kb.load import load

    try:
        return load(rules)
    except KnowledgeError as error:
        for problem in error.problems:
            click.echo(str(problem), err=True)
        fail(f"the rules cannot be used, for the {len(error.problems)} reason(s) above")


def fail(message: str, hint: str = "") -> NoReturn:
    """End the process: what was given cannot be used."""
    from gpuwhy.tui.wording import encodable, visible

    text = visible(f"gpuwhy: {message}" + (f" ({hint})" if hint else ""))
    click.echo(encodable(text, sys.stderr.encoding or "utf-8"), err=True)
    raise SystemExit(ExitCode.UNUSABLE)
