"""Mean and median agree with the standard library's."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.kb.averages import mean, median

NUMBERS = st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30)


def test_the_largest_numbers_have_a_mean_and_a_median() -> None:
    """Their sum is larger than any number, what lies between them is not."""
    assert mean([1e308, 1.5e308]) == 1.25e308
    assert median([1e308, 1.5e308]) == 1.25e308


@given(NUMBERS)
def test_they_are_those_of_the_standard_library(values: list[float]) -> None:
    assert mean(values) == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-9)
    assert median(values) == pytest.approx(statistics.median(values), rel=1e-12, abs=1e-300)
