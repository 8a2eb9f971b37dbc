"""The report of an audit as one page of HTML: it loads nothing, and sorts, filters and prints without a network."""

from __future__ import annotations

import json
from html import escape

from gpuwhy.kb.texts import say
from gpuwhy.tui.audit.documents import rows
from gpuwhy.tui.audit.model import BROKEN, VERDICTS, Audit, Cause
from gpuwhy.tui.audit.use import prices_told, told
from gpuwhy.tui.wording import CONTROLS

COLUMNS = (
    "host",
    "verdict",
    "instance_type",
    "gpu_name",
    "conclusion",
    "status",
    "entities",
    "change",
    "waived",
    "says",
)
_STYLE = """
:root{--line:#d5d9df;--soft:#f4f5f7;--text:#1d232b;--red:#b3261e;--amber:#9a6700;--green:#1a7f37;--grey:#6a737d}
@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--line:#3a414b;--soft:#20262e;--text:#dde3ea;
  --red:#e5534b;--amber:#d29922;--green:#3fb950;--grey:#8b949e}body{background:#14181d}}
*{box-sizing:border-box}body{font:15px/1.45 system-ui,sans-serif;color:var(--text);margin:0 auto;max-width:1200px;
  padding:24px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:28px 0 8px}p{margin:4px 0}
.bar{display:flex;height:22px;border-radius:4px;overflow:hidden;margin:12px 0 6px}.bar span{min-width:2px}
.cause{background:var(--red)}.fine{background:var(--green)}.tell{background:var(--grey)}.broken{background:var(--amber)}
.bar.use{width:240px;height:12px;margin:4px 0}
.key span{display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 5px 0 14px}
.share{display:inline-block;height:10px;background:var(--red);border-radius:2px;vertical-align:middle}
.likely .share{background:var(--amber)}
input{font:inherit;padding:6px 10px;border:1px solid var(--line);border-radius:4px;width:100%;max-width:420px}
table{border-collapse:collapse;width:100%;font-size:13px;margin-top:8px}
th,td{border-bottom:1px solid var(--line);padding:5px 8px;text-align:left;vertical-align:top;overflow-wrap:break-word}
th{background:var(--soft);white-space:nowrap}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid}
.more{color:var(--grey)}@media print{input,.more{display:none}body{padding:0}}
"""
_SCRIPT = """
const rows=JSON.parse(document.getElementById('rows').textContent);
const names=JSON.parse(document.getElementById('names').textContent);
const body=document.querySelector('#all tbody');
const box=document.getElementById('filter'),more=document.getElementById('more');
let by=-1,down=false,limit=500;
function show(){
  const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let found=rows.filter(r=>{const t=r.join(' ').toLowerCase();return words.every(w=>t.includes(w))});
  if(by>=0)found=found.slice().sort((a,b)=>(a[by]<b[by]?-1:a[by]>b[by]?1:0)*(down?-1:1));
  body.replaceChildren(...found.slice(0,limit).map(r=>{const tr=document.createElement('tr');
    for(const v of r){const td=document.createElement('td');td.textContent=v;tr.append(td)}return tr}));
  more.textContent=found.length>limit?found.length+' rows, the first '+limit+' are shown':found.length+' rows';
}
document.querySelectorAll('#all th button').forEach((b,i)=>b.addEventListener('click',()=>{
  down=by===i?!down:false;by=i;
  const way=down?'descending':'ascending';
  document.querySelectorAll('#all th').forEach((t,j)=>t.setAttribute('aria-sort',j===i?way:'none'));
  show()}));
box.addEventListener('input',show);
window.addEventListener('beforeprint',()=>{limit=1e9;show()});window.addEventListener('afterprint',()=>{limit=500;show()});
show();
"""
_LEVELS = {"error": 0, "warning": 1}
"""What stands first among the findings."""
MOST_ROWS = 200
_CLASSES = dict(zip(VERDICTS, ("cause", "fine", "tell", "broken"), strict=True))


def render(audit: Audit) -> str:
    """The page. Everything that comes from a machine is escaped, and nothing is fetched."""
    counts = audit.counts()
    columns, found = _rows(audit)
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>GPU fleet audit</title><style>{_STYLE}</style></head><body>",
        f"<h1>{counts['hosts']:,} hosts, {counts['gpus']:,} GPUs</h1>",
        *_verdicts(counts),
        *_causes(audit, counts["hosts"]),
        *_changes(audit),
        *_accepted(audit),
        *_use(audit),
        *_undecided(audit),
        *(f"<p class=more>{_text(one)}</p>" for one in audit.notes),
        "<h2>Findings</h2>",
        '<input id="filter" type="search" aria-label="Filter" placeholder="Filter: words that a row has">',
        '<p class="more" id="more"></p><table id="all"><thead><tr>',
        *(f"<th><button type=button>{_text(name.replace('_', ' '))}</button></th>" for name in columns),
        "</tr></thead><tbody></tbody></table>",
        f'<script type="application/json" id="names">{_data(columns)}</script>',
        f'<script type="application/json" id="rows">{_data(found)}</script>',
        f"<script>{_SCRIPT}</script></body></html>\n",
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


def _verdicts(counts: dict[str, int]) -> list[str]:
    whole = max(counts["hosts"], 1)
    bar = "".join(
        f'<span class="{_CLASSES[name]}" style="width:{100 * counts[name] / whole:.3f}%"></span>'
        for name in VERDICTS
        if counts[name]
    )
    key = "".join(f'<span class="{_CLASSES[name]}"></span>{name}: {counts[name]:,}' for name in VERDICTS)
    return [f'<div class="bar" role="img" aria-label="Hosts by verdict">{bar}</div>', f'<p class="key">{key}</p>']


def _causes(audit: Audit, hosts: int) -> list[str]:
    causes = audit.causes()
    if not causes:
        return []
    made = ["<h2>Causes</h2><table><thead><tr><th>status<th>cause<th>hosts<th>share<th>types and hosts</tr></thead>"]
    made += [_cause(one, hosts) for one in causes]
    return [*made, "</table>"]


def _cause(one: Cause, hosts: int) -> str:
    groups = "<br>".join(
        f"{len(group.hosts):,} {_text(group.type)}: {_text(', '.join(each.host for each in group.hosts[:8]))}"
        + (" …" if len(group.hosts) > 8 else "")
        for group in one.groups[:12]
    )
    example = f"<br><i>{_text(one.example)}</i>" if one.example else ""
    width = max(2, round(160 * one.hosts / max(hosts, 1)))
    return (
        f'<tr class="{_text(one.status)}"><td>{_text(one.status)}'
        f"<td><b>{_text(one.id)}</b><br>{_text(one.says)}{example}"
        f'<td>{one.hosts:,}<td><span class="share" style="width:{width}px"></span><td>{groups}</tr>'
    )


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
    made = ["<h2>Use of GPUs</h2><table><thead><tr><th>GPUs<th>idle, little to do, in use<th>type, cost</tr></thead>"]
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
    made = ["<h2>Could not be judged</h2><table><thead><tr><th>hosts<th>cause<th>what could not be read</tr></thead>"]
    for name, number in found:
        why = [(n, fact, reason) for (about, fact, reason), n in audit.unread.items() if about == name]
        told = "<br>".join(f"{n:,} {_text(fact)}: {_text(reason)}" for n, fact, reason in sorted(why, reverse=True)[:6])
        says = _text(say(audit.kb.conclusions[name].says))
        made.append(f"<tr><td>{number:,}<td><b>{_text(name)}</b><br>{says}<td>{told}</tr>")
    return [*made, "</table>"]
