"""The next question and its answers; a line breaks between answers, and within one only where it is longer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from gpuwhy.tui.app.choices import KEY
from gpuwhy.tui.wording import columns, wrapped

GAP = "   "
NOTHING = "Nothing more to ask."
OTHERWISE = (("f", "what to do"), ("a", "add a paste"), ("l", "look"), ("c", "instance"))


class Asked(Widget):
    """A question, and keys with the answers that they give."""

    DEFAULT_CSS = "Asked { height: auto; }"

    def __init__(self, id: str, classes: str = "") -> None:
        super().__init__(id=id, classes=classes)
        self.ask, self.keys = "", tuple[tuple[str, str], ...]()

    def show(self, ask: str, keys: Iterable[tuple[str, str]]) -> None:
        """Replace what is asked; with an empty question what can be done otherwise is told."""
        self.ask, self.keys = ask, tuple(keys)
        self.refresh(layout=True)

    def render(self) -> Content:
        """The question above its answers."""
        return self._laid(self.content_size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - as Textual calls
        """How many lines they take."""
        return self._laid(width).plain.count("\n") + 1

    def _laid(self, width: int) -> Content:
        width = max(20, width)
        if not self.ask:
            return Content("\n").join(flowed((("", NOTHING), *OTHERWISE), width))
        lines = [Content.styled(line, "bold") for line in wrapped(self.ask, "", "", width)]
        return Content("\n").join([*lines, *flowed(self.keys, width)])


def flowed(keys: Sequence[tuple[str, str]], width: int) -> Iterator[Content]:
    """Keys and what they do, as many in a line as it holds; without a key it is words alone."""
    line: list[Content] = []
    used = 0
    for key, words in keys:
        indent = " " * (columns(key) + 1) if key else ""
        first, *rest = [part[len(indent) :] for part in wrapped(words, indent, indent, width)] or [""]
        taken = len(indent) + columns(first)
        if line and (rest or used + len(GAP) + taken > width):
            yield Content(GAP).join(line)
            line, used = [], 0
        line.append(Content.assemble((key, KEY), " " if key else "", first))
        used += taken + (len(GAP) if len(line) > 1 else 0)
        if rest:
            yield from line
            yield from (Content(indent + part) for part in rest)
            line, used = [], 0
    if line:
        yield Content(GAP).join(line)
