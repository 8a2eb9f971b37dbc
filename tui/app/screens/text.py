"""A text over the screen: help, why a question is asked, how to find out. A command in it can be copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer

from gpuwhy.tui.app.rows import Row, Rows


class TextScreen(ModalScreen[None]):
    """Shows rows until a key closes it."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy the command"),
        Binding("escape,enter,q", "dismiss", "Close"),
    ]

    def __init__(self, title: str, rows: Sequence[Row]) -> None:
        super().__init__()
        self._title, self._rows = title, tuple(rows)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="box", classes="pane") as box:
            box.border_title = Content(self._title)
            yield Rows(self._rows)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#box").focus()

    @property
    def _command(self) -> str:
        return "\n".join(one.command for one in self._rows if one.command)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Copying is offered where there is a command."""
        return action != "copy" or bool(self._command)

    def action_copy(self) -> None:
        """Copy the command through the terminal, which works over SSH and tmux where the terminal allows it."""
        self.app.copy_to_clipboard(self._command)
        self.notify("Sent to the terminal's clipboard", timeout=2)
