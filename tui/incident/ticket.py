"""The report of an incident for a ticket: what was wrong, what was answered and tried, and the diagnosis."""

from __future__ import annotations

import html
import socket

from gpuwhy.tui import report_json, report_markdown, report_text
from gpuwhy.tui.incident.drawing import drawn
from gpuwhy.tui.incident.events import SYMPTOMS
from gpuwhy.tui.incident.session import Snapshot
from gpuwhy.tui.redaction import redacted

FORMS = ("md", "json", "html")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>GPU diagnosis</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
 body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; }}
 :root {{ color-scheme: light dark; }}
 pre {{ font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; border: 1px solid #8884; padding: 1em; }}
 figure {{ margin: 1em 0; }} figcaption {{ font-size: 13px; }}
 table {{ border-collapse: collapse; }} td, th {{ border: 1px solid #8884; padding: .2em .6em; text-align: left; }}
</style></head><body>
<h1>GPU diagnosis: {title}</h1>
<h2>Answers and steps</h2>
<table><tr><th>what</th><th>value</th></tr>{rows}</table>
<h2>Diagnosis</h2><pre>{text}</pre>
{curves}
<h2>Everything</h2><details><summary>facts, fixes, what was ruled out</summary><pre>{all}</pre></details>
</body></html>
"""


def ticket(snapshot: Snapshot, form: str, hide_names: bool = True) -> str:
    """The report in one of `FORMS`; without names of machines and people unless `hide_names` is False."""
    text = {"md": _markdown, "json": _json, "html": _html}[form](snapshot)
    return redacted(text, (socket.gethostname(),)) if hide_names else text


def _steps(snapshot: Snapshot) -> list[tuple[str, str]]:
    steps = [("read", name) for name in snapshot.sources]
    steps += [(fact, "don't know" if value is None else value) for fact, value in snapshot.answers]
    steps += [(f"what if {fact}", value) for fact, value in snapshot.supposed]
    steps += [("applied", name) for name in snapshot.applied]
    return steps + [(f"verified {name}", outcome) for name, outcome in snapshot.outcomes]


def _markdown(snapshot: Snapshot) -> str:
    escaped = report_markdown.escaped
    lines = [f"Reported: {escaped(SYMPTOMS.get(snapshot.symptom, snapshot.symptom))}", ""]
    lines += [f"- {escaped(what)}: {escaped(value)}" for what, value in _steps(snapshot)]
    return report_markdown.render(snapshot.report) + "\n## Incident\n\n" + "\n".join(lines) + "\n"


def _json(snapshot: Snapshot) -> str:
    document = report_json.document(snapshot.report)
    document["incident"] = {
        "symptom": snapshot.symptom,
        "steps": [{"what": what, "value": value} for what, value in _steps(snapshot)],
    }
    return report_json.dump(document)


def _html(snapshot: Snapshot) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(what)}</td><td>{html.escape(value)}</td></tr>" for what, value in _steps(snapshot)
    )
    return _PAGE.format(
        title=html.escape(SYMPTOMS.get(snapshot.symptom, snapshot.symptom)),
        rows=rows,
        curves=f"<h2>GPUs while watched</h2>{curves}" if (curves := drawn(snapshot.courses)) else "",
        text=html.escape(report_text.render(snapshot.report)),
        all=html.escape(report_markdown.render(snapshot.report)),
    )
