"""The diagnosis as plain text for a terminal: the answer first, fixes with exact commands, then what else matters."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.engine.model import Conclusion, FixOffer, Question, Status
from gpuwhy.kb.facts import Contradiction
from gpuwhy.kb.texts import say
from gpuwhy.kb.units import show
from gpuwhy.tui import rules_stamp
from gpuwhy.tui.report import Report, places
from gpuwhy.tui.wording import LABELS, command_lines, status_label, visible, where, wrapped

WIDTH = 80
COLUMN = 12
MAX_FIXES = 3
MAX_RULED_OUT = 6
MAX_POSSIBLE = 5
MAX_PLACES = 5

_COLOURS = {Status.CONFIRMED: "1;31", Status.LIKELY: "1;33", Status.POSSIBLE: "36", Status.RULED_OUT: "2"}


def render(report: Report, colour: bool = False, width: int = WIDTH) -> str:
    """The report as lines of at most `width` columns."""
    lines = _Writer(report, colour, width).lines()
    return "\n".join(lines) + "\n"


class _Writer:
    def __init__(self, report: Report, colour: bool, width: int) -> None:
        self.report = report
        self.colour = colour
        self.width = width
        self.out: list[str] = []

    def lines(self) -> list[str]:
        diagnosis = self.report.diagnosis
        shown = 0
        for one in diagnosis.conclusions:
            if one.explained_by is None and one.status.asserted:
                self.conclusion(one, full=shown == 0)
                shown += 1
        self.gain()
        self.possible([one for one in diagnosis.conclusions if one.status is Status.POSSIBLE])
        self.ruled_out(diagnosis.ruled_out)
        self.contradictions(diagnosis.contradictions)
        if diagnosis.questions:
            self.question(diagnosis.questions[0])
        self.not_read()
        self.rules()
        return self.out

    def first_column(self, text: str, status: Status | None = None) -> str:
        padded = text.ljust(COLUMN)
        if self.colour and status is not None:
            return f"\x1b[{_COLOURS[status]}m{text}\x1b[0m{padded[len(text) :]}"
        return padded

    def block(self, label: str, text: str, status: Status | None = None) -> None:
        """A label in the first column and text wrapped beside it."""
        lines = wrapped(visible(text), "", "", self.width - COLUMN)
        self.out.append((self.first_column(label, status) + lines[0]).rstrip())
        self.out.extend(" " * COLUMN + line for line in lines[1:])

    def conclusion(self, one: Conclusion, full: bool) -> None:
        self.block(status_label(one), f"{one.id}  {say(one.spec.says, self.report.language)}", one.status)
        if one.because and one.because != say(one.spec.says, self.report.language):
            self.block("", self.about(one) + _sentence(one.because))
        if one.contradicted:
            self.block("  but", _sentence(one.contradicted))
        if one.explains:
            self.block("  explains", ", ".join(one.explains))
        self.collect(one)
        self.fixes(one, full)
        if one.lead is not None:
            more = "; --format md has all about every fix" if sum(offer.offered for offer in one.fixes) > 1 else ""
            self.block("  proof", f"--why {one.id}{more}")

    def about(self, one: Conclusion) -> str:
        """The model that a conclusion is about, where more than one is known."""
        models = {of.path for fact in self.report.diagnosis.facts for of in fact.entity.lineage() if of.kind == "model"}
        lineage = () if one.lead is None or len(models) < 2 else one.lead.entity.lineage()
        return next((f"Model {of.name}: " for of in lineage if of.kind == "model" and of.name != "this"), "")

    def collect(self, one: Conclusion) -> None:
        """What to collect, where the conclusion is that the artefacts do not decide."""
        told = say(one.spec.collect, self.report.language)
        if one.lead is None and not self.report.gathered.formats:
            self.block("  read", "no known format was found; `gpuwhy formats` lists what is read")
        offered = any(offer.offered for offer in one.fixes)
        if told and not offered and (one.lead is None or one.spec.kind == "evidence"):
            self.block("  collect", told)

    def fixes(self, one: Conclusion, full: bool) -> None:
        offered = [offer for offer in one.fixes if offer.offered]
        for offer in offered[:1]:
            self.fix(offer)
        for offer in offered[1 : MAX_FIXES if full else 1]:
            self.alternative(offer)
        for offer in one.fixes if full else ():
            if not offer.offered:
                self.block("  not", f"{say(offer.fix.title, self.report.language)}: {offer.because}")

    def fix(self, offer: FixOffer) -> None:
        """The first choice: each note on a line of its own."""
        self.steps("  do", offer)
        if offer.check_first:
            self.block("  not if", offer.check_first)
        self.block("  effect", offer.effect)
        self.block("  risk", offer.risk.rstrip(".") + ("; restart needed" if offer.fix.restart else ""))
        self.block("  undo", offer.undo)
        if offer.verify:
            self.block("  verify", offer.verify)
            self.command(offer.verify_command)

    def alternative(self, offer: FixOffer) -> None:
        """A further choice: what it is and its commands; the other formats tell everything about it."""
        self.block("  or", say(offer.fix.title, self.report.language))
        for _, command in offer.steps:
            self.command(command)

    def steps(self, label: str, offer: FixOffer) -> None:
        for says, command in offer.steps:
            self.block(label, says)
            self.command(command)
            label = ""

    def command(self, command: str) -> None:
        self.out.extend(command_lines(visible(command), " " * COLUMN + "  ", self.width))

    def gain(self) -> None:
        gain = self.report.diagnosis.gain
        causes = [one for one in self.report.diagnosis.asserted if one.spec.kind == "cause"]
        if gain is None or not causes or gain.at_most < 1.05:
            return
        first = say(gain.first.says, self.report.language)
        share = show(gain.first_share, "share")
        text = f"{first} takes {share} of the time; without it at most {gain.at_most:.1f}x faster"
        if gain.then is not None and gain.then_share is not None:
            text += f"; then {say(gain.then.says, self.report.language)} would take {show(gain.then_share, 'share')}"
        self.block("GAIN", text + ".")

    def possible(self, found: list[Conclusion]) -> None:
        label = LABELS[Status.POSSIBLE]
        for one in found[:MAX_POSSIBLE]:
            self.block(label, f"{one.id}  {one.because or say(one.spec.says, self.report.language)}", Status.POSSIBLE)
            label = ""
        if len(found) > MAX_POSSIBLE:
            self.block("", f"and {len(found) - MAX_POSSIBLE} more: {', '.join(one.id for one in found[MAX_POSSIBLE:])}")

    def ruled_out(self, found: Iterable[Conclusion]) -> None:
        told = [one for one in found if one.because]
        label = LABELS[Status.RULED_OUT]
        for one in told[:MAX_RULED_OUT]:
            self.block(label, f"{one.id}  {one.because}", Status.RULED_OUT)
            label = ""

    def contradictions(self, found: Iterable[Contradiction]) -> None:
        label = "CONFLICT"
        for one in list(found)[:3]:
            kept, dropped = one.kept, one.dropped
            self.block(
                label,
                f"{kept.id} of {kept.entity.path}: {show(kept.value, kept.unit)} ({where(kept)}) is used, "
                f"not {show(dropped.value, dropped.unit)} ({where(dropped)})",
            )
            label = ""

    def question(self, one: Question) -> None:
        self.block("ASK NEXT", f"{one.ask}  (sets apart: {', '.join(one.separates)})")
        if one.how:
            self.block("  how", one.how)
        self.command(one.command)
        self.block("  answer", self.answer(one))

    def answer(self, one: Question) -> str:
        """How to give the answer on the command line: `--answer loader.pinned=true  (or false)`."""
        spec = self.report.kb.facts[one.fact]
        alike = {fact.entity for fact in self.report.diagnosis.facts if fact.entity.kind == one.entity.kind}
        owner = f"{one.entity.kind}:{one.entity.name}/" if len(alike) > 1 else ""
        if spec.type == "boolean":
            return f"--answer {owner}{one.fact}=true  (or false)"
        values = ", ".join([show(value) for value, _ in one.answers] or spec.choices)
        return f"--answer {owner}{one.fact}=VALUE" + (f"  ({values})" if values else "")

    def not_read(self) -> None:
        found = places(self.report.gathered.not_understood)
        label = "NOT READ"
        for where_it_is, reason in found[:MAX_PLACES]:
            self.block(label, f"{where_it_is}: {reason}")
            label = ""
        if len(found) > MAX_PLACES:
            self.block("", f"and {len(found) - MAX_PLACES} more; --format md has all")

    def rules(self) -> None:
        """Which rules judged, so that the report can be made again, and what packs took out of use."""
        kb = self.report.kb
        self.block("RULES", f"{rules_stamp.packs(kb)}; digest {rules_stamp.digest(kb)}")
        for text in rules_stamp.set_aside(kb)[:MAX_PLACES]:
            self.block("", text)


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else text + "."
