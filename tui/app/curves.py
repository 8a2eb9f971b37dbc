"""Curves of the last moments in one line of signs."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def curve(shares: Sequence[float | None], width: int) -> str:
    """The latest `width` values, each between 0 and 1, as signs of rising height; a gap where there is no value."""
    shown = "".join(
        " " if one is None else BLOCKS[min(len(BLOCKS) - 1, int(max(0.0, one) * len(BLOCKS)))]
        for one in shares[-width:]
    )
    return shown.rjust(width)
