"""Patterns that are compiled only where a word without which they cannot match is in the text.

Compiling a hundred patterns takes longer than reading a short artefact with the two that matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

_TOKEN = re.compile(
    r"[A-Za-z_]+|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[^}]*\}|\(\?P<\w+>|\(\?[a-z]*:|\(\?<?[=!]|\(\?[a-z]+\)|.", re.DOTALL
)
_LETTERS = re.compile(r"[A-Za-z_]")
_OPTIONAL = ("?", "*", "{")
_LOOKING = ("(?=", "(?!", "(?<=", "(?<!")
_SHORTEST = 2


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class LazyPattern:
    """A pattern, whatever the case of letters. `words` are in lower case, and in every text that it matches."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.words = certain_words(pattern)

    def finditer(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """All matches in a text, which is also given in lower case."""
        for word in self.words:
            if word not in lowered:
                return iter(())
        return _compiled(self.pattern).finditer(text)


class _Later:
    """Stands for a pattern until one of its methods is asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def later(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that is compiled when it is first used: most artefacts meet few of the patterns of a parser."""
    return cast("re.Pattern[str]", _Later(pattern, flags))


class _Group:
    """One pair of parentheses: the runs of letters in it, and whether it has alternatives."""

    def __init__(self, opening: str = "(") -> None:
        self.looks = opening in _LOOKING
        self.runs = [""]
        self.alternatives = False

    def add(self, token: str) -> None:
        if token in _OPTIONAL or token[0] == "{":
            self.runs[-1] = self.runs[-1][:-1]  # the letter before may be missing
        self.runs.append(token if _LETTERS.match(token) else "")


def certain_words(pattern: str) -> tuple[str, ...]:
    """Runs of letters that every match holds, in lower case, the longest first; none where alternatives leave none."""
    groups = [_Group()]
    tokens = _TOKEN.findall(pattern)
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token == ")" and len(groups) > 1:
            inner = groups.pop()
            if not (inner.alternatives or inner.looks or following.startswith(_OPTIONAL)):
                groups[-1].runs.extend(["", *inner.runs])
            groups[-1].runs.append("")
        elif token[0] == "(" and not token.endswith(")"):
            groups.append(_Group(token))
        elif token == "|":
            groups[-1].alternatives = True
        else:
            groups[-1].add(token)
    outer = groups[0]
    found = set() if outer.alternatives else {run.lower() for run in outer.runs if len(run) >= _SHORTEST}
    return tuple(sorted(found, key=lambda run: (-len(run), run)))
