"""What a finding means beside the present: accepted risks, and what changed since an earlier audit."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.tui.audit.model import JUDGED, Audit, Finding

NEW, PERSISTING = "new", "persisting"
_KEYS = {"conclusion", "host", "reason", "owner", "until"}


class HistoryError(ValueError):
    """A waiver file or an earlier report that cannot be used; the message says why."""


@dataclass(frozen=True)
class Waiver:
    """A risk that somebody accepted, for hosts whose names match, until a day."""

    conclusion: str
    host: str
    reason: str
    owner: str
    until: datetime.date

    def covers(self, one: Finding) -> bool:
        """True for findings of its conclusion on its hosts."""
        return one.conclusion == self.conclusion and fnmatchcase(one.host, self.host)

    def says(self) -> str:
        """Why it was accepted, by whom, until when."""
        return f"{self.reason} ({self.owner}, until {self.until.isoformat()})"


def read_waivers(path: Path, kb: KnowledgeBase) -> list[Waiver]:
    """The waivers of a file. Raises `HistoryError` for one that is not complete, or of no known conclusion."""
    from gpuwhy.kb.strict_yaml import load

    try:
        plain = load(path).data
    except (OSError, UnicodeDecodeError) as error:
        raise HistoryError(f"{path}: {error}") from None
    except KnowledgeError as error:
        raise HistoryError("; ".join(str(one) for one in error.problems)) from None
    entries = plain.get("waivers") if isinstance(plain, dict) else None
    if not isinstance(entries, list):
        raise HistoryError(f"{path}: has no list `waivers`")
    return [_waiver(f"{path}: waivers[{number}]", one, kb) for number, one in enumerate(entries)]


def _waiver(place: str, entry: Any, kb: KnowledgeBase) -> Waiver:
    whole = isinstance(entry, dict) and set(entry) == _KEYS
    if not whole or not all(isinstance(one, str) and one for one in entry.values()):
        raise HistoryError(f"{place}: needs exactly the texts {', '.join(sorted(_KEYS))}")
    if entry["conclusion"] not in kb.conclusions:
        raise HistoryError(f"{place}: no conclusion `{entry['conclusion']}`")
    try:
        until = datetime.date.fromisoformat(entry["until"])
    except ValueError:
        raise HistoryError(f"{place}: `until` is no day like 2027-01-31") from None
    return Waiver(entry["conclusion"], entry["host"], entry["reason"], entry["owner"], until)


def with_waivers(audit: Audit, waivers: list[Waiver], today: datetime.date) -> Audit:
    """The audit with accepted findings marked. Waivers that are over count no more, and that is told."""
    valid = [one for one in waivers if today <= one.until]
    over = [one for one in waivers if today > one.until]
    findings = tuple(_waived(one, valid) for one in audit.findings)
    used = {id(waiver) for one in audit.findings for waiver in valid if waiver.covers(one)}
    notes = [f"the waiver of {one.conclusion} on {one.host} ended on {one.until.isoformat()}" for one in over]
    notes += [f"the waiver of {one.conclusion} on {one.host} covers nothing" for one in valid if id(one) not in used]
    return replace(audit, findings=findings, notes=(*audit.notes, *notes))


def _waived(one: Finding, waivers: list[Waiver]) -> Finding:
    found = next((waiver for waiver in waivers if waiver.covers(one)), None) if one.is_cause else None
    return one if found is None else one._replace(waived=found.says())


def with_baseline(audit: Audit, path: Path, judged: Callable[[set[str]], set[str]]) -> Audit:
    """The audit with what is new, persisting and cleared since the report (Parquet) of an earlier one.

    `judged` says which of these hosts were judged now: what is not seen again is not cleared. Raises `HistoryError`.
    """
    before = {(one.host, one.conclusion): one for one in _earlier(path, audit.kb)}
    now = {(one.host, one.conclusion) for one in audit.findings if one.is_cause}
    findings = tuple(
        one._replace(change=PERSISTING if (one.host, one.conclusion) in before else NEW) if one.is_cause else one
        for one in audit.findings
    )
    gone = [one for key, one in before.items() if key not in now]
    seen = judged({one.host for one in gone})
    missing = {one.host for one in gone} - seen
    told = "1 host with a cause in {} was" if len(missing) == 1 else f"{len(missing)} hosts with a cause in {{}} were"
    notes = [f"{told.format(path.name)} not judged now"] if missing else []
    cleared = tuple(one for one in gone if one.host in seen)
    return replace(audit, findings=findings, baseline=path.name, cleared=cleared, notes=(*audit.notes, *notes))


def _earlier(path: Path, kb: KnowledgeBase) -> list[Finding]:
    import polars

    wanted = ("host", "conclusion", "kind", "status")
    try:
        rows = polars.read_parquet(path).select(wanted).drop_nulls()
    except (polars.exceptions.PolarsError, OSError) as error:
        raise HistoryError(f"{path}: no report of an earlier audit: {str(error).splitlines()[0][:300]}") from None
    found = [Finding(host, name, kind, status) for host, name, kind, status in rows.cast(polars.String).iter_rows()]
    return [one for one in found if one.is_cause and one.conclusion in kb.conclusions]


def judged_hosts(audit: Audit, tables: list[Any]) -> Callable[[set[str]], set[str]]:
    """Which of some hosts were judged: of files as listed, of tables as their columns of names have them."""

    def judged(names: set[str]) -> set[str]:
        found = {one for one in names if one in audit.hosts and audit.hosts[one].state == JUDGED}
        for hosts in tables:
            found.update(hosts.filter(hosts.is_in(sorted(names))).to_list())
        return found

    return judged
