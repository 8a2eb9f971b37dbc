"""Which job is meant: the programs of this machine that use a GPU, or may, to be watched from outside."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from gpuwhy.kb.records import dataclass
from gpuwhy.kb.units import show
from gpuwhy.probes.job_list import Job
from gpuwhy.probes.process_environment import WHAT
from gpuwhy.tui.app.choices import Choices
from gpuwhy.tui.app.messages import JobsListed

NOTE = (
    "A job is watched from outside, with what it started and with this machine. It is not stopped, and nothing is "
    "changed. Its stacks are read by py-spy."
)
_COMMAND = 400


@dataclass(frozen=True)
class Chosen:
    """A job, or this machine without one (`pid` None); `settings` tells whether its environment may be read."""

    pid: int | None = None
    settings: bool = False


class ConsentScreen(ModalScreen[bool | None]):
    """Dismisses with the answer, or with None for neither."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes"),
        Binding("n,enter", "dismiss(False)", "No", key_display="n"),
        Binding("escape", "dismiss(None)", "Back"),
    ]

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="pane") as box:
            box.border_title = "May its settings be read?"
            yield Static(
                Content(
                    f"Read {WHAT} from the environment of process {self._pid} too?\n\n"
                    "Nothing else of its environment is kept, and no value with a path or an address in it. "
                    "What is read becomes part of the incident on this machine."
                )
            )
        yield Footer(show_command_palette=False)


class JobScreen(Screen[Chosen | None]):
    """Dismisses with what is to be watched, or with None. `sure` shows it even where no job on a GPU is found."""

    CSS_PATH = "job.tcss"
    KEYS = (
        ("enter", "watch the program that is marked, with everything that it started"),
        ("n", "watch this machine without a job"),
        ("r", "look again for programs"),
        ("", "At the top are programs that have a GPU open, then those with a framework, then other Python programs."),
        ("", "Programs of other users are seen as far as the system lets you: their stacks need root."),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Watch it", key_display="enter", priority=True),
        Binding("n", "machine", "No job: this machine"),
        Binding("r", "again", "Look again"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("escape", "dismiss(None)", "Back"),
    ]

    def __init__(self, title: str, sure: bool) -> None:
        super().__init__()
        self._title, self._sure = title, sure
        self._jobs: tuple[Job, ...] = ()

    def compose(self) -> ComposeResult:
        yield Static(Content(f"{self._title}: which job?"), id="title", classes="title")
        found = Choices(
            Option(Content("looking for programs…"), disabled=True), id="jobs", classes="pane", markup=False
        )
        found.border_title = "Running here"
        yield found
        yield Static(Content(""), id="whole")
        yield Static(Content(NOTE), id="note")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#jobs").focus()
        self.action_again()

    def action_again(self) -> None:
        """Look for programs."""
        self.run_worker(self._list, thread=True, exclusive=True, exit_on_error=False)

    def _list(self) -> None:
        from gpuwhy.probes.job_list import jobs
        from gpuwhy.probes.nvml_glance import memory_by_process

        self.post_message(JobsListed(tuple(jobs(memory_by_process()))))

    def on_jobs_listed(self, message: JobsListed) -> None:
        """Show them; where none computes, go on without a job unless one was asked for."""
        if not self._sure and not any(one.computes for one in message.jobs):
            self.dismiss(Chosen())
            return
        listed = self.query_one("#jobs", OptionList)
        pid = self._jobs[listed.highlighted].pid if self._jobs and listed.highlighted is not None else None
        self._jobs, self._sure = message.jobs, True
        listed.clear_options()
        listed.add_options([Option(Content(line(one)), str(one.pid)) for one in message.jobs])
        if not message.jobs:
            listed.add_option(Option(Content("no program that uses a GPU, and no Python program"), disabled=True))
            return
        listed.highlighted = next((at for at, one in enumerate(message.jobs) if one.pid == pid), 0)

    def on_option_list_option_highlighted(self, marked: OptionList.OptionHighlighted) -> None:
        """The whole command of the one that is marked."""
        one = self._jobs[marked.option_index]
        below = f" and {one.below} below it" if one.below else ""
        text = f"{one.pid}{below}, of {one.owner}: {one.command}"
        self.query_one("#whole", Static).update(Content(text[:_COMMAND]))

    def action_choose(self) -> None:
        """Watch the one that is marked, once it is known whether its settings may be read."""
        marked = self.query_one("#jobs", OptionList).highlighted
        if marked is None or marked >= len(self._jobs):
            return
        one = self._jobs[marked]
        if not one.readable:
            self.dismiss(Chosen(one.pid))
        else:
            self.app.push_screen(ConsentScreen(one.pid), lambda may: self._consented(one.pid, may))

    def _consented(self, pid: int, may: bool | None) -> None:
        if may is not None:
            self.dismiss(Chosen(pid, may))

    def action_machine(self) -> None:
        """No job."""
        self.dismiss(Chosen())


def line(one: Job) -> str:
    """A job in one line: what uses a GPU, and how much, before what it is called."""
    if one.devices:
        uses = f"{one.devices} GPU" + ("" if one.devices == 1 else "s")
        uses += "" if one.gpu_memory_bytes is None else f" {show(one.gpu_memory_bytes, 'bytes')}"
    else:
        uses = "framework loaded" if one.computes else "Python"
    return f"{one.pid:>7}  {uses:<17} {one.cores:5.1f} CPUs {_age(one.age_seconds):>5}  {one.command[:200]}"


def _age(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
