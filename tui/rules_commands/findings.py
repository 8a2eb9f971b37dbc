"""Findings about rules as JSON, as SARIF, and as annotations that GitHub shows in a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gpuwhy import __version__
from gpuwhy.engine.lint_codes import CODES, Finding
from gpuwhy.kb.records import replace


def placed(one: Finding, folder: Path, front: str) -> Finding:
    """A finding whose path is as seen from where the person is."""
    path = one.location.path
    inside = path.removeprefix(f"{folder.name}/")
    shown = f"{front}{inside}" if inside != path or "/" not in path else path
    return replace(one, location=replace(one.location, path=shown))


def codes() -> str:
    """Every kind of finding: code, severity, what it means."""
    return "".join(f"{code:24}{kind.severity:9}{kind.says}\n" for code, kind in sorted(CODES.items()))


def as_json(findings: Iterable[Finding]) -> str:
    """One document with all findings."""
    return json.dumps({"findings": [_entry(one) for one in findings]}, indent=1, ensure_ascii=False) + "\n"


def _entry(one: Finding) -> dict[str, Any]:
    return {
        "path": one.location.path,
        "line": one.location.line,
        "column": one.location.column,
        "code": one.code,
        "severity": one.severity,
        "message": one.message,
        "hint": one.hint,
    }


def as_sarif(findings: Iterable[Finding]) -> str:
    """SARIF 2.1.0, as code scanning reads it."""
    kinds = [
        {"id": code, "shortDescription": {"text": kind.says}, "defaultConfiguration": {"level": kind.severity}}
        for code, kind in sorted(CODES.items())
    ]
    results = [
        {
            "ruleId": one.code,
            "level": one.severity,
            "message": {"text": one.message + (f" ({one.hint})" if one.hint else "")},
            "locations": [{"physicalLocation": _place(one)}],
        }
        for one in findings
    ]
    driver = {"name": "gpuwhy rules lint", "version": __version__, "rules": kinds}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _place(one: Finding) -> dict[str, Any]:
    region = {"startLine": one.location.line, "startColumn": one.location.column}
    return {"artifactLocation": {"uri": quote(one.location.path)}, "region": region}


def as_github(findings: Iterable[Finding]) -> str:
    """Workflow commands, one a line; what would end a command early is escaped."""
    lines = []
    for one in findings:
        place = f"file={_property(one.location.path)},line={one.location.line},col={one.location.column}"
        text = _data(one.message + (f" ({one.hint})" if one.hint else ""))
        lines.append(f"::{one.severity} {place},title={_property(one.code)}::{text}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
