"""The next question in words: what may be answered, why it is asked, and how to find out."""

from __future__ import annotations

from collections.abc import Callable

from textual.screen import ModalScreen

from gpuwhy.engine.model import Question
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.texts import say
from gpuwhy.tui.app.rows import Row
from gpuwhy.tui.app.screens.pick import PickScreen
from gpuwhy.tui.app.screens.value import ValueScreen
from gpuwhy.tui.report import Report

MOST_KEYS = 9


def choices(spec: FactSpec, asked: Question | None = None) -> list[tuple[str, str]]:
    """What may be answered, as the value to give and the words to show; none where a value is typed."""
    if asked is not None and asked.answers:
        return [(_written(value), words) for value, words in asked.answers]
    if spec.type == "boolean":
        return [("true", "yes"), ("false", "no")]
    return [(word, word) for word in spec.choices]


def keys(spec: FactSpec, asked: Question) -> list[tuple[str, str]]:
    """The keys that answer a question, with what each says."""
    found = choices(spec, asked)
    made = [(str(number), words) for number, (_, words) in enumerate(found[:MOST_KEYS], 1)]
    if len(found) > MOST_KEYS:
        made.append(("t", f"{len(found) - MOST_KEYS} more"))
    elif spec.is_number or not found:
        made.append(("t", "type the number" if spec.is_number else "type the answer"))
    return [*made, ("d", "don't know")]


def answering(
    title: str, spec: FactSpec, check: Callable[[str], str], asked: Question | None = None
) -> ModalScreen[str | None]:
    """The screen that a value is given on: a list where only certain ones may be, else a line to type on."""
    found = choices(spec, asked)
    return PickScreen(title, found) if found and not spec.is_number else ValueScreen(title, check)


def separates(asked: Question | None) -> str:
    """What it sets apart, in one line; empty if nothing is asked."""
    if asked is None:
        return ""
    return "sets apart " + ", ".join(asked.separates[:2]) + (" ..." if len(asked.separates) > 2 else "")


def why(report: Report, asked: Question) -> tuple[Row, ...]:
    """Which conclusions the question sets apart, and by what."""
    about = say(report.kb.facts[asked.fact].says, report.language)
    rows = [Row("asks for", f"{asked.fact}: {about}"), Row("")]
    for number, name in enumerate(asked.separates):
        found = next((one for one in report.diagnosis.conclusions if one.id == name), None)
        status = f" ({found.status.value} now)" if found is not None else ""
        words = f"{name}{status}: {say(report.kb.conclusions[name].says, report.language)}"
        rows.append(Row("" if number else "sets apart", words))
    return tuple(rows)


def how(asked: Question) -> tuple[Row, ...]:
    """How a person finds the answer."""
    text = asked.how or "Nothing is known that would tell; you may say that you don't know."
    return (Row("asked", asked.ask), Row(""), Row("to find out", text, asked.command))


def named(asked: Question) -> str:
    """The fact that is asked for, with its entity, unless that goes without saying."""
    if asked.entity.kind in ("host", "job"):
        return asked.fact
    return f"{asked.entity.kind}:{asked.entity.name}/{asked.fact}"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
