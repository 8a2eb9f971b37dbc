"""`gpuwhy diagnose --triton`: options, and what a look at a running server adds to a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuwhy.kb.records import dataclass, replace

if TYPE_CHECKING:
    from gpuwhy.kb.model import FactSpec
    from gpuwhy.probes.artefacts.read import Gathered
    from gpuwhy.probes.gathering import Gathering
    from gpuwhy.probes.triton_live import Target

DEFAULT_SECONDS = 20.0
MAX_PROBE_REQUESTS = 10_000


@dataclass(frozen=True)
class TritonOptions:
    """What was asked for on the command line."""

    address: str
    seconds: float
    http: str | None = None
    repository: Path | None = None
    log: Path | None = None
    header: str | None = None
    probe_load: int | None = None
    probe_model: str | None = None


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which gets `triton`: what was asked for, or None.

    How long is asked for by the options of watching, which stand around these and hand it over.
    """

    @wraps(command)
    def with_triton(*args: Any, **given: Any) -> None:
        address, seconds = given.pop("triton_address"), given.pop("triton_seconds")
        others = {name: given.pop(f"triton_{name}") for name in ("http", "repository", "log", "header")}
        others |= {name: given.pop(name) for name in ("probe_load", "probe_model")}
        if address is None and any(value is not None for value in others.values()):
            shown = next(name for name, value in others.items() if value is not None)
            raise click.UsageError(f"{_OPTIONS[shown]} goes with --triton HOST:PORT")
        if others["probe_model"] is not None and others["probe_load"] is None:
            raise click.UsageError("--probe-model goes with --probe-load N")
        triton = None if address is None else TritonOptions(address, seconds or DEFAULT_SECONDS, **others)
        command(*args, triton=triton, **given)

    decorated: Callable[..., None] = with_triton
    for add in reversed(_DECLARED):
        decorated = add(decorated)
    return decorated


_OPTIONS = {
    "http": "--triton-http",
    "repository": "--repository",
    "log": "--log",
    "header": "--triton-header",
    "probe_load": "--probe-load",
    "probe_model": "--probe-model",
}
_FILE = click.Path(path_type=Path)
_DECLARED = (
    click.option("--triton", "triton_address", metavar="HOST:PORT", help="Watch a Triton server: its metrics port."),
    click.option(
        "--repository", "triton_repository", type=_FILE, help="Model repository of that server, on this disk."
    ),
    click.option("--log", "triton_log", type=_FILE, help="Log file of that server, followed while it is watched."),
    click.option("--triton-http", metavar="HOST:PORT", help="Its HTTP port, where it is not found beside the metrics."),
    click.option("--triton-header", metavar="'NAME: VALUE'", help="A header for every request (authorisation)."),
    click.option(
        "--probe-load",
        type=click.IntRange(1, MAX_PROBE_REQUESTS),
        metavar="N",
        help="Send N requests of zeros, one after the other, and time them; without it nothing is sent to a model.",
    ),
    click.option("--probe-model", metavar="NAME", help="The model to send them to, where there are several."),
)


def with_triton(gathered: Gathered, asked: TritonOptions, specs: Mapping[str, FactSpec]) -> Gathered:
    """What artefacts told, and beside it what the server shows over the window."""
    from gpuwhy.probes.artefacts.read import NotUnderstood

    seen = watch(asked, specs)
    name = f"triton at {asked.address}"
    unfit = [NotUnderstood(name, None, None, f"{one} does not fit the vocabulary of these rules") for one in seen.unfit]
    refused = dict.fromkeys(one.reason for one in seen.absent if one.id in _REFUSALS)
    unfit += [NotUnderstood(name, None, None, reason) for reason in refused]
    return replace(
        gathered,
        facts=(*gathered.facts, *seen.facts),
        absent=(*gathered.absent, *seen.absent),
        formats=(*gathered.formats, (name, "triton")),
        not_understood=(*gathered.not_understood, *unfit),
    )


_REFUSALS = ("serve.metrics_answered", "serve.statistics_answered", "serve.control_mode", "serve.probe_count")
"""Facts whose absence means that something which was asked for could not be read."""


def watch(asked: TritonOptions, specs: Mapping[str, FactSpec]) -> Gathering:
    """What the server shows; ends the command where an argument makes no sense."""
    from gpuwhy.probes.triton_live import look
    from gpuwhy.tui.cli_live import with_progress

    return with_progress(asked.seconds, lambda progress: look(_target(asked), asked.seconds, specs, progress))


def _target(asked: TritonOptions) -> Target:
    from gpuwhy.probes.triton_discovery import HTTP_PORT, METRICS_PORT
    from gpuwhy.probes.triton_http import AddressError, address
    from gpuwhy.probes.triton_live import Target

    headers = _headers(asked.header)
    try:
        given = address(asked.address, METRICS_PORT, headers)
        http = None if asked.http is None else address(asked.http, HTTP_PORT, headers)
    except AddressError as error:
        raise click.BadParameter(str(error), param_hint="--triton") from None
    return Target(given, http, asked.repository, asked.log, asked.probe_load, asked.probe_model)


def _headers(header: str | None) -> dict[str, str]:
    if header is None:
        return {}
    name, colon, value = header.partition(":")
    if not colon or not name.strip() or not header.isprintable():
        raise click.BadParameter("write it as 'Authorization: Bearer …'", param_hint="--triton-header")
    return {name.strip(): value.strip()}
