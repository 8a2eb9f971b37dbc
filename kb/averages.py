"""Mean and median. The standard library's module for them takes longer to import than a message takes to diagnose."""

from __future__ import annotations

import math
from collections.abc import Iterable


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean of at least one value."""
    known = list(values)
    try:
        return math.fsum(known) / len(known)
    except OverflowError:  # the sum exceeds the largest number, the mean does not
        return math.fsum(value / len(known) for value in known)


def median(values: Iterable[float]) -> float:
    """The middle of at least one value; the mean of the two middle ones of an even number."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else ordered[half - 1] / 2 + ordered[half] / 2
