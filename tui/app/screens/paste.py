"""Paste: thousands of lines, read while they arrive; what was understood is said at once, and what was not."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Static, TextArea

from gpuwhy.tui.app.desk import desk
from gpuwhy.tui.app.fields import Page
from gpuwhy.tui.app.messages import PasteUnderstood

SETTLE_SECONDS = 0.3


class PasteScreen(ModalScreen[str | None]):
    """Dismisses with the text, or with None."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d,ctrl+s,f2", "accept", "Read it", priority=True, key_display="^d"),
        Binding("escape", "dismiss(None)", "Back"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="pane") as box:
            box.border_title = "Paste messages, logs or tables; several at once"
            yield Page("text")
            yield Static(Content("nothing yet"), id="understood")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#text").focus()
        self._settling = self.set_timer(SETTLE_SECONDS, self._read, pause=True)

    def on_text_area_changed(self) -> None:
        """Read again once typing or pasting has stopped for a moment."""
        self._settling.stop()
        self._settling = self.set_timer(SETTLE_SECONDS, self._read)

    def _read(self) -> None:
        text = self.query_one("#text", TextArea).text
        self.run_worker(lambda: self._understand(text), thread=True, exclusive=True, exit_on_error=False)

    def _understand(self, text: str) -> None:
        self.post_message(PasteUnderstood(desk(self).understood(text)))

    def on_paste_understood(self, message: PasteUnderstood) -> None:
        """Show it beneath the text."""
        self.query_one("#understood", Static).update(Content("\n".join(message.lines)))

    def action_accept(self) -> None:
        """Take what is there."""
        text = self.query_one("#text", TextArea).text
        self.dismiss(text if text.strip() else None)
