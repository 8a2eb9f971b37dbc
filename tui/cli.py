"""The command line."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuwhy import __version__
from gpuwhy.tui import cli_triton, watching
from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.lazy_commands import LazyGroup
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import close, fail, kb_option, knowledge, rules_option

if TYPE_CHECKING:
    from gpuwhy.kb.facts import Fact, FactBase
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.probes.artefacts.large_scan import Ahead
    from gpuwhy.tui.report import Report


SCHEMAS = ("diagnosis", "facts", "check")
"""Documents that the product writes and whose form is published."""

YOUNG_OBJECTS = 200_000
"""How many new objects call for a look for garbage: rules and facts stay, so that looking early only costs time."""


PLACES = {
    "audit": "gpuwhy.tui.cli_audit:audit",
    "catalog": "gpuwhy.tui.cli_catalog:catalog",
    "check": "gpuwhy.tui.cli_check:check",
    "collect": "gpuwhy.tui.cli_collect:collect",
    "incident": "gpuwhy.tui.cli_incident:incident",
    "probe": "gpuwhy.tui.cli_live:probe",
    "rules": "gpuwhy.tui.cli_rules:rules",
    "select": "gpuwhy.tui.cli_select:select",
    "serve": "gpuwhy.tui.cli_serve:serve",
    "size": "gpuwhy.tui.cli_size:size",
    "watch": "gpuwhy.tui.cli_watch:watch",
}
"""Where commands with a module of their own stand."""


class _Commands(LazyGroup):
    """The commands; a defect or an interrupt never ends with the exit status of a diagnosis."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except (KeyboardInterrupt, click.Abort):
            raise SystemExit(ExitCode.INTERRUPTED) from None
        except Exception:  # noqa: BLE001 - the boundary of the process: status 1 would say that a cause was found
            import traceback

            traceback.print_exc()
            click.echo("gpuwhy: this is a defect of gpuwhy, not of the input", err=True)
            raise SystemExit(ExitCode.DEFECT) from None


@click.group(
    cls=_Commands, places=PLACES, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="gpuwhy")
@click.option("--demo", is_flag=True, help="Open the guided diagnosis on a recorded incident.")
@rules_option
@click.pass_context
def main(context: click.Context, demo: bool, rules: Path | None) -> None:
    """Why is this GPU job slow or out of memory, and what now.

    Without a command the guided diagnosis opens, where there is a terminal for it.

    Exit status: 0 looked and found nothing to fix, 1 a cause is confirmed or likely, 2 unusable input or arguments,
    3 cannot tell (the report says what would decide), 70 a defect of gpuwhy.
    """
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)
    if context.invoked_subcommand is not None:
        if rules is not None:
            fail("--rules stands after the command", f"gpuwhy {context.invoked_subcommand} --rules …")
        return
    served = bool(os.environ.get("TEXTUAL_DRIVER"))  # by `gpuwhy serve`: a browser stands for the terminal
    if not served and not all(one.isatty() for one in (sys.stdin, sys.stdout, sys.stderr)):
        if demo:
            fail("the guided diagnosis needs a terminal", "gpuwhy diagnose FILE works without one")
        click.echo(context.get_help())
        context.exit(ExitCode.UNUSABLE)
    from gpuwhy.tui.app.run import run

    run(demo=demo, rules=rules)


@main.command()
@click.argument("paths", nargs=-1)
@click.option("--answer", "answers", multiple=True, metavar="FACT=VALUE", help="What you know: loader.workers=4.")
@click.option("--format", "form", type=click.Choice(["text", "json", "md"]), default="text", show_default=True)
@click.option("--why", metavar="ID", help="The proof of a conclusion, down to the line of the artefact.")
@click.option("--why-not", metavar="ID", help="What keeps a conclusion from holding, and by how much.")
@click.option("--what-if", "assumed", multiple=True, metavar="FACT=VALUE", help="The diagnosis if this were so.")
@rules_option
@kb_option
@click.option("--engine", type=click.Choice(["auto", "chaining", "proof"]), default="auto", show_default=True)
@watching.options
@cli_triton.options
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
    revision: str | None,
    engine: str,
    watch: watching.Watch,
    triton: cli_triton.TritonOptions | None,
) -> None:
    """Diagnose messages, logs, tables and traces.

    PATHS are files or folders; - is standard input. Several artefacts make one diagnosis. Nothing is run, changed or
    sent anywhere. With --live, what the GPUs and the host show now is part of it, and PATHS are taken to be of this
    machine: give no files of another one. With --pid a running PyTorch job is watched from outside, by py-spy and
    without stopping it: where its main thread spends its time, what its workers do, and the machine meanwhile. With
    --triton, the counters, configuration and log of a running Triton server are read over a window; no request is sent
    to a model unless --probe-load asks for it.
    """
    from gpuwhy.probes.artefacts.large_scan import Ahead

    with context.obj or Ahead(paths) as ahead:
        kb = knowledge(rules, revision)
        for name in (why, why_not):
            if name is not None and name not in kb.conclusions:
                fail(f"no conclusion `{name}`", close(name, kb.conclusions))
        report = _report(kb, paths, ahead, answers, assumed, engine, watch, triton)
    if why is not None or why_not is not None:
        _show_proof(report, why, why_not, form)
    else:
        _show(report, form)
    from gpuwhy.tui.exit_codes import of

    context.exit(of(report.diagnosis))


@main.command()
@click.argument("query", default="")
@rules_option
@kb_option
def facts(query: str, rules: Path | None, revision: str | None) -> None:
    """List the facts that can be given with --answer and --what-if, with units and choices."""
    from gpuwhy.kb.texts import say
    from gpuwhy.tui.wording import wrapped

    for spec in knowledge(rules, revision).facts.values():
        takes = ", ".join(spec.choices) or spec.unit or spec.type
        if query.lower() in f"{spec.id} {takes} {say(spec.says)}".lower():
            lines = [*wrapped(f"{spec.id}  {takes}", "", "    ", 80), *wrapped(say(spec.says), "    ", "    ", 80)]
            out("\n".join(lines) + "\n")


@main.command()
def formats() -> None:
    """List the artefact formats that are read."""
    from gpuwhy.probes.artefacts.registry import all_formats

    for name, title in dict.fromkeys((one.name, one.title) for one in all_formats()):
        click.echo(f"{name:28}{title}")


@main.command()
@click.argument("document", type=click.Choice(SCHEMAS), default=SCHEMAS[0])
def schema(document: str) -> None:
    """Print a JSON Schema: of `diagnose --format json`, of the facts that `probe --json` writes, of `check`."""
    click.echo((Path(__file__).resolve().parent / "schema" / f"{document}-1.schema.json").read_text("utf-8"), nl=False)


def _report(
    kb: KnowledgeBase,
    paths: tuple[str, ...],
    ahead: Ahead,
    answers: tuple[str, ...],
    assumed: tuple[str, ...],
    engine: str,
    watch: watching.Watch,
    triton: cli_triton.TritonOptions | None,
) -> Report:
    from gpuwhy.engine.run import diagnose_with
    from gpuwhy.kb.facts import FactBase
    from gpuwhy.probes.artefacts.read import UnusableInput, gather
    from gpuwhy.tui.inputs import named
    from gpuwhy.tui.report import Report

    told = bool(_said(kb, answers, assumed, FactBase()))  # before anything is read: a wrong answer is told at once
    try:
        live = watch.asked or triton is not None
        gathered = gather(named(paths if live else _sources(paths, told)), kb.facts, ahead)
    except UnusableInput as error:
        fail(str(error))
    gathered = watching.watched(gathered, watch, kb.facts)
    if triton is not None:
        gathered = cli_triton.with_triton(gathered, triton, kb.facts)
    base = FactBase.of(gathered.facts, gathered.absent)
    return Report(kb, gathered, diagnose_with(kb, base.with_facts(_said(kb, answers, assumed, base)), engine))


def _said(kb: KnowledgeBase, answers: tuple[str, ...], assumed: tuple[str, ...], base: FactBase) -> list[Fact]:
    """The facts of --answer and --what-if, about the entities that the artefacts told of."""
    if not answers and not assumed:
        return []
    from gpuwhy.engine.answers import AnswerError, parse_answer
    from gpuwhy.kb.facts import OriginKind

    said = [(text, OriginKind.PERSON, "answer") for text in answers]
    said += [(text, OriginKind.ASSUMED, "what-if") for text in assumed]
    try:
        return [parse_answer(kb.facts, text, kind, source, base) for text, kind, source in said]
    except AnswerError as error:
        fail(str(error))


def _sources(paths: tuple[str, ...], told: bool) -> tuple[str, ...]:
    """The paths; without any, standard input, unless it is a terminal and nothing but answers is meant."""
    if paths or not sys.stdin.isatty():
        return paths or ("-",)
    if not told:
        fail("nothing to read", "give files or folders, or - and paste, then Ctrl-D")
    return ()


def _show(report: Report, form: str) -> None:
    if form == "json":
        from gpuwhy.tui import report_json

        _print_json(report_json.document(report))
    elif form == "md":
        from gpuwhy.tui import report_markdown

        out(report_markdown.render(report))
    else:
        from gpuwhy.tui import report_text

        out(report_text.render(report, colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR")))


def _show_proof(report: Report, why: str | None, why_not: str | None, form: str) -> None:
    names = [name for name in (why, why_not) if name is not None]
    if form == "json":
        from gpuwhy.tui.report_json import proofs

        _print_json(proofs(report, names))
        return
    from gpuwhy.tui import explain

    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    found = [explain.why(report, why, ascii_only)] if why is not None else []
    found += [explain.why_not(report, why_not, ascii_only)] if why_not is not None else []
    text = "\n".join(found)
    out("".join(f"    {line}\n" for line in text.splitlines()) if form == "md" else text)


def _print_json(document: dict[str, Any]) -> None:
    """One JSON document; characters that steer a terminal, or that the encoding lacks, are written as escapes."""
    from gpuwhy.tui.report_json import dump

    text = dump(document)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = dump(document, ascii_only=True)
    sys.stdout.write(text)
