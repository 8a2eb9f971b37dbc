"""The one place where a text for a person is picked by language, and where readings are put into it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gpuwhy.kb.model import Text

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_.]*)(?:\|([a-z]+))?\}")
"""`{fact.id}` in a text; `{fact.id|sum}` for an aggregate over entities."""


def say(text: Text, language: str = "en") -> str:
    """The text in a language; English where there is none, and any language where there is no English."""
    if isinstance(text, str):
        return text
    return text.get(language) or text.get("en") or next(iter(text.values()), "")


def fill(text: Text, show: Callable[[str, str | None], str | None], language: str = "en") -> str | None:
    """The text with every placeholder replaced by what `show` gives; None if one of them is unknown."""
    missing = False

    def replace(match: re.Match[str]) -> str:
        nonlocal missing
        shown = show(match.group(1), match.group(2))
        missing = missing or shown is None
        return shown or ""

    filled = PLACEHOLDER.sub(replace, say(text, language))
    return None if missing else filled


def fill_all(texts: Iterable[Text], show: Callable[[str, str | None], str | None], language: str = "en") -> str:
    """The clauses whose readings are all known, joined into one sentence."""
    clauses = [clause for text in texts if (clause := fill(text, show, language))]
    return "; ".join(clauses)
