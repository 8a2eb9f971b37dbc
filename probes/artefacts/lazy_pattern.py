"""Patterns that are compiled only where a word without which they cannot match is in the text.

Compiling a hundred patterns takes longer than reading a short artefact with the two that matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache

from gpuwhy.kb.patterns import later as later

_TOKEN = re.compile(
    r"\(\?P=\w+\)|[A-Za-z_][A-Za-z_ ]*[A-Za-z_]|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]| [?*{]|[?*|{]|\(\?P<\w+>|\(\?[a-z-]*:"
    r"|\(\?<?[=!]|\(\?[a-z]+\)|[()]",
    re.DOTALL,
)
"""What matters of a pattern: words, escapes and sets (passed over), what makes optional, groups, alternatives."""

_OPTIONAL = ("?", "*", "{")
_LOOKING = ("(?=", "(?!", "(?<=", "(?<!")
_SHORTEST = 2

Words = tuple[str, ...]
"""Alternatives: one of them is in every match, with single spaces for white space of any kind."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@lru_cache(maxsize=4)
def flat(lowered: str) -> str:
    """A text with a single space for white space of any kind, to look for `Words` in."""
    return " ".join(lowered.split())


class LazyPattern:
    """A pattern, whatever the case of letters, that is compiled only for a text that may match it.

    `outline` is the pattern with a space for white space of any kind, and without parts that hold no certain words:
    looking for those in a long pattern takes time.
    """

    def __init__(self, pattern: str, outline: str = "") -> None:
        self.pattern = pattern
        self._outline = outline or pattern

    @cached_property
    def words(self) -> tuple[Words, ...]:
        """See `certain_words`."""
        return certain_words(self._outline)

    def finditer(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """All matches in a text, which is also given in lower case."""
        flattened = flat(lowered)
        for words in self.words:
            if not any(word in flattened for word in words):
                return iter(())
        return _compiled(self.pattern).finditer(text)


class _Group:
    """A group of a pattern while it is read: what its alternatives so far, and the present one, surely hold."""

    def __init__(self, looks: bool) -> None:
        self.looks = looks
        self.alternatives: list[list[Words]] = []
        self.present: list[Words] = []

    def next_alternative(self) -> None:
        self.alternatives.append(self.present)
        self.present = []

    def certain(self) -> list[Words]:
        """What every match holds: with several alternatives, a word of the most telling words of each."""
        self.next_alternative()
        if len(self.alternatives) == 1:
            return self.alternatives[0]
        if not all(self.alternatives):
            return []
        telling = [min(words, key=_order) for words in self.alternatives]
        return [tuple(sorted({word for words in telling for word in words}))]


def certain_words(pattern: str) -> tuple[Words, ...]:
    """Words in lower case: every match holds at least one of each tuple. The most telling tuples first."""
    tokens = _TOKEN.findall(pattern)
    groups, run = [_Group(False)], ""
    for index, token in enumerate(tokens):
        first = token[0]
        if first in _OPTIONAL:
            run = run[:-1].rstrip()  # the letter before may be missing
        if len(run) >= _SHORTEST:
            groups[-1].present.append((run.lower(),))
        run = token if first.isalpha() or first == "_" else ""
        if first == "|":
            groups[-1].next_alternative()
        elif first == "(" and token[-1] != ")":
            groups.append(_Group(token in _LOOKING))
        elif first == ")" and len(groups) > 1:
            group = groups.pop()
            following = tokens[index + 1] if index + 1 < len(tokens) else ""
            if not (group.looks or following in _OPTIONAL):
                groups[-1].present.extend(group.certain())
    if len(run) >= _SHORTEST:
        groups[0].present.append((run.lower(),))
    return tuple(sorted(set(groups[0].certain()), key=_order))


def _order(words: Words) -> tuple[int, int, Words]:
    return -min(len(word) for word in words), len(words), words
