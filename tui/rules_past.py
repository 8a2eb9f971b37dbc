"""The rules as they were: what `--kb` names, from the rules of now, the store of kept ones, or git."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.tui import rules_store
from gpuwhy.tui.rules_git import GitError, pack_at
from gpuwhy.tui.rules_option import fail, loaded, stack, unusable

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase


def packs_at(revision: str, rules: Path | None) -> tuple[KnowledgeBase, tuple[Path, ...]]:
    """The knowledge of a digest (or its start), a kept version, or a git revision, and the folders of its packs.

    Git is asked for the pack that --rules names, else for the shipped one; what it gives is there until the command
    ends. Ends the process where the rules cannot be had.
    """
    folders = stack(rules)
    now = loaded(folders)
    if rules_store.is_digest_of(revision, now.digest):
        return now, folders
    known = list(rules_store.kept())
    found = [one for one in known if one.named(revision)]
    if len(found) > 1:
        fail(f"`{revision}` is kept with {len(found)} contents", "name one by its digest: " + _told(found))
    if found:
        return _kept(found[0])
    try:
        return _in_git(folders, 0 if rules is None else len(folders) - 1, revision)
    except GitError as error:
        kept = f"kept are {_told(known)}" if known else "none are kept; `gpuwhy rules lock --keep` keeps those of now"
        fail(f"no rules `{revision}`: the rules of now are {now.digest[:12]}; {kept}; git: {error}")


def _told(found: list[rules_store.Kept]) -> str:
    return ", ".join(map(str, found))


def _kept(found: rules_store.Kept) -> tuple[KnowledgeBase, tuple[Path, ...]]:
    from gpuwhy.kb.load import load_stack

    try:
        kb = load_stack(found.folders)
    except KnowledgeError as error:
        unusable(error, f"the kept rules {found} cannot be used by this version of gpuwhy")
    if kb.digest != found.digest:
        fail(f"the kept rules {found} were changed", f"remove {found.folders[0].parent}")
    return kb, found.folders


def _in_git(folders: tuple[Path, ...], number: int, revision: str) -> tuple[KnowledgeBase, tuple[Path, ...]]:
    from gpuwhy.kb.load import load_stack

    space = click.get_current_context().with_resource(tempfile.TemporaryDirectory(prefix="gpuwhy-rules-"))
    old = pack_at(folders[number], revision, Path(space) / "pack")
    if old is None:
        raise GitError(f"`{revision}` has no such folder")
    then = (*folders[:number], old, *folders[number + 1 :])
    try:
        return load_stack(then), then
    except KnowledgeError as error:
        unusable(error, f"the rules of {revision} cannot be used by this version of gpuwhy")
