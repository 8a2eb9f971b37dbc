"""SuperBench's monitor: samples of all GPUs, line by line."""

from __future__ import annotations

import json

import pytest

from gpuwhy.probes.artefacts.superbench_monitor import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def sample(second: int, usage: float, ecc: int = 0) -> str:
    return json.dumps(
        {
            "time": f"2026-11-30 04:19:{second:02}",
            "cpu_usage": 356.0,
            "gpu_usage:0": usage,
            "gpu_usage:1": 3,
            "gpu_mem_used:0": 267517952,
            "gpu_power_limit:0": 250,
            "gpu_uncorrected_ecc:0": ecc,
            "ib0_receive_bw": 7.1e-05,
        }
    )


def test_gauges_are_folded_over_the_moments() -> None:
    extracts = scan(FORMAT, "\n".join([sample(0, 50), sample(10, 60), sample(20, 100)]))
    found = values(extracts)
    assert found["gpu.utilization_share", "gpu:0"] == pytest.approx(0.6)
    assert found["gpu.utilization_max_share", "gpu:0"] == 1.0
    assert found["gpu.sample_count", "gpu:0"] == 3
    assert found["gpu.memory_used_bytes", "gpu:0"] == 267517952
    assert found["gpu.power_limit_watts", "gpu:0"] == 250
    assert claimed(extracts) == {1, 2, 3}
    window = next(one.window_seconds for one in extracts[0].readings if one.fact == "gpu.utilization_share")
    assert window == 20


def test_an_error_count_of_zero_may_be_one_that_could_not_be_read() -> None:
    assert ("gpu.ecc_uncorrected_count", "gpu:0") not in values(scan(FORMAT, sample(0, 50)))
    assert values(scan(FORMAT, sample(0, 50, ecc=2)))["gpu.ecc_uncorrected_count", "gpu:0"] == 2


def test_a_line_that_is_cut_is_told() -> None:
    extracts = scan(FORMAT, f"{sample(0, 50)}\n{sample(1, 60)[:80]}")
    assert [one.line for one in extracts[0].troubles] == [2]


@pytest.mark.parametrize("value", ['"56"', "true", "null", "-3", "1e999", "170"])
def test_what_is_no_usage_gives_none(value: str) -> None:
    line = '{"time": "x", "gpu_mem_used:0": 5, "gpu_usage:0": ' + value + "}"
    assert ("gpu.utilization_share", "gpu:0") not in values(scan(FORMAT, line))
