"""Rows of labelled numbers that are machines, ranks, GPUs or places of the data."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.labelled import FORMAT
from tests.probes.artefacts.helpers import scan, values

NODES = """\
| node | GPU | step time (ms) | GPU util |
|------|-----|----------------|----------|
| gpu-b01 | A100-SXM4-80GB | 200 | 97% |
| gpu-b02 | A100-SXM4-80GB | 210 | 98% |
| gpu-b03 | A100-SXM4-80GB | 300 | 99% |
"""


def job(content: str) -> dict[str, Value]:
    return {fact: value for (fact, path), value in values(scan(FORMAT, content)).items() if path == "job:this"}


def test_the_slowest_machine_against_the_others() -> None:
    found = job(NODES)
    assert found["bench.peer_slowest"] == "gpu-b03"
    assert found["bench.peer_measure"] == "step time (ms)"
    assert found["bench.peer_count"] == 3
    # 300 against the median of 200 and 210; 210 against 200
    assert found["bench.peer_slowest_ratio"] == pytest.approx(300 / 205)
    assert found["bench.peer_others_ratio"] == pytest.approx(1.05)


def test_a_part_of_the_step_counts_against_the_whole_step() -> None:
    ranks = "".join(f"rank {rank}: step 1.00s data {data}s\n" for rank, data in enumerate((0.02, 0.82, 0.02, 0.02)))
    found = job(ranks)
    assert (found["bench.peer_slowest"], found["bench.peer_measure"]) == ("rank 1", "data")
    # 0.80 s more of a step of 1 s
    assert found["bench.peer_slowest_ratio"] == pytest.approx(1.8)


def test_a_short_part_of_the_step_makes_no_straggler() -> None:
    ranks = "".join(f"rank {rank}: step 1.00s data {data}s\n" for rank, data in enumerate((0.01, 0.02, 0.01, 0.01)))
    assert job(ranks)["bench.peer_slowest_ratio"] == pytest.approx(1.01)


def test_copies_that_are_half_as_fast() -> None:
    table = "machine   NCCL busbw (GB/s)   remark-free\nnode1   200.0   1\nnode2   100.0   1\nnode3   200.0   1\n"
    assert job(table)["bench.peer_slowest_ratio"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("content", "measure"),
    [
        ("node-01: 200 images/s\nnode-02: 200 images/s\nnode-03: 100 images/s\n", "images/s"),
        (
            "".join(f"rank {rank} throughput: {rate} samples/s\n" for rank, rate in enumerate((50, 100, 100))),
            "throughput",
        ),
        ("card   temp(C)   TFLOPS\nGPU 0   71   20\nGPU 1   70   10\nGPU 2   70   20\n", "TFLOPS"),
    ],
    ids=["lines", "lines that say what", "floating-point operations"],
)
def test_rates_of_peers(content: str, measure: str) -> None:
    found = job(content)
    assert found["bench.peer_measure"] == measure
    assert found["bench.peer_slowest_ratio"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(NODES.replace("gpu-b03 | A100-SXM4-80GB", "gpu-b03 | V100-SXM2-32GB"), id="another card"),
        pytest.param(NODES.replace("GPU util", "batch size"), id="another setting"),
        pytest.param(NODES.replace("step time (ms)", "NCCL time (ms)"), id="those that wait exchange longest"),
        pytest.param(NODES.replace("gpu-b0", "gpu-int"), id="other words"),
        pytest.param(NODES.replace("gpu-b0", "workers"), id="numbers of workers"),
        pytest.param("\n".join(NODES.splitlines()[:4]), id="two are too few"),
        pytest.param("GPU   img/s   x\n1   100   1\n2   190   1\n4   370   1\n", id="numbers of GPUs"),
    ],
)
def test_no_peers(content: str) -> None:
    assert "bench.peer_slowest_ratio" not in job(content)


def test_what_gpus_of_a_table_show() -> None:
    table = """\
GPU  Temp  Power        Clock     Util  Throttle
0    64C   398W/400W    1395MHz   100%  SW Power Cap
1    65C   399W/400W    1380MHz   100%  SW Power Cap
2    91C   212W/400W    705MHz    100%  HW Thermal Slowdown
"""
    found = values(scan(FORMAT, table))
    assert {fact: value for (fact, path), value in found.items() if path == "gpu:2"} == {
        "gpu.temperature_celsius": 91.0,
        "gpu.power_watts": 212.0,
        "gpu.power_limit_watts": 400.0,
        "gpu.sm_clock_megahertz": 705.0,
        "gpu.utilization_share": 1.0,
        "gpu.event_hardware_thermal_slowdown": True,
    }
    assert found["gpu.event_software_power_cap", "gpu:0"] is True


@pytest.mark.parametrize(
    "content",
    [
        "dataset   s/epoch   GPU util\nNFS   1800   22%\nlocal NVMe   450   93%\n",
        "Epoch time on NFS: 1800 s\nEpoch time on local SSD: 450 s\n",
        "| 数据位置 | 每个epoch耗时(s) |\n|---|---|\n| NAS | 1800 |\n| 本地NVMe | 450 |\n",
    ],
    ids=["table", "lines", "a table in Chinese"],
)
def test_the_data_on_a_local_disk(content: str) -> None:
    assert job(content)["bench.local_data_speedup"] == pytest.approx(4.0)


def test_another_setting_beside_the_local_disk_tells_nothing() -> None:
    table = "dataset   s/epoch   workers\nNFS   1800   2\nlocal NVMe   450   16\n"
    assert "bench.local_data_speedup" not in job(table)
