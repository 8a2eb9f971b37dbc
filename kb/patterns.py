"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re
from typing import Any, cast


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
