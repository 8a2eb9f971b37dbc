"""What a sentence of a report says, by a pattern, and the words that make a sentence no observation."""

from __future__ import annotations

from collections.abc import Mapping

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.lazy_pattern import LazyPattern, later


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
)
"""Words before the match, in its sentence, in lower case, that make it no observation."""

DENIED = later(
    r"\b(?:no(?! matter| idea| doubt)|not(?! only| sure)|never|neither|nor|cannot|hardly|nothing|"
    r"(?:do|does|did|is|are|was|were|has|have|can|wo)nt)\b|n't\b|\bwithout (?:[\w-]{1,12} )?\Z"
)
"""Words that deny a symptom: before the match in its clause, or within it; in lower case."""

CLAUSE = later(
    r"[,;:()]\s|\s[-\u2013\u2014]{1,2}\s|\b(?:but|and|yet|although|though|because|since|so|then|why|while)\b"
)
"""What ends the reach of a denial."""

SUPPOSED = later(r"\b(?:if|whether|would|might)\b")
"""Words within a match that make it none."""
