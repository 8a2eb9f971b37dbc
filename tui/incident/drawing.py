"""The vital signs of a look as SVG, for a report that needs nothing else to be read."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from gpuwhy.tui.incident.vitals import Course

WIDTH, HEIGHT, LEFT = 640, 90, 4
_KINDS = ("busy", "memory", "temperature")
_DASHES = ("", "6 3", "2 3")
"""Lines differ in their strokes, so that they can be told apart in print."""


def drawn(courses: Iterable[Course]) -> str:
    """One picture for each GPU, as HTML; empty without courses."""
    return "".join(_figure(one) for one in courses if len(one.seconds) > 1)


def _figure(one: Course) -> str:
    lines = "".join(
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="{dashes}"/>'
        for values, dashes in zip(one.values, _DASHES, strict=True)
        if (path := _path(one.seconds, values))
    )
    limits = ", ".join(
        f"{kind} ({word} line) up to {limit}" if limit else f"{kind} ({word} line), its limit was not read"
        for kind, limit, word in zip(_KINDS, one.limits, ("full", "dashed", "dotted"), strict=False)
    )
    title = html.escape(f"GPU {one.index}, {one.name}, {one.seconds[-1] - one.seconds[0]:.0f} s: {limits}")
    frame = f'<rect x="{LEFT}" y="5" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#8888"/>'
    box = f'viewBox="0 0 {WIDTH + 2 * LEFT} {HEIGHT + 10}" width="100%" role="img" aria-label="{title}"'
    return f"<figure><svg {box}>{frame}{lines}</svg><figcaption>{title}</figcaption></figure>"


def _path(seconds: Sequence[float], values: Sequence[float | None]) -> str:
    """Lines between neighbours; a gap where a value was not read."""
    span = max(seconds[-1] - seconds[0], 1e-9)
    parts: list[str] = []
    pen = "M"
    for at, value in zip(seconds, values, strict=True):
        if value is None:
            pen = "M"
            continue
        x = LEFT + WIDTH * (at - seconds[0]) / span
        y = 5 + HEIGHT * (1 - min(1.0, max(0.0, value)))
        parts.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return " ".join(parts)
