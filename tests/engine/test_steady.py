"""What holds appears after a while and clears after a while; how often is counted in evaluations."""

from __future__ import annotations

import pytest

from gpuwhy.engine.steady import Steady


def run(pattern: str, appear_after: int = 3, clear_after: int = 2) -> list[tuple[int, bool]]:
    """When something turned, `x` being evaluations in which it holds: (place, appeared)."""
    steady: Steady[str, str] = Steady(appear_after, clear_after)
    turns = []
    for place, sign in enumerate(pattern):
        for turn in steady.take({"a": sign} if sign == "x" else {}, float(place)):
            turns.append((place, turn.appeared))
    return turns


@pytest.mark.parametrize(
    ("pattern", "turns"),
    [
        ("xx", []),
        ("xxx", [(2, True)]),
        ("xx.xx.xx", []),
        ("xxxxxxx", [(2, True)]),
        ("xxx.x.x.x", [(2, True)]),
        ("xxx..", [(2, True), (4, False)]),
        ("xxx..xxx", [(2, True), (4, False), (7, True)]),
        (".....", []),
    ],
)
def test_it_appears_and_clears_after_a_while(pattern: str, turns: list[tuple[int, bool]]) -> None:
    assert run(pattern) == turns


def test_one_evaluation_may_be_enough() -> None:
    assert run("x.", 1, 1) == [(0, True), (1, False)]


def test_what_is_told_is_the_latest_and_since_when() -> None:
    steady: Steady[str, int] = Steady(2, 1)
    steady.take({"a": 1}, 10.0)
    (turn,) = steady.take({"a": 2}, 15.0)
    assert (turn.shown.value, turn.shown.first_at, turn.shown.last_at) == (2, 10.0, 15.0)
    steady.take({"a": 3}, 20.0)
    assert [(key, shown.value) for key, shown in steady.standing()] == [("a", 3)]
    (cleared,) = steady.take({}, 25.0)
    assert (cleared.appeared, cleared.shown.value, cleared.shown.last_at) == (False, 3, 20.0)
    assert list(steady.standing()) == []


def test_keys_are_counted_apart_and_take_no_room_once_gone() -> None:
    steady: Steady[int, None] = Steady(2, 2)
    for number in range(1000):
        assert steady.take({number: None}, float(number)) == []
    assert [turn.key for turn in steady.take({999: None, 7: None}, 1000.0)] == [999]
    assert len(steady._counts) == 2
