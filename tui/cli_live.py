"""Commands that look at the machine itself: `gpuwhy probe`, and what `gpuwhy diagnose --live` needs of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.kb.records import replace
from gpuwhy.tui.durations import duration
from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.rules_option import knowledge, rules_option

if TYPE_CHECKING:
    from gpuwhy.kb.facts import Absent, Fact
    from gpuwhy.kb.model import FactSpec
    from gpuwhy.probes.artefacts.read import Gathered, NotUnderstood
    from gpuwhy.probes.gathering import Gathering

SHOW_PROGRESS_FROM_SECONDS = 2.0

_BAR = 24


@click.command()
@click.option("--for", "seconds", metavar="TIME", callback=duration, default="20s", show_default=True, help="How long.")
@click.option("--json", "target", metavar="FILE", help="Write the facts to FILE (- is standard output).")
@rules_option
@click.pass_context
def probe(context: click.Context, seconds: float, target: str | None, rules: Path | None) -> None:
    """Watch the GPUs and the host of this machine, and say what was seen.

    Only reads: the GPUs through the driver's own interface NVML, the host in /proc and /sys; nothing is changed, and no
    privilege is needed. Ctrl-C ends the watch early and keeps what was seen. `gpuwhy diagnose FILE` diagnoses the
    facts, here or elsewhere.

    Exit status: 0 at least one GPU answered, 3 none did (the report says why), 2 unusable arguments.
    """
    from gpuwhy.kb.fact_file import dump

    _check_target(target)
    seen = watch(seconds, knowledge(rules).facts)
    for one in seen.unfit:
        click.echo(_encodable(f"gpuwhy: {one} does not fit the vocabulary and is left out"), err=True)
    if target == "-":
        sys.stdout.write(dump(seen.facts, seen.absent, ascii_only=True))
    else:
        from gpuwhy.tui import live_summary

        sys.stdout.write(_encodable(live_summary.render(seen)))
        if target is not None:
            _write(Path(target), dump(seen.facts, seen.absent))
            sys.stdout.write(_encodable(f"The facts are in {target}; `gpuwhy diagnose {target}` diagnoses them.\n"))
    context.exit(ExitCode.NOTHING_TO_FIX if _answered(seen) else ExitCode.CANNOT_TELL)


def watch(seconds: float, specs: Mapping[str, FactSpec]) -> Gathering:
    """What this machine shows over so many seconds, with a progress bar where a person waits for it."""
    from gpuwhy.probes.live import look

    return with_progress(seconds, lambda progress: look(seconds, progress, specs=specs))


def with_progress(
    seconds: float, watched: Callable[[Callable[[float], None] | None], Gathering], doing: str = "watching"
) -> Gathering:
    """What a watch of so many seconds gives; it is handed what shows its progress, where a person waits for it."""
    if seconds <= SHOW_PROGRESS_FROM_SECONDS or not sys.stderr.isatty():
        return watched(None)
    try:
        return watched(lambda share: _show_progress(doing, share, seconds))
    finally:
        click.echo("\r" + " " * (_BAR + 50) + "\r", nl=False, err=True)


def with_live(gathered: Gathered, seconds: float, specs: Mapping[str, FactSpec]) -> Gathered:
    """What artefacts told, and beside it what this machine shows now."""
    seen, name = watch(seconds, specs), "this machine"
    formats = ((name, "nvml"), (name, "host"))
    return joined(gathered, seen.facts, seen.absent, formats, (), unfit=seen.unfit, name=name)


def joined(
    gathered: Gathered,
    facts: tuple[Fact, ...],
    absent: tuple[Absent, ...],
    formats: tuple[tuple[str, str], ...],
    not_understood: tuple[NotUnderstood, ...],
    *,
    unfit: tuple[str, ...] = (),
    name: str = "",
) -> Gathered:
    """What was gathered, and more beside it; `unfit` is what the vocabulary has no place for."""
    from gpuwhy.probes.artefacts.read import NotUnderstood

    words = "does not fit the vocabulary of these rules"
    left_out = tuple(NotUnderstood(name, None, None, f"{one} {words}") for one in unfit)
    return replace(
        gathered,
        facts=(*gathered.facts, *facts),
        absent=(*gathered.absent, *absent),
        formats=(*gathered.formats, *formats),
        not_understood=(*gathered.not_understood, *not_understood, *left_out),
    )


def _show_progress(doing: str, share: float, seconds: float) -> None:
    done = round(share * _BAR)
    bar = "#" * done + "-" * (_BAR - done)
    click.echo(f"\r{doing}  [{bar}]  {share * seconds:4.0f} of {seconds:.0f} s  (Ctrl-C ends it)", nl=False, err=True)


def _answered(seen: Gathering) -> bool:
    """True if some GPU answered: then there is something to go by."""
    return any(one.id in ("gpu.utilization_share", "gpu.memory_used_bytes", "gpu.name") for one in seen.facts)


def _check_target(target: str | None) -> None:
    """Says at once, not after the watch, that the facts could not be written."""
    if target is None or target == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise click.BadParameter(f"{target} is a folder; name a file", param_hint="--json")
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise click.BadParameter(f"{target} cannot be written; name another file", param_hint="--json")


def _write(path: Path, text: str) -> None:
    """Writes a file in one step, so that nobody reads half of it; a pipe or device is written as it is."""
    real = path.resolve()
    whole = not real.exists() or real.is_file()
    temporary = real.with_name(f".{real.name}.{os.getpid()}") if whole else real
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        if whole:
            os.replace(temporary, real)
    except OSError as error:
        if whole:
            temporary.unlink(missing_ok=True)
        message = f"gpuwhy: {path} cannot be written: {error.strerror}; `--json -` gives the facts on standard output"
        click.echo(_encodable(message), err=True)
        raise SystemExit(ExitCode.UNUSABLE) from None


def _encodable(text: str) -> str:
    from gpuwhy.tui.wording import encodable, visible

    return encodable(visible(text), sys.stdout.encoding or "utf-8")
