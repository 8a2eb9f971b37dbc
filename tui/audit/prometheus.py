"""Audits the hosts that a Prometheus server knows: options of the command line, and hosts judged page by page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.tui.audit.model import BROKEN
from gpuwhy.tui.durations import duration_up_to
from gpuwhy.tui.rules_option import fail

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.probes.artefacts.read import Gathered
    from gpuwhy.probes.fleet_inputs import Broken as Unread
    from gpuwhy.probes.prometheus_fleet import Found, HostFacts
    from gpuwhy.probes.prometheus_http import Client
    from gpuwhy.probes.prometheus_kept import Kept
    from gpuwhy.probes.prometheus_page import Window
    from gpuwhy.probes.prometheus_targets import LabelMap
    from gpuwhy.tui.audit.run import Collected

F = TypeVar("F", bound=Callable[..., Any])
_YEAR = 366 * 86400.0
_PORTION = 400
_WARNINGS_SHOWN = 5
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def prometheus_options(command: F) -> F:
    """The options of an audit that asks Prometheus, given to the command as `asked`."""
    for option in reversed(
        (
            click.option("--prometheus", "url", metavar="URL", help="Audit the hosts that this Prometheus scrapes."),
            click.option("--since", metavar="TIME", callback=duration_up_to(_YEAR), default="24h", show_default=True,
                         help="How far back to look (90m, 24h, 168h)."),
            click.option("--until", metavar="MOMENT", callback=_moment,
                         help="Look back from then (2026-11-30T12:00Z), not from now."),
            click.option("--match", metavar="MATCHERS", default="",
                         help="Only series with these labels: 'cluster=\"a\"'."),
            click.option("--host-label", "host_labels", multiple=True, metavar="LABEL",
                         help="The label that names the host."),
            click.option("--type-label", "type_labels", multiple=True, metavar="LABEL",
                         help="The label with the machine type."),
            click.option("--mapping", type=_FILE, help="Labels, names, machine types and regions of hosts, as YAML."),
            click.option("--bearer-file", type=_FILE, help="File with a token (or GPUWHY_PROMETHEUS_BEARER)."),
            click.option("--basic-auth-file", type=_FILE, help="File with user:password (or GPUWHY_PROMETHEUS_BASIC)."),
            click.option("--ca-file", type=_FILE, help="Certificates to trust instead of those of this machine."),
            click.option("--query-timeout", metavar="TIME", callback=duration_up_to(3600.0), default="60s",
                         show_default=True, help="How long one query may take."),
            click.option("--resume", type=click.Path(dir_okay=False, path_type=Path),
                         help="Keep what was read in this file; go on from it where it exists."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def _moment(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Seconds since the epoch of a moment in ISO 8601; without a zone it is UTC."""
    del context, parameter
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value[:-1] + "+00:00" if value.endswith(("Z", "z")) else value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no moment; write 2026-11-30T12:00Z") from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)).timestamp()


@dataclass(frozen=True)
class Fleet:
    """The hosts that a server knows, and how they are read."""

    kb: KnowledgeBase
    client: Client
    mapping: LabelMap
    window: Window
    found: Found
    kept: Kept | None

    def __len__(self) -> int:
        return len(self.found.listed)

    def read(self, told: Callable[[str], object], only: str | None = None) -> Iterator[HostFacts]:
        """The hosts, one after another; `only`: the one of this name."""
        from gpuwhy.probes import prometheus_fleet

        known = self.kept.hosts if self.kept is not None else {}
        wanted = [one for one in self.found.listed if only in (None, one.name)]
        yield from (known[one.name] for one in wanted if one.name in known)
        left = [one for one in wanted if one.name not in known]
        for one in prometheus_fleet.read(self.client, self.found, self.mapping, self.window, self.kb.facts, left, told):
            if self.kept is not None:
                self.kept.add(one)
            yield one


def find(kb: KnowledgeBase, asked: dict[str, Any], alone: bool) -> Fleet | Unread:
    """The hosts that the server of `--prometheus` knows, or why it told none.

    Ends the process where what was asked is no question, and, if there is nothing else to audit (`alone`), where there
    is no answer.
    """
    from gpuwhy.probes import prometheus_fleet
    from gpuwhy.probes.fleet_inputs import Broken
    from gpuwhy.probes.prometheus_http import AddressError, Client, QueryError, authorization, server
    from gpuwhy.probes.prometheus_kept import KeptError, resume
    from gpuwhy.probes.prometheus_targets import MappingError

    try:
        headers = authorization(asked["bearer_file"], asked["basic_auth_file"])
        client = Client(server(asked["url"], headers, asked["ca_file"]), asked["query_timeout"])
        mapping = _mapping(asked)
        over = prometheus_fleet.window(asked["until"] or time.time(), asked["since"])
        kept = None
        if asked["resume"] is not None:
            question = {"server": client.server.shown, "since": asked["since"], "match": mapping.match}
            question |= {"until": asked["until"], "labels": [*mapping.host, "", *mapping.instance_type]}
            kept = resume(asked["resume"], question, over)
            over = kept.window
        found = prometheus_fleet.find(client, mapping, over)
    except (AddressError, MappingError, KeptError) as error:
        fail(str(error))
    except QueryError as error:
        if alone:
            fail(error.says if asked["url"] in error.says else f"{asked['url']}: {error.says}")
        return Broken(asked["url"], error.says)
    return Fleet(kb, client, mapping, over, found, kept)


def _mapping(asked: dict[str, Any]) -> LabelMap:
    from gpuwhy.probes.prometheus_targets import LabelMap, read_mapping

    made = LabelMap() if asked["mapping"] is None else read_mapping(asked["mapping"])
    return replace(
        made,
        host=(*asked["host_labels"], *made.host),
        instance_type=(*asked["type_labels"], *made.instance_type),
        match=", ".join(one for one in (made.match, asked["match"]) if one),
    )


def add_hosts(collected: Collected, fleet: Fleet, progress: Callable[[int], object]) -> None:
    """Reads and judges the hosts; what could not be read, or is not known as it is now, is a row that says so."""
    from gpuwhy.probes.fleet_inputs import Broken

    warnings: dict[str, None] = {}
    hosts = fleet.read(lambda says: warnings.setdefault(says))
    unread = 0
    while portion := list(islice(hosts, _PORTION)):
        _judge(collected, portion)
        unread += sum(bool(one.failed) or not one.facts for one in portion)
        progress(len(portion))
    collected.named.append([one.name for one in fleet.found.listed] + list(fleet.found.silent))
    for name, says in fleet.found.silent.items():
        collected.broken(Broken(name, says))
    if not fleet.found.listed:
        collected.notes.append(
            f"{fleet.client.server.shown} has no metrics of dcgm-exporter, nvidia_gpu_exporter or Triton in this time"
            f"{' with these labels' if fleet.mapping.match else ''}: --since looks further back, --until ends elsewhere"
        )
    if unread:
        collected.notes.append(
            "hosts that could not be read can be asked for again: --resume FILE keeps what was read and goes on from "
            "there; --query-timeout gives a query longer, a shorter --since less to do"
        )
    collected.notes += fleet.found.notes
    told = list(dict.fromkeys((*fleet.found.warnings, *warnings)))
    collected.notes += [f"the server warns, so that hosts may lack readings: {one}" for one in told[:_WARNINGS_SHOWN]]


def _judge(collected: Collected, portion: list[HostFacts]) -> None:
    from gpuwhy.probes.fleet_inputs import Broken
    from gpuwhy.tui.audit.run import add_judged, host_of

    bases: dict[str, FactBase] = {}
    stale: dict[str, str] = {}
    for one in portion:
        if one.failed or not one.facts:
            collected.broken(Broken(one.name, one.failed or one.stale or "no usable samples"))
            continue
        base = FactBase.of(one.facts, one.absent)
        name = collected.unused(one.name)
        bases[name] = base
        collected.hosts[name] = host_of(name, base, one.stale)
        if one.stale:
            stale[name] = one.stale
    first = len(collected.findings)
    add_judged(collected, bases)
    sick = {one.host for one in collected.findings[first:] if one.is_cause}
    for found in collected.findings[first:]:
        if found.is_cause and found.conclusion not in collected.kept:
            collected.kept[found.conclusion] = (found.host, bases[found.host])
    for name, says in stale.items():
        if name not in sick:  # what it was like then does not make it sound now
            collected.hosts[name] = collected.hosts[name]._replace(state=BROKEN, says=says)


def gathered(fleet: Fleet, name: str) -> Gathered | None:
    """What is known about one host, for its diagnosis; None if the server does not know it."""
    from gpuwhy.probes.artefacts.read import Gathered

    one = next(fleet.read(lambda _: None, name), None)
    if one is None:
        return None
    if one.failed:
        fail(f"{name}: {one.failed}")
    return Gathered(one.facts, one.absent, ((fleet.client.server.shown, "Prometheus"),))
