"""Names of machines and people taken out of a text before it leaves the machine: addresses, hosts, users, keys.

What stands for one thing always gets the same placeholder, so that a reader can still tell two hosts apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("key", re.compile(r"(?i)\b(?:hf|sk|ghp|gho|glpat|xox[abp]|AKIA|LTAI)[_-]?[A-Za-z0-9_-]{16,80}\b")),
    (
        "secret",
        re.compile(
            r"(?i)(?<=\b)(?:password|passwd|token|secret|api[_-]?key|authorization)\s{0,3}[=:]\s{0,3}[^\s,;\"']{1,200}"
        ),
    ),
    ("mail", re.compile(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}\b")),
    ("gpu-uuid", re.compile(r"\b(?:GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")),
    ("uuid", re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")),
    ("mac", re.compile(r"\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b")),
    ("address", re.compile(r"(?<![\w.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?![\w.])")),
    ("address", re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}(?![\w:])")),
    ("serial", re.compile(r"(?i)(?<=serial)(?: number)?\s{0,20}[:=]\s{0,20}[A-Za-z0-9-]{6,24}")),
)
_HOME = re.compile(
    r"(?<=/home/)[A-Za-z0-9._-]{1,64}|(?<=/Users/)[A-Za-z0-9._-]{1,64}|(?<=\\Users\\)[A-Za-z0-9._ -]{1,64}"
)
_HOSTS = re.compile(
    r"(?<=[a-z0-9]@)[a-z][a-z0-9.-]{1,80}(?=[:\s$#])"  # user@host
    r"|\b(?:ip-\d{1,3}(?:-\d{1,3}){3}|i-[0-9a-z]{10,24}|iZ[0-9a-z]{10,24}Z?)\b"  # names that clouds give
)


def redacted(text: str, names: Iterable[str] = ()) -> str:
    """The text with placeholders. `names` are words to take out wherever they stand, such as the name of this host."""
    seen: dict[tuple[str, str], str] = {}
    counts: dict[str, int] = {}

    def stand_in(kind: str, found: str) -> str:
        if (kind, found) not in seen:
            counts[kind] = counts.get(kind, 0) + 1
            seen[kind, found] = f"<{kind}-{counts[kind]}>"
        return seen[kind, found]

    for name in sorted({one for one in names if len(one) > 2}, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", stand_in("host", name), text)
    for kind, pattern in (*_PATTERNS, ("user", _HOME), ("host", _HOSTS)):
        text = pattern.sub(lambda found, kind=kind: stand_in(kind, found[0]), text)  # type: ignore[misc]
    return text
