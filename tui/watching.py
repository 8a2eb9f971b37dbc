"""What `gpuwhy diagnose` watches beside what it reads: this machine (--live), or a running job (--pid)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from gpuwhy.tui.durations import duration
from gpuwhy.tui.rules_option import fail

if TYPE_CHECKING:
    from gpuwhy.kb.model import FactSpec
    from gpuwhy.probes.artefacts.read import Gathered

DEFAULT_SECONDS = 20.0

Command = Callable[..., Any]

_OPTIONS = (
    click.option("--live", metavar="TIME", callback=duration, help="Watch this machine too, GPUs and host: 20s, 2m."),
    click.option("--pid", type=click.IntRange(1), metavar="PID", help="Watch this running job and its children."),
    click.option(
        "--for", "seconds", metavar="TIME", callback=duration, help="How long, of a job or a Triton server. [20s]"
    ),
    click.option(
        "--environment/--no-environment",
        default=None,
        help="Read the job's settings of PyTorch, NCCL, CUDA, OMP and MKL too; where nothing is said you are asked.",
    ),
)


class Watch(NamedTuple):
    """What is to be watched, for how many seconds, and whether settings may be read."""

    live: float | None
    pid: int | None
    seconds: float | None
    environment: bool | None

    @property
    def asked(self) -> bool:
        """True if anything is to be watched."""
        return self.live is not None or self.pid is not None


def options(command: Command) -> Command:
    """Gives a command the options of watching, as one argument `watch`; it stands around those of a Triton server."""

    @wraps(command)
    def run(
        live: float | None, pid: int | None, seconds: float | None, environment: bool | None, **others: Any
    ) -> None:
        server = others.get("triton_address") is not None
        if seconds is not None and pid is None and not server:
            raise click.UsageError("--for goes with --pid PID or --triton HOST:PORT; of the machine it is --live TIME")
        if pid is not None and live is not None:
            raise click.UsageError("--pid watches the machine too; say how long with --for TIME, without --live")
        others["triton_seconds"] = seconds if server else None
        command(watch=Watch(live, pid, seconds, environment), **others)

    found: Command = run
    for option in reversed(_OPTIONS):
        found = option(found)
    return found


def watched(gathered: Gathered, watch: Watch, specs: Mapping[str, FactSpec]) -> Gathered:
    """What was read, and what the machine or a running job shows now where that is asked for."""
    if watch.pid is not None:
        return _with_process(gathered, watch.pid, watch, specs)
    if watch.live is not None:
        from gpuwhy.tui.cli_live import with_live

        return with_live(gathered, watch.live, specs)
    return gathered


def _with_process(gathered: Gathered, pid: int, watch: Watch, specs: Mapping[str, FactSpec]) -> Gathered:
    """The job, its host and its GPUs over one window, and its settings where that is allowed."""
    from gpuwhy.probes import pid_watch
    from gpuwhy.tui.cli_live import joined, with_progress

    length, name = watch.seconds or DEFAULT_SECONDS, f"process {pid}"
    allowed = _consent(pid) if watch.environment is None else watch.environment
    try:
        seen = with_progress(length, lambda show: pid_watch.watch(pid, length, show, specs=specs), name)
    except pid_watch.NoProcess as error:
        fail(str(error))
    told = _environment(pid, specs) if allowed else None
    for one in [] if told is None else [told]:
        gathered = joined(gathered, one.facts, one.absent, one.formats, one.not_understood)
    formats = tuple((name, form) for form in ("stacks", "host", "nvml"))
    return joined(gathered, seen.facts, seen.absent, formats, (), unfit=seen.unfit, name=name)


def _consent(pid: int) -> bool:
    """Asks a person; where none is there the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    from gpuwhy.probes.process_environment import WHAT

    text = f"Read {WHAT} from the environment of process {pid} too?"
    return click.confirm(text, default=False, err=True)


def _environment(pid: int, specs: Mapping[str, FactSpec]) -> Gathered | None:
    """The settings that matter, read like a pasted listing of them."""
    from pathlib import Path

    from gpuwhy.probes.process_environment import gathered, settings

    try:
        found = settings(Path("/proc"), pid)
    except OSError as error:
        click.echo(f"gpuwhy: the environment of process {pid} cannot be read: {error.strerror}", err=True)
        return None
    click.echo(f"gpuwhy: of its environment {len(found.shown)} settings are read, {found.left_out} are not", err=True)
    return gathered(found, pid, specs)
