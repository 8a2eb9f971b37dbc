"""The report of an audit as one page of HTML: it loads nothing, and sorts, filters and prints without a network."""

from __future__ import annotations

import json
from html import escape

from gpuwhy.kb.texts import say
from gpuwhy.tui import rules_stamp
from gpuwhy.tui.audit.documents import rows
from gpuwhy.tui.audit.model import ACCEPTED, BROKEN, UNSURE, VERDICTS, Audit, Cause
from gpuwhy.tui.audit.page_style import SCRIPT, STYLE
from gpuwhy.tui.audit.text import false_alarms
from gpuwhy.tui.audit.use import prices_told, told
from gpuwhy.tui.wording import CONTROLS

COLUMNS = (
    "host",
    "verdict",
    "instance_type",
    "gpu_name",
    "conclusion",
    "status",
    "explained_by",
    "entities",
    "change",
    "waived",
    "says",
)
_LEVELS = {"error": 0, "warning": 1}
"""What stands first among the findings."""
MOST_ROWS = 200
GRID_TYPES = 8
PALE, FULL = (253, 232, 230), (242, 118, 109)
_CLASSES = dict(zip(VERDICTS, ("cause", "accepted", "fine", "tell", "broken"), strict=True))
_SHOWN = dict(
    zip(
        VERDICTS,
        ("with a cause to fix", "with accepted risks only", "with nothing to fix", "cannot tell", "could not be read"),
        strict=True,
    )
)


def render(audit: Audit) -> str:
    """The page. Everything that comes from a machine is escaped, and nothing is fetched."""
    counts = audit.counts()
    causes = audit.causes()
    columns, found = _rows(audit)
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>GPU fleet audit</title><style>{STYLE}</style></head><body>",
        f"<h1>{counts['hosts']:,} hosts, {counts['gpus']:,} GPUs</h1>",
        *_verdicts(audit),
        *_grid(causes),
        *_causes(audit, causes),
        *_changes(audit),
        *_accepted(audit),
        *_unsure(audit),
        *_use(audit),
        *_undecided(audit),
        *(f"<p class=more>{_text(one)}</p>" for one in audit.notes),
        "<h2>Findings</h2>",
        '<input id="filter" type="search" aria-label="Filter" placeholder="Filter: words that a row has">',
        '<p class="more" id="more"></p><div class="wide"><table id="all"><thead><tr>',
        *(f"<th><button type=button>{_text(name.replace('_', ' '))}</button></th>" for name in columns),
        "</tr></thead><tbody></tbody></table></div>",
        f'<script type="application/json" id="names">{_data(columns)}</script>',
        f'<script type="application/json" id="rows">{_data(found)}</script>',
        f"<script>{SCRIPT}</script></body></html>\n",
    ]
    return "\n".join(parts)


def _rows(audit: Audit) -> tuple[list[str], list[list[str]]]:
    """The columns that say something in some row, and the rows: what is grave and what could not be read first."""
    every = sorted(rows(audit), key=lambda row: (_LEVELS.get(row["level"], len(_LEVELS)), row["state"] != BROKEN))
    columns = [name for name in COLUMNS if any(row[name] not in (None, "") for row in every)] or list(COLUMNS)
    return columns, [[_plain(row[name]) for name in columns] for row in every]


def _plain(value: object) -> str:
    return "" if value is None else CONTROLS.sub("\ufffd", str(value))


def _text(value: object) -> str:
    return escape(_plain(value))


def _data(value: object) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _verdicts(audit: Audit) -> list[str]:
    counts, share = audit.counts(), audit.cause_share()
    whole = max(counts["hosts"], 1)
    shown = [name for name in VERDICTS if counts[name] or name != ACCEPTED]
    bar = "".join(
        f'<span class="{_CLASSES[name]}" style="width:{100 * counts[name] / whole:.3f}%"></span>'
        for name in shown
        if counts[name]
    )
    key = " ".join(f'<b><span class="{_CLASSES[name]}"></span>{_SHOWN[name]}: {counts[name]:,}</b>' for name in shown)
    told = [] if share is None else [f"{100 * share:.1f} % of the hosts that could be read have a cause to fix"]
    told += [f"on {counts['errors']:,} of them it is confirmed"] if counts["errors"] else []
    told = [f"Known to be sound; false alarms: {false_alarms(audit)}"] if audit.known_sound else told
    by = f"Rules: {rules_stamp.packs(audit.kb)}; digest {rules_stamp.digest(audit.kb)}"
    return [
        f"<p>{_text(', '.join(told))}</p>" if told else "",
        f'<div class="bar" role="img" aria-label="Hosts by verdict">{bar}</div>',
        f'<p class="key">{key}</p>',
        f"<p class=more>{_text(by)}</p>",
    ]


def _grid(causes: list[Cause]) -> list[str]:
    """Which types have which causes, as a picture: the darker a field, the more hosts."""
    by_type: dict[str, int] = {}
    for cause in causes:
        for group in cause.groups:
            by_type[group.type] = by_type.get(group.type, 0) + len(group.hosts)
    types = sorted(by_type, key=lambda name: (-by_type[name], name))[:GRID_TYPES]
    if len(causes) < 2 or len(types) < 2:
        return []
    most = max(len(group.hosts) for cause in causes for group in cause.groups)
    head = "".join(f"<th>{_text(name)}" for name in types)
    other = f"<p class=more>and {len(by_type) - len(types):,} more types</p>" if len(by_type) > len(types) else ""
    made = [f'<h2>Where</h2><div class="wide"><table class="grid"><thead><tr><th>hosts{head}</tr></thead>']
    for cause in causes:
        hosts = {group.type: len(group.hosts) for group in cause.groups}
        made.append(f"<tr><td>{_go(cause.id)}{''.join(_field(hosts.get(name, 0), most) for name in types)}</tr>")
    return [*made, f"</table></div>{other}"]


def _field(hosts: int, most: int) -> str:
    """A field of the picture; its number is readable on each of its shades, on a bright page and on a dark one."""
    if not hosts:
        return "<td>"
    shade = [round(pale + (full - pale) * hosts / most) for pale, full in zip(PALE, FULL, strict=True)]
    return f'<td style="background:rgb({",".join(map(str, shade))})">{hosts:,}'


def _go(name: str) -> str:
    """A name that filters the findings by it."""
    return f'<button type=button class="go" data-words="{_text(name)}">{_text(name)}</button>'


def _causes(audit: Audit, causes: list[Cause]) -> list[str]:
    hosts = audit.counts()["hosts"]
    if not causes:
        none = "There was no host to judge." if not hosts else "No host could be read."
        return [f"<p>{'No host has a cause to fix.' if audit.cause_share() is not None else none}</p>"]
    heads = "<th>status<th>cause, proof, what to do first<th>hosts<th>share<th>types and hosts"
    made = [f'<h2>Causes</h2><table class="stack"><thead><tr>{heads}</tr></thead>']
    return [*made, *(_cause(one, hosts) for one in causes), "</table>"]


def _cause(one: Cause, hosts: int) -> str:
    groups = "<br>".join(
        f"{len(group.hosts):,} {_text(group.type)}: {_text(', '.join(each.host for each in group.hosts[:8]))}"
        + (" …" if len(group.hosts) > 8 else "")
        for group in one.groups[:12]
    )
    proof = f"<br><i>{_text(one.proof)}</i>" if one.proof else ""
    step = f"<br>Do first: {_text(one.example.step)}" if one.example.step else ""
    more = [f"{number:,} {word}" for number, word in ((one.confirmed, "confirmed"), (one.new, "new")) if number]
    told = f"<br>{'<br>'.join(more)}" if more and (one.new or one.confirmed < one.hosts) else ""
    width = max(2, round(100 * one.hosts / max(hosts, 1)))
    return (
        f'<tr class="{_text(one.status)}"><td class="word">{_text(one.status)}'
        f"<td>{_go(one.id)}<br>{_text(one.says)}{proof}{step}"
        f'<td class="word" data-is="hosts:">{one.hosts:,}{told}'
        f'<td><span class="track"><span class="share" style="width:{width}px"></span></span><td>{groups}</tr>'
    )


def _unsure(audit: Audit) -> list[str]:
    """The hosts of which nothing decides, by what was seen of them instead."""
    if not audit.counts()[UNSURE]:
        return []
    made = [
        "<h2>Cannot tell</h2><p>Neither shown to be at fault nor shown to be sound; --explain HOST tells what to read "
        'next.</p><table class="stack"><thead><tr><th>hosts<th>what was seen<th>hosts</tr></thead>'
    ]
    for name, hosts in (found := audit.unsure()):
        spec = audit.kb.conclusions.get(name)
        seen = (
            f"<b>{_text(name)}</b><br>{_text(say(spec.collect) or say(spec.says))}" if spec else "nothing that decides"
        )
        shown = _text(", ".join(hosts[:20])) + (" …" if len(hosts) > 20 else "")
        made.append(f'<tr><td class="word" data-is="hosts:">{len(hosts):,}<td>{seen}<td>{shown}</tr>')
    left = audit.counts()[UNSURE] - sum(len(hosts) for _, hosts in found)
    return [*made, "</table>", f"<p>{left:,} of tables, which are counted and not listed</p>" if left else ""]


def _changes(audit: Audit) -> list[str]:
    """What is new since an earlier report, and what is gone."""
    if not audit.baseline:
        return []
    new, stays, gone = audit.changes()
    made = [f"<h2>Since {_text(audit.baseline)}</h2><p>{new:,} new, {stays:,} persisting, {gone:,} cleared</p>"]
    if audit.cleared:
        hosts = (f"<tr><td>{_text(one.host)}<td>{_text(one.conclusion)}</tr>" for one in audit.cleared[:MOST_ROWS])
        made += ["<table><thead><tr><th>cleared on<th>cause</tr></thead>", *hosts, f"</table>{_more(gone)}"]
    return made


def _accepted(audit: Audit) -> list[str]:
    """The risks that somebody accepted, with the reason, the owner and until when."""
    found = [one for one in audit.findings if one.waived]
    if not found:
        return []
    made = ["<h2>Accepted</h2><table><thead><tr><th>host<th>cause<th>reason</tr></thead>"]
    for one in found[:MOST_ROWS]:
        made.append(f"<tr><td>{_text(one.host)}<td>{_text(one.conclusion)}<td>{_text(one.waived)}</tr>")
    return [*made, f"</table>{_more(len(found))}"]


def _more(number: int) -> str:
    return f"<p class=more>and {number - MOST_ROWS:,} more</p>" if number > MOST_ROWS else ""


def _use(audit: Audit) -> list[str]:
    """The use of GPUs by type, as bars of those idle, hardly used and used."""
    found = [one for one in audit.use if one.count.judged]
    if not found:
        return []
    made = [
        "<h2>Use of GPUs</h2><table class=stack><thead><tr><th>GPUs<th>idle, little to do, in use<th>type, cost</tr>"
        "</thead>"
    ]
    for one in found[:MOST_ROWS]:
        count = one.count
        parts = (("broken", count.idle), ("tell", count.small), ("fine", count.judged - count.idle - count.small))
        bar = "".join(
            f'<span class="{name}" style="width:{100 * number / count.judged:.2f}%"></span>'
            for name, number in parts
            if number
        )
        label = f"{count.idle} idle, {count.small} with little to do, of {count.judged}"
        made.append(
            f'<tr><td>{count.judged:,}<td><div class="bar use" role="img" aria-label="{label}">{bar}</div>'
            f"<td>{_text(told(one))}</tr>"
        )
    more = f"<p class=more>{_text(prices_told(found))}</p>" if prices_told(found) else ""
    return [*made, f"</table>{more}"]


def _undecided(audit: Audit) -> list[str]:
    found = audit.undecided()
    if not found:
        return []
    made = [
        "<h2>Could not be judged</h2><table class=stack><thead><tr><th>hosts<th>cause<th>what could not be read</tr>"
        "</thead>"
    ]
    for name, number in found:
        why = [(n, fact, reason) for (about, fact, reason), n in audit.unread.items() if about == name]
        told = "<br>".join(f"{n:,} {_text(fact)}: {_text(reason)}" for n, fact, reason in sorted(why, reverse=True)[:6])
        told = told or "what was read leaves it possible"
        says = _text(say(audit.kb.conclusions[name].says))
        made.append(f"<tr><td data-is=hosts:>{number:,}<td><b>{_text(name)}</b><br>{says}<td>{told}</tr>")
    return [*made, "</table>"]
