"""An incident as it stands: its events, and the diagnosis of everything told so far, by the same engine as anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy import __version__
from gpuwhy.engine.answers import AnswerError, parse_answer, unknown_to_person
from gpuwhy.engine.model import Question, Status
from gpuwhy.engine.run import diagnose_with
from gpuwhy.kb.facts import FactBase, OriginKind
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.read import Gathered, Reader, gather
from gpuwhy.tui.incident.events import (
    AREAS,
    IMPLIED,
    Added,
    Answered,
    Applied,
    Event,
    Looked,
    Started,
    Supposed,
    Verified,
    Withdrawn,
)
from gpuwhy.tui.incident.journal import Journal
from gpuwhy.tui.incident.verification import CANNOT_TELL, Verification, verify
from gpuwhy.tui.incident.vitals import Course, from_text
from gpuwhy.tui.report import Report

THIS_MACHINE = "this machine"


@dataclass(frozen=True)
class Change:
    """A conclusion whose status the last step changed; None: not in play."""

    conclusion: str
    before: Status | None
    after: Status | None


@dataclass(frozen=True)
class Snapshot:
    """An incident at one moment. `answers` are facts as asked with the value given, None for "don't know".

    `supposed` are what-ifs that stand, `courses` the vital signs of the latest look.
    """

    symptom: str
    report: Report
    answers: tuple[tuple[str, str | None], ...] = ()
    questions: tuple[Question, ...] = ()
    changes: tuple[Change, ...] = ()
    applied: tuple[str, ...] = ()
    outcomes: tuple[tuple[str, str], ...] = ()
    sources: tuple[str, ...] = ()
    trouble: str = ""
    supposed: tuple[tuple[str, str], ...] = ()
    courses: tuple[Course, ...] = ()


class Session:
    """Takes events, journals them, and gives the incident as it stands after each."""

    def __init__(self, kb: KnowledgeBase, journal: Journal | None = None, reader: Reader | None = None) -> None:
        self.kb = kb
        self.journal = journal
        self._reader = reader or Reader()
        self.events: list[Event] = []
        self._gathered: Gathered | None = None
        self._latest: Snapshot | None = None

    def resume(self, events: Iterable[Event]) -> None:
        """Take over what a journal holds already; it is not written again."""
        for event in events:
            self._take(event)

    def record(self, event: Event) -> None:
        """Something happened: first it is written down, then it counts."""
        if self.journal is not None:
            self.journal.write(event)
        self._take(event)

    def start(self, symptom: str) -> None:
        """The incident begins."""
        self.record(Started(symptom, __version__))

    def _take(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, (Added, Looked)):
            self._gathered = None

    @property
    def name(self) -> str:
        """Under which name the incident is kept; empty where it is not."""
        return self.journal.name if self.journal is not None and not self.journal.trouble else ""

    @property
    def trouble(self) -> str:
        """Why the incident is no longer kept; empty where it is, or where nothing was to be."""
        return self.journal.trouble if self.journal is not None else ""

    def close(self) -> None:
        """Nothing more will happen."""
        if self.journal is not None:
            self.journal.close()

    @property
    def symptom(self) -> str:
        """What the person came with."""
        return next((one.symptom for one in self.events if isinstance(one, Started)), "look")

    @property
    def answers(self) -> dict[str, str | None]:
        """The answers that stand, by fact."""
        found: dict[str, str | None] = {}
        for event in self.events:
            if isinstance(event, Answered):
                found[event.fact] = event.value
            elif isinstance(event, Withdrawn):
                found.pop(event.fact, None)
        return found

    @property
    def supposed(self) -> dict[str, str]:
        """The what-ifs that stand, by fact."""
        found: dict[str, str] = {}
        for event in self.events:
            if isinstance(event, Supposed):
                found[event.fact] = event.value
            elif isinstance(event, Withdrawn):
                found.pop(event.fact, None)
        return found

    def check(self, fact: str, value: str) -> str:
        """What is wrong with an answer; empty if it can be taken."""
        try:
            parse_answer(self.kb.facts, f"{fact}={value}", OriginKind.PERSON, "answer")
        except AnswerError as error:
            return str(error)
        return ""

    def gathered(self) -> Gathered:
        """What was read from the artefacts and the machine, computed when something was added."""
        if self._gathered is None:
            inputs = [(one.name, one.text.encode()) for one in self.events if isinstance(one, Added)]
            looks = [one for one in self.events if isinstance(one, Looked)]
            inputs += [(THIS_MACHINE, one.facts.encode()) for one in looks[-1:]]
            self._gathered = gather(inputs, self.kb.facts, reader=self._reader) if inputs else Gathered()
        return self._gathered

    def verification(self, fix: str, conclusion: str) -> Verification:
        """Whether a fix worked, by what was read after it was carried out against what was known before."""
        at = max(
            (index for index, one in enumerate(self.events) if isinstance(one, Applied) and one.fix == fix), default=-1
        )
        known = {one.id: one for one in self.kb.fixes.about(conclusion)}
        if at < 0 or fix not in known:
            return Verification(CANNOT_TELL, "the fix was not marked as carried out")
        before, later = Session(self.kb, reader=self._reader), Session(self.kb, reader=self._reader)
        before.resume(one for one in self.events[:at] if not isinstance(one, Supposed))
        later.resume(one for one in self.events[at:] if isinstance(one, (Added, Looked)))
        after = later.snapshot().report if len(later.events) else None
        return verify(self.kb, known[fix], conclusion, before.snapshot().report, after)

    def snapshot(self) -> Snapshot:
        """The incident as it stands, with what changed since the last one that was taken."""
        gathered = self.gathered()
        refused = [unknown_to_person(self.kb.facts, fact) for fact, value in self.answers.items() if value is None]
        base = FactBase.of(gathered.facts, (*gathered.absent, *refused))
        implied = IMPLIED.get(self.symptom)
        known = {fact.id for fact in base.facts()} | set(self.answers)
        told = [(fact, value, OriginKind.PERSON, "answer") for fact, value in self.answers.items()]
        if implied is not None and implied[0] not in known:
            told.append((*implied, OriginKind.PERSON, "symptom"))
        told += [(fact, value, OriginKind.ASSUMED, "what-if") for fact, value in self.supposed.items()]
        said = [
            parse_answer(self.kb.facts, f"{fact}={value}", kind, source, base)
            for fact, value, kind, source in told
            if value is not None and not self.check(fact, value)
        ]
        report = Report(
            self.kb, gathered, diagnose_with(self.kb, base.with_facts(said), areas=AREAS.get(self.symptom, ()))
        )
        asked = {fact.rpartition("/")[2] for fact in self.answers}
        made = Snapshot(
            symptom=self.symptom,
            report=report,
            answers=tuple(self.answers.items()),
            questions=tuple(one for one in report.diagnosis.questions if one.fact not in asked),
            changes=tuple(_changes(self._latest, report)) if self._latest is not None and _told(self._latest) else (),
            applied=tuple(one.fix for one in self.events if isinstance(one, Applied)),
            outcomes=tuple((one.fix, one.outcome) for one in self.events if isinstance(one, Verified)),
            sources=tuple(dict.fromkeys(name for name, _ in gathered.formats)),
            trouble=self.trouble,
            supposed=tuple(self.supposed.items()),
            courses=next((from_text(one.vitals) for one in reversed(self.events) if isinstance(one, Looked)), ()),
        )
        self._latest = made
        return made


def _told(before: Snapshot) -> bool:
    """True if anything was known before: against nothing everything would be a change."""
    return bool(before.sources or before.answers or before.supposed)


def statuses(report: Report) -> dict[str, Status]:
    """The status of every conclusion in play."""
    found = report.diagnosis
    return {one.id: one.status for one in (*found.conclusions, *found.ruled_out)}


def _changes(before: Snapshot, after: Report) -> Iterable[Change]:
    old, new = statuses(before.report), statuses(after)
    for name in {**old, **new}:
        if old.get(name) is not new.get(name):
            yield Change(name, old.get(name), new.get(name))
