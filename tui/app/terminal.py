"""What the terminal can show, and how everything that is drawn is brought down to that.

Colours are the terminal's own sixteen, so that they fit dark and light backgrounds. Where the locale is not UTF-8, or
the terminal is the Linux console, whose font lacks most signs, all that is written passes a table of plain ones.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.driver import Driver

SWITCH = "GPUWHY_ASCII"
"""Environment variable: 1 for plain signs, 0 for all, whatever the locale says."""

_PAIRS = {
    "─━═╌╍┄┅╴╶╸╺╼╾": "-",
    "│┃║╎╏┆┇╵╷╹╻▏▎▍▌▐▕": "|",
    "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "#", "█": "#", "▔▀": "-",
    "├": "|", "└": "`",  # of trees, beside marks that are a plus
    "●•⏺": "*", "◐✔✓": "+", "◌": "?", "✗✘×": "x", "Δ": "~", "▶▸›→": ">", "◀◂‹←": "<", "▼▾↓": "v", "▲▴↑": "^",
    "…·": ".", "“”„": '"', "‘’": "'", "–—−": "-", "≥": ">", "≤": "<", "⏎↵": "^", "°": " ", "µμ": "u",
}  # fmt: skip
PLAIN: Mapping[str, str] = {sign: to for signs, to in _PAIRS.items() for sign in signs}


def plain_signs(environment: Mapping[str, str] | None = None) -> bool:
    """True if only ASCII is to be written.

    Python turns a C or POSIX locale into UTF-8 for itself, and notes that it did: the terminal knows nothing of it.
    """
    environment = os.environ if environment is None else environment
    switch = environment.get(SWITCH, "")
    if switch in ("0", "1"):
        return switch == "1"
    if environment.get("TEXTUAL_DRIVER"):
        return False  # a browser, or a test
    coerced = sys.flags.utf8_mode and environment.get("PYTHONUTF8") != "1"
    encoding = (getattr(sys.__stdout__, "encoding", None) or "").lower().replace("-", "")
    return bool(coerced) or encoding != "utf8" or environment.get("TERM") == "linux"


@lru_cache(maxsize=4096)
def plain_sign(sign: str) -> str:
    """A sign in ASCII, as wide as it was."""
    if sign < "\x80":
        return sign
    if sign in PLAIN:
        return PLAIN[sign]
    code = ord(sign)
    if 0x2500 <= code <= 0x257F:
        return "+"
    if 0x2800 <= code <= 0x28FF:
        return " " if code == 0x2800 else ":"
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Cf", "Mn", "Me"):
        return ""
    base = unicodedata.normalize("NFKD", sign)[0]
    if base < "\x80":
        return base
    return "??" if unicodedata.east_asian_width(sign) in "WF" else "?"


def plain(text: str) -> str:
    """A text in ASCII, as wide as it was."""
    return text if text.isascii() else "".join(map(plain_sign, text))


def driver() -> type[Driver] | None:
    """The driver that reads and writes this terminal; None: Textual's own choice, as for a browser."""
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    from gpuwhy.tui.app.driver import PlainDriver, SteadyDriver

    return PlainDriver if plain_signs() else SteadyDriver


def theme(environment: Mapping[str, str] | None = None) -> str:
    """The theme of the terminal's own colours; the light one where the terminal tells that its background is light."""
    environment = os.environ if environment is None else environment
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "ansi-light" if background in ("7", "15") else "ansi-dark"


def calm(environment: Mapping[str, str] | None = None) -> bool:
    """True if nothing is to move: over SSH every frame travels."""
    environment = os.environ if environment is None else environment
    return any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"))
