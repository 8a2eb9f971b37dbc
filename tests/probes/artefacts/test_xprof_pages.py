"""Profiler pages of TensorFlow and XLA."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.xprof_pages import FORMAT, read

PAGE = [
    {
        "cols": [{"id": "stepnum"}, {"id": "noninfeedTimeMs"}, {"id": "infeedTimeMs"}],
        "rows": [{"c": [{"v": "1"}, {"v": 20}, {"v": 80}]}, {"c": [{"v": "2"}, {"v": 30}, {"v": 70}]}],
        "p": {"infeed_percent_average": "75.0", "steptime_ms_average": "100.0"},
    },
    {
        "cols": [{"id": "opName"}, {"id": "count"}, {"id": "timeInMs"}],
        "rows": [{"c": [{"v": "Iterator::Map"}, {"v": 4}, {"v": 250.0}]}],
        "p": {"preprocessing_us": "6000", "advanced_file_read_us": "3000.0", "enqueue_us": "1000"},
    },
]


def test_input_pipeline_page() -> None:
    """150 of 200 ms wait for input; 60 % of input time is preprocessing, 30 % reading."""
    extract = read(gzip.compress(json.dumps(PAGE).encode()), "page")
    found = {(one.fact, one.entity.name): one.value for one in extract.readings}
    assert found["step.data_wait_share", "this"] == pytest.approx(0.75)
    assert found["step.data_wait_peak_share", "this"] == pytest.approx(0.8)
    assert found["step.data_wait_seconds", "this"] == pytest.approx(0.075)
    assert found["step.time_mean_seconds", "this"] == pytest.approx(0.1)
    assert found["step.count", "this"] == 2
    assert found["step.input_preprocessing_share", "this"] == pytest.approx(0.6)
    assert found["step.input_read_share", "this"] == pytest.approx(0.3)
    assert found["profile.total_seconds", "Iterator::Map"] == pytest.approx(0.25)


def test_statement_of_the_overview() -> None:
    """The overview says the share in words."""
    statement = "Your program is HIGHLY input-bound because 84.8% of the total step time sampled is waiting for input."
    extract = read(json.dumps([{"cols": [], "rows": [], "p": {"statement": statement}}]).encode(), "page")
    assert {one.fact: one.value for one in extract.readings} == {"step.data_wait_share": pytest.approx(0.848)}


def test_recognised_by_its_start() -> None:
    """Such a page, not any other list of tables."""
    assert FORMAT.accepts(json.dumps(PAGE).encode(), "page.json")
    assert not FORMAT.accepts(b'[{"cols": [], "rows": []}]', "page.json")
    assert not FORMAT.accepts(b'{"traceEvents": []}', "page.json")


def test_unreadable_pages_are_trouble() -> None:
    """No exception for a broken page."""
    assert read(b'[{"cols": [', "page").troubles


@settings(max_examples=40, deadline=None)
@given(st.recursive(st.none() | st.floats() | st.text(max_size=5), lambda one: st.lists(one, max_size=3)))
def test_any_value_in_any_place_never_raises(value: object) -> None:
    """Fields of unexpected types are no reason to fail."""
    tables = [{**PAGE[0], key: value} for key in ("cols", "rows", "p")]
    tables += [
        {"cols": [{"id": "infeedTimeMs"}, value], "rows": [{"c": [{"v": value}, value]}, value], "p": {"x": value}}
    ]
    read(json.dumps([*tables, value]).encode(), "page")
