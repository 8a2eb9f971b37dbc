"""What a sentence of a report says, by a pattern, and the words that make a sentence no observation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.lazy_pattern import LazyPattern, later


@cache
def _beginnings(about: str) -> tuple[str, ...]:
    """The words of a pattern that is nothing but beginnings of words; empty for any other pattern."""
    inner = about.removeprefix(r"\b").removeprefix("(?:").removesuffix(")")
    plain = about in (rf"\b{inner}", rf"\b(?:{inner})") and inner.translate(_NO_LETTERS).isalpha()
    return tuple(inner.split("|")) if plain else ()


_NO_LETTERS = str.maketrans("", "", " |-")


def _begins_word(word: str, lowered: str) -> bool:
    at = lowered.find(word)
    while at > 0 and (lowered[at - 1].isalnum() or lowered[at - 1] == "_"):
        at = lowered.find(word, at + 1)
    return at >= 0


def speaks(about: str, lowered: str) -> bool:
    """True if a pattern matches a part of a text in lower case; most are words, for which no pattern is compiled."""
    words = _beginnings(about)
    return any(_begins_word(word, lowered) for word in words) if words else re.search(about, lowered) is not None


@dataclass(frozen=True)
class Report:
    """What a sentence reports. `about` is a pattern that some part of the text must match, in lower case."""

    fact: str
    about: str
    patterns: tuple[LazyPattern, ...]
    shares: Mapping[str, str] = field(default_factory=dict)
    """Named groups that hold percentages, and the facts that they give."""
    negative: bool = False
    """Its own words may be a `not`: `does not use the GPU`, `never exceeds 300 MHz`."""
    near: str = ""
    """A pattern that must match within `NEAR` characters, in lower case."""
    unless: str = ""
    """A pattern that must not match the clause before, in lower case: `can cause a`, `fixes the`."""


NEAR = 300


def report(
    fact: str,
    about: str,
    *patterns: str,
    shares: Mapping[str, str] | None = None,
    negative: bool = False,
    near: str = "",
    unless: str = "",
) -> Report:
    """A kind of symptom in these wordings; each is compiled when a text may have it."""
    return Report(fact, about, tuple(LazyPattern(one) for one in patterns), shares or {}, negative, near, unless)


DOUBT = later(
    r"\b(?:if|unless|whether|would|could|might|may|should|maybe|perhaps|possibl[ey]|avoid|prevent|instead of|"
    r"i guess|i (?:think|suspect|wonder)|how (?:to|do|can|should)|i (?:want|would like)|please|feature|"
    r"no longer|(?:can|is it possible)(?: you| we| i)? (?:make|have|set))\b"
    r"|如果|是否|可能|怀疑|会不会|怎么|如何|应该|避免|防止|以免|假如|要是"
)
"""Words before the match, in its sentence, in lower case, that make it no observation."""

DENIED = later(
    r"\b(?:no(?! matter| idea| doubt)|not(?! only| sure)|never|neither|nor|cannot|hardly|nothing|"
    r"(?:do|does|did|is|are|was|were|has|have|can|wo)nt)\b|n't\b|\bwithout (?:[\w-]{1,12} )?\Z"
    r"|没有|并不|并没|不是|未出现|未发现|不会|不再|不存在"
)
"""Words that deny a symptom: before the match in its clause, or within it; in lower case."""

CLAUSE = later(
    r"[,;:()]\s|[，、：（）]|但是?|不过|可是|\s[-\u2013\u2014]{1,2}\s|\b(?:but|and|yet|although|though|because|since|so|then|why|while)\b"
)
"""What ends the reach of a denial."""

SUPPOSED = later(r"\b(?:if|whether|would|might)\b")
"""Words within a match that make it none."""

_QUOTED = 160
_SENTENCE = later(r"[.!?\n]\s|[。！？；]|\n|^")
_SPACE = later(r"\s{1,40}")


def observed(found: re.Match[str], lowered: str, negative: bool, unless: str = "") -> bool:
    """Whether a match is an observation: not supposed, asked or denied, by itself or by what stands before it."""
    before, own = _before(lowered, found.start()), found[0].lower()
    if DOUBT.search(before) or SUPPOSED.search(own) or (not negative and DENIED.search(own)):
        return False
    clause = max((one.end() for one in CLAUSE.finditer(before)), default=0)
    return DENIED.search(before[clause:]) is None and not (unless and re.search(unless, before[clause:]))


def _before(lowered: str, start: int) -> str:
    """The part of the sentence before a position."""
    window = lowered[max(0, start - 200) : start]
    cut = max((found.end() for found in _SENTENCE.finditer(window)), default=0)
    return window[cut:]


def sentence_of(whole: str, found: re.Match[str]) -> str:
    """The line that a match stands in, or what follows from the match on where that is long."""
    start = whole.rfind("\n", 0, found.start()) + 1
    end = whole.find("\n", found.end())
    if found.end() - start > _QUOTED:
        start = found.start()
    return _SPACE.sub(" ", whole[start : end if end > 0 else None].strip())[:_QUOTED]
