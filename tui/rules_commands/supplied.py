"""Which words of the fact vocabulary the code gives, found in its source: written out, or as a pattern with holes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_WORD = re.compile(r"[a-z][a-z0-9_]{0,80}(?:\.[a-z0-9_]{1,80}){1,6}")
_KEYWORD = re.compile(r"\b[a-z]{1,40}__[a-z0-9_]{1,80}(?==)")
_PATTERN = re.compile(r'f"([a-z][a-z0-9_]{0,40}\.[a-z0-9_.]{0,80}(?:\{[^{}"]{1,80}\}[a-z0-9_.]{0,80}){1,4})"')
_JOINED = re.compile(r'f"\{[a-z_]{1,40}\}\.\{[a-z_]{1,40}\}"')
_QUOTED = re.compile(r'"([a-z][a-z0-9_]{0,80})"')
_HOLE = re.compile(r"\{[^{}]{1,80}\}")
_TOKEN = re.compile(r"[a-z0-9_]{1,100}")


def supplied(words: Iterable[str]) -> frozenset[str]:
    """Those of `words` that a parser, a probe or the engine can give, as far as their source tells."""
    import gpuwhy.engine
    import gpuwhy.kb
    import gpuwhy.probes

    texts = []
    for room in (gpuwhy.probes, gpuwhy.engine, gpuwhy.kb):
        for path in sorted(Path(str(room.__file__)).parent.rglob("*.py")):
            texts.append(path.read_text("utf-8"))
    text = "\n".join(texts)
    written = {*_WORD.findall(text), *(one.replace("__", ".", 1) for one in _KEYWORD.findall(text))}
    parts = [set(_QUOTED.findall(one)) for one in texts if _JOINED.search(one)]
    tokens = set(_TOKEN.findall(text))
    found = sorted(set(_PATTERN.findall(text)))
    patterns = [_expression(one, hole) for one in found for hole in ("([a-z0-9_]+?)", "([a-z0-9_]+)")]
    return frozenset(word for word in words if word in written or _fits(word, patterns, tokens) or _joined(word, parts))


def _joined(word: str, parts: Iterable[set[str]]) -> bool:
    """True if a file that joins words with a dot has both halves of this one as words."""
    first, _, rest = word.partition(".")
    return any(first in known and rest in known for known in parts)


def _expression(pattern: str, hole: str) -> re.Pattern[str]:
    fixed = [re.escape(one) for one in _HOLE.split(pattern)]
    return re.compile(hole.join(fixed))


def _fits(word: str, patterns: Iterable[re.Pattern[str]], tokens: set[str]) -> bool:
    """True if the word is a pattern with its holes filled by words that stand in the source by themselves."""
    for one in patterns:
        match = one.fullmatch(word)
        if match and all(_in_parts(part, tokens) for part in match.groups()):
            return True
    return False


def _in_parts(text: str, tokens: set[str]) -> bool:
    return text in tokens or all(part in tokens for part in text.split("_"))
