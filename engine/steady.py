"""What holds, evaluation after evaluation: a conclusion appears when it has held a while, and clears likewise."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

APPEAR_AFTER = 3
"""Evaluations in a row in which something must hold before it appears."""

CLEAR_AFTER = 3
"""Evaluations in a row in which it must not hold before it clears."""


@dataclass(frozen=True)
class Shown(Generic[V]):
    """Something that stands: what was last said of it, and when it was first and last seen to hold."""

    value: V
    first_at: float
    last_at: float


@dataclass(frozen=True)
class Turn(Generic[K, V]):
    """Something that appeared or cleared."""

    key: K
    appeared: bool
    shown: Shown[V]


@dataclass
class _Count(Generic[V]):
    shown: Shown[V]
    holds: int = 0
    fails: int = 0
    stands: bool = False


class Steady(Generic[K, V]):
    """Counts evaluations. What never stood and does not hold is forgotten, so that it takes no room."""

    def __init__(self, appear_after: int = APPEAR_AFTER, clear_after: int = CLEAR_AFTER) -> None:
        self._appear_after = appear_after
        self._clear_after = clear_after
        self._counts: dict[K, _Count[V]] = {}

    def take(self, holding: Mapping[K, V], at: float) -> list[Turn[K, V]]:
        """One evaluation at the moment `at`: everything that holds. Gives what appeared and what cleared with it."""
        turns = []
        for key, value in holding.items():
            one = self._counts.get(key)
            if one is None:
                one = self._counts[key] = _Count(Shown(value, at, at))
            one.holds, one.fails = one.holds + 1, 0
            one.shown = Shown(value, one.shown.first_at, at)
            if not one.stands and one.holds >= self._appear_after:
                one.stands = True
                turns.append(Turn(key, True, one.shown))
        for key in [key for key in self._counts if key not in holding]:
            one = self._counts[key]
            one.holds, one.fails = 0, one.fails + 1
            if not one.stands or one.fails >= self._clear_after:
                del self._counts[key]
                if one.stands:
                    turns.append(Turn(key, False, one.shown))
        return turns

    def standing(self) -> Iterable[tuple[K, Shown[V]]]:
        """What stands now."""
        return [(key, one.shown) for key, one in self._counts.items() if one.stands]
