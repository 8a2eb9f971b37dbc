"""The arithmetic of derivations: what is computed, what stays unknown, what is refused and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.kb.conditions import FactRef, Over
from gpuwhy.kb.expressions import MAX_DEPTH, MAX_LENGTH, ExpressionError, dimension, evaluate, parse, references
from gpuwhy.kb.units import Dimension
from gpuwhy.kb.units import dimension as of_unit

FACTS = {"a.one": 1.0, "a.two": 2.0, "a.ten": 10.0, "a.zero": 0.0, "a.huge": 1e308}
UNITS = {"m.used_bytes": "bytes", "m.total_bytes": "bytes", "t.step_seconds": "seconds", "n.gpus": "count"}


def value(text: str) -> float | None:
    return evaluate(parse(text), lambda ref: FACTS.get(ref.fact))


def unit(text: str) -> Dimension:
    return dimension(parse(text), lambda ref: of_unit(UNITS[ref.fact]))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("12 / 4 / 3", 1),
        ("2 * -3", -6),
        ("--2", 2),
        ("-a.two * a.ten", -20),
        ("1.5e3 / 3", 500),
        ("a.ten-a.two", 8),
        ("max(a.one, a.two, a.ten)", 10),
        ("min(a.one, 0.5)", 0.5),
        ("max(0, a.one - a.ten)", 0),
        ("abs(a.one - a.ten)", 9),
        ("ceil(a.ten / 3)", 4),
        ("floor(a.ten / 3)", 3),
        ("ceil(0 - 0.5)", 0),
        (" ( ( a.one ) ) ", 1),
    ],
)
def test_arithmetic(text: str, result: float) -> None:
    assert value(text) == pytest.approx(result)


@pytest.mark.parametrize(
    "text",
    ["a.unknown", "a.one + a.unknown", "0 * a.unknown", "a.one / a.zero", "a.huge * a.huge", "max(1, a.unknown)"],
)
def test_what_is_not_known_divided_by_zero_or_not_finite_is_none(text: str) -> None:
    assert value(text) is None


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("", 1, "a number, a fact or `(` expected"),
        ("1 +", 4, "a number, a fact or `(` expected"),
        ("1 2", 3, "`2` is not expected here"),
        ("(1", 3, "`)` expected"),
        ("a.one ** 2", 8, "a number, a fact or `(` expected"),
        ("a.one % 2", 7, "`%` is not part of an expression"),
        ("a.one; import os", 6, "`;` is not part of an expression"),
        ("__import__('os')", 1, "`_` is not part of an expression"),
        ("exec(a.one)", 1, "`exec` is no function"),
        ("abs(1, 2)", 1, "`abs` takes one argument"),
        ("max()", 5, "a number, a fact or `(` expected"),
        ("sum_over(a.one + 1)", 1, "`sum_over` is no aggregate of one fact"),
        ("mode_over(a.one)", 1, "`mode_over` is no aggregate of one fact"),
        ("1 + 1e999", 5, "`1e999` is too large for a number"),
        ("a.one if a.two", 7, "`if` is not expected here"),
        ("a.one == 1", 7, "`=` is not part of an expression"),
    ],
)
def test_what_is_not_of_the_grammar_is_refused_at_its_column(text: str, column: int, told: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert (str(caught.value)[: len(told)], caught.value.column) == (told, column)


@pytest.mark.parametrize("text", ["(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1), "1+" * MAX_LENGTH + "1"])
def test_depth_and_length_are_bounded(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


@given(st.text(alphabet="ab.01 +-*/(),_maxin%;", max_size=60))
def test_any_text_is_an_expression_or_an_error_with_a_column(text: str) -> None:
    try:
        tree = parse(text)
    except ExpressionError as error:
        column = error.column
    else:
        column = 1
        evaluate(tree, lambda _: 1.0)
    assert 1 <= column <= len(text) + 1


@given(
    st.recursive(
        st.integers(0, 99).map(str), lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner)
    )
)
def test_it_computes_as_python_does(text: str) -> None:
    try:
        expected: float | None = float(eval(text, {"__builtins__": {}}))  # noqa: S307 - generated from digits and signs
    except ZeroDivisionError:
        expected = None
    assert value(text) == (None if expected is None else pytest.approx(expected))


def test_references_and_aggregates() -> None:
    tree = parse("sum_over(gpu.memory_used_bytes) / gpu.count + gpu.count")
    assert list(references(tree)) == [
        FactRef("gpu.memory_used_bytes", Over.SUM),
        FactRef("gpu.count"),
        FactRef("gpu.count"),
    ]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("m.used_bytes / m.total_bytes", ()),
        ("m.used_bytes - m.total_bytes", (("byte", 1),)),
        ("m.used_bytes / t.step_seconds", (("byte", 1), ("second", -1))),
        ("m.used_bytes * m.used_bytes / m.used_bytes", (("byte", 1),)),
        ("max(0, m.used_bytes - m.total_bytes)", (("byte", 1),)),
        ("m.used_bytes / n.gpus", (("byte", 1),)),
        ("1 / t.step_seconds", (("second", -1),)),
        ("-abs(t.step_seconds)", (("second", 1),)),
    ],
)
def test_units_are_computed_along(text: str, result: Dimension) -> None:
    assert unit(text) == result


@pytest.mark.parametrize("text", ["m.used_bytes + t.step_seconds", "max(m.used_bytes, 5)", "m.used_bytes - 1"])
def test_quantities_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="different units"):
        unit(text)
