"""`gpuwhy rules diff`."""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.tui.rules_commands.common import FINE, FOUND, out, pack_folder
from gpuwhy.tui.rules_option import fail, rules_option

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
@click.option("--format", "form", type=click.Choice(["text", "md"]), default="text", show_default=True)
@rules_option
@click.pass_context
def diff_command(
    context: click.Context, revisions: str, corpus: tuple[Path, ...], form: str, rules: Path | None
) -> None:
    """Compare two versions of a pack by what its rules say: what changed, which verdicts flip, if versions say so.

    BASE and HEAD are git revisions; without HEAD the files as they are now. Nothing is checked out. A flip of an old
    case or a host needs a major bump of the rule's version, changed logic a minor one, changed words a patch.
    """
    from gpuwhy.engine import corpus_diff, rule_diff
    from gpuwhy.tui.rules_commands.diff_text import Comparison, as_markdown, as_text

    folder = pack_folder(rules)
    base, dots, head = revisions.partition("..")
    with tempfile.TemporaryDirectory(prefix="gpuwhy-rules-") as space:
        old = _pack(_at(folder, base, Path(space) / "base"), base)
        new = _pack(_at(folder, head, Path(space) / "head") if dots and head else folder, head or "the files now")
        changes = rule_diff.compare(old, new)
        hosts = corpus_diff.compare(old.kb, new.kb, _hosts(corpus)) if corpus else None
    found = Comparison(base, head if dots and head else "now", tuple(changes), hosts)
    out(as_markdown(found) if form == "md" else as_text(found))
    context.exit(FINE if found.enough else FOUND)


def _pack(folder: Path, name: str) -> Pack:
    from gpuwhy.engine.rule_diff import Pack
    from gpuwhy.kb.load import load

    try:
        return Pack(load(folder), folder)
    except KnowledgeError as error:
        for problem in error.problems:
            click.echo(str(problem), err=True)
        fail(f"the rules of {name} cannot be read, so nothing can be said about the change")


def _at(folder: Path, revision: str, into: Path) -> Path:
    """The pack as it is in a git revision, unpacked below `into`."""
    if not revision or revision.startswith("-"):
        fail(f"`{revision}` is no git revision")
    where = _git(folder, "rev-parse", "--show-prefix").decode().strip().rstrip("/")
    top = _git(folder, "rev-parse", "--show-toplevel").decode().strip()
    archive = _git(Path(top), "archive", "--format=tar", revision, "--", *([where] if where else []))
    into.mkdir(parents=True)
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        for member in tar:
            target = (into / member.name).resolve()
            if member.isfile() and target.is_relative_to(into.resolve()):
                content = tar.extractfile(member)
                assert content is not None
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
    return into / where if where else into


def _git(folder: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
    except OSError as error:
        fail(f"git cannot be run: {error.strerror}")
    if done.returncode:
        fail("git: " + done.stderr.decode("utf-8", "replace").strip())
    return done.stdout


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
