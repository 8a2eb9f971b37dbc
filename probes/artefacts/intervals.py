"""Sets of time spans: union, intersection and difference, kept as two number arrays so that millions of spans fit."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from gpuwhy.kb.records import dataclass


@dataclass(frozen=True)
class Spans:
    """A set of time spans, disjoint and in rising order. The unit of time is the caller's."""

    starts: array[float]
    ends: array[float]

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return zip(self.starts, self.ends, strict=True)

    @property
    def total(self) -> float:
        """Sum of the lengths of all spans."""
        return sum(self.ends) - sum(self.starts) if len(self) < 2 else sum(end - start for start, end in self)

    @staticmethod
    def of(pairs: Iterable[tuple[float, float]]) -> Spans:
        """The union of these (start, end) pairs, in any order; a pair that ends before it starts counts for nothing."""
        return Spans._merged(sorted(pair for pair in pairs if pair[1] > pair[0]))

    @staticmethod
    def _merged(ordered: Iterable[tuple[float, float]]) -> Spans:
        starts, ends = array("d"), array("d")
        for start, end in ordered:
            if ends and start <= ends[-1]:
                if end > ends[-1]:
                    ends[-1] = end
            else:
                starts.append(start)
                ends.append(end)
        return Spans(starts, ends)

    def and_(self, other: Spans) -> Spans:
        """The time that is in both sets."""
        starts, ends = array("d"), array("d")
        mine = theirs = 0
        while mine < len(self) and theirs < len(other):
            start = max(self.starts[mine], other.starts[theirs])
            end = min(self.ends[mine], other.ends[theirs])
            if start < end:
                starts.append(start)
                ends.append(end)
            if self.ends[mine] < other.ends[theirs]:
                mine += 1
            else:
                theirs += 1
        return Spans(starts, ends)

    def without(self, other: Spans) -> Spans:
        """The time that is in this set and not in the other."""
        starts, ends = array("d"), array("d")
        at = 0
        for start, end in self:
            while at < len(other) and other.ends[at] <= start:
                at += 1
            cursor, look = start, at
            while look < len(other) and other.starts[look] < end:
                if other.starts[look] > cursor:
                    starts.append(cursor)
                    ends.append(other.starts[look])
                cursor = max(cursor, other.ends[look])
                look += 1
            if cursor < end:
                starts.append(cursor)
                ends.append(end)
        return Spans(starts, ends)
