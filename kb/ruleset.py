"""The rules of a kind in their order, each made when it is first needed: a diagnosis touches a small part of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from typing import Any, NamedTuple, TypeVar, overload

R = TypeVar("R")

Gate = Any
"""A fact id (str), or a list of "all" or "any" and gates. See `gates`."""


def opens(gate: Gate, known: Container[str]) -> bool:
    """True if the facts in `known` (of whatever entity) suffice."""
    if isinstance(gate, str):
        return gate in known
    test = all if gate[0] == "all" else any
    return test(opens(gate[index], known) for index in range(1, len(gate)))


class Outline(NamedTuple):
    """What can be known of a rule without making it.

    `about`: the conclusion it concludes, the fact it gives, or the conclusions it is a fix for. `reads`: every fact
    that it can depend on directly. `gate`: what must be known before it can be in play or give anything.
    """

    id: str
    about: tuple[str, ...]
    reads: tuple[str, ...]
    gate: Gate


class Rules(Sequence[R]):
    """Rules in order, with an outline of each; `make` gives the rule at an index."""

    def __init__(self, outlines: Iterable[Outline] = (), make: Callable[[int], R] | None = None) -> None:
        self.outlines = tuple(outlines)
        self._make = make
        self._made: dict[int, R] = {}

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[R]: ...
    def __getitem__(self, index: int | slice) -> R | Sequence[R]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        if at not in self._made:
            assert self._make is not None
            self._made[at] = self._make(at)
        return self._made[at]

    def __len__(self) -> int:
        return len(self.outlines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.outlines == other.outlines and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(one.id for one in self.outlines))

    def in_play(self, known: Container[str], about: Set[str] | None = None) -> Iterator[R]:
        """The rules whose gate is open. `known` is asked when a rule's turn comes, so it may grow in between.

        `about` leaves only the rules about one of these conclusions or facts.
        """
        for index, outline in enumerate(self.outlines):
            if (about is None or not about.isdisjoint(outline.about)) and opens(outline.gate, known):
                yield self[index]

    def about(self, *names: str) -> list[R]:
        """The rules about one of these conclusions or facts."""
        wanted = set(names)
        return [self[index] for index, outline in enumerate(self.outlines) if not wanted.isdisjoint(outline.about)]

    def only(self, keep: Callable[[Outline], bool]) -> Rules[R]:
        """The rules whose outline is to be kept, in the same order; they are made when they are asked for."""
        places = [place for place, outline in enumerate(self.outlines) if keep(outline)]
        return Rules([self.outlines[place] for place in places], lambda index: self[places[index]])

    def reading(self, fact: str) -> list[R]:
        """The rules that read this fact directly."""
        return [self[index] for index, outline in enumerate(self.outlines) if fact in outline.reads]
