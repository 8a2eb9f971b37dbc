"""The command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from gpuwhy import __version__
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.tui.exit_codes import ExitCode

if TYPE_CHECKING:
    from gpuwhy.kb.facts import Fact, OriginKind
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.tui.report import Report

MAX_PASTE_BYTES = 256 << 20


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gpuwhy")
def main() -> None:
    """Why is this GPU job slow or out of memory, and what now.

    Exit status: 0 looked and found nothing to fix, 1 a cause is confirmed or likely, 2 unusable input or arguments,
    3 cannot tell (the report says what would decide).
    """


@main.command()
@click.argument("paths", nargs=-1)
@click.option("--answer", "answers", multiple=True, metavar="FACT=VALUE", help="What you know: loader.workers=4.")
@click.option("--format", "form", type=click.Choice(["text", "json", "md"]), default="text", show_default=True)
@click.option("--why", metavar="ID", help="The proof of a conclusion, down to the line of the artefact.")
@click.option("--why-not", metavar="ID", help="What keeps a conclusion from holding, and by how much.")
@click.option("--what-if", "assumed", multiple=True, metavar="FACT=VALUE", help="The diagnosis if this were so.")
@click.option("--rules", type=click.Path(path_type=Path), help="Another rule pack instead of the shipped one.")
@click.option("--engine", type=click.Choice(["auto", "chaining", "proof"]), default="auto", show_default=True)
@click.pass_context
def diagnose(
    context: click.Context,
    paths: tuple[str, ...],
    answers: tuple[str, ...],
    form: str,
    why: str | None,
    why_not: str | None,
    assumed: tuple[str, ...],
    rules: Path | None,
    engine: str,
) -> None:
    """Diagnose messages, logs, tables and traces.

    PATHS are files or folders; - is standard input. Several artefacts make one diagnosis.
    """
    kb = _knowledge(rules)
    for name in (why, why_not):
        if name is not None and name not in kb.conclusions:
            _fail(f"no conclusion `{name}`", _close(name, kb.conclusions))
    report = _report(kb, paths, answers, assumed, engine)
    if why is not None or why_not is not None:
        _show_proof(report, why, why_not, form)
    else:
        _show(report, form)
    from gpuwhy.tui.exit_codes import of

    context.exit(of(report.diagnosis))


@main.command()
@click.argument("query", default="")
@click.option("--rules", type=click.Path(path_type=Path), help="Another rule pack instead of the shipped one.")
def facts(query: str, rules: Path | None) -> None:
    """List the facts that can be given with --answer and --what-if, with units and choices."""
    from gpuwhy.kb.texts import say

    kb = _knowledge(rules)
    for spec in kb.facts.values():
        line = f"{spec.id}  {' | '.join(spec.choices) or spec.unit or spec.type}  {say(spec.says)}"
        if query.lower() in line.lower():
            click.echo(line)


@main.command()
def formats() -> None:
    """List the artefact formats that are read."""
    from gpuwhy.probes.artefacts.registry import all_formats

    for one in all_formats():
        click.echo(f"{one.name:28}{one.title}")


@main.command()
def schema() -> None:
    """Print the JSON Schema of `diagnose --format json`."""
    click.echo((Path(__file__).resolve().parent / "schema" / "diagnosis-1.schema.json").read_text("utf-8"), nl=False)


def _knowledge(rules: Path | None) -> KnowledgeBase:
    from gpuwhy.kb.load import load

    try:
        return load(rules)
    except KnowledgeError as error:
        for problem in error.problems:
            click.echo(str(problem), err=True)
        _fail(f"the rules cannot be used: {len(error.problems)} problems")


def _report(
    kb: KnowledgeBase, paths: tuple[str, ...], answers: Iterable[str], assumed: Iterable[str], engine: str
) -> Report:
    from gpuwhy.engine.run import diagnose_with
    from gpuwhy.kb.facts import FactBase, OriginKind
    from gpuwhy.probes.artefacts.read import UnusableInput, gather
    from gpuwhy.tui.report import Report

    given = _facts(kb, answers, OriginKind.PERSON, "answer")
    supposed = _facts(kb, assumed, OriginKind.ASSUMED, "what-if")
    try:
        gathered = gather(_inputs(paths, bool(given or supposed)), kb.facts)
    except UnusableInput as error:
        _fail(str(error))
    base = FactBase.of((*gathered.facts, *given, *supposed), gathered.absent)
    return Report(kb, gathered, diagnose_with(kb, base, engine))


def _facts(kb: KnowledgeBase, texts: Iterable[str], kind: OriginKind, source: str) -> list[Fact]:
    from gpuwhy.engine.answers import AnswerError, parse_answer

    found = []
    for text in texts:
        try:
            found.append(parse_answer(kb.facts, text, kind, source))
        except AnswerError as error:
            _fail(str(error))
    return found


def _inputs(paths: tuple[str, ...], answered: bool) -> Iterable[tuple[str, Path | bytes]]:
    from gpuwhy.probes.artefacts.read import find_inputs

    if not paths and sys.stdin.isatty():
        if answered:
            return
        _fail("nothing to read", "give files or folders, or - and paste, then Ctrl-D")
    for path in paths or ("-",):
        if path == "-":
            yield "standard input", sys.stdin.buffer.read(MAX_PASTE_BYTES)
        else:
            yield from find_inputs([path])


def _show(report: Report, form: str) -> None:
    if form == "json":
        from gpuwhy.tui import report_json

        _print(report_json.render(report))
    elif form == "md":
        from gpuwhy.tui import report_markdown

        _print(report_markdown.render(report))
    else:
        from gpuwhy.tui import report_text

        _print(report_text.render(report, colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR")))


def _show_proof(report: Report, why: str | None, why_not: str | None, form: str) -> None:
    if form == "json":
        from gpuwhy.tui.report_json import render_proofs

        _print(render_proofs(report, [name for name in (why, why_not) if name is not None]))
        return
    from gpuwhy.tui import explain

    ascii_only = not _unicode()
    if why is not None:
        _print(explain.why(report, why, ascii_only))
    if why_not is not None:
        _print(explain.why_not(report, why_not, ascii_only))


def _unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _print(text: str) -> None:
    """Write to standard output whatever its encoding can show."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def _close(word: str, known: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(known), 3)
    return f"did you mean {' or '.join(close)}?" if close else ""


def _fail(message: str, hint: str = "") -> NoReturn:
    click.echo(f"gpuwhy: {message}" + (f" ({hint})" if hint else ""), err=True)
    raise SystemExit(ExitCode.UNUSABLE)
