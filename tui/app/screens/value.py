"""A value that a person types as the answer to a question; what does not fit is told at once with what would."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from gpuwhy.tui.app.fields import Line


class ValueScreen(ModalScreen[str | None]):
    """Dismisses with a value that can be taken, or with None. `check` gives what is wrong with a value."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Answer", key_display="enter", priority=True),
        Binding("escape", "dismiss(None)", "Back"),
    ]

    def __init__(self, question: str, check: Callable[[str], str], value: str = "") -> None:
        super().__init__()
        self._question, self._check, self._value = question, check, value

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="pane") as box:
            box.border_title = "Answer"
            yield Static(Content(self._question))
            yield Line(value=self._value, id="value")
            yield Static("", id="trouble", classes="wrong", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#value").focus()

    def action_take(self) -> None:
        """Take it, or say what is wrong."""
        self.query_one("#value").call_later(self._take)  # behind the signs that were typed ahead of Enter

    def _take(self) -> None:
        value = self.query_one("#value", Line).value.strip()
        wrong = self._check(value) if value else "type a value, or Escape"
        if wrong:
            self.query_one("#trouble", Static).update(Content(wrong))
        else:
            self.dismiss(value)
