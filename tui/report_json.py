"""The diagnosis as JSON, version 1; its schema is `schema/diagnosis-1.schema.json` beside this module."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

from gpuwhy.engine.diagnose import not_in_play
from gpuwhy.engine.model import Conclusion, Diagnosis, FixOffer, Question, SignatureResult, Verdict
from gpuwhy.kb import conditions
from gpuwhy.kb.facts import Fact, Origin
from gpuwhy.kb.texts import say
from gpuwhy.tui import rules_stamp
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import CONTROLS

SCHEMA = 1
NOT_IN_PLAY = "not in play"


def dump(data: dict[str, Any] | list[dict[str, Any]], ascii_only: bool = False) -> str:
    """JSON text with a final newline. Characters that steer a terminal are written as escapes."""
    text = StringIO()  # a report of a fleet has millions of pieces
    text.writelines(json.JSONEncoder(ensure_ascii=ascii_only, indent=1, allow_nan=False).iterencode(data))
    text.write("\n")
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text.getvalue())


def document(report: Report) -> dict[str, Any]:
    """The report as JSON data."""
    diagnosis, language = report.diagnosis, report.language
    return {
        "schema": SCHEMA,
        "kb": rules_stamp.document(report.kb),
        "engine": diagnosis.engine,
        "conclusions": [conclusion(one, report) for one in diagnosis.conclusions],
        "ruled_out": [conclusion(one, report) for one in diagnosis.ruled_out],
        "gain": _gain(diagnosis, language),
        "questions": [_question(one) for one in diagnosis.questions],
        "facts": [_fact(one, diagnosis) for one in diagnosis.facts],
        "absent": [
            {"id": one.id, "entity": one.entity.path, "reason": one.reason, "origin": _origin(one.origin)}
            for one in diagnosis.absent
        ],
        "contradictions": [
            {"kept": _fact(one.kept, diagnosis), "dropped": _fact(one.dropped, diagnosis)}
            for one in diagnosis.contradictions
        ],
        "formats": [{"artefact": name, "format": found} for name, found in report.gathered.formats],
        "not_understood": [
            {
                "artefact": one.artefact,
                "first_line": one.first,
                "last_line": one.last,
                "reason": one.reason,
                "begins": one.begins,
            }
            for one in report.gathered.not_understood
        ],
    }


def proofs(report: Report, names: list[str]) -> dict[str, Any]:
    """The proofs of these conclusions, by every signature in play or not, as JSON data."""
    return {"schema": SCHEMA, "proofs": [_proofs_of(report, name) for name in names]}


def _proofs_of(report: Report, name: str) -> dict[str, Any]:
    diagnosis = report.diagnosis
    judged = [one for one in (*diagnosis.conclusions, *diagnosis.ruled_out) if one.id == name]
    results = [result for one in judged for result in one.results]
    results += not_in_play(report.kb, diagnosis, name, report.language)
    return {
        "id": name,
        "status": judged[0].status.value if judged else NOT_IN_PLAY,
        "signatures": [
            {
                "rule": one.signature.id,
                "rule_version": one.signature.version,
                "entity": one.entity.path,
                "status": one.status.value if one.status else NOT_IN_PLAY,
                "because": one.because,
                "proof": proof(one),
            }
            for one in results
        ],
    }


def conclusion(one: Conclusion, report: Report) -> dict[str, Any]:
    """One conclusion with the proof of its leading signature."""
    lead = one.lead
    return {
        "id": one.id,
        "kind": one.spec.kind,
        "status": one.status.value,
        "title": say(one.spec.says, report.language),
        "because": one.because,
        "entity": lead.entity.path if lead else None,
        "rule": lead.signature.id if lead else None,
        "rule_version": lead.signature.version if lead else None,
        "proof": proof(lead) if lead else None,
        "explains": list(one.explains),
        "explained_by": one.explained_by,
        "contradicted": one.contradicted or None,
        "fixes": [_fix(offer, report.language) for offer in one.fixes],
    }


def proof(result: SignatureResult) -> dict[str, Any]:
    """Everything that was judged for one signature."""
    return {
        "given": _verdict(result.given) if result.given else None,
        "requires": _verdict(result.requires) if result.requires else None,
        "confirms": _verdict(result.confirms) if result.confirms else None,
        "excludes": [_verdict(one) for one in result.excludes],
        "supports": [_verdict(one) for one in result.supports],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    if verdict.parts:
        plain = conditions.to_plain(verdict.condition)
        return {
            "truth": verdict.truth.value,
            "is": next(iter(plain)),
            "parts": [_verdict(part) for part in verdict.parts],
        }
    found: dict[str, Any] = {"truth": verdict.truth.value, "is": conditions.to_plain(verdict.condition)}
    if verdict.fact is not None:
        fact = verdict.fact
        found["reading"] = {
            "value": fact.value,
            "unit": fact.unit,
            "entity": fact.entity.path,
            "origin": _origin(fact.origin),
        }
    if verdict.bound is not None:
        found["bound"] = list(verdict.bound) if isinstance(verdict.bound, tuple) else verdict.bound
    if verdict.margin is not None:
        found["margin"] = verdict.margin
    if verdict.unknown is not None:
        found["unknown"] = verdict.unknown
    return found


def _fact(fact: Fact, diagnosis: Diagnosis) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": fact.id,
        "value": fact.value,
        "unit": fact.unit,
        "entity": fact.entity.path,
        "origin": _origin(fact.origin),
    }
    if fact.observed_at is not None:
        found["observed_at"] = fact.observed_at
    if fact.window_seconds is not None:
        found["window_seconds"] = fact.window_seconds
    made = diagnosis.derived.get((fact.id, fact.entity))
    if made is not None:
        found["derived_from"] = [{"id": one.id, "entity": one.entity.path} for one in made.inputs]
    return found


def _origin(origin: Origin) -> dict[str, Any]:
    return {"kind": origin.kind.value, "source": origin.source, "line": origin.line, "text": origin.text}


def _fix(offer: FixOffer, language: str) -> dict[str, Any]:
    return {
        "id": offer.fix.id,
        "version": offer.fix.version,
        "title": say(offer.fix.title, language),
        "offered": offer.offered,
        "because": offer.because or None,
        "check_first": offer.check_first or None,
        "steps": [{"says": says, "command": command or None} for says, command in offer.steps],
        "effect": offer.effect,
        "risk": offer.risk,
        "undo": offer.undo,
        "restart": offer.fix.restart,
        "verify": {"says": offer.verify, "command": offer.verify_command or None},
    }


def _question(one: Question) -> dict[str, Any]:
    return {
        "fact": one.fact,
        "entity": one.entity.path,
        "ask": one.ask,
        "how": one.how or None,
        "command": one.command or None,
        "effort": one.effort,
        "separates": list(one.separates),
        "answers": [{"value": value, "says": says} for value, says in one.answers],
    }


def _gain(diagnosis: Diagnosis, language: str) -> dict[str, Any] | None:
    gain = diagnosis.gain
    if gain is None:
        return None
    return {
        "first": {"stage": gain.first.id, "says": say(gain.first.says, language), "share": gain.first_share},
        "at_most": gain.at_most,
        "then": {"stage": gain.then.id, "says": say(gain.then.says, language), "share": gain.then_share}
        if gain.then
        else None,
    }
