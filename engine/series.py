"""The compact notation of series in rule tests: `300x3 30x2 _` is four, then three values, then one that is missing.

It is the notation of Prometheus rule tests: `a+bxn` is a, a+b, a+2b, … (n+1 values), `axn` is a again n times, `_` is a
value that is missing, `_xn` n of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LONGEST = 1000

_NUMBER = r"[-+]?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,3})?"
_ITEM = re.compile(rf"({_NUMBER})(?:([-+][0-9]{{1,20}}(?:\.[0-9]{{1,20}})?))?(?:x([0-9]{{1,4}}))?\Z")
_GAP = re.compile(r"_(?:x([0-9]{1,4}))?\Z")


class SeriesError(ValueError):
    """A series that is not of the notation; the text says what is wrong."""


def expand(text: str) -> list[float | None]:
    """The values of a series; None where one is missing. Raises `SeriesError`."""
    found: list[float | None] = []
    for item in text.split():
        gap, value = _GAP.match(item), _ITEM.match(item)
        if gap:
            found.extend([None] * int(gap.group(1) or 1))
        elif value and (value.group(2) is None or value.group(3) is not None):
            start, step, times = float(value.group(1)), float(value.group(2) or 0), int(value.group(3) or 0)
            found.extend(start + step * number for number in range(times + 1))
        else:
            raise SeriesError(f"`{item}` is no value, a+bxn, axn, _ or _xn")
        if len(found) > LONGEST:
            raise SeriesError(f"longer than {LONGEST} values")
    return found


def unroll(series: Mapping[str, str]) -> list[dict[str, float | bool | int | str]]:
    """For each moment the facts that are known then. Raises `SeriesError`, also where lengths differ."""
    columns = {key: expand(text) for key, text in series.items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise SeriesError(f"series of different lengths: {', '.join(str(one) for one in sorted(lengths))}")
    rows = zip(*columns.values(), strict=True)
    return [{key: value for key, value in zip(columns, row, strict=True) if value is not None} for row in rows]
