"""Labelled numbers of ad-hoc benchmarks, and what several settings of one piece of work say together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.labelled import FORMAT, MOST_READINGS
from tests.probes.artefacts.helpers import claimed, scan, values


def facts(content: str) -> dict[str, Value]:
    """Facts about the job by their id, the others by the name of their entity."""
    found = values(scan(FORMAT, content))
    return {
        fact if path in ("job:this", "host:this") else path.partition(":")[2].partition(":")[2]: value
        for (fact, path), value in found.items()
    }


@pytest.mark.parametrize(
    ("line", "fact", "label", "value"),
    [
        ("* Mine: **12.5 ms/frame**", "seconds", "Mine", 0.0125),
        ("latency = 3.5 us", "seconds", "latency", 3.5e-6),
        ("first run of a model:  20 s", "seconds", "first run of a model", 20.0),
        ("peak memory: 2.5 GiB", "bytes", "peak memory", 2.5 * 1024**3),
        ("copy rate = 12 GB/s", "value", "copy rate (GB/s)", 12e9),
        ("cache hits: 44 %", "share", "cache hits", 0.44),
        ("H100: 66 tokens/second", "value", "H100 (tokens/second)", 66.0),
        ("cudaLaunchKernel: 1.24x", "value", "cudaLaunchKernel (x)", 1.24),
        ("Time: 46.97", "seconds", "Time", 46.97),
        ("step_time_ms: 12", "seconds", "step_time_ms", 0.012),
        ("plain kernel   26 calls  4.78 ms", "count", "plain kernel calls", 26.0),
        ("CPU count           128", "value", "CPU count", 128.0),
        ("slow path without x 80.36ms", "seconds", "slow path without x", 0.08036),
    ],
)
def test_one_labelled_number(line: str, fact: str, label: str, value: float) -> None:
    found = values(scan(FORMAT, line))
    assert found[f"reading.{fact}", f"job:this/measurement:{label}"] == pytest.approx(value)
    assert claimed(scan(FORMAT, line)) == {1}


@pytest.mark.parametrize(
    "line",
    [
        "I think it is slower since we moved to the new machine, about 3 s or so.",
        "We have 8 workers and that was not enough when the disk is slow",
        '  File "train.py", line 12, in main',
        "see https://example.org/x?time=3s",
        "    for epoch in range(10):",
        "RuntimeError: something at 0x7fff1234",
        "GPU0     X      PIX     NODE    0-47,96-143     0",
        "  1048576        262144   float    47.38   22.13   11.06  0e+00    46.84   22.39   11.19  0e+00",
        "2024-01-01 10:00:00 INFO worker started with pid 1234",
        "version 1.2.3-rc4 of libfoo.so.5",
        "###  Results 2",
    ],
)
def test_prose_code_and_unlabelled_columns_are_left_alone(line: str) -> None:
    assert scan(FORMAT, line) == []


def test_sweep_over_loader_workers() -> None:
    found = facts(
        "\n".join(f"num_workers={n}: average time: {t}" for n, t in [(0, 6.0), (1, 4.0), (2, 1.2), (4, 1.18)])
    )
    assert found["bench.workers_least"] == 0
    assert found["bench.workers_best"] == 2  # within 5 % of the best
    assert found["bench.workers_speedup"] == pytest.approx(6.0 / 1.18)
    assert found["loader.more_workers_help"] is True


def test_sweep_in_a_table_and_in_samples_per_second() -> None:
    found = facts("| num_workers | images/s |\n|---|---|\n| 0 | 100 |\n| 8 | 105 |\n")
    assert found["num_workers 8 images/s"] == 105
    assert found["bench.workers_speedup"] == pytest.approx(1.05)
    found = facts("workers=0: 100 images/s\nworkers=8: 105 images/s\n")
    assert found["loader.more_workers_help"] is False


def test_pinned_memory_and_non_blocking_copies() -> None:
    found = facts(
        "pin_memory= True, non_blocking= True: average time: 0.4\n"
        "pin_memory= True, non_blocking=False: average time: 0.5\n"
        "pin_memory=False, non_blocking= True: average time: 0.8\n"
        "pin_memory=False, non_blocking=False: average time: 0.6\n"
    )
    assert found["bench.pinned_speedup"] == pytest.approx(1.2)
    assert found["bench.nonblocking_speedup"] == pytest.approx(1.25)
    assert found["bench.pinned_nonblocking_speedup"] == pytest.approx(1.5)
    assert found["bench.nonblocking_pageable_speedup"] == pytest.approx(0.75)


def test_copy_rates_of_several_ways_over_one_link() -> None:
    found = facts("pageable copy:  3.0 GB/s\npinned copy:  12.0 GB/s\n")
    assert found["bench.pageable_bandwidth_bytes_per_second"] == 3e9
    assert found["bench.pinned_bandwidth_bytes_per_second"] == 12e9
    assert found["bench.transfer_speedup"] == pytest.approx(4.0)


def test_eager_and_graph() -> None:
    content = """* Eager: **50 ms/frame**
* CUDA Graph: **10 ms/frame**
* Eager GPU busy time: **5 ms**
* Graph GPU busy time: **4 ms**
* Eager: **1000 kernels / 1001 launches / 1407 allocator calls**
* Graph: **990 kernels / 9 launches / 7 allocator calls**
"""
    found = values(scan(FORMAT, content))
    assert found["step.graph_speedup_ratio", "job:this"] == pytest.approx(5.0)
    assert found["step.gpu_busy_share", "job:this"] == pytest.approx(0.1)
    assert found["step.kernel_count", "job:this"] == 1000
    assert found["step.launch_count", "job:this/workload:graph"] == 9
    assert found["step.gpu_busy_share", "job:this/workload:graph"] == pytest.approx(0.4)
    assert found["reading.count", "job:this/measurement:Eager allocator calls"] == 1407


def test_busy_rows_of_several_workloads_are_not_mixed() -> None:
    found = values(
        scan(
            FORMAT,
            """card small net     kernels   60  busy   0.40 ms  span   4.00 ms  mean kernel   5.1 us
card large net     kernels  446  busy 158.43 ms  span 160.00 ms  busy 99.0%  mean kernel 347.2 us
""",
        )
    )
    assert found["step.gpu_busy_share", "job:this/workload:card small net"] == pytest.approx(0.1)
    assert found["step.kernel_mean_seconds", "job:this/workload:card large net"] == pytest.approx(347.2e-6)
    assert found["step.gpu_busy_share", "job:this"] == pytest.approx(0.1)
    assert found["step.kernel_count", "job:this"] == 60
    assert found["step.window_seconds", "job:this"] == pytest.approx(0.004)


def test_devices_with_a_sum_of_kernel_times() -> None:
    found = facts("device 0: kernels 1000 sum 20 ms span 1000 ms\ndevice 1: kernels 1000 sum 25 ms span 1000 ms\n")
    assert found["step.gpu_busy_share"] == pytest.approx(0.02)
    assert found["step.kernel_mean_seconds"] == pytest.approx(20e-6)


def test_with_and_without_a_thread_limit() -> None:
    found = facts("with thread limit:    CPU ~800%   10 s/data\nwithout thread limit: CPU ~1600%  60 s/data\n")
    assert found["bench.thread_limit_speedup"] == pytest.approx(6.0)
    assert found["bench.thread_limit_cpu_ratio"] == pytest.approx(2.0)


def test_before_and_after_in_a_table() -> None:
    table = (
        "| Option | BWD (ms) | Speed up |\n|-----|-----|----|\n| Before it | 2500.0 | 1x |\n| After it| 250.0 | 10X |\n"
    )
    found = facts(table)
    assert found["Before it BWD (ms)"] == pytest.approx(2.5)
    assert found["After it Speed up (X)"] == 10.0
    assert found["bench.variant_speedup"] == pytest.approx(10.0)
    assert claimed(scan(FORMAT, table)) == {1, 2, 3, 4}


def test_two_gpus_against_one() -> None:
    found = facts("One H100 : 1.0 s/it\nTwo H100s: 1.6 s/it\n")
    assert found["bench.scaling_speedup"] == pytest.approx(1.25)  # two batches in 1.6 s against one in 1.0 s
    assert found["bench.scaling_efficiency_share"] == pytest.approx(0.625)


def test_tables_with_commas_and_with_aligned_columns() -> None:
    found = facts(",ssd,resnet50\n1xA100,607.0,1976.0\n2xA100,1200.0,3900.0\n")
    assert found["2xA100 resnet50"] == 3900.0
    found = facts(
        "instance        GPU    pp512   tg128\n"
        "aws small       T4    1276.1    42.5\naws large       L4    2669.9    53.5\n"
    )
    assert found["aws large L4 tg128"] == 53.5


def test_labels_that_return_are_told_apart() -> None:
    found = facts("Time: 40.5\n---\nTime: 70.5\n")
    assert (found["Time"], found["Time #2"]) == (40.5, 70.5)


def test_a_flood_of_labelled_lines_is_capped() -> None:
    (extract,) = scan(FORMAT, "\n".join(f"value {n} = {n} ms" for n in range(5000)))
    assert len(extract.readings) <= MOST_READINGS + 20


SAMPLE = (
    "* Eager: **50 ms/frame**\n"
    + "| a | b (ms) |\n|---|---|\n| x | 3 |\nnum_workers=2: average time: 1.3\n"
    + "D2H  6.608 GB/s\n"
)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, len(SAMPLE)), st.integers(0, len(SAMPLE)), st.text(max_size=40))
def test_cut_and_spliced_lines_never_raise(start: int, end: int, junk: str) -> None:
    scan(FORMAT, SAMPLE[start:] + junk + SAMPLE[:end])
