"""The application: it owns the session of the incident, works beside the screens, and shows what comes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from textual.app import App
from textual.binding import Binding

from gpuwhy.engine.model import Question
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.texts import say
from gpuwhy.probes.nvml_glance import Glance, Glancer
from gpuwhy.tui.app.messages import Glanced, SnapshotTaken
from gpuwhy.tui.app.questions import named
from gpuwhy.tui.app.screens.diagnosis import DiagnosisScreen
from gpuwhy.tui.app.screens.fix import FixScreen
from gpuwhy.tui.app.screens.gather import GatherScreen
from gpuwhy.tui.app.screens.open import OpenScreen
from gpuwhy.tui.app.screens.paste import PasteScreen
from gpuwhy.tui.app.screens.report import ReportScreen
from gpuwhy.tui.app.screens.start import StartScreen
from gpuwhy.tui.app.screens.text import TextScreen
from gpuwhy.tui.app.terminal import calm, plain_driver, theme
from gpuwhy.tui.incident import journal as journals
from gpuwhy.tui.incident.events import SYMPTOMS, Added, Answered, Applied, Event, Looked, Supposed, Verified, Withdrawn
from gpuwhy.tui.incident.looking import plan
from gpuwhy.tui.incident.session import Session, Snapshot

LOOK_SECONDS = 20.0
GLANCE_SECONDS = 1.0
LOOK_AT_ONCE = ("slow", "broken", "look")
"""Symptoms for which this machine is looked at without being asked, where it has a GPU."""


class GpuwhyApp(App[None]):
    """gpuwhy in a terminal."""

    CSS_PATH = "app.tcss"
    TITLE = "gpuwhy"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - as Textual declares it
    BINDINGS = [Binding("ctrl+q", "quit", "Quit", show=False, priority=True)]  # noqa: RUF012

    def __init__(
        self, kb: KnowledgeBase, headline: str, resume: str | None = None, events: tuple[Event, ...] = ()
    ) -> None:
        super().__init__(driver_class=plain_driver(), ansi_color=True)
        self.theme = theme()
        self.kb = kb
        self._headline, self._resume, self._events = headline, resume, events
        self.session: Session | None = None
        self.snapshot: Snapshot | None = None
        self._before: dict[str, Snapshot] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._machine = Glance()
        if calm():
            self.animation_level = "none"

    def on_mount(self) -> None:
        """The start screen; then whatever was asked for on the command line."""
        self.push_screen(StartScreen(self._headline, tuple(journals.listed())))
        self.run_worker(self._glance, thread=True, group="glance", exit_on_error=False)
        if self._resume is not None:
            self.action_resume(self._resume)
        elif self._events:
            self._open(None)
            for event in self._events:
                self._take(event)
            self.judge()

    # looking ------------------------------------------------------------------------------------------------------

    def _glance(self) -> None:
        glancer = Glancer()
        try:
            while not self._stop.is_set():
                self._machine = glancer.look()
                self.call_from_thread(self._show_glance, self._machine)
                if self._machine.trouble or self._stop.wait(GLANCE_SECONDS):
                    return
        finally:
            glancer.close()

    def _show_glance(self, glance: Glance) -> None:
        if isinstance(self.screen, (StartScreen, GatherScreen)):
            self.screen.post_message(Glanced(glance))

    def action_look(self) -> None:
        """Watch this machine for a while."""
        symptom = self.session.symptom if self.session is not None else "look"
        title = SYMPTOMS.get(symptom, symptom)
        self.push_screen(GatherScreen(title, plan(symptom), LOOK_SECONDS, self.kb.facts), self._looked)

    def _looked(self, event: Looked | None) -> None:
        if event is not None:
            self.advance(event)

    # the incident -------------------------------------------------------------------------------------------------

    def _open(self, symptom: str | None, name: str | None = None) -> None:
        self.session = Session(self.kb, journals.Journal(name))
        if symptom is not None:
            self.session.start(symptom)
        if self.session.journal is not None and self.session.journal.trouble:
            self.notify(f"The incident is not kept: {self.session.journal.trouble}", severity="warning", markup=False)
        self.snapshot = None
        self.push_screen(DiagnosisScreen())

    def action_begin(self, symptom: str) -> None:
        """A new incident."""
        self._open(symptom)
        self.judge()
        if symptom in LOOK_AT_ONCE and self._machine.gpus:
            self.action_look()
        elif symptom != "look":
            self.action_paste()
        else:
            self.action_look()

    def action_resume(self, name: str) -> None:
        """Take an incident up again."""
        try:
            events = journals.read(name)
        except journals.JournalError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self._open(None, name)
        assert self.session is not None
        self.session.resume(events)
        self.judge()

    def action_leave(self) -> None:
        """Back to the start; the incident is kept."""
        if self.session is not None and self.session.journal is not None:
            self.session.journal.close()
        self.session = None
        self.pop_screen()
        self.pop_screen()
        self.push_screen(StartScreen(self._headline, tuple(journals.listed())))

    def action_paste(self) -> None:
        """Paste an artefact."""
        self.push_screen(PasteScreen(), self._pasted)

    def _pasted(self, text: str | None) -> None:
        if text is not None:
            number = sum(isinstance(one, Added) for one in self.session.events) + 1 if self.session is not None else 1
            self.advance(Added(f"paste {number}", text))

    def action_open(self) -> None:
        """Open a file or a folder."""
        self.push_screen(OpenScreen(), self._opened)

    def _opened(self, path: str | None) -> None:
        if path is None:
            return
        from gpuwhy.probes.artefacts.read import find_inputs

        for name, found in find_inputs([path]):
            try:
                text = Path(found).read_text("utf-8", "replace")
            except OSError as error:
                self.notify(f"{found}: {error.strerror}", severity="error", markup=False)
            else:
                self._take(Added(name, text))
        self.judge()

    def _take(self, event: Event) -> None:
        if self.session is None:
            self._open("look")
        assert self.session is not None
        self.session.record(event)

    def advance(self, event: Event) -> None:
        """Something happened: it is written down, and everything is judged anew."""
        self._take(event)
        self.judge()

    def judge(self) -> None:
        """Judge in a thread: the screen stays alive meanwhile."""
        session = self.session
        if session is not None:
            self.run_worker(lambda: self._judge(session), thread=True, group="judge", exit_on_error=False)

    def _judge(self, session: Session) -> None:
        with self._lock:
            snapshot = session.snapshot()
        self.post_message(SnapshotTaken(snapshot))

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        """Show it on the diagnosis screen, wherever that is in the stack."""
        self.snapshot = message.snapshot
        for screen in self.screen_stack:
            if isinstance(screen, DiagnosisScreen):
                screen.snapshot = message.snapshot

    # what a person does -------------------------------------------------------------------------------------------

    def record_answer(self, asked: Question, value: str | None) -> None:
        """An answer to a question; None is "don't know"."""
        self.advance(Answered(named(asked), value))

    def record_change(self, fact: str, value: str | None) -> None:
        """Another answer to what was asked before."""
        self.advance(Answered(fact, value))

    def suppose(self, fact: str, value: str) -> None:
        """What if a fact were this."""
        self.advance(Supposed(fact, value))

    def withdraw(self, fact: str) -> None:
        """Take an answer or a what-if back."""
        self.advance(Withdrawn(fact))

    def checker(self, fact: str) -> Callable[[str], str]:
        """What is wrong with a value of a fact."""
        session = self.session
        assert session is not None
        return lambda value: session.check(fact, value)

    def show_fixes(self, name: str) -> None:
        """The fixes of a conclusion."""
        if self.snapshot is None:
            return
        found = self.snapshot.report.diagnosis
        one = next((one for one in (*found.conclusions, *found.ruled_out) if one.id == name), None)
        title = say(self.kb.conclusions[name].says)
        self.push_screen(FixScreen(name, title, one.fixes if one is not None else ()))

    def record_applied(self, fix: str, conclusion: str) -> None:
        """A fix was carried out; the incident as it stands is what a later look is compared with."""
        if self.snapshot is not None:
            self._before[fix] = self.snapshot
        self.advance(Applied(fix, conclusion))

    def verify(self, fix: str, conclusion: str) -> str:
        """Before and after in lines for a person."""
        assert self.session is not None
        found = self.session.verification(fix, conclusion)
        self._take(Verified(fix, found.outcome))
        lines = [f"{found.outcome.upper()}: {found.because}"]
        lines += [f"{one.fact}: before {one.before}, after {one.after} ({one.wanted})" for one in found.figures]
        return "\n".join(lines)

    def action_report(self) -> None:
        """The report for the ticket."""
        if self.snapshot is not None:
            name = self.session.journal.name if self.session is not None and self.session.journal is not None else ""
            self.push_screen(ReportScreen(self.snapshot, name))

    def action_help(self) -> None:
        """What the keys of this screen do."""
        self.push_screen(TextScreen("Help", getattr(self.screen, "HELP", "") or "Escape goes back."))

    async def action_quit(self) -> None:
        """End; the incident is kept."""
        self._stop.set()
        self.exit()
