"""The two sides of the estimate of latency hold what servers were measured at."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from tests.conftest import ROOT


def published() -> list[Any]:
    """The rows of published times, which stand among the measurements and not in the package."""
    sys.path.insert(0, str(ROOT))
    try:
        return list(importlib.import_module("bench.latency").rows())
    finally:
        sys.path.remove(str(ROOT))


ROWS = published()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
def test_a_published_median_lies_between_the_sides(row: Any) -> None:
    assert row.least <= row.median <= row.most, row.source


LONG = [row for row in ROWS if row.rare is not None and row.name.endswith("+2048")]


@pytest.mark.parametrize("row", LONG, ids=lambda row: row.name.replace(" ", "-"))
def test_the_99th_percentile_of_long_answers_is_below_the_high_side(row: Any) -> None:
    assert row.rare <= row.most, row.source


def test_few_99th_percentiles_of_short_answers_are_above_the_high_side() -> None:
    # of 128 tokens one in a hundred is the first step, in which that server computes all prompts as a whole
    short = [row for row in ROWS if row.rare is not None and row.name.endswith("+128")]
    above = [row.name for row in short if row.rare > row.most]
    assert len(above) <= len(short) / 4
    assert all(" 1 x " not in name.split("A100,")[1] for name in above)  # none of a single request
