"""trtexec: the summaries of old and new versions, joined lines, warnings, builds."""

from __future__ import annotations

from gpuwhy.probes.artefacts.trtexec import FORMAT
from tests.probes.artefacts.helpers import scan, values

RUN = "server:this/model:this/load:run 1"
STAMP = "[10/23/2024-07:55:37] "
NEW = "".join(
    f"{STAMP}{line}\n"
    for line in (
        "[I] === Performance summary ===",
        "[I] Throughput: 167.8 qps",
        "[I] Latency: min = 6 ms, max = 12 ms, mean = 6.3 ms, median = 6.1 ms, percentile(90%) = 7 ms, "
        "percentile(99%) = 11 ms",
        "[I] Enqueue Time: min = 5 ms, max = 12 ms, mean = 5.9 ms, median = 5.7 ms, percentile(99%) = 11.9 ms",
        "[I] H2D Latency: min = 0.2 ms, max = 0.5 ms, mean = 0.4 ms, median = 0.39 ms, percentile(99%) = 0.47 ms",
        "[I] GPU Compute Time: min = 5.3 ms, max = 12.2 ms, mean = 5.6 ms, median = 5.4 ms, percentile(99%) = 11 ms",
        "[I] D2H Latency: min = 0.2 ms, max = 0.4 ms, mean = 0.3 ms, median = 0.32 ms, percentile(99%) = 0.41 ms",
        "[I] Total Host Walltime: 2.09 s",
        "[I] Total GPU Compute Time: 1.96 s",
        "[W] * Throughput may be bound by Enqueue Time rather than GPU Compute and the GPU may be under-utilized.",
        "[W] * GPU compute time is unstable, with coefficient of variance = 16.4%.",
    )
)
OLD = "".join(
    f"[11/02/2021-09:17:09] [I] {line}\n"
    for line in (
        "Engine built in 109.833 sec.",
        "Host Latency",
        "min: 0.6 ms (end to end 1.0 ms)",
        "mean: 0.7 ms (end to end 1.1 ms)",
        "median: 0.65 ms (end to end 1.0 ms)",
        "percentile: 0.9 ms at 99% (end to end 1.0 ms at 99%)",
        "throughput: 1500 qps",
        "walltime: 3.0 s",
        "Enqueue Time",
        "median: 0.2 ms",
        "GPU Compute",
        "mean: 0.5 ms",
        "total compute time: 2.9 s",
    )
)


def test_a_summary_is_read() -> None:
    read = values(scan(FORMAT, NEW))
    assert read[("serve.throughput_per_second", RUN)] == 167.8
    assert read[("serve.latency_mean_seconds", RUN)] == 0.0063
    assert read[("serve.latency_p90_seconds", RUN)] == 0.007
    assert read[("serve.latency_p99_seconds", RUN)] == 0.011
    assert read[("serve.enqueue_p50_seconds", RUN)] == 0.0057
    assert read[("serve.h2d_seconds", RUN)] == 0.0004
    assert read[("serve.gpu_compute_p50_seconds", RUN)] == 0.0054
    assert read[("serve.d2h_seconds", RUN)] == 0.0003
    assert read[("serve.total_walltime_seconds", RUN)] == 2.09
    assert read[("serve.gpu_compute_total_seconds", RUN)] == 1.96
    assert read[("serve.warned_enqueue_bound", RUN)] is True
    assert read[("serve.warned_gpu_unstable", RUN)] is True
    assert read[("serve.gpu_compute_variation_share", RUN)] == 0.164


def test_a_summary_on_one_line_and_without_its_signs_is_read_the_same() -> None:
    joined = " ".join(
        NEW.replace(STAMP, "").replace("[I] ", "").replace("[W] ", "").replace("mean = ", "mean ").split("\n")
    )
    assert values(scan(FORMAT, joined)) == values(scan(FORMAT, NEW))


def test_the_summary_of_an_old_version_is_read() -> None:
    read = values(scan(FORMAT, OLD))
    assert read[("serve.latency_mean_seconds", RUN)] == 0.0007
    assert read[("serve.latency_p99_seconds", RUN)] == 0.0009
    assert read[("serve.throughput_per_second", RUN)] == 1500
    assert read[("serve.total_walltime_seconds", RUN)] == 3
    assert read[("serve.enqueue_p50_seconds", RUN)] == 0.0002
    assert read[("serve.gpu_compute_seconds", RUN)] == 0.0005
    assert read[("serve.gpu_compute_total_seconds", RUN)] == 2.9
    assert read[("serve.engine_build_seconds", "server:this/model:this")] == 109.833


def test_two_summaries_are_two_runs() -> None:
    read = values(scan(FORMAT, NEW + NEW.replace("167.8", "300")))
    assert read[("serve.throughput_per_second", "server:this/model:this/load:run 2")] == 300


def test_loading_a_finished_engine_is_no_build() -> None:
    assert scan(FORMAT, "[I] Engine deserialized in 0.5 sec.\n[I] Engine loaded in 0.4 sec.\n") == []
