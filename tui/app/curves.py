"""Curves of the last moments in one line of signs, for terminals with and without block characters."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-=+*#@"


def curve(shares: Sequence[float | None], width: int, ascii_only: bool = False) -> str:
    """The latest `width` values, each between 0 and 1, as signs of rising height; a gap where there is no value."""
    signs = PLAIN if ascii_only else BLOCKS
    shown = "".join(
        " " if one is None else signs[min(len(signs) - 1, int(max(0.0, one) * len(signs)))] for one in shares[-width:]
    )
    return shown.rjust(width)
