"""Open a file or a folder by its path, with what lies there to choose from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from gpuwhy.tui.app.choices import Choices
from gpuwhy.tui.app.fields import Line

MOST_ENTRIES = 200


class OpenScreen(ModalScreen[str | None]):
    """Dismisses with a path that exists, or with None."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Open", key_display="enter", priority=True),
        Binding("tab", "complete", "Complete", priority=True),
        Binding("escape", "dismiss(None)", "Back"),
        Binding("down", "to_list", show=False),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="pane") as box:
            box.border_title = "Open a file or a folder"
            yield Line(value=os.getcwd() + os.sep, id="path", select_on_focus=False)
            yield Choices(id="entries", markup=False)
            yield Static("", id="trouble", classes="wrong", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#path").focus()

    def on_input_changed(self, changed: Input.Changed) -> None:
        """List what begins as typed."""
        entries = self.query_one("#entries", OptionList)
        entries.clear_options()
        entries.add_options([Option(Content(_shown(one)), str(one)) for one in _matching(meant(changed.value))])

    def action_take(self) -> None:
        """Take the path if something is there, or what is marked in the list."""
        entries = self.query_one("#entries", OptionList)
        if entries.has_focus:
            entries.action_select()
        else:
            self.query_one("#path").call_later(self._take)  # behind the signs that were typed ahead of Enter

    def _take(self) -> None:
        path = Path(meant(self.query_one("#path", Input).value)).expanduser()
        if path.exists():
            self.dismiss(str(path))
        else:
            self.query_one("#trouble", Static).update(Content(f"no such file or folder: {path}"))

    def on_option_list_option_selected(self, chosen: OptionList.OptionSelected) -> None:
        """A file is taken; a folder is gone into."""
        path = Path(str(chosen.option_id))
        if path.is_dir():
            self._type(f"{path}{os.sep}")
        else:
            self.dismiss(str(path))

    def action_complete(self) -> None:
        """Type what all entries have in common."""
        found = [
            f"{one}{os.sep if one.is_dir() else ''}" for one in _matching(meant(self.query_one("#path", Input).value))
        ]
        if found:
            self._type(_start_of_all(found))

    def action_to_list(self) -> None:
        """Go down into the list."""
        self.query_one("#entries").focus()

    def _type(self, text: str) -> None:
        path = self.query_one("#path", Input)
        path.value = text
        path.cursor_position = len(text)
        path.focus()


def meant(typed: str) -> str:
    """The path that is meant: one that begins at the root or at home after another one stands for itself.

    A person types `/var/log` behind the folder that stands there already.
    """
    return typed[max((typed.rfind(mark) + 1 for mark in ("//", "/~")), default=0) :]


def _matching(typed: str) -> list[Path]:
    folder, _, start = typed.rpartition(os.sep)
    try:
        inside = sorted(Path(folder or os.sep).expanduser().iterdir())
    except OSError:
        return []
    found = [
        one for one in inside if one.name.startswith(start) and (start.startswith(".") or not one.name.startswith("."))
    ]
    return found[:MOST_ENTRIES]


def _start_of_all(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    return first[: next((at for at, sign in enumerate(first) if not last.startswith(sign, at)), len(first))]


def _shown(path: Path) -> str:
    return path.name + (os.sep if path.is_dir() else "")
