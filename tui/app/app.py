"""The application: it owns the session of the incident, works beside the screens, and shows what comes of it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.worker import Worker

from gpuwhy.tui.app.messages import Glanced, SnapshotTaken
from gpuwhy.tui.app.ruled import RuledApp
from gpuwhy.tui.app.screens.start import StartScreen
from gpuwhy.tui.app.terminal import calm
from gpuwhy.tui.incident import journal as journals
from gpuwhy.tui.incident.events import SYMPTOMS, Added, Answered, Applied, Event, Looked, Supposed, Verified, Withdrawn

if TYPE_CHECKING:
    from gpuwhy.engine.model import Question
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.probes.nvml_glance import Glance
    from gpuwhy.tui.app.screens.commands import Command
    from gpuwhy.tui.app.screens.job import Chosen
    from gpuwhy.tui.incident.session import Session, Snapshot
    from gpuwhy.tui.incident.verification import Verification

LOOK_SECONDS = 20.0
GLANCE_SECONDS = 1.0
KEYS_ANYWHERE = (
    ("^p", "all that can be done here, to be searched by name"),
    ("^l", "draw the screen anew, if something else wrote on it"),
    ("^c  ^q", "close what is on top; leave gpuwhy"),
)


class GpuwhyApp(RuledApp):
    """gpuwhy in a terminal. What the first screen does not show is read and imported after it has been painted."""

    CSS_PATH = ["app.tcss", "screens/start.tcss"]  # noqa: RUF012 - as Textual declares it; one reading of style sheets
    TITLE = "gpuwhy"
    ENABLE_COMMAND_PALETTE = False  # Textual's: of its own commands, none of which helps here
    BINDINGS = [  # noqa: RUF012 - as Textual declares it
        Binding("ctrl+p", "commands", show=False, priority=True),
        Binding("ctrl+l", "repaint", "Draw the screen anew", show=False, priority=True),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "quit", "Leave gpuwhy; the incident is kept", show=False, priority=True),
    ]

    def __init__(
        self,
        rules: Callable[[], KnowledgeBase],
        headline: str,
        resume: str | None = None,
        events: tuple[Event, ...] = (),
    ) -> None:
        super().__init__(rules)
        self._headline, self._resume, self._events = headline, resume, events
        self.session: Session | None = None
        self.snapshot: Snapshot | None = None
        self._before: dict[str, Snapshot] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._machine: Glance | None = None
        if calm():
            self.animation_level = "none"

    def get_default_screen(self) -> StartScreen:
        """The start is beneath everything."""
        return StartScreen(self._headline)

    def on_mount(self) -> None:
        """Whatever was asked for on the command line; the rest begins when the first screen stands."""
        with suppress(ValueError, RuntimeError, NotImplementedError):  # not from every thread, nor on every system
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)
        if self._resume is not None:
            self.action_resume(self._resume)
        elif self._events:
            self.when_ready(self._demonstrate)

    def on_ready(self) -> None:
        """The first screen has been painted: reading the rules and looking at the GPUs no longer keeps it waiting."""
        self.run_worker(self._prepare, thread=True, group="prepare", exit_on_error=False)
        self.run_worker(self._glance, thread=True, group="glance", exit_on_error=False)

    # looking ------------------------------------------------------------------------------------------------------

    def _glance(self) -> None:
        from gpuwhy.probes.nvml_glance import Glancer

        glancer = Glancer()
        try:
            while not self._stop.is_set():
                seen = glancer.look()
                self.post_message(Glanced(seen))
                if seen.trouble or self._stop.wait(GLANCE_SECONDS):
                    return
        finally:
            glancer.close()

    def on_glanced(self, message: Glanced) -> None:
        """The screen on top gets it; not every one shows it."""
        self._machine = message.glance
        if self.screen_stack:  # the last glance may come when all screens have gone
            self.screen.post_message(Glanced(message.glance))

    def action_look(self) -> None:
        """Watch this machine for a while, or a job on it where training is slow."""
        if self._symptom == "slow":
            self.action_job()
        else:
            self._look()

    def action_job(self, sure: bool = True) -> None:
        """Watch a running job; unless one was asked for, only where there is any."""
        from gpuwhy.tui.app.screens.job import JobScreen

        self.push_screen(JobScreen(SYMPTOMS.get(self._symptom, ""), sure), self._job_chosen)

    def _job_chosen(self, chosen: Chosen | None) -> None:
        if chosen is None:
            return
        if chosen.pid is not None or self._has_gpus:
            self._look(chosen.pid, chosen.settings)
        else:
            self.action_paste()

    def _look(self, pid: int | None = None, settings: bool = False) -> None:
        from gpuwhy.tui.app.screens.gather import GatherScreen
        from gpuwhy.tui.incident.looking import job, plan

        title = SYMPTOMS.get(self._symptom, self._symptom)
        probes = plan(self._symptom) if pid is None else job(pid, settings)
        screen = GatherScreen(title, probes, LOOK_SECONDS, self.kb.facts)
        self.push_screen(screen, self._looked)
        if self._machine is not None:  # where there is no GPU, nothing more will come
            self.call_after_refresh(screen.post_message, Glanced(self._machine))

    @property
    def _has_gpus(self) -> bool:
        return self._machine is not None and bool(self._machine.gpus)

    @property
    def _symptom(self) -> str:
        return self.session.symptom if self.session is not None else "look"

    def _looked(self, event: Looked | None) -> None:
        if event is not None:
            self.advance(event)

    # the incident -------------------------------------------------------------------------------------------------

    def _open(self, symptom: str | None, name: str | None = None) -> None:
        from gpuwhy.tui.app.screens.diagnosis import DiagnosisScreen
        from gpuwhy.tui.incident.session import Session

        self.session = Session(self.kb, journals.Journal(name), self.reader)
        if symptom is not None:
            self.session.start(symptom)
        if self.session.trouble:
            self.notify(f"The incident is not kept: {self.session.trouble}", severity="warning", markup=False)
        self.snapshot = None
        self.push_screen(DiagnosisScreen())

    def _demonstrate(self) -> None:
        self._open(None)
        for event in self._events:
            self._take(event)
        self.judge()

    def action_begin(self, symptom: str) -> None:
        """A new incident."""
        self.when_ready(lambda: self._begin(symptom))

    def _begin(self, symptom: str) -> None:
        if self.session is not None:  # a key pressed twice
            return
        self._open(symptom)
        self.judge()
        if symptom == "slow":
            self.action_job(sure=False)
        elif symptom == "look" or (symptom == "broken" and self._has_gpus):
            self._look()
        else:
            self.action_paste()

    def action_resume(self, name: str) -> None:
        """Take an incident up again."""
        self.when_ready(lambda: self._take_up(name))

    def _take_up(self, name: str) -> None:
        if self.session is not None:
            return
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
        if self.session is not None:
            self.session.close()
        self.session = None
        self.pop_screen()

    def action_paste(self) -> None:
        """Paste an artefact."""
        from gpuwhy.tui.app.screens.paste import PasteScreen

        self.push_screen(PasteScreen(), self._pasted)

    def _pasted(self, text: str | None) -> None:
        if text is not None:
            name = self.next_paste
            self.when_ready(lambda: self.advance(Added(name, text)))

    @property
    def next_paste(self) -> str:
        """What the next paste will be called."""
        events = self.session.events if self.session is not None else []
        return f"paste {sum(isinstance(one, Added) for one in events) + 1}"

    def action_choose(self) -> None:
        """Which machine type the work should run on; what the diagnosis tells of it is carried over."""
        self.when_ready(self._choose)

    def _choose(self) -> None:
        from gpuwhy.tui.app.screens.choose import ChooseScreen
        from gpuwhy.tui.diagnosed import Diagnosed, of

        found = self.snapshot.report.diagnosis if self.session is not None and self.snapshot is not None else None
        if found is None:
            self.push_screen(ChooseScreen(self.kb, Diagnosed()))
        else:
            facts = ((one.id, one.value) for one in found.facts)
            self.push_screen(ChooseScreen(self.kb, of((one.id for one in found.asserted), facts)))

    def action_open(self) -> None:
        """Open a file or a folder."""
        from gpuwhy.tui.app.screens.open import OpenScreen

        self.push_screen(OpenScreen(), self._opened)

    def _opened(self, path: str | None) -> None:
        if path is not None:
            self.when_ready(lambda: self._add_files(path))

    def _add_files(self, path: str) -> None:
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

    def on_worker_state_changed(self, changed: Worker.StateChanged) -> None:
        """The diagnosis tells that it is being judged, where that takes a while."""
        if changed.worker.group == "judge":
            from gpuwhy.tui.app.widgets import Conclusions

            judged = any(one.group == "judge" and not one.is_finished for one in self.workers)
            for found in [found for screen in self.screen_stack for found in screen.query(Conclusions)]:
                found.judged = judged

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        """Show it on the diagnosis screen, wherever that is in the stack."""
        from gpuwhy.tui.app.screens.diagnosis import DiagnosisScreen

        self.snapshot = message.snapshot
        for screen in self.screen_stack:
            if isinstance(screen, DiagnosisScreen):
                screen.snapshot = message.snapshot

    # what a person does -------------------------------------------------------------------------------------------

    def record_answer(self, asked: Question, value: str | None) -> None:
        """An answer to a question; None is "don't know"."""
        from gpuwhy.tui.app.questions import named

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
        from gpuwhy.kb.texts import say
        from gpuwhy.tui.app.screens.fix import FixScreen

        found = self.snapshot.report.diagnosis
        one = next((one for one in (*found.conclusions, *found.ruled_out) if one.id == name), None)
        title = say(self.kb.conclusions[name].says)
        self.push_screen(FixScreen(name, title, one.fixes if one is not None else ()))

    def record_applied(self, fix: str, conclusion: str) -> None:
        """A fix was carried out; the incident as it stands is what a later look is compared with."""
        if self.snapshot is not None:
            self._before[fix] = self.snapshot
        self.advance(Applied(fix, conclusion))

    def verify(self, fix: str, conclusion: str) -> Verification:
        """Before and after a fix."""
        assert self.session is not None
        found = self.session.verification(fix, conclusion)
        self._take(Verified(fix, found.outcome))
        return found

    def action_report(self) -> None:
        """The report for the ticket."""
        if self.snapshot is not None:
            from gpuwhy.tui.app.screens.report import ReportScreen

            self.push_screen(ReportScreen(self.snapshot, self.session.name if self.session is not None else ""))

    def action_help(self) -> None:
        """What the keys of this screen do."""
        from gpuwhy.tui.app.rows import keys
        from gpuwhy.tui.app.screens.text import TextScreen

        self.push_screen(TextScreen("Keys", keys((*getattr(self.screen, "KEYS", ()), *KEYS_ANYWHERE))))

    def action_commands(self) -> None:
        """All that can be done on this screen, by name."""
        from gpuwhy.tui.app.screens.commands import CommandScreen, commands

        if not isinstance(self.screen, CommandScreen):
            self.push_screen(CommandScreen(commands(self.screen)), self._commanded)

    async def _commanded(self, chosen: Command | None) -> None:
        if chosen is not None:
            await self.run_action(chosen.action, chosen.of)

    def action_interrupt(self) -> None:
        """Ctrl-C leaves what is on top, as Escape does; from the start and from a diagnosis it leaves the program.

        It ends a look, and what was seen counts, as on the command line.
        """
        if action := getattr(self.screen, "INTERRUPT", ""):
            self.call_later(self.screen.run_action, action)
        else:
            self.simulate_key("escape")

    def on_unmount(self) -> None:
        """However it ends, nothing goes on in threads."""
        self._stop.set()
