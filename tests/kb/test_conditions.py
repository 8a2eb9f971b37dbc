"""The condition language: one tree, and the same tree again from its plain form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.kb.conditions import (
    All,
    Any_,
    Comparison,
    Condition,
    FactRef,
    Not,
    Operator,
    Over,
    comparisons,
    from_plain,
    references,
    to_plain,
)

names = st.sampled_from(["oom.request_bytes", "gpu.power_watts", "job.framework"])
refs = st.builds(FactRef, names, st.none() | st.sampled_from(Over))
values = (
    st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
sources = st.none() | st.just("definition")
plain_comparisons = (
    st.builds(Comparison, refs, st.sampled_from([Operator.EQ, Operator.LT, Operator.GE]), values, source=sources)
    | st.builds(Comparison, refs, st.just(Operator.IN), st.lists(values, min_size=1, max_size=3).map(tuple))
    | st.builds(
        Comparison,
        refs,
        st.just(Operator.GE),
        than=refs,
        times=st.floats(min_value=0.001, max_value=1000),
        source=sources,
    )
    | st.builds(Comparison, refs, st.just(Operator.KNOWN))
)
trees: st.SearchStrategy[Condition] = st.recursive(
    plain_comparisons,
    lambda inner: (
        st.builds(All, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Any_, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=12,
)


@given(trees)
def test_a_condition_survives_its_plain_form_and_json(condition: Condition) -> None:
    plain = to_plain(condition)
    assert from_plain(plain) == condition
    assert from_plain(json.loads(json.dumps(plain))) == condition


@given(trees)
def test_references_are_those_of_the_comparisons_in_their_order(condition: Condition) -> None:
    expected = []
    for one in comparisons(condition):
        expected += [one.ref] if one.than is None else [one.ref, one.than]
    assert list(references(condition)) == expected


def test_the_plain_form_is_what_a_rule_says() -> None:
    plain = {
        "all": [
            {"fact": "oom.free_bytes", "op": "lt", "than": {"fact": "oom.request_bytes"}, "times": 0.5, "source": "x"},
            {"not": {"fact": "gpu.count", "op": "in", "value": [1, 2]}},
            {"any": [{"fact": "gpu.power_watts", "over": "max", "op": "ge", "value": 300}]},
        ]
    }
    condition = from_plain(plain)
    assert condition == All(
        (
            Comparison(
                FactRef("oom.free_bytes"), Operator.LT, than=FactRef("oom.request_bytes"), times=0.5, source="x"
            ),
            Not(Comparison(FactRef("gpu.count"), Operator.IN, (1, 2))),
            Any_((Comparison(FactRef("gpu.power_watts", Over.MAX), Operator.GE, 300),)),
        )
    )
    assert to_plain(condition) == plain
    assert [str(ref) for ref in references(condition)] == [
        "oom.free_bytes",
        "oom.request_bytes",
        "gpu.count",
        "max(gpu.power_watts)",
    ]


@pytest.mark.parametrize("operator", Operator)
def test_only_four_operators_order(operator: Operator) -> None:
    assert operator.orders is (operator.value in ("lt", "le", "gt", "ge"))


def test_false_and_zero_are_values() -> None:
    for value in (False, 0, ""):
        plain = {"fact": "a.b", "op": "eq", "value": value}
        assert to_plain(from_plain(plain)) == plain
