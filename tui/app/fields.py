"""What is typed into. Cursors stand still: every blink would travel over SSH."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, TextArea


async def in_order(field: Widget, event: Key) -> None:
    """Do what a key means to a field, before the next one comes.

    Textual inserts a sign at once, but asks every widget above before it deletes one: of `Backspace x` that came
    together, Backspace would delete the x.
    """
    mine = field._bindings.key_to_bindings.get(event.key, ())
    if mine:
        event.stop()
        event.prevent_default()
        await field.run_action(mine[0].action)


class Line(Input):
    """One line."""

    cursor_blink = reactive(False, init=False)

    async def _on_key(self, event: Key) -> None:
        await in_order(self, event)


class FormLine(Line):
    """One line of a form."""


class Page(TextArea):
    """Many lines, none of them broken."""

    cursor_blink = reactive(False, init=False)

    def __init__(self, id: str) -> None:
        super().__init__(id=id, soft_wrap=False)

    async def _on_key(self, event: Key) -> None:
        await in_order(self, event)


class Pick(Widget, can_focus=True):
    """One of a few words, turned through by arrow keys; the empty word stands for the default."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space", "turn(1)", show=False),
        Binding("left", "turn(-1)", show=False),
        Binding("enter", "app.focus_next", show=False),
    ]
    value: reactive[str] = reactive("", init=False)

    class Changed(Message):
        """Another word was picked."""

    def __init__(self, words: Sequence[str], value: str, id: str) -> None:
        super().__init__(id=id)
        self._words = tuple(words)
        self.set_reactive(Pick.value, value)

    def render(self) -> Content:
        """The word between arrows, turned round while it has the focus."""
        word = self.value or "default"
        return Content.assemble("‹ ", (word, "reverse" if self.has_focus else ""), " ›")

    async def _on_key(self, event: Key) -> None:
        await in_order(self, event)

    def watch_value(self) -> None:
        """Tell it."""
        self.post_message(self.Changed())

    def action_turn(self, by: int) -> None:
        """The next word, or the one before."""
        self.value = self._words[(self._words.index(self.value) + by) % len(self._words)]
