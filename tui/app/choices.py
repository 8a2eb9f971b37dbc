"""Lists to choose from, and the style of what is to be typed."""

from __future__ import annotations

from textual.style import Style
from textual.widgets import OptionList

KEY = "bold ansi_cyan"
"""The style of keys, and of commands."""


class Choices(OptionList):
    """Lines to choose from. The marked one is turned round while the list has the focus, which needs no colour.

    `keeps_mark` is for a list that is steered from a field beside it.
    """

    keeps_mark = False

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        """The style of a line; `OptionList` drops that text is to be turned round."""
        style = super().get_visual_style(*component_classes, partial=partial)
        if "option-list--option-highlighted" in component_classes and (self.has_focus or self.keeps_mark):
            return style + Style(reverse=True)
        return style
