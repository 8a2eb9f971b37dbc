"""The next question in words: what may be answered, why it is asked, and how to find out."""

from __future__ import annotations

from gpuwhy.engine.model import Question
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.texts import say
from gpuwhy.tui.report import Report

NONE_LEFT = "No question would decide more. f: what to do; a: add an artefact; l: look at this machine."
MOST_CHOICES = 9


def choices(spec: FactSpec, asked: Question | None = None) -> list[tuple[str, str]]:
    """What may be answered, as the value to give and the words to show; none where a value is typed."""
    if asked is not None and asked.answers:
        return [(_written(value), words) for value, words in asked.answers][:MOST_CHOICES]
    if spec.type == "boolean":
        return [("true", "yes"), ("false", "no")]
    return [(word, word) for word in spec.choices][:MOST_CHOICES]


def shown(report: Report, asked: Question | None) -> str:
    """The question and its answers, in a few lines."""
    if asked is None:
        return NONE_LEFT
    found = choices(report.kb.facts[asked.fact], asked)
    answers = "  ".join(f"({number}) {words}" for number, (_, words) in enumerate(found, 1))
    return f"{asked.ask}\n{answers or '(t) type the answer'}  (d)\N{NO-BREAK SPACE}don't\N{NO-BREAK SPACE}know"


def separates(asked: Question | None) -> str:
    """What it sets apart, in one line; empty if nothing is asked."""
    if asked is None:
        return ""
    return "sets apart " + ", ".join(asked.separates[:2]) + (" ..." if len(asked.separates) > 2 else "")


def why(report: Report, asked: Question) -> str:
    """Which conclusions the question sets apart, and by what."""
    told = []
    for name in asked.separates:
        found = next((one for one in report.diagnosis.conclusions if one.id == name), None)
        status = f" ({found.status.value} now)" if found is not None else ""
        told.append(f"{name}{status}: {say(report.kb.conclusions[name].says, report.language)}")
    about = say(report.kb.facts[asked.fact].says, report.language)
    return f"{asked.fact}: {about}\n\nIt sets apart:\n" + "\n".join(told)


def how(asked: Question) -> str:
    """How a person finds the answer."""
    text = asked.how or "Nothing is known that would tell; you may say that you don't know."
    return f"{asked.ask}\n\n{text}"


def named(asked: Question) -> str:
    """The fact that is asked for, with its entity, unless that goes without saying."""
    if asked.entity.kind in ("host", "job"):
        return asked.fact
    return f"{asked.entity.kind}:{asked.entity.name}/{asked.fact}"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
