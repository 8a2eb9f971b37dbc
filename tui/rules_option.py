"""What commands share that use the rules: the option that names another pack, and the end with a reason."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.tui.exit_codes import ExitCode

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase

rules_option = click.option(
    "--rules",
    type=click.Path(path_type=Path),
    help="A rule pack, or a folder of packs, beside the shipped one, instead of those in ~/.config/gpuwhy/rules; "
    "`shipped` for none.",
)

kb_option = click.option(
    "--kb", "revision", metavar="REV", help="Rules as they were: a digest, a kept version, a git revision."
)

SHIPPED = Path("shipped")
"""What names the shipped rules alone."""


def stack(rules: Path | None) -> tuple[Path, ...]:
    """The folders of the packs to use: those of the person beside the shipped one, unless others are named."""
    from gpuwhy.kb.load import rules_folder, stack_of, users_stack

    if rules is None:
        return users_stack()
    return (rules_folder(),) if rules == SHIPPED and not rules.exists() else stack_of(rules)


def knowledge(rules: Path | None, revision: str | None = None) -> KnowledgeBase:
    """The knowledge of the packs to use, as it is or as it was (`--kb`). Ends the process where it cannot be had."""
    return packs(rules, revision)[0]


def packs(rules: Path | None, revision: str | None = None) -> tuple[KnowledgeBase, tuple[Path, ...]]:
    """That knowledge, and the folders of its packs, the shipped one first."""
    if revision is not None:
        from gpuwhy.tui.rules_past import packs_at

        return packs_at(revision, rules)
    folders = stack(rules)
    return loaded(folders), folders


def loaded(folders: tuple[Path, ...]) -> KnowledgeBase:
    """The knowledge of packs side by side. Ends the process where one cannot be used, and says why."""
    from gpuwhy.kb.load import load_stack

    try:
        return load_stack(folders)
    except KnowledgeError as error:
        unusable(error, hint="`--rules shipped` leaves packs out" if len(folders) > 1 else "")


def unusable(error: KnowledgeError, what: str = "the rules cannot be used", hint: str = "") -> NoReturn:
    """End the process: the rules are broken, and this is how."""
    for problem in error.problems:
        click.echo(str(problem), err=True)
    fail(f"{what}, for the {len(error.problems)} reason(s) above", hint)


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
        unusable(error, "an overlay cannot be used", "`gpuwhy catalog import` makes one of what a provider answered")
    except OSError as error:
        fail(f"an overlay cannot be read: {error}")


def close(word: str, known: Iterable[str]) -> str:
    """A hint with words that are written like this one; empty where none is."""
    import difflib

    found = difflib.get_close_matches(word, list(known), 3)
    return f"did you mean {' or '.join(found)}?" if found else ""


def fail(message: str, hint: str = "") -> NoReturn:
    """End the process: what was given cannot be used."""
    from gpuwhy.tui.wording import encodable, visible

    text = visible(f"gpuwhy: {message}" + (f" ({hint})" if hint else ""))
    click.echo(encodable(text, sys.stderr.encoding or "utf-8"), err=True)
    raise SystemExit(ExitCode.UNUSABLE)
