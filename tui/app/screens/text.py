"""A text over the screen: help, why a question is asked, how to find out. A command in it can be copied."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static


class TextScreen(ModalScreen[None]):
    """Shows a text until a key closes it."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "Close"),
        Binding("y", "copy", "Copy the command"),
    ]

    def __init__(self, title: str, text: str, command: str = "") -> None:
        super().__init__()
        self._title, self._text, self._command = title, text, command

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="box") as box:
            box.border_title = Content(self._title)
            yield Static(Content(self._text))
            if self._command:
                yield Static(Content(self._command), classes="command")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#box").focus()

    def action_copy(self) -> None:
        """Copy the command through the terminal, which works over SSH and tmux where the terminal allows it."""
        if self._command:
            self.app.copy_to_clipboard(self._command)
            self.notify("Sent to the terminal's clipboard", timeout=2)
