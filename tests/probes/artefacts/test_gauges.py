"""Folding of readings over moments."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.kb.facts import HOST, Value, gpu
from gpuwhy.probes.artefacts.gauges import Gauges, instant, quantile

DEVICE = gpu(0)


def _folded(fact: str, *samples: Value) -> dict[str, list[Value]]:
    gauges = Gauges()
    for number, sample in enumerate(samples):
        gauges.begin()
        gauges.put(fact, DEVICE, sample, number)
    found: dict[str, list[Value]] = {}
    for reading in gauges.fold()[0]:
        found.setdefault(reading.fact, []).append(reading.value)
    return found


def test_one_sample_is_given_as_it_is() -> None:
    assert _folded("gpu.utilization_share", 0.5) == {"gpu.utilization_share": [0.5], "gpu.sample_count": [1]}


def test_quantiles_lie_between_their_neighbours() -> None:
    found = _folded("gpu.utilization_share", *(number / 10 for number in range(11)))
    assert found["gpu.utilization_share"] == [0.5]
    assert found["gpu.utilization_p10_share"] == [pytest.approx(0.1)]
    assert found["gpu.utilization_p90_share"] == [pytest.approx(0.9)]
    assert (found["gpu.utilization_min_share"], found["gpu.utilization_max_share"]) == ([0.0], [1.0])
    assert found["gpu.sample_count"] == [11]


def test_whole_numbers_stay_whole() -> None:
    assert _folded("gpu.performance_state", 0, 8)["gpu.performance_state"] == [0]
    assert isinstance(_folded("gpu.link_generation", 1, 4, 4)["gpu.link_generation"][0], int)


def test_other_facts_keep_each_value_the_latest_last() -> None:
    assert _folded("gpu.memory_total_bytes", 10.0, 10.0) == {"gpu.memory_total_bytes": [10.0]}
    assert _folded("gpu.mig_enabled", True, False, False) == {"gpu.mig_enabled": [True, False]}
    assert _folded("gpu.mig_enabled", False, True, False) == {"gpu.mig_enabled": [True, False]}
    assert _folded("gpu.power_limit_watts", *range(100)) == {"gpu.power_limit_watts": [0, 99]}


def test_of_a_counter_only_the_latest_value_is_given() -> None:
    assert _folded("gpu.link_replays", 3, 4, 7) == {"gpu.link_replays": [7]}
    assert _folded("gpu.ecc_uncorrected_count", 0, 2) == {"gpu.ecc_uncorrected_count": [2]}
    assert _folded("gpu.event_bits", "0x1", "0x4") == {"gpu.event_bits": ["0x4"]}


def test_an_event_is_true_if_it_was_active_in_half_of_the_samples() -> None:
    found = _folded("gpu.event_hardware_slowdown", True, False, False, True)
    assert found["gpu.event_hardware_slowdown"] == [True]
    assert found["gpu.event_hardware_slowdown_sample_share"] == [0.5]
    assert _folded("gpu.event_idle", True, False, False)["gpu.event_idle"] == [False]


def test_in_one_moment_the_preferred_source_is_used() -> None:
    gauges = Gauges()
    gauges.put("gpu.power_watts", DEVICE, 90.0, 1, rank=1)
    gauges.put("gpu.power_watts", DEVICE, 100.0, 2, rank=0)
    gauges.put("gpu.power_watts", DEVICE, 80.0, 3, rank=1)
    assert [one.value for one in gauges.fold()[0] if one.fact == "gpu.power_watts"] == [100.0]


def test_missing_gives_way_to_a_later_value_but_an_error_stays() -> None:
    gauges = Gauges()
    gauges.lack("gpu.power_watts", DEVICE, "N/A", 1)
    gauges.lack("gpu.power_watts", DEVICE, "Unknown Error", 2)
    gauges.lack("gpu.fan_share", DEVICE, "N/A", 3)
    gauges.put("gpu.power_watts", DEVICE, 9.0, 4)
    assert {(one.fact, one.reason) for one in gauges.fold()[1]} == {
        ("gpu.power_watts", "Unknown Error"),
        ("gpu.fan_share", "N/A"),
    }


def test_host_facts_count_no_samples() -> None:
    gauges = Gauges()
    gauges.put("host.driver_version", HOST, "550.90.12", 1)
    assert [one.fact for one in gauges.fold()[0]] == ["host.driver_version"]


def test_times_of_this_family_are_read() -> None:
    assert instant("Mon Dec 19 13:05:20 2022") == datetime(2022, 12, 19, 13, 5, 20)
    assert instant("2026/11/30 02:15:06.356") == datetime(2026, 11, 30, 2, 15, 6, 356000)
    assert instant("20261130 10:00:01") == datetime(2026, 11, 30, 10, 0, 1)
    assert instant("yesterday") is None


@given(st.lists(st.floats(0, 1), min_size=1), st.floats(0, 1))
def test_a_quantile_stays_within_its_values(values: list[float], share: float) -> None:
    ordered = sorted(values)
    assert ordered[0] <= quantile(ordered, share) <= ordered[-1] + 1e-12
