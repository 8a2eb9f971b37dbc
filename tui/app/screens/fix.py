"""What to do: one fix at a time, with exact commands, effect, risk, undo, and how to see that it worked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from gpuwhy.engine.model import FixOffer
from gpuwhy.kb.texts import say
from gpuwhy.tui.app.desk import desk
from gpuwhy.tui.app.rows import Row, Rows
from gpuwhy.tui.incident.verification import NOT, PARTLY, RECOVERED, Verification

NOT_YET = "Not verified yet: m when it is carried out, then a or l, then v."
APPLIED = "Marked as carried out. Now read again (a paste, l look), then v."
OUTCOMES = {RECOVERED: "bold ansi_green", PARTLY: "bold ansi_yellow", NOT: "bold ansi_red"}


class FixScreen(Screen[None]):
    """The fixes of one conclusion."""

    CSS_PATH = "fix.tcss"
    KEYS = (
        ("n  b", "the next fix, the one before"),
        ("y", "copy the commands, through the terminal"),
        ("m", "note that you carried this fix out; nothing is run for you"),
        ("a  l", "then read again: paste what it says now, or look at this machine"),
        ("v", "compare before and after"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy", tooltip="Copy the commands, through the terminal"),
        Binding("m", "apply", "Mark applied", tooltip="Note that you carried this fix out"),
        Binding("a", "app.paste", "Add", tooltip="Add what it says now"),
        Binding("l", "app.look", "Look", tooltip="Look at this machine"),
        Binding("v", "verify", "Verify", tooltip="Compare before and after"),
        Binding("n", "turn(1)", "Next", tooltip="The next fix"),
        Binding("b", "turn(-1)", "The fix before", show=False),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("escape", "app.pop_screen", "Back"),
    ]

    def __init__(self, conclusion: str, title: str, offers: tuple[FixOffer, ...]) -> None:
        super().__init__()
        self.conclusion, self._title, self._offers = conclusion, title, offers
        self._index = 0

    def compose(self) -> ComposeResult:
        yield Static("", id="title", classes="title", markup=False)
        with VerticalScroll(id="steps", classes="pane"):
            yield Rows(id="text")
        verify = Rows([Row("", NOT_YET)], id="verify", classes="pane")
        verify.border_title = "Verify"
        yield verify
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#steps").focus()
        self._draw()

    @property
    def offer(self) -> FixOffer | None:
        """The fix that is shown."""
        return self._offers[self._index] if self._offers else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """What needs a fix, or another one, is told only where there is one."""
        least = {"turn": 2, "copy": 1, "apply": 1, "verify": 1}.get(action, 0)
        return len(self._offers) >= least

    def _draw(self) -> None:
        offer, steps = self.offer, self.query_one("#steps")
        title = self.query_one("#title", Static)
        if offer is None:
            title.update(Content(self.conclusion))
            self.query_one("#text", Rows).show([Row("", f"{self._title} There is nothing to carry out for this.")])
            self.query_one("#verify").display = False
            return
        title.update(Content(f"{self.conclusion}   fix {self._index + 1} of {len(self._offers)}"))
        steps.border_title = Content(say(offer.fix.title))
        steps.scroll_home(animate=False)
        self.query_one("#text", Rows).show(written(offer))

    def action_turn(self, by: int) -> None:
        """Another fix."""
        self._index = (self._index + by) % len(self._offers)
        self.query_one("#verify", Rows).show([Row("", NOT_YET)])
        self._draw()

    def action_copy(self) -> None:
        """Copy the commands through the terminal."""
        commands = [command for _, command in self.offer.steps if command] if self.offer is not None else []
        if commands:
            self.app.copy_to_clipboard("\n".join(commands))
            self.notify("Sent to the terminal's clipboard", timeout=2)
        else:
            self.notify("This fix has no command", timeout=2)

    def action_apply(self) -> None:
        """The person carried it out."""
        if self.offer is not None:
            desk(self).record_applied(self.offer.fix.id, self.conclusion)
            self.query_one("#verify", Rows).show([Row("", APPLIED)])

    def action_verify(self) -> None:
        """Compare before and after."""
        if self.offer is not None:
            found = desk(self).verify(self.offer.fix.id, self.conclusion)
            self.query_one("#verify", Rows).show(compared(found))


def written(offer: FixOffer) -> Iterator[Row]:
    """All of a fix."""
    if not offer.offered:
        yield Row("!", f"Would not help here: {offer.because}")
    for number, (says, command) in enumerate(offer.steps, 1):
        yield Row(f"{number}", says, command)
    yield Row("")
    named = (("Not if", offer.check_first), ("Effect", offer.effect), ("Risk", offer.risk), ("Undo", offer.undo))
    yield from (Row(name, text) for name, text in named if text)
    if offer.verify:
        yield Row("Verify", offer.verify, offer.verify_command)


def compared(found: Verification) -> Iterator[Row]:
    """Before and after, figure by figure."""
    yield Row(found.outcome.upper(), found.because, style=OUTCOMES.get(found.outcome, "bold"))
    for one in found.figures:
        yield Row(f"  {one.fact}", f"{one.before} before, {one.after} after ({one.wanted})", style="")
