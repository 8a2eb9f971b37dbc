"""A graph of what leads to what as SVG: columns from left to right, each thing right of all that leads to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape

Edge = tuple[str, str, str]

_CHARACTER, _HEIGHT, _ROW, _GAP, _MARGIN = 7.3, 22, 32, 56, 8
_STYLE = (
    "<style>text{font:12px monospace;fill:#1d232b}rect{fill:#f4f5f7;stroke:#b8bec6}path{fill:none;stroke:#8a939d}"
    "marker path{fill:#8a939d;stroke:none}</style>"
)


def drawn(edges: Iterable[Edge], link: Callable[[str], str] | None = None, style: bool = False) -> str:
    """The drawing; empty where there is nothing to draw. `link` gives the address of a thing, `style` adds colours."""
    found = list(edges)
    if not found:
        return ""
    columns = _columns(found)
    places, width, height = _places(columns)
    parts = [_line(places[start], places[end]) for start, end, _ in found]
    parts += [_box(name, place, link) for name, place in places.items()]
    marker = (
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="what leads to what">'
    )
    return "".join([head, _STYLE if style else "", marker, *parts, "</svg>"])


def _columns(edges: list[Edge]) -> list[list[str]]:
    """Things in columns: as far right as the longest way to them is long. A way back, if there is one, is left out."""
    after: dict[str, list[str]] = {}
    for start, end, _ in edges:
        after.setdefault(start, []).append(end)
        after.setdefault(end, [])
    depth = dict.fromkeys(after, 0)
    for _ in range(min(len(depth), 60)):
        moved = False
        for start, ends in after.items():
            for end in ends:
                if end != start and depth[end] <= depth[start] < 60:
                    depth[end], moved = depth[start] + 1, True
        if not moved:
            break
    used = sorted(set(depth.values()))
    columns: list[list[str]] = [[] for _ in used]
    for name, number in depth.items():
        columns[used.index(number)].append(name)
    return _untangled(columns, edges)


def _untangled(columns: list[list[str]], edges: list[Edge]) -> list[list[str]]:
    """Each column in the order of what leads to its things, so that fewer lines cross."""
    before: dict[str, list[str]] = {}
    for start, end, _ in edges:
        before.setdefault(end, []).append(start)
    rank: dict[str, float] = {}
    ordered = []
    for column in columns:
        first = {name: number for number, name in enumerate(column)}

        def middle(name: str, first: Mapping[str, int] = first) -> float:
            known = [rank[one] for one in before.get(name, ()) if one in rank]
            return sum(known) / len(known) if known else float(first[name])

        kept = sorted(column, key=middle)
        rank.update((name, number / max(len(kept), 1)) for number, name in enumerate(kept))
        ordered.append(kept)
    return ordered


Place = tuple[float, float, float]
"""Left, top and width of a box."""


def _places(columns: list[list[str]]) -> tuple[dict[str, Place], float, float]:
    tall = max(map(len, columns)) * _ROW
    left, places = float(_MARGIN), {}
    for column in columns:
        width = max(len(name) for name in column) * _CHARACTER + 14
        top = _MARGIN + (tall - len(column) * _ROW) / 2
        for number, name in enumerate(column):
            places[name] = (left, top + number * _ROW, width)
        left += width + _GAP
    return places, left - _GAP + _MARGIN, tall + 2 * _MARGIN


def _line(start: Place, end: Place) -> str:
    x1, y1 = start[0] + start[2], start[1] + _HEIGHT / 2
    x2, y2 = end[0], end[1] + _HEIGHT / 2
    bend = max((x2 - x1) / 2, 20)
    way = f"M{x1:.0f},{y1:.0f} C{x1 + bend:.0f},{y1:.0f} {x2 - bend:.0f},{y2:.0f} {x2:.0f},{y2:.0f}"
    return f'<path d="{way}" marker-end="url(#tip)"/>'


def _box(name: str, place: Place, link: Callable[[str], str] | None) -> str:
    left, top, width = place
    box = (
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{_HEIGHT}" rx="3"/>'
        f'<text x="{left + 7:.0f}" y="{top + 15:.0f}">{escape(name)}</text>'
    )
    return box if link is None else f'<a href="{escape(link(name))}">{box}</a>'
