"""`gpuwhy collect`: facts of many hosts over SSH, one file for each."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.tui.durations import duration
from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.output import out

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from gpuwhy.probes.ssh_collect import Outcome, Target
    from gpuwhy.tui.collect_files import Folder

MAX_PARALLEL = 256
DEFAULT_PARALLEL = 16


@click.command()
@click.argument("hosts", nargs=-1)
@click.option(
    "--hosts", "lists", multiple=True, type=click.File("r", errors="replace"), help="A list of hosts; - is stdin."
)
@click.option("--out", default="facts", show_default=True, type=click.Path(path_type=Path), help="Folder of the files.")
@click.option("--parallel", default=DEFAULT_PARALLEL, show_default=True, type=click.IntRange(1, MAX_PARALLEL))
@click.option(
    "--timeout", "seconds", metavar="TIME", callback=duration, default="60s", show_default=True, help="Per host."
)
@click.option("--ssh-config", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="As ssh -F.")
@click.option("--ssh-option", "options", multiple=True, metavar="KEY=VALUE", help="As ssh -o; may be given again.")
@click.option("--resume", is_flag=True, help="Leave out hosts whose file is younger than --fresh.")
@click.option("--fresh", metavar="TIME", callback=duration, default="1h", show_default=True, help="For --resume.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
@click.option(
    "--show-collector", is_flag=True, help="Print what would run on the hosts, byte for byte, and run nothing."
)
@click.pass_context
def collect(
    context: click.Context,
    hosts: tuple[str, ...],
    lists: tuple[Iterable[str], ...],
    out: Path,
    parallel: int,
    seconds: float,
    ssh_config: str | None,
    options: tuple[str, ...],
    resume: bool,
    fresh: float,
    as_json: bool,
    show_collector: bool,
) -> None:
    """Collect facts of other hosts over your own ssh, one file per host in --out.

    Sends one read-only program to `python3 -` on each host, or a shell program where there is no Python, and reads its
    answer. Nothing is installed, written or left there, host keys are always checked, and nothing is asked. `gpuwhy
    diagnose facts/HOST.facts.json` diagnoses a host.

    Exit status: 0 every host was collected, 3 some were not (the summary says why), 2 unusable arguments.
    """
    from gpuwhy.probes.ssh_collect import Target

    target = Target(_checked(options), ssh_config, seconds)
    if show_collector:
        _show(target)
        return
    wanted = _wanted(hosts, lists)
    _prepare(out)
    from gpuwhy.tui.collect_files import Folder

    folder = Folder(out)
    skipped = [host for host in wanted if resume and folder.is_fresh(host, fresh)]
    outcomes, interrupted = _run([host for host in wanted if host not in set(skipped)], target, parallel, folder)
    from gpuwhy.tui import collect_summary

    if as_json:
        json.dump(collect_summary.document(outcomes, skipped, folder), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(collect_summary.render(outcomes, skipped, folder))
    if interrupted:
        raise SystemExit(ExitCode.INTERRUPTED)
    context.exit(ExitCode.CANNOT_TELL if any(one.found is None for one in outcomes) else ExitCode.NOTHING_TO_FIX)


def _checked(options: tuple[str, ...]) -> tuple[str, ...]:
    from gpuwhy.probes.ssh_collect import problem_with_option

    for option in options:
        problem = problem_with_option(option)
        if problem is not None:
            raise click.BadParameter(f"{option}: {problem}", param_hint="--ssh-option")
    return options


def _wanted(hosts: tuple[str, ...], lists: tuple[Iterable[str], ...]) -> list[str]:
    """All hosts that were named, each once."""
    from gpuwhy.probes.remote_hosts import hosts_in
    from gpuwhy.probes.ssh_collect import problem_with_host

    named = list(dict.fromkeys([*hosts, *(host for one in lists for host in hosts_in(one))]))
    for host in named:
        problem = problem_with_host(host)
        if problem is not None:
            raise click.BadParameter(f"{host!r}: {problem}", param_hint="HOSTS")
    if not named:
        raise click.UsageError("no host is named; name hosts, or a list with --hosts FILE")
    return named


def _prepare(out: Path) -> None:
    """Makes the folder, for its owner alone: facts name hosts, users and processes."""
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(f"{out}: {error.strerror}", param_hint="--out") from None


def _run(hosts: Sequence[str], target: Target, parallel: int, folder: Folder) -> tuple[list[Outcome], bool]:
    """Collects from all hosts, writing each as it comes in; True if that was interrupted."""
    from gpuwhy.kb.load import load
    from gpuwhy.probes.remote_hosts import collect_all
    from gpuwhy.probes.ssh_collect import Cancel, Outcome
    from gpuwhy.probes.ssh_output import Reason

    outcomes: list[Outcome] = []
    cancel = Cancel()
    waiting = collect_all(hosts, target, load().facts, parallel, cancel)
    interrupted = False
    began = time.monotonic()
    with _bar(len(hosts)) as bar:
        try:
            for one in waiting:
                outcomes.append(one)
                folder.write(one)
                rate = 60 * len(outcomes) / max(time.monotonic() - began, 1e-3)
                bar.label = f"{len(outcomes)} of {len(hosts)} hosts, {rate:.0f} a minute"
                bar.update(1)
        except KeyboardInterrupt:
            interrupted = True
            cancel.set()
    done = {one.host for one in outcomes}
    outcomes += [Outcome(host, 0.0, reason=Reason.INTERRUPTED) for host in hosts if host not in done]
    return outcomes, interrupted


def _bar(length: int) -> ProgressBar[int]:
    """A progress bar on standard error, where that is a terminal."""
    seen = sys.stderr.isatty()
    return click.progressbar(
        length=length, label="collecting", width=24, show_eta=False, file=sys.stderr if seen else StringIO()
    )


def _show(target: Target) -> None:
    """The command lines and both collectors."""
    import shlex

    from gpuwhy.probes.ssh_collect import COLLECTORS, collector_text

    for which, (_, remote) in COLLECTORS.items():
        when = "first" if which == "python" else "where the host has no Python 3.6 or later"
        command = shlex.join(target.command("HOST", f"{remote} TOKEN SECONDS"))
        _print(f"# ---- {when}: {command}\n# ---- TOKEN is random; what follows is its standard input\n")
        _print(collector_text(which))


def _print(text: str) -> None:
    from gpuwhy.tui.wording import visible

    out(visible(text))
