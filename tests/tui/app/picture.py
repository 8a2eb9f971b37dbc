"""A screen as a picture: SVG that is the same on every machine, with its signs as text above, for who reads changes.

Colours are the terminal's own sixteen; a viewer that prefers light pages shows them as a light terminal would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from rich.cells import cell_len
from rich.color import Color, ColorType
from rich.segment import Segment
from rich.style import Style
from textual.app import App

WIDE, HIGH, SIZE = 10, 19, 16.6

_DARK = (
    "1b1d1e c4453f 4e9a3f b58a1f 4178c4 9a5fb0 2f9aa0 c8c8c8 6a6e70 ef6a63 76c465 e3b949 6ba0ee c387dc 58c7cc ffffff"
)
_LIGHT = (
    "1e1e1e b5241c 2f7d24 8a6500 1f56a8 7d3a98 0f7a80 8c8c8c 5c5c5c cf3a31 3c9a2f a87c00 2f70cf 9c55b8 1a979e f4f4f4"
)
_STYLE = """\
svg { --paper: #1b1d1e; --ink: #d8d8d8; DARK }
@media (prefers-color-scheme: light) { svg { --paper: #ffffff; --ink: #262626; LIGHT } }
text { font: SIZEpx 'DejaVu Sans Mono', monospace; fill: var(--ink); white-space: pre; }
.b { font-weight: bold; } .i { font-style: italic; } .u { text-decoration: underline; } .d { opacity: .6; }
"""


def picture(app: App[None]) -> str:
    """What the application shows now."""
    lines = [list(Segment.simplify(strip)) for strip in app.screen._compositor.render_strips()]
    columns, rows = app.size
    return "\n".join(_document(columns, rows, lines)) + "\n"


def coloured(drawn: str) -> bool:
    """True if anything in a picture is drawn in another colour than its ink, or that turned round."""
    return "var(--c" in drawn.replace(_STYLE, "")


def _document(columns: int, rows: int, lines: list[list[Segment]]) -> Iterator[str]:
    width = columns * WIDE
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {rows * HIGH}" width="{width}">'
    yield "<desc>"
    yield from (escape("".join(one.text for one in line).rstrip(), quote=False) for line in lines)
    yield "</desc>"
    dark, light = (" ".join(f"--c{n}: #{one};" for n, one in enumerate(colours.split())) for colours in (_DARK, _LIGHT))
    yield "<style>"
    yield _STYLE.replace("DARK", dark).replace("LIGHT", light).replace("SIZE", f"{SIZE}") + "</style>"
    yield '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    yield from (f"<g>{''.join(_line(row * HIGH, line))}</g>" for row, line in enumerate(lines))
    yield "</svg>"


def _line(top: int, line: Iterable[Segment]) -> Iterator[str]:
    column = 0
    signs: list[str] = []
    for text, style, _ in line:
        left, width = column * WIDE, cell_len(text) * WIDE
        column += cell_len(text)
        classes, ink, paper = _drawn(style or Style.null())
        if paper != "--paper":
            yield f'<rect x="{left}" y="{top}" width="{width}" height="{HIGH}" style="fill: var({paper})"/>'
        if text.strip() or "u" in classes:
            look = f' class="{classes}"' if classes else ""
            fill = f' style="fill: var({ink})"' if ink != "--ink" else ""
            start = len(text) - len(text.lstrip()) if "u" not in classes else 0
            shown = text[start:].rstrip() if "u" not in classes else text
            at, length = left + cell_len(text[:start]) * WIDE, cell_len(shown) * WIDE
            signs.append(
                f'<text x="{at}" y="{top + 14.5}" textLength="{length}"{look}{fill}>{escape(shown, quote=False)}</text>'
            )
    yield from signs


def _drawn(style: Style) -> tuple[str, str, str]:
    """The classes, the ink and the paper of a style."""
    ink, paper = _named(style.color, "--ink"), _named(style.bgcolor, "--paper")
    if style.reverse:
        ink, paper = paper, ink
    marks = (("b", style.bold), ("i", style.italic), ("u", style.underline), ("d", style.dim))
    return " ".join(name for name, on in marks if on), ink, paper


def _named(colour: Color | None, otherwise: str) -> str:
    if colour is None or colour.type is ColorType.DEFAULT:
        return otherwise
    assert colour.number is not None, f"{colour} is not one of the terminal's own sixteen"
    assert colour.number < 16, f"{colour} is not one of the terminal's own sixteen"
    return f"--c{colour.number}"
