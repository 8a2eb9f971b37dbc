"""Metrics of Triton: one scrape tells of everything since the start, two tell of the time between."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.contract import Extract
from gpuwhy.probes.artefacts.triton_metrics import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

WINDOW = "server:this/model:echo/load:window"
SINCE_START = "server:this/model:echo/load:since the start"


def scrape(count: int, queue: int = 0, infer: int = 0, executions: int | None = None, extra: str = "") -> str:
    """The text of one scrape; times in microseconds, all of them since the start."""
    labels = '{model="echo",version="1"}'
    return (
        "# HELP nv_inference_request_success Number of successful inference requests, all batch sizes\n"
        "# TYPE nv_inference_request_success counter\n"
        f"nv_inference_request_success{labels} {count}\n"
        f'nv_inference_request_failure{{model="echo",reason="REJECTED",version="1"}} 2\n'
        f'nv_inference_request_failure{{model="echo",reason="BACKEND",version="1"}} 1\n'
        f"nv_inference_count{labels} {count}\n"
        f"nv_inference_exec_count{labels} {count if executions is None else executions}\n"
        f"nv_inference_request_duration_us{labels} {queue + infer}\n"
        f"nv_inference_queue_duration_us{labels} {queue}\n"
        f"nv_inference_compute_input_duration_us{labels} 0\n"
        f"nv_inference_compute_infer_duration_us{labels} {infer}\n"
        f"nv_inference_compute_output_duration_us{labels} 0\n" + extra
    )


def reasons(extracts: list[Extract]) -> dict[str, str]:
    return {one.fact: one.reason for extract in extracts for one in extract.missing}


def test_one_scrape_is_cumulative_and_says_what_it_cannot_tell() -> None:
    extracts = scan(FORMAT, scrape(100, queue=3_000_000, infer=1_000_000))
    found = values(extracts)
    assert found["serve.cumulative", SINCE_START] is True
    assert found["serve.request_count", SINCE_START] == 100
    assert found["serve.failed_count", SINCE_START] == 3  # 2 rejected + 1 of the backend
    assert found["serve.failed_rejected_count", SINCE_START] == 2
    assert found["serve.queue_seconds", SINCE_START] == pytest.approx(0.03)  # 3 s over 100 requests
    assert found["serve.server_latency_seconds", SINCE_START] == pytest.approx(0.04)
    assert ("serve.requests_per_second", SINCE_START) not in found
    assert "a second read" in reasons(extracts)["serve.requests_per_second"]


@pytest.mark.parametrize(
    "between",
    [
        "$ sleep 10\n",
        "Mon Nov 30 02:15:16 UTC 2026\n",
        "Date: Mon, 30 Nov 2026 02:15:16 GMT\n",
        "2026-11-30T02:15:16Z\n",
    ],
    ids=["sleep", "date", "http", "iso"],
)
def test_two_scrapes_are_a_window(between: str) -> None:
    first = "Mon Nov 30 02:15:06 UTC 2026\n" + scrape(100, queue=1_000_000, infer=1_000_000)
    if between.startswith("$"):
        first = scrape(100, queue=1_000_000, infer=1_000_000)
    extracts = scan(FORMAT, first + between + scrape(300, queue=7_000_000, infer=3_000_000, executions=150))
    found = values(extracts)
    assert found["serve.cumulative", WINDOW] is False
    assert found["serve.counter_reset", WINDOW] is False
    assert found["serve.window_seconds", WINDOW] == 10
    assert found["serve.request_count", WINDOW] == 200
    assert found["serve.requests_per_second", WINDOW] == 20
    assert found["serve.queue_seconds", WINDOW] == pytest.approx(0.03)  # 6 s over 200
    assert found["serve.compute_infer_seconds", WINDOW] == pytest.approx(0.01)  # 2 s over 200
    assert found["serve.batch_size_mean", WINDOW] == 4  # 200 in 150 - 100 executions
    assert extracts[0].troubles == ()


def test_without_a_time_between_there_are_means_and_no_rates() -> None:
    extracts = scan(FORMAT, scrape(100, queue=100) + scrape(300, queue=2_000_100))
    found = values(extracts)
    assert found["serve.queue_seconds", WINDOW] == pytest.approx(0.01)
    assert ("serve.requests_per_second", WINDOW) not in found
    assert "how much time" in extracts[0].troubles[0].message


def test_counters_that_fell_are_a_reset_and_what_came_after_it() -> None:
    found = values(scan(FORMAT, scrape(1000, queue=9_000_000) + "$ sleep 5\n" + scrape(50, queue=500_000)))
    assert found["serve.counter_reset", WINDOW] is True
    assert found["serve.request_count", WINDOW] == 50
    assert found["serve.queue_seconds", WINDOW] == pytest.approx(0.01)


def test_empty_summaries_are_missing_not_numbers() -> None:
    labels = 'model="echo",version="1",quantile='
    extra = "".join(f'nv_inference_request_summary_us{{{labels}"{one}"}} NaN\n' for one in ("0.5", "0.9", "0.99"))
    extracts = scan(FORMAT, scrape(10, infer=1000, extra=extra))
    assert not [key for key in values(extracts) if "_p50_" in key[0] or "_p99_" in key[0]]
    assert "NaN" in reasons(extracts)["serve.server_latency_p99_seconds"]


def test_summaries_are_read_in_seconds() -> None:
    labels = 'model="echo",version="1",quantile='
    extra = (
        f'nv_inference_queue_summary_us{{{labels}"0.5"}} 20208\nnv_inference_queue_summary_us{{{labels}"0.99"}} 40000\n'
    )
    found = values(scan(FORMAT, scrape(10, infer=1000, extra=extra)))
    assert found["serve.queue_p50_seconds", SINCE_START] == pytest.approx(0.020208)
    assert found["serve.queue_p99_seconds", SINCE_START] == pytest.approx(0.04)


def test_requests_without_any_time_are_missing_statistics() -> None:
    extracts = scan(FORMAT, scrape(100))
    found = values(extracts)
    assert found["serve.statistics_missing", SINCE_START] is True
    assert ("serve.queue_seconds", SINCE_START) not in found
    assert "counted no time" in reasons(extracts)["serve.queue_seconds"]


def test_a_model_that_answered_nothing_has_no_means_and_no_verdict_on_its_statistics() -> None:
    extracts = scan(FORMAT, scrape(0))
    found = values(extracts)
    assert found["serve.request_count", SINCE_START] == 0
    assert ("serve.statistics_missing", SINCE_START) not in found
    assert "no request" in reasons(extracts)["serve.queue_seconds"]


def test_families_that_are_not_there_are_missing_by_name() -> None:
    text = 'nv_inference_request_success{model="echo",version="1"} 5\n'
    assert "nv_inference_queue_duration_us" in reasons(scan(FORMAT, text))["serve.queue_seconds"]


GPU = (
    'nv_gpu_utilization{gpu_uuid="GPU-1"} 0.250000\nnv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 8000000000\n'
    'nv_gpu_power_usage{gpu_uuid="GPU-1"} 80.5\nnv_gpu_power_limit{gpu_uuid="GPU-1"} 250\n'
)


def test_gauges_of_gpus_are_read() -> None:
    found = values(scan(FORMAT, scrape(1, infer=10, extra=GPU)))
    assert found["gpu.utilization_share", "gpu:0"] == 0.25
    assert found["gpu.power_watts", "gpu:0"] == 80.5
    assert ("serve.gpu_metrics_missing", "server:this") not in found


def test_zeros_of_a_gpu_that_could_not_be_read_are_no_readings() -> None:
    failed = GPU.replace("0.250000", "0").replace("8000000000", "0").replace("80.5", "0").replace(" 250", " 0")
    extracts = scan(FORMAT, scrape(1, infer=10, extra=failed))
    found = values(extracts)
    assert [key for key in found if key[0].startswith("gpu.")] == [("gpu.uuid", "gpu:0")]
    assert found["serve.gpu_metrics_missing", "server:this"] is True
    assert "read of the GPU failed" in reasons(extracts)["gpu.utilization_share"]


def test_a_gpu_at_rest_that_draws_power_is_a_reading() -> None:
    found = values(scan(FORMAT, scrape(1, infer=10, extra=GPU.replace("0.250000", "0.000000"))))
    assert found["gpu.utilization_share", "gpu:0"] == 0


def test_a_model_on_several_gpus_is_one_model_and_versions_are_told_apart() -> None:
    text = (
        'nv_inference_request_success{gpu_uuid="GPU-a",model="m",version="1"} 10\n'
        'nv_inference_request_success{gpu_uuid="GPU-b",model="m",version="1"} 5\n'
        'nv_inference_request_success{gpu_uuid="GPU-a",model="m",version="2"} 7\n'
    )
    found = values(scan(FORMAT, text))
    assert found["serve.request_count", "server:this/model:m (version 1)/load:since the start"] == 15
    assert found["serve.request_count", "server:this/model:m (version 2)/load:since the start"] == 7


def test_lines_are_claimed_and_readings_point_to_theirs() -> None:
    text = "it is slow, see\n\n" + scrape(100, queue=5, infer=5) + "what now?\n"
    extracts = scan(FORMAT, text)
    assert claimed(extracts) == set(range(3, 15))
    queue = next(one for one in extracts[0].readings if one.fact == "serve.queue_seconds")
    assert queue.line == 11
    assert (queue.text or "").startswith("nv_inference_queue_duration_us")
