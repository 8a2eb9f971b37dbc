"""How a program, a driver or a container says that GPU and software do not fit: a pattern, and the fact that it states.

Each fact is the message itself: it is known where somebody said so, and unknown otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.lazy_pattern import LazyPattern

_SPACE = re.compile(r"(?P<set>\[(?:\\.|[^\]\\])*\])|(?P<maybe> \?)|(?P<one> )")
_SET_OR_ESCAPE = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.")
_INNERMOST = re.compile(r"\([^()]{0,2000}\)[?*]?")
_CERTAIN = re.compile(r"[A-Za-z]{3,}(?![A-Za-z?*{])")
KERNEL = r"(?:\s|NVRM:|\[[0-9. ]{3,20}\]|kernel:){1,12}"
"""Between two words of one kernel message that is printed over several lines, each with the prefix again."""


@dataclass(frozen=True)
class EnvWording:
    """One wording. `fact` is the statement without its prefix `said.`; named groups give further facts by `groups`.

    `literal` is in lower case, and in every text that the pattern matches; empty if nothing is certain.
    """

    fact: str
    literal: str
    written: str
    groups: Mapping[str, str] = field(default_factory=dict)

    def find(self, text: str, lowered: str) -> re.Match[str] | None:
        """The first match in a text, which is also given in lower case."""
        if self.literal not in lowered:
            return None
        return next(LazyPattern(spaced(self.written), self.written).finditer(text, lowered), None)


def said(fact: str, *patterns: str, groups: Mapping[str, str] | None = None) -> list[EnvWording]:
    """Wordings of one statement; in a pattern a space stands for white space of any kind, line breaks too."""
    return [EnvWording(fact, certain_literal(one), one, groups or {}) for one in patterns]


def certain_literal(pattern: str) -> str:
    """The longest word outside groups and sets; a quick look that spares most patterns the thorough one."""
    plain = _SET_OR_ESCAPE.sub(" ", pattern)
    while plain != (fewer := _INNERMOST.sub(" ", plain)):
        plain = fewer
    words = [] if "|" in plain else _CERTAIN.findall(plain)
    return max(words, key=len, default="").lower()


def spaced(pattern: str) -> str:
    """The pattern with any white space for each space outside sets of characters."""
    return _SPACE.sub(_spaced, pattern)


def _spaced(found: re.Match[str]) -> str:
    if found["set"]:
        return found["set"]
    return r"\s{0,12}" if found["maybe"] else r"\s{1,12}"
