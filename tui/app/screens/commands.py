"""All that can be done on a screen, by name: for whoever does not know the key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Footer, Input, OptionList
from textual.widgets.option_list import Option

from gpuwhy.kb.records import dataclass
from gpuwhy.tui.app.choices import KEY, Choices
from gpuwhy.tui.app.fields import Line


@dataclass(frozen=True)
class Command:
    """What it does in words, the key that does it as well, and the action with whose it is."""

    words: str
    key: str
    action: str
    of: DOMNode


def commands(screen: Screen[object]) -> Iterator[Command]:
    """What can be done now on a screen, in the order of its keys; not what its fields do, or any screen of Textual."""
    seen = {one.action for one in Screen.BINDINGS if isinstance(one, Binding)}
    for one in screen.active_bindings.values():
        words = one.tooltip or one.binding.description
        action = one.binding.action
        if words and action not in seen and one.node in (screen, screen.app):
            seen.add(action)
            yield Command(words, screen.app.get_key_display(one.binding), action, one.node)


class _Found(Choices):
    keeps_mark = True


class CommandScreen(ModalScreen[Command | None]):
    """Dismisses with the command that was chosen, or with None."""

    CSS_PATH = "modal.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Do it", key_display="enter", priority=True),
        Binding("up", "mark(-1)", show=False, priority=True),
        Binding("down", "mark(1)", show=False, priority=True),
        Binding("escape", "dismiss(None)", "Back"),
    ]

    def __init__(self, offered: Iterable[Command]) -> None:
        super().__init__()
        self._offered = tuple(offered)
        self._found = self._offered

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="pane") as box:
            box.border_title = "What can be done here"
            yield Line(placeholder="type a part of a name", id="wanted")
            yield _Found(id="found", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#wanted").focus()
        self._list()

    def on_input_changed(self, _: Input.Changed) -> None:
        """List what has all the words that were typed."""
        self._list()

    def _list(self) -> None:
        wanted = self.query_one("#wanted", Input).value.lower().split()
        self._found = tuple(one for one in self._offered if all(word in one.words.lower() for word in wanted))
        found = self.query_one("#found", OptionList)
        found.clear_options()
        found.add_options([Option(Content.assemble((f"{one.key:>6}", KEY), "  ", one.words)) for one in self._found])
        if not self._found:
            found.add_option(Option(Content("nothing of that name"), disabled=True))
        found.highlighted = 0 if self._found else None

    def action_mark(self, by: int) -> None:
        """Mark the next one, or the one before."""
        found = self.query_one("#found", OptionList)
        if found.highlighted is not None:
            found.highlighted = (found.highlighted + by) % len(self._found)

    def on_option_list_option_selected(self, _: OptionList.OptionSelected) -> None:
        """Chosen by the mouse."""
        self.action_choose()

    def action_choose(self) -> None:
        """Do the one that is marked."""
        marked = self.query_one("#found", OptionList).highlighted
        if marked is not None and self._found:
            self.dismiss(self._found[marked])
