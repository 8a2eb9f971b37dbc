"""Ranges of versions, such as `>=0.1,<2`: which versions of this product a pack is for."""

from __future__ import annotations

import operator
import re

_PART = re.compile(r" *(>=|<=|==|>|<) *([0-9]{1,9}(?:\.[0-9]{1,9}){0,2}) *\Z")
_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,2}")
_HOLDS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def satisfies(version: str, wanted: str) -> bool:
    """True if a version holds every bound of a range; bounds are joined by commas, missing numbers are 0.

    What follows the three numbers of a version (`0.2.0.dev1`) is not looked at. Raises `ValueError` for what is no
    range or no version.
    """
    found = _NUMBERS.match(version)
    if found is None:
        raise ValueError(f"no version: {version!r}")
    have = _three(found.group())
    bounds = [_PART.match(part) for part in wanted.split(",")]
    if not all(bounds):
        raise ValueError(f"no range of versions: {wanted!r}")
    return all(_HOLDS[one.group(1)](have, _three(one.group(2))) for one in bounds if one is not None)


def _three(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.split(".")]
    return tuple([*numbers, 0, 0][:3])
