"""Looking at this machine: which probes run, how far each is and what it found, beside the vital signs of the GPUs."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from gpuwhy.tui.app.choices import Choices
from gpuwhy.tui.app.messages import Glanced, LookMoved
from gpuwhy.tui.app.vitals import Vitals
from gpuwhy.tui.incident.events import Looked
from gpuwhy.tui.incident.looking import Look, Probe, Specs, State, Step

SIGNS = {
    State.RUNNING: "▸",
    State.DONE: "✔",
    State.UNAVAILABLE: "✗",
    State.FAILED: "✗",
    State.CANCELLED: "✗",
}
_BAR = 20


class GatherScreen(Screen[Looked | None]):
    """Dismisses with what was seen, or with None if that is nothing."""

    CSS_PATH = "gather.tcss"
    INTERRUPT = "go_on"
    KEYS = (
        ("enter", "go on with what was seen so far"),
        ("c", "cancel the probe that is marked: what it saw does not count"),
        ("r", "run the probe that is marked again"),
        ("esc", "forget all of it"),
        ("", "Probes run side by side for the time told at the top. Nothing is changed, and no privilege is needed."),
        ("", "Each GPU has its own limits: its memory, and the temperature at which the card slows itself down."),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go_on", "Go on with this", key_display="enter", priority=True),
        Binding("c", "cancel", "Cancel one"),
        Binding("r", "retry", "Run again"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("escape", "forget", "Forget"),
    ]

    def __init__(self, title: str, probes: tuple[Probe, ...], seconds: float, specs: Specs) -> None:
        super().__init__()
        self._title, self._seconds, self._count = title, seconds, len(probes)
        self._look = Look(probes, seconds, specs, self._told)
        self._ending = False

    def compose(self) -> ComposeResult:
        title = f"{self._title}   looking at this machine for {self._seconds:.0f} s"
        yield Static(Content(title), id="title", classes="title")
        steps = Choices(id="steps", classes="pane", markup=False)
        steps.border_title = "Reading"
        yield steps
        vitals = Vitals(id="vitals")
        vitals.border_title = "GPUs"
        yield vitals
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        steps = self.query_one("#steps", OptionList)
        steps.add_options([Option(self._line(one), one.id) for one in self._look.steps])
        steps.styles.height = self._count + 2
        steps.highlighted = 0
        steps.focus()
        self._look.start()

    def on_screen_resume(self) -> None:
        """Help may have stood before the end of the look."""
        self.post_message(LookMoved())

    def on_unmount(self) -> None:
        self._look.end()

    def _told(self) -> None:
        self.post_message(LookMoved())

    def on_glanced(self, message: Glanced) -> None:
        """Draw the GPUs, and keep what they showed."""
        self._look.glanced(message.glance)
        vitals = self.query_one(Vitals)
        names = [one.name for one in message.glance.gpus]
        if names:
            vitals.border_title = Content(f"{len(names)} x {names[0]}" if len(set(names)) == 1 else "GPUs")
        vitals.show(message.glance)

    def on_look_moved(self) -> None:
        """Write how far the probes are; when all are through, what was seen goes on by itself.

        Where one failed, or none had anything to see, a person reads why and goes on by a key.
        """
        steps = self.query_one("#steps", OptionList)
        for index, one in enumerate(self._look.steps):
            steps.replace_option_prompt_at_index(index, self._line(one))
        states = {one.state for one in self._look.steps}
        fine = State.DONE in states and not states & {State.FAILED, State.CANCELLED}
        if self._look.over and (self._ending or fine):
            self._close()

    def _line(self, one: Step) -> Content:
        return Content(f"{SIGNS[one.state]} {one.title:<16}{_told(one, self._seconds)}")

    def _close(self) -> None:
        if self.is_current:
            self.dismiss(self._look.result())

    def action_go_on(self) -> None:
        """End the look, and use what was seen."""
        self._ending = True
        self._look.end()
        if self._look.over:
            self._close()

    def action_forget(self) -> None:
        """End the look, and use nothing of it."""
        self.dismiss(None)

    def action_cancel(self) -> None:
        """Cancel the probe that is marked."""
        self._look.cancel(self._marked)

    def action_retry(self) -> None:
        """Run the probe that is marked again."""
        self._look.retry(self._marked)
        self.post_message(LookMoved())

    @property
    def _marked(self) -> str:
        return self._look.steps[self.query_one("#steps", OptionList).highlighted or 0].id


def _told(one: Step, seconds: float) -> str:
    if one.state is State.RUNNING:
        done = round(one.share * _BAR)
        return f"{one.share * seconds:3.0f}/{seconds:.0f} s {'█' * done}{'·' * (_BAR - done)}"
    return one.found if one.state is State.DONE else f"{one.state.value}: {one.found}".rstrip(": ")
