"""`gpuwhy check`: is this machine fit to run a GPU job, looked at in three steps, then the diagnosis."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import knowledge, rules_option

if TYPE_CHECKING:
    from gpuwhy.probes.check import Looked
    from gpuwhy.tui.report import Report

PROGRESS_AFTER_SECONDS = 2.0


@click.command()
@click.option("--python", "python", metavar="PATH", help="The job's Python; by default of the virtual environment.")
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="Files that the job reads; only read.")
@click.option("--even-if-busy", is_flag=True, help="Measure the GPU although something runs on it.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rules_option
@click.pass_context
def check(
    context: click.Context, python: str | None, data: Path | None, even_if_busy: bool, form: str, rules: Path | None
) -> None:
    """Is this machine fit to run a GPU job: driver, CUDA and PyTorch, the GPU's own rates, the data path.

    PyTorch is asked in a process of its own, in the job's Python, for ten seconds a GPU and with a tenth of its free
    memory. Nothing is changed. Ctrl-C ends it early and keeps what was gathered.

    Exit status: 0 everything of step 1 is as it should be, 1 a cause is confirmed or likely, 2 unusable arguments,
    3 cannot tell.
    """
    from gpuwhy.probes.check import Options, look
    from gpuwhy.probes.torch_probe import find_python

    if python is not None and not os.access(python, os.X_OK):
        raise click.BadParameter(f"{python} cannot be run", param_hint="--python")
    kb = knowledge(rules)
    progress = _Progress()
    try:
        looked = look(Options(python or find_python(), data, even_if_busy), kb.facts, progress)
    finally:
        progress.clear()
    report, looked = _diagnosed(looked, kb)
    _show(report, looked, form)
    context.exit(_status(report, looked))


class _Progress:
    """One line that says what is being looked at, where a person waits for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._shown = False
        self._wanted = sys.stderr.isatty()

    def __call__(self, what: str) -> None:
        if self._wanted and self._clock() - self._begun > PROGRESS_AFTER_SECONDS:
            spent = self._clock() - self._begun
            click.echo(f"\r\x1b[K{spent:3.0f} s  looking at {what[:40]}  (Ctrl-C ends it)", nl=False, err=True)
            self._shown = True

    def clear(self) -> None:
        """Takes the line away."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)


def _diagnosed(looked: Looked, kb: object) -> tuple[Report, Looked]:
    from dataclasses import replace

    from gpuwhy.engine.run import diagnose_with
    from gpuwhy.kb.facts import FactBase
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.probes.artefacts.read import Gathered
    from gpuwhy.probes.check import with_expected
    from gpuwhy.tui.report import Report

    assert isinstance(kb, KnowledgeBase)
    seen = looked.seen
    gathered = Gathered(seen.facts, seen.absent, (("this machine", "check"),), ())
    diagnosis = diagnose_with(kb, FactBase.of(seen.facts, seen.absent))
    known = {(one.id, one.entity): one for one in diagnosis.facts}
    steps = tuple(with_expected(one, known) for one in looked.steps)
    return Report(kb, gathered, diagnosis), replace(looked, steps=steps)


def _status(report: Report, looked: Looked) -> ExitCode:
    from gpuwhy.tui.exit_codes import of

    found = of(report.diagnosis)
    if found is ExitCode.CAUSE_FOUND or not looked.steps[0].sound:
        return found if found is ExitCode.CAUSE_FOUND else ExitCode.CANNOT_TELL
    return ExitCode.NOTHING_TO_FIX


def _show(report: Report, looked: Looked, form: str) -> None:
    if form == "json":
        from gpuwhy.tui.report_json import document, dump

        steps = [
            {"title": one.title, "checks": [{"name": c.name, "state": c.state, "says": c.says} for c in one.checks]}
            for one in looked.steps
        ]
        whole = {"schema": 1, "interrupted": looked.seen.interrupted, "steps": steps, "diagnosis": document(report)}
        sys.stdout.write(dump(whole, ascii_only=True))
        return
    from gpuwhy.tui.check_text import render

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    out(render(report, looked, colour))
