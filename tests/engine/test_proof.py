"""The proof reading: three-valued truth with its evidence, and by how much it holds."""

from __future__ import annotations

import sys

import pytest

from gpuwhy.engine.model import Truth
from gpuwhy.engine.proof import compare, judge
from gpuwhy.kb.conditions import All, Any_, Comparison, Condition, FactRef, Not, Operator
from gpuwhy.kb.facts import JOB, Value, gpu
from tests.engine.small import fact, is_, world

YES, NO, UNKNOWN = is_("job.share", "gt", 0.0), is_("job.share", "lt", 0.0), is_("job.flag", "eq", True)
BY_LETTER = {"t": YES, "f": NO, "u": UNKNOWN}
TRUTHS = {"t": Truth.TRUE, "f": Truth.FALSE, "u": Truth.UNKNOWN}


def truth(tree: Condition) -> Truth:
    return judge(tree, world(fact("job.share", 0.5)), JOB).truth


TABLE = ("tt t t", "tf f t", "tu u t", "ft f t", "ff f f", "fu f u", "ut u t", "uf f u", "uu u u")
"""Two parts; both of them (`all`); either of them (`any`)."""


@pytest.mark.parametrize("row", TABLE)
def test_kleene_tables(row: str) -> None:
    pair, both, either = row.split()
    parts = tuple(BY_LETTER[letter] for letter in pair)
    assert truth(All(parts)) is TRUTHS[both]
    assert truth(Any_(parts)) is TRUTHS[either]


def test_not_swaps_true_and_false_and_leaves_unknown() -> None:
    assert [truth(Not(BY_LETTER[letter])) for letter in "tfu"] == [Truth.FALSE, Truth.TRUE, Truth.UNKNOWN]


@pytest.mark.parametrize(
    ("op", "value", "margin"),
    [
        ("gt", 200.0, 100.0),  # 300 W are 100 W above
        ("ge", 350.0, -50.0),
        ("lt", 350.0, 50.0),
        ("le", 200.0, -100.0),
        ("gt", 300.0, 0.0),
    ],
)
def test_the_margin_is_positive_where_it_holds_and_negative_where_it_fails(
    op: str, value: float, margin: float
) -> None:
    verdict = judge(is_("gpu.watts", op, value), world(fact("gpu.watts", 300.0, gpu(0))), gpu(0))
    assert verdict.margin == margin
    assert verdict.truth is (Truth.TRUE if margin > 0 else Truth.FALSE)


@pytest.mark.parametrize(
    "tree", [is_("job.mode", "eq", "train"), is_("job.flag", "ne", True), is_("job.share", "eq", 1)]
)
def test_what_has_no_order_has_no_margin(tree: Condition) -> None:
    seen = world(fact("job.mode", "train"), fact("job.flag", False), fact("job.share", 1.0))
    verdict = judge(tree, seen, JOB)
    assert (verdict.truth, verdict.margin) == (Truth.TRUE, None)


def test_a_verdict_carries_the_reading_the_bound_and_the_other_reading() -> None:
    watts, limit = fact("gpu.watts", 300.0, gpu(0)), fact("gpu.limit", 700.0, gpu(0))
    verdict = judge(is_("gpu.watts", "lt", than="gpu.limit", times=0.5), world(watts, limit), gpu(0))
    assert (verdict.fact, verdict.other, verdict.bound, verdict.margin) == (watts, limit, 350.0, 50.0)
    assert list(verdict.facts()) == [watts, limit]


def test_an_unknown_says_which_side_is_missing() -> None:
    tree = is_("gpu.watts", "lt", than="gpu.limit")
    assert judge(tree, world(fact("gpu.watts", 300.0, gpu(0))), gpu(0)).unknown == "gpu.limit: not known"
    assert judge(tree, world(fact("gpu.limit", 300.0, gpu(0))), gpu(0)).unknown == "not known"


def test_known_is_true_of_any_value_and_unknown_without_one() -> None:
    assert truth(is_("job.share", "known")) is Truth.TRUE
    assert truth(is_("job.flag", "known")) is Truth.UNKNOWN
    assert truth(Not(is_("job.flag", "known"))) is Truth.UNKNOWN


def test_only_the_leaves_that_keep_it_open_are_unknown_leaves() -> None:
    other = is_("job.mode", "eq", "train")
    verdict = judge(All((YES, Any_((UNKNOWN, YES)), Not(other))), world(fact("job.share", 0.5)), JOB)
    assert [leaf.condition for leaf in verdict.unknown_leaves()] == [other]
    assert [leaf.condition for leaf in verdict.leaves()] == [YES, UNKNOWN, YES, other]


@pytest.mark.parametrize(
    ("value", "bound", "same"),
    [(1, 1.0, True), (True, True, True), (True, 1, False), ("1", 1, False), ("true", True, False), (0, False, False)],
)
def test_words_and_booleans_never_equal_numbers(value: Value, bound: Value, same: bool) -> None:
    assert compare(Operator.EQ, value, bound) is same
    assert compare(Operator.NE, value, bound) is not same
    assert compare(Operator.IN, value, ("other", bound)) is same


@pytest.mark.parametrize(("value", "bound"), [("51", 50), (True, 0), (51, "50"), ("b", "a")])
def test_only_numbers_have_an_order(value: Value, bound: Value) -> None:
    with pytest.raises(TypeError, match="no order"):
        compare(Operator.GT, value, bound)


def test_the_largest_numbers_are_compared_and_no_figure_of_the_proof_is_infinite() -> None:
    """-1e308 is 2e308 below 1e308, and 1e308 a third of 3e308: both beyond the largest number, 1.8e308."""
    distant = judge(is_("job.share", "lt", 1e308), world(fact("job.share", -1e308)), JOB)
    assert (distant.truth, distant.margin) == (Truth.TRUE, None)
    tripled = Comparison(FactRef("job.share"), Operator.LT, than=FactRef("job.share"), times=3.0)
    assert judge(tripled, world(fact("job.share", 1e308)), JOB).truth is Truth.TRUE
    assert judge(tripled, world(fact("job.share", 1e308)), JOB).bound == sys.float_info.max
