"""`gpuwhy rules diff`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_commands.common import FINE, FOUND, own_stack
from gpuwhy.tui.rules_git import GitError, pack_at
from gpuwhy.tui.rules_option import fail, rules_option, unusable

if TYPE_CHECKING:
    from gpuwhy.engine.rule_diff import Pack
    from gpuwhy.kb.facts import Absent, Fact


@click.command("diff")
@click.argument("revisions", metavar="BASE[..HEAD]")
@click.option(
    "--facts",
    "corpus",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Facts files of hosts, or folders of them (gpuwhy collect); both versions diagnose each.",
)
@click.option("--release", is_flag=True, help="The pack's own version must say as much as changed, too.")
@click.option("--format", "form", type=click.Choice(["text", "md"]), default="text", show_default=True)
@rules_option
@click.pass_context
def diff_command(
    context: click.Context, revisions: str, corpus: tuple[Path, ...], release: bool, form: str, rules: Path | None
) -> None:
    """Compare two versions of a pack by what its rules say: what changed, which verdicts flip, if versions say so.

    BASE and HEAD are git revisions; without HEAD the files as they are now. Nothing is checked out. A flip of an old
    case or a host needs a major bump of the rule's version, changed logic a minor one, changed words a patch. Words
    outside rules (conclusions, questions, the catalogue) count for the version of the pack: --release judges that too.
    """
    from gpuwhy.engine import corpus_diff, rule_diff
    from gpuwhy.tui.rules_commands.diff_text import Comparison, as_markdown, as_text

    *beside, folder = own_stack(rules)
    base, dots, head = revisions.partition("..")
    with tempfile.TemporaryDirectory(prefix="gpuwhy-rules-") as space:
        old = _pack(_at(folder, base, Path(space) / "base"), base, beside)
        new = _pack(_at(folder, head, Path(space) / "head") if dots and head else folder, head or "now", beside)
        changes = [*rule_diff.compare(old, new), *([] if old.absent else rule_diff.words(old, new))]
        hosts = corpus_diff.compare(old.kb, new.kb, _hosts(corpus)) if corpus else None
    if hosts is not None:
        changes = rule_diff.with_hosts(changes, {flip.conclusion for flip in hosts.flips})
    versions = None if old.absent else (old.kb.packs[-1].version, new.kb.packs[-1].version)
    found = Comparison(base, head if dots and head else "now", tuple(changes), hosts, versions)
    out(as_markdown(found) if form == "md" else as_text(found))
    context.exit(FINE if found.enough and (found.pack_enough or not release) else FOUND)


def _pack(folder: Path | None, name: str, beside: list[Path]) -> Pack:
    """A version of the pack; where there was none yet, what it stands beside."""
    from gpuwhy.engine.rule_diff import Pack
    from gpuwhy.kb.load import load, load_stack
    from gpuwhy.kb.model import KnowledgeBase

    try:
        if folder is not None:
            return Pack(load(folder), folder)
        kb = load_stack(tuple(beside)) if beside else KnowledgeBase("0.0.0", "")
        return Pack(kb, Path(), absent=True)
    except KnowledgeError as error:
        unusable(error, f"nothing can be said about the change: the rules of {name} cannot be read")


def _at(folder: Path, revision: str, into: Path) -> Path | None:
    """The pack as it is in a git revision, unpacked below `into`; None where there is none."""
    try:
        return pack_at(folder, revision, into)
    except GitError as error:
        fail(f"git: {error}")


def _hosts(corpus: tuple[Path, ...]) -> Iterator[tuple[str, list[Fact], list[Absent]]]:
    """The facts of each file; a file that is no facts file ends the process: nothing is left out silently."""
    from gpuwhy.kb import fact_file

    for given in corpus:
        for path in sorted(given.rglob("*.json")) if given.is_dir() else [given]:
            try:
                facts, absent = fact_file.load(path.read_text("utf-8"))
            except (OSError, ValueError) as error:
                fail(f"{path}: {error}")
            yield path.stem, facts, absent
