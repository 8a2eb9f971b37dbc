"""The report of an audit for a terminal: causes first, by type and host, then what could not be judged."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.texts import say
from gpuwhy.tui.audit.model import BROKEN, Audit, Cause, Finding
from gpuwhy.tui.audit.use import prices_told, told
from gpuwhy.tui.wording import visible, wrapped

WIDTH = 80
HOSTS_SHOWN = 8
ROWS_SHOWN = 12
REASONS_SHOWN = 3


def render(audit: Audit) -> str:
    """The report, 80 columns wide."""
    lines = [*_head(audit)]
    for cause in audit.causes():
        lines += ["", *_cause(cause)]
    for part in (_changes, _waived, _use, _normal, _undecided, _broken, _notes):
        found = list(part(audit))
        if found:
            lines += ["", *found]
    return visible("\n".join(lines)) + "\n"


def count(number: int, thing: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _head(audit: Audit) -> Iterator[str]:
    counts = audit.counts()
    yield f"{count(counts['hosts'], 'host')}, {count(counts['gpus'], 'GPU')}"
    judged = counts["hosts"] - counts[BROKEN]
    share = f" ({100 * counts['cause'] / judged:.1f} % of those judged)" if judged else ""
    yield f"  {counts['cause']:>7,}  with a cause to fix{share}: {counts['errors']:,} confirmed"
    yield f"  {counts['nothing to fix']:>7,}  with nothing to fix"
    yield f"  {counts['cannot tell']:>7,}  cannot tell"
    yield f"  {counts[BROKEN]:>7,}  could not be read"


def _cause(cause: Cause) -> Iterator[str]:
    gpus = f", {count(cause.gpus, 'GPU')}" if any(one.entities for group in cause.groups for one in group.hosts) else ""
    yield from wrapped(f"{cause.id}  {cause.says}", f"{cause.status.upper():<11} ", " " * 12, WIDTH)
    sure = sum(one.status == "confirmed" for group in cause.groups for one in group.hosts)
    mixed = f", {sure:,} confirmed" if 0 < sure < cause.hosts else ""
    yield f"            {count(cause.hosts, 'host')}{mixed}{gpus}"
    if cause.example:
        yield from wrapped(cause.example, "            ", "            ", WIDTH)
    for group in cause.groups[:ROWS_SHOWN]:
        yield from wrapped(f"{group.type}: {_names(group.hosts)}", f"  {len(group.hosts):>7,}  ", " " * 13, WIDTH)
    if len(cause.groups) > ROWS_SHOWN:
        yield f"           and {count(len(cause.groups) - ROWS_SHOWN, 'more type')}"


def _names(found: tuple[Finding, ...]) -> str:
    shown = ", ".join(
        one.host + (f" ({_entities(one)})" if one.entities else "") + (f" {one.change}" if one.change else "")
        for one in found[:HOSTS_SHOWN]
    )
    return shown + (f" and {len(found) - HOSTS_SHOWN:,} more" if len(found) > HOSTS_SHOWN else "")


def _entities(one: Finding) -> str:
    return ", ".join(one.entities[:4]) + (f" and {len(one.entities) - 4} more" if len(one.entities) > 4 else "")


def _changes(audit: Audit) -> Iterator[str]:
    if not audit.baseline:
        return
    new, stays, gone = audit.changes()
    told = f"{audit.baseline}: {new:,} new, {stays:,} persisting, {gone:,} cleared"
    yield from wrapped(told, "SINCE       ", " " * 12, WIDTH)
    for one in audit.cleared[:ROWS_SHOWN]:
        yield f"  cleared   {one.conclusion}  {one.host}"


def _waived(audit: Audit) -> Iterator[str]:
    found = [one for one in audit.findings if one.waived]
    if found:
        yield f"ACCEPTED    {count(len(found), 'finding')}"
    for one in found[:ROWS_SHOWN]:
        yield from wrapped(f"{one.conclusion}  {one.host}: {one.waived}", "            ", "            ", WIDTH)


def _use(audit: Audit) -> Iterator[str]:
    """Types with idle or hardly used GPUs, and how many GPUs could be judged at all."""
    if not any(one.count.judged for one in audit.use):
        return
    counts = [one.count for one in audit.use]
    idle, small, judged, gpus = (
        sum(getattr(one, key) for one in counts) for key in ("idle", "small", "judged", "gpus")
    )
    head = f"{idle:,} of {count(judged, 'GPU')} idle all the time, {small:,} with little to do"
    if gpus > judged:
        head += f"; {gpus - judged:,} not seen several times over"
    yield from wrapped(head, "USE         ", " " * 12, WIDTH)
    wasting = [one for one in audit.use if one.count.idle or one.count.small]
    for one in wasting[:ROWS_SHOWN]:
        yield from wrapped(told(one), "            ", " " * 14, WIDTH)
    if len(wasting) > ROWS_SHOWN:
        yield f"            and {count(len(wasting) - ROWS_SHOWN, 'more type')}"
    if small:
        yield from wrapped(
            "little: at most 15 % utilisation in half of the samples, under 10 GB of memory used at most: a smaller "
            "GPU or a slice would do", "            ", "            ", WIDTH,
        )  # fmt: skip
    if prices_told(wasting):
        yield from wrapped(prices_told(wasting), "            ", "            ", WIDTH)


def _normal(audit: Audit) -> Iterator[str]:
    counts = dict(audit.others)
    for one in audit.findings:
        if one.kind != "cause" and one.status != "possible":
            counts[one.conclusion] = counts.get(one.conclusion, 0) + 1
    if counts:
        yield "AS IT SHOULD BE, OR TO LOOK AT"
    for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:ROWS_SHOWN]:
        yield from wrapped(f"{name}  {say(audit.kb.conclusions[name].says)}", f"  {number:>7,}  ", " " * 13, WIDTH)


def _undecided(audit: Audit) -> Iterator[str]:
    found = audit.undecided()
    if found:
        yield "COULD NOT BE JUDGED  hosts, cause, and which reading could not be taken why"
    for name, number in found[:ROWS_SHOWN]:
        yield f"  {number:>7,}  {name}"
        reasons = sorted((-hosts, fact, why) for (about, fact, why), hosts in audit.unread.items() if about == name)
        for hosts, fact, why in reasons[:REASONS_SHOWN]:
            yield from wrapped(f"{fact}: {why}", f"  {-hosts:>11,}  ", " " * 17, WIDTH)
    if len(found) > ROWS_SHOWN:
        yield f"           and {count(len(found) - ROWS_SHOWN, 'more cause')}"


def _broken(audit: Audit) -> Iterator[str]:
    found = [one for one in audit.hosts.values() if one.state == BROKEN]
    if found:
        yield f"COULD NOT BE READ  {count(len(found), 'host')}"
    for one in found[:ROWS_SHOWN]:
        yield from wrapped(f"{one.name}: {one.says}", "            ", "            ", WIDTH)
    if len(found) > ROWS_SHOWN:
        yield f"            and {len(found) - ROWS_SHOWN:,} more; --format csv lists all"


def _notes(audit: Audit) -> Iterator[str]:
    for one in audit.notes:
        yield from wrapped(one, "note        ", "            ", WIDTH)
