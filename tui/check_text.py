"""The steps of a check as text, with the fix at the first broken one, and the diagnosis below."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.engine.model import FixOffer
from gpuwhy.probes.check import Check, Looked, Step
from gpuwhy.tui import report_text
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import command_lines, visible, wrapped

WIDTH = 80
COLUMN = 9
NAME = 16
_STATES = {"ok": "ok", "broken": "BROKEN", "unknown": "no look"}
_COLOURS = {"ok": "32", "broken": "31", "unknown": "33"}


def render(report: Report, looked: Looked, colour: bool = False) -> str:
    """Lines of at most 80 columns."""
    return "\n".join(_lines(report, looked, colour)) + "\n"


def _lines(report: Report, looked: Looked, colour: bool) -> Iterator[str]:
    told = False
    for number, step in enumerate(looked.steps, 1):
        yield f"STEP {number}   {step.title}: {_summary(step)}"
        for one in step.checks:
            yield from _check(one, colour)
            if one.state == "broken" and not told:
                told = True
                yield from _fix(report)
        yield ""
    if looked.seen.interrupted:
        yield "Ended early; what was gathered until then stands above."
        yield ""
    yield report_text.render(report, colour).rstrip("\n")


def _summary(step: Step) -> str:
    if step.broken:
        return "broken"
    return "as it should be" if step.sound else "not all could be looked at"


def _check(one: Check, colour: bool) -> Iterator[str]:
    state = _STATES[one.state]
    shown = f"\x1b[{_COLOURS[one.state]}m{state}\x1b[0m{' ' * (COLUMN - len(state))}" if colour else state.ljust(COLUMN)
    lines = wrapped(visible(one.says), "", "", WIDTH - COLUMN - NAME)
    yield f"{shown}{one.name.ljust(NAME)}{lines[0]}".rstrip()
    for line in lines[1:]:
        yield " " * (COLUMN + NAME) + line


def _fix(report: Report) -> Iterator[str]:
    """The first fix of the leading cause, right where it broke."""
    offer = _first_offer(report)
    if offer is None:
        return
    label = "fix"
    for says, command in offer.steps:
        for line in wrapped(visible(str(says)), "", "", WIDTH - COLUMN - NAME):
            yield " " * COLUMN + label.ljust(NAME) + line
            label = ""
        if command:
            yield from command_lines(visible(command), " " * (COLUMN + NAME), WIDTH)
    yield from (" " * (COLUMN + NAME) + line for line in wrapped(f"effect: {visible(offer.effect)}", "", "", 55))


def _first_offer(report: Report) -> FixOffer | None:
    for one in report.diagnosis.conclusions:
        if one.status.asserted and one.spec.kind == "cause":
            return next((offer for offer in one.fixes if offer.offered), None)
    return None
