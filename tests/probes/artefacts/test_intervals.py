"""Sets of time spans against sets of whole numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.intervals import Spans

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def cells(pairs: list[tuple[int, int]]) -> set[int]:
    """The unit cells that pairs cover."""
    return {cell for start, end in pairs for cell in range(start, end)}


def covered(spans: Spans) -> set[int]:
    """The unit cells that spans cover."""
    return cells([(int(start), int(end)) for start, end in spans])


@given(PAIRS, PAIRS)
def test_union_intersection_and_difference_are_those_of_sets(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    """Each operation covers exactly what the same operation on sets of unit cells gives."""
    left, right = Spans.of(a), Spans.of(b)
    assert covered(left) == cells(a)
    assert covered(left.and_(right)) == cells(a) & cells(b)
    assert covered(left.without(right)) == cells(a) - cells(b)
    assert left.total == len(cells(a))


def test_touching_spans_are_one() -> None:
    """Spans are disjoint and in order, whatever the order of the pairs."""
    assert list(Spans.of([(5, 7), (1, 2), (2, 3)])) == [(1, 3), (5, 7)]
