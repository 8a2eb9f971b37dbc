"""What to do: one fix at a time, with exact commands, effect, risk, undo, and how to see that it worked."""

from __future__ import annotations

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


class FixScreen(Screen[None]):
    """The fixes of one conclusion."""

    CSS_PATH = "fix.tcss"
    HELP = "n and b go through the fixes. y copies the commands. m notes that you carried a fix out; then paste or look\
 again, and v compares before and after."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy"),
        Binding("m", "apply", "Mark applied"),
        Binding("v", "verify", "Verify"),
        Binding("n", "turn(1)", "Next fix"),
        Binding("b", "turn(-1)", "Back one", show=False),
        Binding("a", "app.paste", "Add"),
        Binding("l", "app.look", "Look"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("escape", "app.pop_screen", "Back"),
    ]

    def __init__(self, conclusion: str, title: str, offers: tuple[FixOffer, ...]) -> None:
        super().__init__()
        self.conclusion, self._title, self._offers = conclusion, title, offers
        self._index = 0

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        with VerticalScroll(id="steps"):
            yield Static("", id="text", markup=False)
        yield Static("not verified yet: m when it is carried out, then a or l, then v", id="verify", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#verify").border_title = "Verify"
        self.query_one("#steps").focus()
        self._draw()

    @property
    def offer(self) -> FixOffer | None:
        """The fix that is shown."""
        return self._offers[self._index] if self._offers else None

    def _draw(self) -> None:
        offer, steps = self.offer, self.query_one("#steps")
        if offer is None:
            self.query_one("#title", Static).update(Content(self._title))
            self.query_one("#text", Static).update(Content("There is nothing to carry out for this."))
            return
        place = f"Fix {self._index + 1} of {len(self._offers)}"
        self.query_one("#title", Static).update(Content(f"{place}: {self._title}"))
        steps.border_title = Content(say(offer.fix.title))
        self.query_one("#text", Static).update(Content(written(offer)))

    def action_turn(self, by: int) -> None:
        """Another fix."""
        if self._offers:
            self._index = (self._index + by) % len(self._offers)
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
            self.query_one("#verify", Static).update(Content("applied; now a (paste) or l (look), then v"))

    def action_verify(self) -> None:
        """Compare before and after."""
        if self.offer is not None:
            told = desk(self).verify(self.offer.fix.id, self.conclusion)
            self.query_one("#verify", Static).update(Content(told))


def written(offer: FixOffer) -> str:
    """All of a fix in lines."""
    lines: list[str] = []
    if not offer.offered:
        lines += [f"Would not help here: {offer.because}", ""]
    for number, (says, command) in enumerate(offer.steps, 1):
        lines.append(f"{number} {says}")
        lines += [f"    {line}" for line in command.splitlines()]
    named = (("Not if", offer.check_first), ("Effect", offer.effect), ("Risk", offer.risk), ("Undo", offer.undo))
    lines += [f"{name}: {text}" for name, text in named if text]
    if offer.verify:
        lines += [f"Verify: {offer.verify}", *(f"    {line}" for line in offer.verify_command.splitlines())]
    return "\n".join(lines)
