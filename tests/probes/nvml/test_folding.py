"""How readings become facts: counters, spreads, clock events, masks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.kb.facts import gpu
from gpuwhy.kb.load import load
from gpuwhy.probes.gathering import Readings, plain
from gpuwhy.probes.nvml_clock_events import persistent
from gpuwhy.probes.nvml_fields import ALL_FIELDS, Counter, FieldValue, number_of
from gpuwhy.probes.nvml_gauges import MAX_AGE_SECONDS, Load
from gpuwhy.probes.nvml_signal import Span, fold_gauge, scaled, spread_of
from gpuwhy.probes.nvml_state import cpu_list

SPAN = Span(10.0, 1_800_000_000.0)
GPU = gpu(0)


def counter(*readings: tuple[float, float]) -> Counter:
    found = Counter()
    for at, value in readings:
        found.take(FieldValue(at, value))
    return found


def test_a_counter_is_its_rise_over_the_time_in_which_it_rose() -> None:
    assert counter((0, 100), (2, 150), (4, 200)).rate == 25.0


def test_a_counter_that_wraps_or_is_reset_loses_only_that_interval() -> None:
    # up 100 in 1 s, a fall, up 300 in 1 s: 400 over the two seconds in which it rose
    assert counter((0, 0), (1, 100), (2, 7), (3, 307)).rate == 200.0


def test_a_counter_read_twice_at_one_time_stamp_waits_for_the_next() -> None:
    assert counter((0, 0), (0, 0), (4, 8)).rate == 2.0


@pytest.mark.parametrize("readings", [(), ((0, 5),), ((0, 5), (0.05, 900)), ((3, 9), (2, 10))])
def test_a_counter_that_was_not_watched_long_enough_says_nothing(readings: Sequence[tuple[float, float]]) -> None:
    found = counter(*readings)
    assert found.rate is None
    assert found.why_empty


def test_a_counter_keeps_why_it_has_no_reading() -> None:
    found = Counter()
    found.take(3)
    assert found.why_empty == "not supported by this GPU, driver or mode (NVML 3)"


def test_what_rose_before_the_window_does_not_count() -> None:
    found = counter((0, 0), (1, 1000))
    found.restart()
    found.take(FieldValue(1, 1000))
    found.take(FieldValue(2, 1010))
    assert found.rate == 10.0


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e12)), max_size=20))
def test_a_counter_never_runs_backwards(readings: list[tuple[float, float]]) -> None:
    rate = counter(*readings).rate
    assert rate is None or rate >= 0


def test_a_gauge_is_its_median_with_percentiles_and_extremes() -> None:
    readings = Readings("nvml")
    # eleven values 0, 10, ... 100: the 10th percentile is the second of them, the 90th the last but one
    fold_gauge(readings, SPAN, "gpu.power_watts", GPU, [float(10 * one) for one in (10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5)])
    expected = {
        "gpu.power_watts": 50.0,
        "gpu.power_p10_watts": 10.0,
        "gpu.power_p90_watts": 90.0,
        "gpu.power_min_watts": 0.0,
        "gpu.power_max_watts": 100.0,
        "gpu.power_sample_count": 11,
    }
    assert {name: readings.get(name, GPU) for name in expected} == expected


def test_a_single_reading_has_no_spread() -> None:
    readings = Readings("nvml")
    fold_gauge(readings, SPAN, "gpu.power_watts", GPU, [70.0])
    assert readings.get("gpu.power_watts", GPU) == 70.0
    assert readings.get("gpu.power_sample_count", GPU) == 1
    assert readings.get("gpu.power_max_watts", GPU) is None


def test_a_gauge_of_whole_numbers_stays_one_of_them() -> None:
    readings = Readings("nvml")
    fold_gauge(readings, SPAN, "gpu.link_width", GPU, [8, 16, 16, 8], whole=True)
    assert readings.get("gpu.link_width", GPU) == 8


def test_everything_that_can_be_said_has_a_word() -> None:
    facts = load().facts
    for fact in facts:
        assert all(name in facts for name, _ in spread_of(fact))
    assert len(ALL_FIELDS) >= len(set(ALL_FIELDS)) > 20


@pytest.mark.parametrize(
    ("seen", "kept"),
    [("0", "0"), ("1", "0"), ("010", "000"), ("0110", "0110"), ("1101", "1100"), ("11", "11"), ("10101", "00000")],
)
def test_an_event_counts_where_it_lasted_for_two_readings(seen: str, kept: str) -> None:
    assert persistent([one == "1" for one in seen]) == [one == "1" for one in kept]


@pytest.mark.parametrize(
    ("words", "text"),
    [([0], None), ([1], "0"), ([0b1011], "0-1,3"), ([1 << 63, 1], "63-64"), ([0, 0b110], "65-66")],
)
def test_a_mask_of_cpus_is_written_as_ranges(words: list[int], text: str | None) -> None:
    assert cpu_list(words) == text


def test_a_union_is_read_by_its_type() -> None:
    class Union:
        dVal = 0.5
        uiVal = 7
        siVal = -7

    assert [number_of(one, Union) for one in (0, 1, 5, 99)] == [0.5, 7.0, -7.0, None]


def test_values_outside_of_what_can_be_are_no_readings() -> None:
    percent = scaled(per=100.0, highest=1.0)
    assert [percent(one) for one in (0, 41, 100, 101, -1)] == [0.0, 0.41, 1.0, None, None]


def test_load_needs_work_now_and_clocks_that_are_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    load_ = Load()
    assert (load_.known, load_.now()) == (False, False)
    load_.saw_utilization(0.5, None)
    assert load_.now()
    load_.saw_idle(True)
    assert not load_.now()
    load_.saw_idle(False)
    now += MAX_AGE_SECONDS + 0.1
    assert not load_.now()
    load_.saw_utilization(0.49, None)
    assert not load_.now()


def test_texts_of_a_driver_stay_on_one_line_and_steer_nothing() -> None:
    assert plain("Tesla\x1b[31m T4\n\u202e") == "Tesla [31m T4"


def test_a_reading_without_a_word_is_told_and_not_lost() -> None:
    readings = Readings("nvml")
    readings.put("gpu.no_such_fact", GPU, 1)
    readings.put("gpu.name", GPU, 7)
    found = readings.gathering(load().facts, 1.0, False)
    assert found.facts == ()
    assert found.unfit == ("gpu.no_such_fact of gpu:0 = 1", "gpu.name of gpu:0 = 7")
