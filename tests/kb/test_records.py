"""Dataclasses with shared methods behave as those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.kb import records


def made_by(dataclass: Any, field: Any) -> tuple[Any, Any, Any]:
    """The same three classes by one of two decorators."""

    @dataclass(frozen=True, order=True)
    class Point:
        """A point."""

        x: int
        y: int = 0
        name: str = ""

    @dataclass(frozen=True, kw_only=True)
    class Named:
        id: int
        tags: tuple[int, ...] = ()

        @property
        def first(self) -> int:
            return self.tags[0]

    @dataclass(frozen=True, kw_only=True)
    class Longer(Named):
        length: int  # type: ignore[misc]  # its decorator is not known to the checker
        parts: list[int] = field(default_factory=list)

        def __post_init__(self) -> None:
            if self.length < 0:
                raise ValueError("below zero")

    @dataclass
    class Open:
        value: int
        many: dict[int, int] = field(default_factory=dict)

    return Point, Longer, Open


OURS = made_by(records.dataclass, records.field)
THEIRS = made_by(dataclasses.dataclass, dataclasses.field)
OFTEN_MADE = made_by(records.dataclass, records.field)
for number in range(300):
    OFTEN_MADE[0](number), OFTEN_MADE[1](id=number, length=number), OFTEN_MADE[2](number)
KEYS = st.sampled_from(["x", "y", "name", "id", "tags", "length", "parts", "value", "many", "z"])
CALLS = st.tuples(
    st.integers(0, 2),
    st.lists(st.integers(-2, 2), max_size=4),
    st.dictionaries(KEYS, st.one_of(st.integers(-2, 2), st.just((1,))), max_size=4),
)


def built(classes: tuple[Any, Any, Any], call: tuple[int, list[int], dict[str, Any]]) -> Any:
    which, args, given_by_name = call
    try:
        return classes[which](*args, **given_by_name)
    except (TypeError, ValueError) as error:
        return type(error)


def seen(thing: Any) -> Any:
    if isinstance(thing, type):
        return thing
    try:
        hashed = hash(thing)
    except TypeError:
        hashed = None
    return repr(thing).replace("made_by.<locals>.", ""), hashed, dataclasses.asdict(thing), dataclasses.astuple(thing)


@given(CALLS, CALLS)
def test_the_same_calls_give_the_same(one: Any, other: Any) -> None:
    theirs = built(THEIRS, one), built(THEIRS, other)
    often_made = built(OFTEN_MADE, one), built(OFTEN_MADE, other)
    assert [seen(thing) for thing in often_made] == [seen(thing) for thing in theirs]
    ours = built(OURS, one), built(OURS, other)
    assert [seen(thing) for thing in ours] == [seen(thing) for thing in theirs]
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    if not any(isinstance(thing, type) for thing in ours) and one[0] == other[0] == 0:
        try:
            expected = theirs[0] < theirs[1], theirs[0] <= theirs[1]
        except TypeError:
            return
        assert (ours[0] < ours[1], ours[0] <= ours[1]) == expected


def test_a_frozen_one_cannot_be_changed() -> None:
    point = OURS[0](1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="x"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="x"):
        del point.x
    assert point.x == 1


def test_one_with_changes_is_checked_anew() -> None:
    longer = OURS[1](id=1, length=2)
    assert dataclasses.asdict(records.replace(longer, length=3)) == {"id": 1, "tags": (), "length": 3, "parts": []}
    assert dataclasses.replace(longer, id=5).id == 5
    with pytest.raises(ValueError, match="below zero"):
        records.replace(longer, length=-1)
    with pytest.raises(TypeError, match="colour"):
        records.replace(longer, colour=1)


def test_defaults_made_anew_are_not_shared() -> None:
    for classes in (OURS, OFTEN_MADE):
        first, second = classes[2](1), classes[2](1)
        first.many[1] = 1
        assert second.many == {}
    with pytest.raises(ValueError, match="mutable"):

        @records.dataclass
        class Wrong:
            shared: list[int] = []  # noqa: RUF012 - what is refused


def test_the_complaint_names_what_is_missing_or_too_much() -> None:
    with pytest.raises(TypeError, match=r"missing .*'x'"):
        OURS[0]()
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'z'"):
        OURS[0](1, z=1)
    with pytest.raises(TypeError, match=r"multiple values for argument 'x'"):
        OURS[0](1, x=1)
    with pytest.raises(TypeError, match=r"takes 3 positional arguments but 4"):
        OURS[0](1, 2, "", 4)


def test_matching_fields_and_copies_work() -> None:
    match OURS[0](1, 2):
        case object(x=1, y=2):
            pass
        case _:
            pytest.fail("no match")
    assert OURS[0].__match_args__ == THEIRS[0].__match_args__
    assert OURS[1].__match_args__ == THEIRS[1].__match_args__
    for kind in range(3):
        ours, theirs = (dataclasses.fields(classes[kind]) for classes in (OURS, THEIRS))
        assert [(one.name, one.type, one.kw_only) for one in ours] == [
            (one.name, one.type, one.kw_only) for one in theirs
        ]
    point = OURS[0](1, 2, "p")
    assert copy.copy(point) == point == copy.deepcopy(point)
    from gpuwhy.kb.facts import JOB

    assert pickle.loads(pickle.dumps(JOB)) == JOB  # noqa: S301 - our own bytes
