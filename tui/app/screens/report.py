"""The report for the ticket: seen before it is written, without names of machines and people unless asked for."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Input, Static

from gpuwhy.tui.app.fields import Line
from gpuwhy.tui.incident.session import Snapshot
from gpuwhy.tui.incident.ticket import FORMS, ticket

WORDS = {"md": "Markdown", "json": "JSON", "html": "HTML, as it will be written"}


class ReportScreen(Screen[None]):
    """Preview and writing of the report."""

    CSS_PATH = "report.tcss"
    KEYS = (
        ("f2", "another form: Markdown, JSON, HTML"),
        ("f3", "with or without names of machines and people"),
        ("tab", "go to the preview, to scroll it"),
        ("enter", "write the file; one that is there already is not overwritten"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "write", "Write it", key_display="enter", priority=True),
        Binding("f2", "form", "Another form"),
        Binding("f3", "redact", "Names"),
        Binding("f1", "app.help", "Help"),
        Binding("escape", "app.pop_screen", "Back"),
    ]

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        super().__init__()
        self._snapshot, self._name = snapshot, name
        self._form, self._redacted = 0, True

    def compose(self) -> ComposeResult:
        yield Static("", id="title", classes="title", markup=False)
        with VerticalScroll(id="preview", classes="pane"):
            yield Static("", id="text", markup=False)
        yield Line(id="path")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._draw()
        self.query_one("#path").focus()

    def _draw(self) -> None:
        form = FORMS[self._form]
        names = "without names of machines and people" if self._redacted else "WITH names of machines and people"
        self.query_one("#title", Static).update(Content(f"Report, {names}"))
        self.query_one("#preview").border_title = WORDS[form]
        self.query_one("#text", Static).update(Content(self._text()))
        self.query_one("#path", Input).value = f"gpuwhy-{self._name or 'report'}.{form}"

    def _text(self) -> str:
        return ticket(self._snapshot, FORMS[self._form], self._redacted)

    def action_form(self) -> None:
        """The next form."""
        self._form = (self._form + 1) % len(FORMS)
        self._draw()

    def action_redact(self) -> None:
        """With or without names."""
        self._redacted = not self._redacted
        self._draw()

    def action_write(self) -> None:
        """Write it; a file that is there already is not overwritten."""
        self.query_one("#path").call_later(self._write)  # behind the signs that were typed ahead of Enter

    def _write(self) -> None:
        path = Path(self.query_one("#path", Input).value).expanduser()
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(self._text())
        except OSError as error:
            self.notify(Content(f"{path}: {error.strerror}").plain, severity="error", markup=False)
            return
        self.notify(f"written: {path}", markup=False)
        self.app.pop_screen()
