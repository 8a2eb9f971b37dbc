"""Text in two columns: a label, and beside it what belongs to it, broken to the width that there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from gpuwhy.kb.records import dataclass
from gpuwhy.tui.app.choices import KEY
from gpuwhy.tui.wording import columns, command_lines, wrapped


@dataclass(frozen=True)
class Row:
    """A label and its text; `command` is shown as a command, which a line break does not spoil."""

    label: str
    text: str = ""
    command: str = ""
    style: str = "bold"


class Rows(Widget):
    """Rows, broken anew wherever there is more or less room."""

    DEFAULT_CSS = "Rows { height: auto; }"

    def __init__(self, rows: Iterable[Row] = (), id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._rows = tuple(rows)

    def show(self, rows: Iterable[Row]) -> None:
        """Replace what is shown."""
        self._rows = tuple(rows)
        self.refresh(layout=True)

    def render(self) -> Content:
        """The rows, in lines."""
        return laid(self._rows, self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - as Textual calls
        """How many lines they take."""
        return laid(self._rows, width).plain.count("\n") + 1


def keys(pairs: Sequence[tuple[str, str]]) -> tuple[Row, ...]:
    """Keys and what they do."""
    return tuple(Row(key, words, style=KEY) for key, words in pairs)


def laid(rows: Sequence[Row], width: int) -> Content:
    """The rows in lines of at most this width; only a word of a command that cannot be broken is longer."""
    widest = max((columns(one.label) for one in rows), default=0)
    indent = widest + 2 if widest else 0
    parts: list[Content] = []
    for one in rows:
        parts += _lines(one, indent, max(20, width))
    return Content("\n").join(parts)


def _lines(one: Row, indent: int, width: int) -> Iterable[Content]:
    gap = " " * indent
    label = (one.label, one.style)
    if one.text or not one.command:
        first, *rest = [line[indent:] for line in wrapped(one.text, gap, gap, width)] or [""]
        yield Content.assemble(label, " " * (indent - columns(one.label)), first)
        yield from (Content(gap + line) for line in rest)
    if one.command:
        yield from (Content.styled(line, KEY) for line in command_lines(one.command, gap + "  ", width))
