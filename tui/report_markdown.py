"""The diagnosis as Markdown, for a ticket or a pull request: the same content as the JSON, in reading order."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.engine.model import Conclusion, FixOffer, Status
from gpuwhy.kb.texts import say
from gpuwhy.kb.units import show
from gpuwhy.tui import rules_stamp
from gpuwhy.tui.report import Report, places
from gpuwhy.tui.wording import status_label, visible, where


def render(report: Report) -> str:
    """The report as one Markdown document; text of artefacts is escaped."""
    kb, lines = report.kb, ["# GPU diagnosis", ""]
    standing = report.diagnosis.conclusions
    for one in standing:
        lines += _conclusion(one, report)
    lines += _gain(report)
    lines += _table(
        "Ruled out", ("conclusion", "because"), ((one.id, one.because) for one in report.diagnosis.ruled_out)
    )
    lines += _questions(report)
    lines += _table("Not understood", ("where", "reason"), places(report.gathered.not_understood))
    lines += _table(
        "Contradictions",
        ("fact", "used", "set aside"),
        (
            (
                f"{one.kept.id} of {one.kept.entity.path}",
                f"{show(one.kept.value, one.kept.unit)} ({where(one.kept)})",
                f"{show(one.dropped.value, one.dropped.unit)} ({where(one.dropped)})",
            )
            for one in report.diagnosis.contradictions
        ),
    )
    lines += _table(
        "Could not be read",
        ("fact", "reason"),
        ((f"{one.id} of {one.entity.path}", one.reason) for one in report.diagnosis.absent),
    )
    lines += _table(
        "Facts",
        ("fact", "value", "of", "from"),
        ((one.id, show(one.value, one.unit), one.entity.path, where(one)) for one in report.diagnosis.facts),
    )
    aside = [f"- {escaped(text)}" for text in rules_stamp.set_aside(kb)]
    lines += [*aside, ""] if aside else []
    stamp = f"Rules {rules_stamp.packs(kb)}, digest `{rules_stamp.digest(kb)}`"
    lines += [f"{stamp}; engine: {report.diagnosis.engine}.", ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Text that Markdown and HTML show as it is, on one line."""
    text = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
    for sign in "\\`*_[]|#":
        text = text.replace(sign, "\\" + sign)
    return text


def _conclusion(one: Conclusion, report: Report) -> list[str]:
    lines = [f"## {status_label(one)}: `{one.id}`", "", escaped(say(one.spec.says, report.language)), ""]
    if one.because:
        lines += [escaped(one.because) + ".", ""]
    if one.contradicted:
        lines += ["But: " + escaped(one.contradicted) + ".", ""]
    if one.explained_by:
        lines += [f"Explained by `{one.explained_by}`.", ""]
    if one.lead is not None:
        lines += [f"Rule `{one.lead.signature.id}` {one.lead.signature.version}.", ""]
    if one.status is not Status.POSSIBLE and one.explained_by is None:
        for offer in one.fixes:
            lines += _fix(offer, report)
    return lines


def _fix(offer: FixOffer, report: Report) -> list[str]:
    title = escaped(say(offer.fix.title, report.language))
    if not offer.offered:
        return [f"- Not: {title}: {escaped(offer.because)}", ""]
    lines = [f"### {title}", ""]
    if offer.check_first:
        lines += [f"Not if: {escaped(offer.check_first)}", ""]
    for says, command in offer.steps:
        lines += [f"- {escaped(says)}", *_fenced(command)]
    restart = ["- Restart needed"] if offer.fix.restart else []
    lines += [
        f"- Effect: {escaped(offer.effect)}",
        f"- Risk: {escaped(offer.risk)}",
        f"- Undo: {escaped(offer.undo)}",
        *restart,
    ]
    lines += [f"- Verify: {escaped(offer.verify)}", *_fenced(offer.verify_command), ""]
    return lines


def _fenced(command: str) -> list[str]:
    return ["", *(f"      {line}" for line in command.splitlines()), ""] if command else []


def _gain(report: Report) -> list[str]:
    gain = report.diagnosis.gain
    if gain is None:
        return []
    first = escaped(say(gain.first.says, report.language))
    text = (
        f"{first} takes {show(gain.first_share, 'share')} of the time: without it, at most {gain.at_most:.1f}x faster."
    )
    if gain.then is not None and gain.then_share is not None:
        text += f" Then {escaped(say(gain.then.says, report.language))} would take {show(gain.then_share, 'share')}."
    return ["## Gain", "", text, ""]


def _questions(report: Report) -> list[str]:
    lines: list[str] = []
    for one in report.diagnosis.questions[:3]:
        lines += [f"- {escaped(one.ask)} (sets apart: {', '.join(f'`{name}`' for name in one.separates)})"]
        lines += [f"  {escaped(one.how)}"] if one.how else []
        lines += _fenced(one.command)
    return ["## Ask next", "", *lines, ""] if lines else []


def _table(title: str, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    body = [f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows]
    if not body:
        return []
    return [f"## {title}", "", f"| {' | '.join(header)} |", "|" + "---|" * len(header), *body, ""]
