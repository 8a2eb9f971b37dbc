"""One host of a fleet explained: its diagnosis, the proof of its causes, and what comparing it with others shows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.engine.peers import Member, Peers, about_peers, has_peers, members, with_peers
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts.read import Gathered, UnusableInput, gather
from gpuwhy.probes.fleet_inputs import Broken, Fleet, not_collected, read_host
from gpuwhy.probes.fleet_tables import HOST_COLUMN, read_whole, scan
from gpuwhy.tui import exit_codes, explain, report_text
from gpuwhy.tui.audit.tables import base_of, medians_of
from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.output import out
from gpuwhy.tui.report import Report
from gpuwhy.tui.rules_option import close, fail
from gpuwhy.tui.wording import wrapped

if TYPE_CHECKING:
    from gpuwhy.tui.audit.prometheus import Fleet as Scraped

NAMES_SHOWN = 5
NAMES_SOUGHT = 50_000
Bar = Callable[[int], AbstractContextManager[Any]]


def explain_host(kb: KnowledgeBase, fleet: Fleet, scraped: Scraped | None, name: str, bar: Bar) -> ExitCode:
    """Prints what `diagnose` says of the files of one host, and the proof of every cause; gives its exit status.

    Hosts of files and tables are compared with all others, as the audit does; `bar` shows how far reading them is.
    """
    unread = _unread(fleet, name)
    if unread is not None:
        out("\n".join(wrapped(f"{unread.host}: {unread.says}", "COULD NOT BE READ  ", " " * 12, 80)))
        return ExitCode.CANNOT_TELL
    gathered = _gathered(kb, fleet, scraped, name)
    base = FactBase.of(gathered.facts, gathered.absent)
    report = Report(kb, gathered, diagnose(kb, base))
    out("\n".join([report_text.render(report), *_proofs(report)]))
    code = exit_codes.of(report.diagnosis)
    if not any(one.at_work for one in members(name, base)):
        return code
    if scraped is not None:
        out(_not_compared(kb))
        return code
    compared = _compared(kb, fleet, gathered, base, name, bar)
    if compared is None:
        return code
    out("\n".join(["", "COMPARED WITH OTHER HOSTS", *_proofs(compared)]))
    return ExitCode.CAUSE_FOUND if _causes(compared) else code


def _unread(fleet: Fleet, name: str) -> Broken | None:
    """Why there is nothing to read of a host of the fleet; None where there is."""
    host = next((one for one in fleet.hosts if one.name == name), None)
    if host is not None:
        return not_collected(host)
    return next((one for one in fleet.broken if one.host == name), None)


def _proofs(report: Report) -> list[str]:
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return [explain.why(report, one, plain) for one in _causes(report)]


def _causes(report: Report) -> list[str]:
    return [one.id for one in report.diagnosis.asserted if one.spec.kind == "cause"]


def _compared(
    kb: KnowledgeBase, fleet: Fleet, gathered: Gathered, base: FactBase, name: str, bar: Bar
) -> Report | None:
    """What the rules about peers say of a host; None where they name no cause."""
    with bar(len(fleet.hosts)) as shown:
        found = list(_members(kb, fleet, shown))
    whole = with_peers(base, name, Peers(found, medians_of(kb, fleet.tables, found)))
    if not has_peers(whole):
        return None
    rules = about_peers(kb)
    report = Report(rules, gathered, diagnose(rules, whole, ask=False))
    return report if _causes(report) else None


def _members(kb: KnowledgeBase, fleet: Fleet, shown: Any) -> Iterator[Member]:
    for one in fleet.hosts:
        read = read_host(one, kb.facts)
        shown.update(1)
        if not isinstance(read, Broken):
            yield from members(one.name, FactBase.of(read.facts, read.absent))


def _not_compared(kb: KnowledgeBase) -> str:
    """What a diagnosis of one host of a Prometheus server cannot say for want of the others."""
    causes = sorted({cause for one in about_peers(kb).signatures.outlines for cause in one.about})
    says = f"comparisons with other hosts, which the report of the whole audit has ({', '.join(causes)})"
    return "\n".join(wrapped(says, "NOT HERE    ", " " * 12, 80))


def _gathered(kb: KnowledgeBase, fleet: Fleet, scraped: Scraped | None, name: str) -> Gathered:
    """What is known about one host of the fleet. Ends the process where there is none of this name."""
    host = next((one for one in fleet.hosts if one.name == name), None)
    if host is not None:
        try:
            return gather(host.inputs(), kb.facts)
        except UnusableInput as error:
            fail(str(error))
    found = base_of(kb, fleet.tables, name)
    if found is None and scraped is not None and (read := _of_prometheus(scraped, name)) is not None:
        return read
    if found is None:
        _unknown(_names(fleet, scraped), name)
    base, table = found
    return Gathered(tuple(base.facts()), (), ((table, "table of facts"),))


def _of_prometheus(scraped: Scraped, name: str) -> Gathered | None:
    from gpuwhy.tui.audit import prometheus

    return prometheus.gathered(scraped, name)


def _names(fleet: Fleet, scraped: Scraped | None) -> list[str]:
    """The hosts that could be meant, as far as they can be read."""
    names = [one.name for one in fleet.hosts] + ([] if scraped is None else list(scraped.found.hosts.by_name))
    for path in fleet.tables:
        try:
            with read_whole(path.name):
                names += scan(path).select(HOST_COLUMN).unique().sort(HOST_COLUMN).collect().to_series().to_list()
        except UnusableInput:
            continue
    return [one for one in names if one][:NAMES_SOUGHT]


def _unknown(names: list[str], name: str) -> NoReturn:
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    some = ", ".join(names[:NAMES_SHOWN]) + more
    fail(f"no host `{name}` in this fleet", close(name, names) or (f"it has {some}" if names else "it has none"))
