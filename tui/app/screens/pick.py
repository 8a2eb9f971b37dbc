"""One of several answers, from a list of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from gpuwhy.tui.app.choices import Choices


class PickScreen(ModalScreen[str | None]):
    """Dismisses with the value that was picked, or with None. `offered` are values with their words."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "pick", "Answer", key_display="enter", priority=True),
        Binding("escape", "dismiss(None)", "Back"),
    ]

    def __init__(self, question: str, offered: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._question, self._offered = question, tuple(offered)

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="pane") as box:
            box.border_title = "Answer"
            yield Static(Content(self._question))
            yield Choices(*(Option(Content(words)) for _, words in self._offered), id="found", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        offered = self.query_one("#found", OptionList)
        offered.focus()
        offered.highlighted = 0

    def on_option_list_option_selected(self, _: OptionList.OptionSelected) -> None:
        """Picked by the mouse."""
        self.action_pick()

    def action_pick(self) -> None:
        """The one that is marked."""
        marked = self.query_one("#found", OptionList).highlighted
        if marked is not None:
            self.dismiss(self._offered[marked][0])
