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
READY = "^d need not wait for it"


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
        self._reading = self._stale = False

    def on_text_area_changed(self) -> None:
        """Read again once typing or pasting has stopped for a moment; it is said at once that it will be."""
        lines = self.query_one("#text", TextArea).document.line_count
        self._tell(f"reading {lines:,} lines ... {READY}" if lines > 1 else "reading ...")
        self._settling.stop()
        self._settling = self.set_timer(SETTLE_SECONDS, self._read)

    def _read(self) -> None:
        if self._reading:
            self._stale = True  # a thread cannot be stopped, and two would take twice as long
            return
        self._reading, self._stale = True, False
        text = self.query_one("#text", TextArea).text
        self.run_worker(lambda: self._understand(text), thread=True, exit_on_error=False)

    def _understand(self, text: str) -> None:
        lines: tuple[str, ...] = ()
        try:
            lines = desk(self).understood(text)
        finally:
            self.post_message(PasteUnderstood(lines))

    def on_paste_understood(self, message: PasteUnderstood) -> None:
        """Show it beneath the text, unless that has changed meanwhile."""
        self._reading = False
        if self._stale:
            self._read()
        else:
            self._tell("\n".join(message.lines))

    def _tell(self, text: str) -> None:
        self.query_one("#understood", Static).update(Content(text))

    def action_accept(self) -> None:
        """Take what is there."""
        text = self.query_one("#text", TextArea).text
        self.dismiss(text if text.strip() else None)
