"""Patterns that are compiled only where a word without which they cannot match is in the text.

Compiling a hundred patterns takes longer than reading a short artefact with the two that matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gpuwhy.kb.patterns import later as later

_TOKEN = re.compile(
    r"[A-Za-z_]{2,}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[?*|{]|\(\?P<\w+>|\(\?[a-z]*:|\(\?<?[=!]|\(\?[a-z]+\)|[()]",
    re.DOTALL,
)
"""What matters of a pattern: letters, escapes and sets (passed over), what makes optional, groups, alternatives."""

_OPTIONAL = ("?", "*", "{")
_LOOKING = ("(?=", "(?!", "(?<=", "(?<!")
_SHORTEST = 2


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class LazyPattern:
    """A pattern, whatever the case of letters. `words` are in lower case, and in every text that it matches.

    `outline` is the pattern without parts that hold no certain words: looking for those in a long pattern takes time.
    """

    def __init__(self, pattern: str, outline: str = "") -> None:
        self.pattern = pattern
        self.words = certain_words(outline or pattern)

    def finditer(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """All matches in a text, which is also given in lower case."""
        for word in self.words:
            if word not in lowered:
                return iter(())
        return _compiled(self.pattern).finditer(text)


def certain_words(pattern: str) -> tuple[str, ...]:
    """Runs of letters that every match holds, in lower case, the longest first; none where alternatives leave none."""
    tokens = _TOKEN.findall(pattern)
    groups: list[tuple[bool, list[str]]] = []  # around the current one: whether it only looks, and its runs
    runs, looks, alternatives = [""], False, [False]
    for index, token in enumerate(tokens):
        first = token[0]
        if first in _OPTIONAL:
            runs[-1] = runs[-1][:-1]  # the letter before may be missing
        elif first == "|":
            alternatives[-1] = True
        elif first == "(" and token[-1] != ")":
            groups.append((looks, runs))
            runs, looks = [""], token in _LOOKING
            alternatives.append(False)
        elif first == ")" and groups:
            following = tokens[index + 1] if index + 1 < len(tokens) else ""
            certain = not (alternatives.pop() or looks or following in _OPTIONAL)
            inner, (looks, runs) = runs, groups.pop()
            runs.extend(["", *inner, ""] if certain else [""])
        else:
            runs.append(token if first.isalpha() or first == "_" else "")
    found = set() if alternatives[0] else {run.lower() for run in runs if len(run) >= _SHORTEST}
    return tuple(sorted(found, key=lambda run: (-len(run), run)))
