"""Patterns that are compiled only where a word without which they cannot match is in the text.

Compiling a hundred patterns takes longer than reading a short artefact with the two that matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_OPTIONAL = "?*{"


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
    best, run, depth, index = "", "", 0, 0
    while index < len(pattern):
        sign = pattern[index]
        if sign == "|" and depth == 0:
            return ""
        if depth == 0 and sign.isascii() and (sign.isalpha() or sign == "_"):
            run, index = run + sign, index + 1
            continue
        if depth == 0 and sign in _OPTIONAL:
            run = run[:-1]  # the letter before may be missing
        best, run = max(best, run, key=len), ""
        if sign in "()":
            depth += 1 if sign == "(" else -1
        index = _after(pattern, index)
    return max(best, run, key=len).lower()


def _after(pattern: str, index: int) -> int:
    """The place after the escape, set, count or single sign at this place."""
    sign = pattern[index]
    if sign == "\\":
        return index + 2
    if sign == "{":
        return pattern.index("}", index) + 1
    if sign != "[":
        return index + 1
    end = index + 2 if pattern[index + 1] in "^]" else index + 1
    while pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    return end + 1
