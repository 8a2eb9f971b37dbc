"""What a finding means beside the present: accepted risks, and what changed since an earlier audit."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.tui import rules_stamp
from gpuwhy.tui.audit.model import JUDGED, Audit, Finding
from gpuwhy.tui.rules_option import close
from gpuwhy.tui.wording import some_of

NEW, PERSISTING = "new", "persisting"
RULES = "rules"
"""The column of a report in Parquet that holds the digest of its rules."""
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
    keys = {str(one) for one in entry} if isinstance(entry, dict) else set()
    if keys != _KEYS or not all(isinstance(one, str) and one.strip() for one in entry.values()):
        wrong = [f"`{one}` is none of them" for one in sorted(keys - _KEYS)]
        wrong += [f"`{one}` is missing" for one in sorted(_KEYS - keys)] if keys else []
        wrong = wrong or ["one is empty or no text"]
        raise HistoryError(f"{place}: needs the texts {', '.join(sorted(_KEYS))}: {', '.join(wrong)}")
    if entry["conclusion"] not in kb.conclusions:
        hint = close(entry["conclusion"], kb.conclusions)
        raise HistoryError(f"{place}: no conclusion `{entry['conclusion']}`" + (f" ({hint})" if hint else ""))
    try:
        until = datetime.date.fromisoformat(entry["until"])
    except ValueError:
        raise HistoryError(f"{place}: `until` is no day like 2027-01-31") from None
    return Waiver(entry["conclusion"], entry["host"], entry["reason"], entry["owner"], until)


def with_waivers(audit: Audit, waivers: list[Waiver], today: datetime.date) -> Audit:
    """The audit with accepted findings marked. Waivers that are over count no more, and that is told."""
    valid = [one for one in waivers if today <= one.until]
    over = [one for one in waivers if today > one.until]
    findings = _with_consequences(tuple(_waived(one, valid) for one in audit.findings))
    used = {id(waiver) for one in audit.findings for waiver in valid if waiver.covers(one)}
    notes = [f"the waiver of {one.conclusion} on {one.host} ended on {one.until.isoformat()}" for one in over]
    notes += [f"the waiver of {one.conclusion} on {one.host} covers nothing" for one in valid if id(one) not in used]
    return replace(audit, findings=findings, notes=(*audit.notes, *notes))


def _with_consequences(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What an accepted cause explains is accepted with it."""
    reasons = {(one.host, one.conclusion): one.waived for one in findings if one.waived}
    explained = [one for one in findings if reasons and one.is_cause and one.explained_by and not one.waived]
    while found := {
        (one.host, one.conclusion): reasons[one.host, one.explained_by]
        for one in explained
        if (one.host, one.explained_by) in reasons and (one.host, one.conclusion) not in reasons
    }:
        reasons |= found
    return tuple(
        one._replace(waived=reasons[one.host, one.conclusion])
        if one.is_cause and (one.host, one.conclusion) in reasons
        else one
        for one in findings
    )


def _waived(one: Finding, waivers: list[Waiver]) -> Finding:
    found = next((waiver for waiver in waivers if waiver.covers(one)), None) if one.is_cause else None
    return one if found is None else one._replace(waived=found.says())


@dataclass(frozen=True)
class Earlier:
    """The causes that an earlier report had, by host and conclusion, and the digests of the rules that made it."""

    name: str
    causes: Mapping[tuple[str, str], Finding]
    rules: frozenset[str]

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that had a cause."""
        return frozenset(host for host, _ in self.causes)


def with_baseline(
    audit: Audit,
    earlier: Earlier,
    judged: Callable[[set[str]], set[str]],
    could_be_seen: Callable[[str, str], bool] = lambda _host, _conclusion: True,
) -> Audit:
    """The audit with what is new, persisting and cleared since an earlier one.

    `judged` says which of these hosts were judged now, `could_be_seen` whether what was read of a host could have shown
    a conclusion again: what is not looked at again is not cleared.
    """
    known = {key: one for key, one in earlier.causes.items() if one.conclusion in audit.kb.conclusions}
    now = {(one.host, one.conclusion) for one in audit.findings if one.is_cause}
    findings = tuple(
        one._replace(change=PERSISTING if (one.host, one.conclusion) in known else NEW) if one.is_cause else one
        for one in audit.findings
    )
    gone = [one for key, one in known.items() if key not in now]
    seen = judged({one.host for one in gone})
    possible = {(one.host, one.conclusion) for one in audit.findings if one.status == "possible"}
    cleared: list[Finding] = []
    open_: list[Finding] = []
    for one in gone:
        if one.host in seen:
            decided = (one.host, one.conclusion) not in possible and could_be_seen(one.host, one.conclusion)
            (cleared if decided else open_).append(one)
    notes = [
        *_of_other_rules(audit, earlier),
        *_not_judged(earlier.name, sorted({one.host for one in gone} - seen)),
        *_undecided(earlier.name, open_),
    ]
    return replace(
        audit, findings=findings, baseline=earlier.name, cleared=tuple(cleared), notes=(*audit.notes, *notes)
    )


def _undecided(name: str, found: list[Finding]) -> list[str]:
    """Causes that what was read now neither shows nor rules out."""
    if not found:
        return []
    told = "1 cause" if len(found) == 1 else f"{len(found):,} causes"
    some = some_of([f"{one.conclusion} on {one.host}" for one in found])
    return [f"{told} of {name} can not be called cleared, as what was read now does not decide: {some}"]


def _not_judged(name: str, hosts: list[str]) -> list[str]:
    if not hosts:
        return []
    told = (
        f"{len(hosts):,} hosts with a cause in {name} were" if len(hosts) > 1 else f"1 host with a cause in {name} was"
    )
    return [f"{told} not judged now: {some_of(hosts)}"]


def _of_other_rules(audit: Audit, earlier: Earlier) -> list[str]:
    """That an earlier report was made by other rules, so that not only the machines may have changed."""
    notes = []
    if earlier.rules - {rules_stamp.digest(audit.kb)}:
        notes.append(f"{earlier.name} was made with other rules: what is new or cleared may come from them")
    unknown = sorted({name for _, name in earlier.causes if name not in audit.kb.conclusions})
    if unknown:
        told = "causes that these rules do not know, and that are not compared"
        notes.append(f"{earlier.name} has {told}: {', '.join(unknown)}")
    return notes


def read_earlier(path: Path) -> Earlier:
    """An earlier report in Parquet. Raises `HistoryError`."""
    import polars

    wanted = ("host", "conclusion", "kind", "status")
    try:
        report = polars.read_parquet(path)
        rows = report.select(wanted).drop_nulls().cast(polars.String)
        rules = set(report.get_column(RULES).drop_nulls().cast(polars.String)) if RULES in report.columns else set()
    except (polars.exceptions.PolarsError, OSError) as error:
        hint = "make one with --format parquet --out FILE"
        raise HistoryError(f"{path}: no report of an earlier audit ({hint}): {_first_words(error)}") from None
    found = [Finding(host, name, kind, status) for host, name, kind, status in rows.iter_rows()]
    causes = {(one.host, one.conclusion): one for one in found if one.is_cause}
    return Earlier(path.name, causes, frozenset(rules))


def _first_words(error: Exception) -> str:
    """What a library says of a file, without the list of all that it would have taken."""
    return str(error).splitlines()[0].partition("; valid columns")[0][:200]


def judged_hosts(audit: Audit, tables: list[Any]) -> Callable[[set[str]], set[str]]:
    """Which of some hosts were judged: of files as listed, of tables as their columns of names have them."""

    def judged(names: set[str]) -> set[str]:
        found = {one for one in names if one in audit.hosts and audit.hosts[one].state == JUDGED}
        for hosts in tables:
            found.update(hosts.filter(hosts.is_in(sorted(names))).to_list())
        return found

    return judged
