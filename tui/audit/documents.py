"""The report of an audit for other programs: JSON, CSV, SARIF, JUnit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from gpuwhy.engine.downsizing import Smaller
from gpuwhy.kb.texts import say
from gpuwhy.tui import rules_stamp
from gpuwhy.tui.audit.model import BROKEN, Audit, Finding, Host
from gpuwhy.tui.audit.use import Cost, Use
from gpuwhy.tui.wording import CONTROLS

SCHEMA = 1
COLUMNS = (
    "host", "state", "verdict", "instance_type", "gpu_name", "gpus", "conclusion", "kind", "status", "level",
    "entities", "explained_by", "change", "waived", "says",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows(audit: Audit) -> Iterator[dict[str, Any]]:
    """One row for each finding, and one for each host without any."""
    verdicts = audit.verdicts()
    seen = set()
    for one in audit.findings:
        seen.add(one.host)
        yield _row(audit.hosts[one.host], verdicts[one.host], one)
    for name, host in audit.hosts.items():
        if name not in seen:
            yield _row(host, verdicts[name], None)


def _row(host: Host, verdict: str, one: Finding | None) -> dict[str, Any]:
    found = {
        "host": host.name,
        "state": host.state,
        "verdict": verdict,
        "instance_type": host.instance_type or None,
        "gpu_name": host.gpu_name or None,
        "gpus": host.gpus,
        "says": host.says or None,
    }
    if one is not None:
        found |= {
            "conclusion": one.conclusion,
            "kind": one.kind,
            "status": one.status,
            "level": one.level,
            "entities": " ".join(one.entities) or None,
            "explained_by": one.explained_by or None,
            "change": one.change or None,
            "waived": one.waived or None,
        }
    return {name: found.get(name) for name in COLUMNS}


def as_json(audit: Audit) -> dict[str, Any]:
    """The report as one document."""
    return {
        "schema": SCHEMA,
        "rules": rules_stamp.document(audit.kb),
        "counts": audit.counts(),
        "cause_share": audit.cause_share(),
        "false_alarm_share": audit.cause_share() if audit.known_sound else None,
        "causes": [
            {
                "id": one.id,
                "says": one.says,
                "status": one.status,
                "hosts": one.hosts,
                "gpus": one.gpus,
                "example": one.proof or None,
                "next": one.example.step or None,
                "types": [
                    {"type": group.type, "hosts": [{"host": f.host, "entities": list(f.entities)} for f in group.hosts]}
                    for group in one.groups
                ],
            }
            for one in audit.causes()
        ],
        "undecided": [{"conclusion": name, "hosts": number} for name, number in audit.undecided()],
        "unread": [
            {"conclusion": name, "fact": fact, "reason": reason, "hosts": number}
            for (name, fact, reason), number in sorted(audit.unread.items())
        ],
        "use": [_use(one) for one in audit.use],
        "baseline": audit.baseline or None,
        "cleared": [{"host": one.host, "conclusion": one.conclusion} for one in audit.cleared],
        "notes": list(audit.notes),
        "findings": list(rows(audit)),
    }


def _use(one: Use) -> dict[str, Any]:
    return {
        "instance_type": one.machine or None,
        "gpu_name": one.gpu_name or None,
        "region": one.region or None,
        "gpus": one.count.gpus,
        "judged": one.count.judged,
        "idle": one.count.idle,
        "small_load": one.count.small,
        "idle_cost_per_hour": _cost(one.idle_cost),
        "small_load_cost_per_hour": _cost(one.small_cost),
        "small_load_memory_bytes": one.count.small_memory_bytes if one.count.small else None,
        "small_load_busy_share": one.count.small_busy_share if one.count.small else None,
        "smaller": _smaller(one.smaller),
    }


def _smaller(one: Smaller | None) -> dict[str, Any] | None:
    if one is None:
        return None
    ratio = None if one.price_low is None else {"low": one.price_low, "high": one.price_high}
    return {"instance_type": one.machine, "gpu": one.gpu, "price_ratio": ratio, "lacks": list(one.lacks)}


def _cost(one: Cost | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"low": one.low, "high": one.high, "currency": one.currency, "date": one.date, "provider": one.provider}


def as_csv(audit: Audit) -> str:
    """One line for each finding. What a spreadsheet would take for a formula begins with an apostrophe."""
    made = io.StringIO()
    writer = csv.DictWriter(made, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows(audit):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return made.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    plain = CONTROLS.sub("\ufffd", value)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain


def as_sarif(audit: Audit) -> dict[str, Any]:
    """SARIF 2.1.0: conclusions are rules, findings are results located at their hosts."""
    found = [one for one in audit.findings if one.is_cause]
    names = sorted({one.conclusion for one in (*found, *audit.cleared)})
    broken = [one for one in audit.hosts.values() if one.state == BROKEN]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "gpuwhy", "rules": [_sarif_rule(audit, name) for name in names]}},
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [
                            {"level": "warning", "message": {"text": f"{one.name}: {one.says}"}} for one in broken
                        ],
                    }
                ],
                "results": [
                    *(_sarif_result(audit, one, names) for one in found),
                    *({**_sarif_result(audit, one, names), "baselineState": "absent"} for one in audit.cleared),
                ],
            }
        ],
    }


def _sarif_rule(audit: Audit, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {"id": name, "shortDescription": {"text": say(audit.kb.conclusions[name].says)}}
    example = audit.examples.get(name)
    if example is not None and example.step:
        made["help"] = {"text": example.step}
    return made


def _sarif_result(audit: Audit, one: Finding, names: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "ruleId": one.conclusion,
        "ruleIndex": names.index(one.conclusion),
        "level": one.level,
        "message": {"text": f"{one.host}: {say(audit.kb.conclusions[one.conclusion].says)} ({one.status})"},
        "locations": [{"logicalLocations": [{"fullyQualifiedName": one.host, "kind": "resource"}]}],
        "partialFingerprints": {"hostAndConclusion/v1": f"{one.host}/{one.conclusion}"},
    }
    if one.change:
        made["baselineState"] = "new" if one.change == "new" else "unchanged"
    if one.waived:
        made["suppressions"] = [{"kind": "external", "justification": one.waived}]
    return made


def as_junit(audit: Audit) -> str:
    """JUnit XML: one test for each host, in a suite for each type; a cause is a failure, a broken host an error."""
    from xml.sax.saxutils import escape, quoteattr

    verdicts = audit.verdicts()
    causes: dict[str, list[str]] = {}
    texts: dict[str, list[str]] = {}
    for one in audit.findings:
        if one.is_cause and not one.waived:
            causes.setdefault(one.host, []).append(f"{one.conclusion} ({one.status})")
            texts.setdefault(one.host, []).append(_in_words(audit, one))
    suites: dict[str, list[Host]] = {}
    for host in audit.hosts.values():
        suites.setdefault(host.group, []).append(host)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites name="gpuwhy audit">']
    for name, hosts in suites.items():
        told = {kind: sum(verdicts[one.name] == kind for one in hosts) for kind in ("cause", BROKEN, "cannot tell")}
        lines.append(
            f'<testsuite name={quoteattr(_plain(name))} tests="{len(hosts)}" failures="{told["cause"]}" '
            f'errors="{told[BROKEN]}" skipped="{told["cannot tell"]}">'
        )
        for host in hosts:
            body = {
                "cause": f"<failure message={quoteattr(_plain(', '.join(causes.get(host.name, []))))}>"
                f"{escape(_plain(' '.join(texts.get(host.name, []))))}</failure>",
                BROKEN: f"<error message={quoteattr(_plain(host.says))}/>",
                "cannot tell": '<skipped message="cannot tell"/>',
            }.get(verdicts[host.name], "")
            attributes = f"name={quoteattr(_plain(host.name))} classname={quoteattr(_plain(name))}"
            lines.append(f"<testcase {attributes}>{body}</testcase>")
        lines.append("</testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _in_words(audit: Audit, one: Finding) -> str:
    """What a cause is, on which GPUs, and what to do first."""
    example = audit.examples.get(one.conclusion)
    where = f" ({', '.join(one.entities)})" if one.entities else ""
    return f"{say(audit.kb.conclusions[one.conclusion].says)}{where}" + (f" {example.step}." if example else "")


def _plain(text: str) -> str:
    """Text that may stand in XML."""
    return CONTROLS.sub("\ufffd", text).replace("\n", " ")
