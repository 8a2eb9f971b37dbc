"""The report of an audit for a terminal: causes first, by type and host, then what could not be judged."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.texts import say
from gpuwhy.tui.audit.model import ACCEPTED, BROKEN, CAUSE, SOUND, UNSURE, Audit, Cause, Finding
from gpuwhy.tui.audit.use import prices_told, told
from gpuwhy.tui.wording import visible, wrapped

WIDTH = 80
FULL_CAUSES = 2
OVERVIEW_ROWS = 15
HOSTS_SHOWN = 8
ROWS_SHOWN = 12
REASONS_SHOWN = 3


def render(audit: Audit) -> str:
    """The report, 80 columns wide."""
    causes = audit.causes()
    lines = [*_head(audit), *_changes(audit), *_overview(causes)]
    for cause in causes:
        lines += ["", *_cause(cause)]
    for part in (_cleared, _waived, _unsure, _use, _normal, _undecided, _broken, _notes):
        found = list(part(audit))
        if found:
            lines += ["", *found]
    return visible("\n".join(lines)) + "\n"


def count(number: int, thing: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _head(audit: Audit) -> Iterator[str]:
    counts = audit.counts()
    none = "" if counts["hosts"] else ": there was nothing to judge"
    yield f"{count(counts['hosts'], 'host')}, {count(counts['gpus'], 'GPU')}{none}"
    share = audit.cause_share()
    told = "" if share is None else f" ({100 * share:.1f} % of those read): {counts['errors']:,} confirmed"
    yield f"  {counts[CAUSE]:>7,}  with a cause to fix{told}"
    if counts[ACCEPTED]:
        yield f"  {counts[ACCEPTED]:>7,}  with accepted risks only"
    yield f"  {counts[SOUND]:>7,}  with nothing to fix"
    yield f"  {counts[UNSURE]:>7,}  cannot tell"
    yield f"  {counts[BROKEN]:>7,}  could not be read"
    if audit.known_sound:
        yield from wrapped(false_alarms(audit), "FALSE ALARMS  ", " " * 12, WIDTH)


def false_alarms(audit: Audit) -> str:
    """How many hosts of a fleet known to be sound are said to have a cause to fix."""
    counts, share = audit.counts(), audit.cause_share()
    if share is None:
        return "no host could be read"
    read = counts["hosts"] - counts[BROKEN]
    told = f"{counts[CAUSE]:,} of {count(read, 'host')} that could be read ({100 * share:.1f} %)"
    told += f": {counts['errors']:,} confirmed, {counts['warnings']:,} likely"
    return f"{told}; of {counts[UNSURE]:,} nothing decides"


def _overview(causes: list[Cause]) -> Iterator[str]:
    """A line for each cause, where there are more than the first screen holds in full."""
    if len(causes) <= FULL_CAUSES:
        return
    yield ""
    for one in causes[:OVERVIEW_ROWS]:
        new = f" ({one.new:,} new)" if one.new else ""
        told = f"{one.status.upper():<11} {one.hosts:>7,}  {one.id}{new}  {one.says}"
        yield told if len(told) <= WIDTH else told[: WIDTH - 1].rstrip() + "…"
    if len(causes) > OVERVIEW_ROWS:
        yield f"           and {count(len(causes) - OVERVIEW_ROWS, 'more cause')}, all below"


def _cause(cause: Cause) -> Iterator[str]:
    gpus = f", {count(cause.gpus, 'GPU')}" if any(one.entities for group in cause.groups for one in group.hosts) else ""
    yield from wrapped(f"{cause.id}  {cause.says}", f"{cause.status.upper():<11} ", " " * 12, WIDTH)
    mixed = f", {cause.confirmed:,} confirmed" if 0 < cause.confirmed < cause.hosts else ""
    new = f", {cause.new:,} new" if cause.new else ""
    yield f"            {count(cause.hosts, 'host')}{mixed}{new}{gpus}"
    if cause.proof:
        yield from wrapped(cause.proof, "            ", "            ", WIDTH)
    if cause.example.step:
        yield from wrapped(cause.example.step, "  do        ", "            ", WIDTH)
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
    """How many causes are new, persist and are cleared since an earlier report."""
    if audit.baseline:
        new, stays, gone = audit.changes()
        told = f"{audit.baseline}: {new:,} new, {stays:,} persisting, {gone:,} cleared"
        yield from wrapped(told, "SINCE       ", " " * 12, WIDTH)


def _cleared(audit: Audit) -> Iterator[str]:
    by_cause: dict[str, list[str]] = {}
    for one in audit.cleared:
        by_cause.setdefault(one.conclusion, []).append(one.host)
    if by_cause:
        yield f"CLEARED     since {audit.baseline}"
    for name, hosts in sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0])):
        yield from wrapped(f"{name}: {_some(hosts)}", f"  {len(hosts):>7,}  ", " " * 13, WIDTH)


def _waived(audit: Audit) -> Iterator[str]:
    found = [one for one in audit.findings if one.waived]
    if found:
        yield f"ACCEPTED    {count(len(found), 'finding')}"
    for one in found[:ROWS_SHOWN]:
        yield from wrapped(f"{one.conclusion}  {one.host}: {one.waived}", "            ", "            ", WIDTH)
    if len(found) > ROWS_SHOWN:
        yield f"            and {len(found) - ROWS_SHOWN:,} more"


def _unsure(audit: Audit) -> Iterator[str]:
    """The hosts of which nothing decides, by what was seen of them instead, and what would tell more."""
    number = audit.counts()[UNSURE]
    if not number:
        return
    yield f"CANNOT TELL  {count(number, 'host')}, neither shown to be at fault nor shown to be sound"
    listed = 0
    for name, hosts in audit.unsure():
        listed += len(hosts)
        says = f"{name}: {_wanted(audit, name)}" if name else "nothing that was read decides"
        yield from wrapped(_some(hosts), f"  {len(hosts):>7,}  ", " " * 11, WIDTH)
        yield from wrapped(says, " " * 13, " " * 13, WIDTH)
    if number > listed:
        yield f"  {number - listed:>7,}  of tables, which are counted and not listed"
    yield from wrapped(
        "--explain HOST shows what is known of one, and what to read next", "  do        ", " " * 12, WIDTH
    )


def _wanted(audit: Audit, name: str) -> str:
    """What to collect where the evidence is of this kind; else what it is."""
    spec = audit.kb.conclusions[name]
    return say(spec.collect) or say(spec.says)


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
    if len(counts) > ROWS_SHOWN:
        yield f"           and {len(counts) - ROWS_SHOWN:,} more"


def _undecided(audit: Audit) -> Iterator[str]:
    found = audit.undecided()
    if found:
        yield "COULD NOT BE JUDGED  hosts, cause, and which reading could not be taken why"
    for name, number in found[:ROWS_SHOWN]:
        reasons = sorted((-hosts, fact, why) for (about, fact, why), hosts in audit.unread.items() if about == name)
        told = name if reasons else f"{name}  {say(audit.kb.conclusions[name].says)}"
        yield from wrapped(told, f"  {number:>7,}  ", " " * 13, WIDTH)
        for hosts, fact, why in reasons[:REASONS_SHOWN]:
            yield from wrapped(f"{fact}: {why}", f"  {-hosts:>11,}  ", " " * 17, WIDTH)
    if len(found) > ROWS_SHOWN:
        yield f"           and {count(len(found) - ROWS_SHOWN, 'more cause')}"


def _broken(audit: Audit) -> Iterator[str]:
    """The hosts that could not be read, those of one reason together."""
    found: dict[str, list[str]] = {}
    for one in audit.hosts.values():
        if one.state == BROKEN:
            found.setdefault(one.says, []).append(one.name)
    if found:
        yield f"COULD NOT BE READ  {count(sum(map(len, found.values())), 'host')}"
    reasons = sorted(found.items(), key=lambda item: -len(item[1]))
    for says, hosts in reasons[:ROWS_SHOWN]:
        if len(hosts) == 1:
            yield from wrapped(f"{hosts[0]}: {says}", "            ", "            ", WIDTH)
            continue
        yield from wrapped(f"{says}: {_some(hosts)}", f"  {len(hosts):>7,}  ", " " * 12, WIDTH)
    left = sum(len(hosts) for _, hosts in reasons[ROWS_SHOWN:])
    if left:
        yield f"            and {left:,} more; --format csv lists all"


def _some(hosts: list[str]) -> str:
    more = f" and {len(hosts) - HOSTS_SHOWN:,} more" if len(hosts) > HOSTS_SHOWN else ""
    return ", ".join(hosts[:HOSTS_SHOWN]) + more


def _notes(audit: Audit) -> Iterator[str]:
    for one in audit.notes:
        yield from wrapped(one, "note        ", "            ", WIDTH)
