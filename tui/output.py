"""How commands write on standard output."""

from __future__ import annotations

import sys


def out(text: str) -> None:
    """Text in signs that the encoding of standard output has."""
    from gpuwhy.tui.wording import encodable

    sys.stdout.write(encodable(text, sys.stdout.encoding or "utf-8"))
