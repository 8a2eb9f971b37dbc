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
        unusable(error)


def unusable(error: KnowledgeError) -> NoReturn:
    """End the process: the rules are broken, and this is how."""
    for problem in error.problems:
        click.echo(str(problem), err=True)
    fail(f"the rules cannot be used, for the {len(error.problems)} reason(s) above")


overlay_option = click.option(
    "--overlay",
    "overlays",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Newer machine types and prices, as `gpuwhy catalog import` writes them.",
)


def with_overlays(kb: KnowledgeBase, overlays: tuple[Path, ...]) -> KnowledgeBase:
    """The knowledge with newer machine types and prices. Ends the process where one cannot be used, and says why."""
    if not overlays:
        return kb
    from gpuwhy.kb.denials import contradictions
    from gpuwhy.kb.overlay import merged, read
    from gpuwhy.kb.records import replace

    try:
        catalogue = merged(kb.catalogue, [read(path) for path in overlays])
        for one in contradictions(catalogue):
            click.echo(f"gpuwhy: {one.where}: an overlay says what claim {one.claim} says, which is wrong", err=True)
        return replace(kb, catalogue=catalogue)
    except KnowledgeError as error:
        for problem in error.problems:
            click.echo(str(problem), err=True)
        fail("an overlay cannot be used, for the reason(s) above")
    except OSError as error:
        fail(f"an overlay cannot be read: {error}")


def fail(message: str, hint: str = "") -> NoReturn:
    """End the process: what was given cannot be used."""
    from gpuwhy.tui.wording import encodable, visible

    text = visible(f"gpuwhy: {message}" + (f" ({hint})" if hint else ""))
    click.echo(encodable(text, sys.stderr.encoding or "utf-8"), err=True)
    raise SystemExit(ExitCode.UNUSABLE)
