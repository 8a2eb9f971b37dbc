"""Numbers, sizes and durations as tools print them, and small helpers on lines that several parsers share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from gpuwhy.probes.artefacts.contract import Line

NUMBER = (  # `-i`: sets of digits without regard to case take long to compile
    r"(?-i:[0-9]{1,3}(?:,[0-9]{3}){1,6}(?:\.[0-9]{1,18})?"
    r"|[0-9]{1,24}(?:\.[0-9]{0,18})?(?:[eE][-+]?[0-9]{1,3})?"
    r"|\.[0-9]{1,18})"
)
"""A printed number without its sign: `1,234.5`, `12`, `0.5`, `1e-06`."""

SIZE = rf"{NUMBER}\s{{0,4}}(?:[kKMGTP](?:i?[Bb](?:ytes)?)?|[Bb]ytes?|B)(?-i:(?![A-Za-z0-9]))"
"""A printed size with its unit: `2.30 GiB`, `512MB`, `1024 bytes`, `24 G`."""

_NUMBER = re.compile(rf"[-+]?{NUMBER}")
_WHOLE = re.compile(r"[0-9]{1,18}")
_QUANTITY = re.compile(rf"\s{{0,8}}([-+]?{NUMBER})\s{{0,8}}([A-Za-zµμ%]{{0,12}})\s{{0,8}}")

_BINARY = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "usec": 1e-6,
    "usecs": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "msecs": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "millisecond": 1e-3,
    "milliseconds": 1e-3,
    "microsecond": 1e-6,
    "microseconds": 1e-6,
    "nanosecond": 1e-9,
    "nanoseconds": 1e-9,
    "m": 60.0,
    "min": 60.0,
    "mins": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hrs": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
}


def parse_number(text: str) -> float | None:
    """The number that `text` is (`1,234.5`, `-3`, `1e-6`), or None if it is anything else or not finite."""
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        return None
    value = float(stripped.replace(",", ""))
    return value if math.isfinite(value) else None


def whole_number(text: str) -> int | None:
    """The whole number that `text` is, without sign or separators; None if it is anything else."""
    stripped = text.strip()
    return int(stripped) if _WHOLE.fullmatch(stripped) else None


def _quantity(text: str) -> tuple[float, str] | None:
    matched = _QUANTITY.fullmatch(text)
    if matched is None:
        return None
    value = parse_number(matched[1])
    return None if value is None else (value, matched[2])


def parse_size(text: str, *, decimal: bool = False) -> float | None:
    """Bytes of a printed size: `2.30 GiB`, `512MB`, `1024 bytes`, `24 G`, `0`; None if it is no size.

    KB, MB, GB count as powers of 1024, as GPU tools and frameworks mean them; with `decimal` as powers of 1000.
    KiB, MiB, GiB are powers of 1024 always. A bare number is bytes.
    """
    found = _quantity(text)
    if found is None or found[0] < 0:
        return None
    value, unit = found
    word = unit.lower().removesuffix("bytes").removesuffix("byte")
    binary = word.endswith("ib") or not decimal
    exponent = _BINARY.get(word.removesuffix("b").removesuffix("i"))
    if exponent is None or (word.endswith("ib") and exponent == 0):
        return None
    size = value * (1024.0 if binary else 1000.0) ** exponent
    return size if math.isfinite(size) else None


def parse_duration(text: str) -> float | None:
    """Seconds of a printed duration: `1.228ms`, `12 us`, `3 min`, `1:02:03`, `02:03.5`; None if it is none.

    A number without a unit is no duration: what it counts must come from its header.
    """
    if ":" in text:
        return _clock(text)
    found = _quantity(text)
    if found is None:
        return None
    unit = found[1]
    scale = None if unit == "M" else _SECONDS.get(unit.lower())  # a capital M counts millions, not minutes
    return None if scale is None else found[0] * scale


def _clock(text: str) -> float | None:
    parts = text.strip().split(":")
    if len(parts) not in (2, 3) or not all(part[:1].isdigit() for part in parts):
        return None
    seconds = 0.0
    for part in parts:
        value = parse_number(part)
        if value is None:
            return None
        seconds = seconds * 60.0 + value
    return seconds


def parse_share(text: str) -> float | None:
    """A share of 1 from a printed percentage: `44 %`, `44%`, `99.5%` -> 0.44, 0.44, 0.995; None without the sign."""
    stripped = text.strip()
    if not stripped.endswith("%"):
        return None
    value = parse_number(stripped[:-1])
    return None if value is None else value / 100.0


def join_lines(lines: Sequence[Line], start: int, count: int, separator: str = " ") -> str:
    """The text of up to `count` lines from `start` as one line, for messages that a terminal or logger has wrapped.

    Stops before an empty line; each following line is stripped of its indent and of a quote mark (`> `).
    """
    parts: list[str] = []
    for line in lines[start : start + count]:
        text = line.text.strip().removeprefix("> ").strip()
        if not text and parts:
            break
        parts.append(text)
    return separator.join(parts)
