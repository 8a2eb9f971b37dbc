"""What a batch job used of what it was given."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.job_efficiency import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

JOBSTATS = (
    "  CPU utilization  [|||||                                          10%]\n"
    "  GPU utilization  [||||||||||||||||||||||||||||||||||             68%]\n"
    "  GPU utilization per node\n"
    "      node-a (GPU 0): 65.7%\n"
    "      node-a (GPU 1): 0%\n"
    "  GPU memory usage per node - maximum used/total\n"
    "      node-a (GPU 0): 26.5GB/40.0GB (66.2%)\n"
)
TABLE = (
    "     JobID   Cores  GPUs GPU-Util GPU-Mem-Used-Max CPU-Mem-Used/GPU  Hours\n"
    "    65698718   4     1      8%          4 GB             8 GB         120\n"
    "    65698719   4     1     14%          1 GB             3 GB          30\n"
)


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, entity), value in values(scan(FORMAT, text)).items() if entity == "job:this"}


def test_jobstats() -> None:
    found = facts(JOBSTATS)
    assert found["job.cpu_utilization_share"] == 0.10
    assert found["job.gpu_utilization_share"] == 0.68
    assert (found["job.idle_gpu_count"], found["job.allocated_gpu_count"]) == (1, 2)
    assert found["job.gpu_memory_peak_bytes"] == 26.5 * 2**30
    assert claimed(scan(FORMAT, JOBSTATS)) == set(range(1, 8))


def test_a_table_of_jobs_counts_by_the_busiest_and_the_largest() -> None:
    found = facts(TABLE)
    assert found["job.gpu_utilization_share"] == 0.14
    assert found["job.gpu_memory_peak_bytes"] == 4 * 2**30
    each = values(scan(FORMAT, TABLE))
    assert each["reading.value", "job:this/measurement:job 65698718 (hours)"] == 120


@pytest.mark.parametrize(
    ("line", "fact", "value"),
    [
        ("CPU Efficiency: 4.50% of 1-02:03:04 core-walltime", "job.cpu_utilization_share", 0.045),
        ("Memory Efficiency: 6.25% of 64.00 GB", "job.cpu_memory_share", 0.0625),
        ("GPU Efficiency: 12.00% of 2:00:00 GPU-walltime", "job.gpu_utilization_share", 0.12),
    ],
)
def test_seff(line: str, fact: str, value: float) -> None:
    assert facts(line)[fact] == pytest.approx(value)


def test_a_summary_in_plain_lines_counts_where_a_job_is_named() -> None:
    lines = "GPU utilization: 6%\nGPU memory usage: 3.1GB/80.0GB (3.9%)\n"
    found = facts(f"JobID 8812331\n{lines}")
    assert found["job.gpu_utilization_share"] == pytest.approx(0.06)
    assert found["job.gpu_memory_peak_bytes"] == pytest.approx(3.1 * 2**30, rel=0.08)
    assert facts(lines) == {}


def test_other_text_with_gpus_is_no_summary() -> None:
    assert scan(FORMAT, "number of gpus: 4\ntrain.py (GPU memory usage grows)\n") == []
