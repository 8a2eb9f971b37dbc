"""Signatures as alert rules: one where the conclusion is confirmed, one where it is likely, as far as it can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuwhy.kb.conditions import Condition
from gpuwhy.kb.model import KnowledgeBase, Signature
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.texts import say
from gpuwhy.tui.alerts.promql import Translator
from gpuwhy.tui.alerts.recordings import FAMILIES, Recordings

CONFIRMED, LIKELY = "confirmed", "likely"
_SEVERITY = {CONFIRMED: "critical", LIKELY: "warning"}


@dataclass(frozen=True)
class Alert:
    """An alert rule of a signature: its status, its expression, the exporters it looks at."""

    signature: Signature
    status: str
    expression: str
    family: str

    @property
    def name(self) -> str:
        """The name of the alert: `hardware.gpu-lost` is HardwareGpuLost."""
        return "".join(part.capitalize() for part in self.signature.concludes.replace(".", "-").split("-"))

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the rule adds."""
        return {
            "conclusion": self.signature.concludes,
            "rule": self.signature.id,
            "severity": _SEVERITY[self.status],
            "status": self.status,
        }


@dataclass(frozen=True)
class Exported:
    """What can be an alert, and why the other signatures of causes cannot."""

    alerts: tuple[Alert, ...]
    missing: Mapping[str, str]


def export(kb: KnowledgeBase, made: Recordings) -> Exported:
    """All signatures of causes as alerts, where the facts that they need are recorded."""
    alerts: list[Alert] = []
    missing: dict[str, str] = {}
    for one in kb.signatures:
        if one.status == "deprecated" or kb.conclusions[one.concludes].kind != "cause":
            continue
        found = next((found for family in FAMILIES if (found := list(_alerts(one, made, family)))), [])
        alerts += found
        if not found:
            missing[one.id] = _reason(one, made)
    return Exported(tuple(alerts), missing)


def _alerts(one: Signature, made: Recordings, family: str) -> Iterator[Alert]:
    translator = Translator(made.facts, one.scope, family)
    needed = [part for part in (one.given, one.requires) if part is not None]
    holds = [translator.true(part) for part in needed]
    if None in holds:
        return
    against = [text for exclusion in one.excludes if (text := translator.true(exclusion.when)) is not None]
    base = " and ".join(dict.fromkeys(part for part in holds if part))
    base = f"({base})" + "".join(f" unless {text}" for text in against)
    sure = _sure(one, translator)
    if sure is not None:
        confirmed = " and ".join([f"({base})", *sure])
        yield Alert(one, CONFIRMED, confirmed, family)
        if set(sure) <= set(holds):  # what holds is confirmed by itself: it is never only likely
            return
        base = f"({base}) unless ({confirmed})"
    yield Alert(one, LIKELY, base, family)


def _sure(one: Signature, translator: Translator) -> list[str] | None:
    """What must hold beside the rest for a confirmed conclusion; None where it never can."""
    if one.confirms is None:
        return None
    conditions = [translator.true(one.confirms)]
    conditions += [translator.false(exclusion.when) for exclusion in one.excludes if exclusion.demotes]
    return [text for text in conditions if text is not None] if None not in conditions else None


def _reason(one: Signature, made: Recordings) -> str:
    """Why a signature cannot be an alert: the facts that no exporter gives, or what else stands in the way."""
    needed = [part for part in (one.given, one.requires) if part is not None]
    lacking = list(dict.fromkeys(fact for part in needed for fact in _facts(part) if fact not in made.facts))
    if lacking:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        return f"no exporter gives {', '.join(lacking[:3])}{more}"
    families = sorted({made.facts[fact].family for part in needed for fact in _facts(part)})
    if len(families) > 1:
        return f"needs exporters that share no labels: {', '.join(families)}"
    return f"what it compares cannot be told for a {one.scope} in PromQL"


def _facts(condition: Condition) -> list[str]:
    from gpuwhy.kb.conditions import references

    return [one.fact for one in references(condition)]


def rules_document(kb: KnowledgeBase, made: Recordings, exported: Exported, hold: float) -> dict[str, Any]:
    """The rule file: facts are recorded first, alerts stand after them in the same group, which is worked in order."""
    recorded = [{"record": one.name, "expr": one.expression} for one in made.rules]
    alerts = [
        {
            "alert": one.name,
            "expr": one.expression,
            **({"for": f"{hold:.0f}s"} if hold else {}),
            "labels": one.labels,
            "annotations": alert_texts(kb, one, PLACE),
        }
        for one in exported.alerts
    ]
    return {"groups": [{"name": "gpuwhy", "rules": [*recorded, *alerts]}]}


PLACE = (
    "{{ or $labels.node $labels.Hostname $labels.hostname $labels.instance }}"
    "{{ with $labels.gpu }} gpu {{ . }}{{ end }}{{ with $labels.uuid }} {{ . }}{{ end }}"
    "{{ with $labels.model }} model {{ . }}{{ end }}"
)
"""Where it is, as a template of Prometheus."""


def alert_texts(kb: KnowledgeBase, one: Alert, place: str) -> dict[str, str]:
    """Title, place, fix and sources of an alert; braces of templates are taken out of all texts but the place."""
    found = {
        "summary": _plain(f"{say(kb.conclusions[one.signature.concludes].says)} ({say(one.signature.title)})"),
        "place": place,
        "rule": f"gpuwhy rules show {one.signature.id}",
    }
    fix = first_fix(kb, one.signature.concludes)
    sources = dict.fromkeys(_sources(kb, one.signature))
    if fix:
        found["fix"] = _plain(fix)
    if sources:
        found["source"] = _plain("; ".join(sources))
    return found


def first_fix(kb: KnowledgeBase, conclusion: str) -> str:
    """What to do first, with the command where there is one."""
    fixes = sorted(kb.fixes.about(conclusion), key=lambda one: one.order)
    if not fixes:
        return say(kb.conclusions[conclusion].collect)
    step = next((each for each in fixes[0].steps if each.command), None)
    return say(fixes[0].title) + (f": {step.command}" if step is not None else "")


def _sources(kb: KnowledgeBase, one: Signature) -> Iterator[str]:
    from gpuwhy.kb.conditions import comparisons

    named = [*one.references, *(each.source for _, part in one.parts() for each in comparisons(part) if each.source)]
    for name in named:
        reference = kb.references.get(name)
        if reference is not None and reference.address:
            yield reference.address


def _plain(text: str) -> str:
    return text.replace("{{", "{ {").replace("}}", "} }")
