"""What is typed into. Cursors stand still: every blink would travel over SSH."""

from __future__ import annotations

from textual.reactive import reactive
from textual.widgets import Input, TextArea


class Line(Input):
    """One line."""

    cursor_blink = reactive(False, init=False)


class Page(TextArea):
    """Many lines, none of them broken."""

    cursor_blink = reactive(False, init=False)

    def __init__(self, id: str) -> None:
        super().__init__(id=id, soft_wrap=False)
