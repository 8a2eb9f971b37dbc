"""Patterns that are compiled only where a word without which they cannot match is in the text.

Compiling a hundred patterns takes longer than reading a short artefact with the two that matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_OPTIONAL = "?*{"
_TOKEN = re.compile(r"[A-Za-z_]+|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[^}]*\}|.", re.DOTALL)
_LETTERS = re.compile(r"[A-Za-z_]")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class LazyPattern:
    """A pattern, whatever the case of letters. `word` is in lower case, and in every text that the pattern matches."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.word = certain_word(pattern)

    def finditer(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """All matches in a text, which is also given in lower case."""
        return _compiled(self.pattern).finditer(text) if self.word in lowered else iter(())


def certain_word(pattern: str) -> str:
    """The longest run of letters that every match holds, in lower case; empty where alternatives leave none."""
    runs, depth = [""], 0
    for token in _TOKEN.findall(pattern):
        if token in "()":
            depth += 1 if token == "(" else -1
        elif depth == 0 and token == "|":
            return ""
        elif depth == 0 and token[0] in _OPTIONAL:
            runs[-1] = runs[-1][:-1]  # the letter before may be missing
        runs.append(token if depth == 0 and _LETTERS.match(token) else "")
    return max(runs, key=len).lower()
