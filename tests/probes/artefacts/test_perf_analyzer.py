"""perf_analyzer: blocks, closing lines, headings, CSV, pastes that are cut or wrapped."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.perf_analyzer import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

REPORT = """\
$ perf_analyzer -i grpc -m resnet --concurrency-range 2:4:2
*** Measurement Settings ***
  Batch size: 8
  Using synchronous calls for inference
Request concurrency: 2
  Client:
    Request count: 500
    Throughput: 800 infer/sec
    Avg latency: 20000 usec (standard deviation 300 usec)
    p50 latency: 19000 usec
    p99 latency: 25000 usec
    Avg gRPC time: 19900 usec ((un)marshal request/response 100 usec + response wait 19800 usec)
  Server:
    Inference count: 4000
    Execution count: 500
    Successful request count: 500
    Avg request latency: 19000 usec (overhead 100 usec + queue 8900 usec + compute input 1000 usec
 + compute infer 8000 usec + compute output 1000 usec)
Request concurrency: 4
  Client:
    Throughput: 808 infer/sec
    Avg latency: 39600 usec (standard deviation 300 usec)
"""
TWO = "server:this/model:resnet/load:concurrency 2"
LEVELS = "server:this/model:resnet/sweep:levels"


def test_a_block_gives_the_clients_and_the_servers_part_of_one_load() -> None:
    read = values(scan(FORMAT, REPORT))
    assert read[("serve.concurrency", TWO)] == 2
    assert read[("serve.request_batch_size", TWO)] == 8
    assert read[("serve.throughput_per_second", TWO)] == 800
    assert read[("serve.latency_mean_seconds", TWO)] == 0.02
    assert read[("serve.latency_p99_seconds", TWO)] == 0.025
    assert read[("serve.client_marshal_seconds", TWO)] == 0.0001
    assert read[("serve.inference_count", TWO)] == 4000
    assert read[("serve.queue_seconds", TWO)] == 0.0089
    assert read[("serve.compute_output_seconds", TWO)] == 0.001
    assert read[("serve.software", "server:this")] == "triton"


def test_what_was_sent_late_is_read_and_what_was_sent_is_not_taken_for_what_was_asked() -> None:
    text = (
        "Avg send request rate: 410.5 infer/sec\n"
        "[WARNING] Perf Analyzer was not able to keep up with the desired request rate. 62.50% of the requests"
        " were delayed.\n"
        "Throughput: 410.5 infer/sec\n"
    )
    read = {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}
    assert read["serve.delayed_share"] == pytest.approx(0.625)
    assert read["serve.throughput_per_second"] == 410.5
    assert "serve.offered_per_second" not in read


def test_levels_are_compared() -> None:
    read = values(scan(FORMAT, REPORT))
    assert read[("serve.sweep_load_ratio", LEVELS)] == 2
    assert read[("serve.sweep_throughput_ratio", LEVELS)] == pytest.approx(1.01)  # 808 / 800
    assert read[("serve.sweep_latency_ratio", LEVELS)] == pytest.approx(1.98)  # 39.6 / 20
    assert read[("serve.sweep_knee", LEVELS)] == 2


def test_closing_lines_alone_are_levels() -> None:
    text = (
        "Concurrency: 1, throughput: 62.6 infer/sec, latency 21371 usec\n"
        "Concurrency: 2, 73.2 infer/sec, latency 34381 usec\n"
    )
    read = values(scan(FORMAT, text))
    assert read[("serve.throughput_per_second", "server:this/model:this/load:concurrency 2")] == 73.2
    assert read[("serve.latency_mean_seconds", "server:this/model:this/load:concurrency 1")] == 0.021371
    assert read[("serve.sweep_load_ratio", "server:this/model:this/sweep:levels")] == 2


def test_the_statistic_of_closing_lines_is_the_one_of_their_title() -> None:
    text = (
        "Inferences/Second vs. Client p95 Batch Latency\n"
        "Concurrency: 1, throughput: 62.6 infer/sec, latency 21371 usec\n"
    )
    read = values(scan(FORMAT, text))
    assert read[("serve.latency_p95_seconds", "server:this/model:this/load:concurrency 1")] == 0.021371


def test_runs_under_headings_are_compared_by_what_the_headings_say() -> None:
    text = (
        "### no batching\nConcurrency: 8, throughput: 100 infer/sec, latency 80000 usec\n"
        "### dynamic batching\nConcurrency: 8, throughput: 250 infer/sec, latency 32000 usec\n"
    )
    read = values(scan(FORMAT, text))
    assert read[("serve.batching_throughput_ratio", "server:this/model:this/sweep:settings")] == 2.5


def test_the_same_execution_under_a_sparser_load_is_compared() -> None:
    block = (
        "### {name}\n Server:\n  Inference count: {count}\n  Execution count: {count}\n"
        "  Avg request latency: {total} usec (overhead 1 usec + queue 2 usec + compute input 3 usec"
        " + compute infer {infer} usec + compute output 4 usec)\n"
    )
    text = block.format(name="near", count=1000, total=5010, infer=5000)
    text += block.format(name="far", count=400, total=9010, infer=9000)
    read = values(scan(FORMAT, text))
    assert read[("serve.sparse_load_ratio", "server:this/model:this/sweep:settings")] == 2.5
    assert read[("serve.sparse_infer_ratio", "server:this/model:this/sweep:settings")] == 1.8


def test_steps_of_an_ensemble_are_models_of_their_own() -> None:
    text = (
        "perf_analyzer -m pipe\nRequest concurrency: 1\n  Server:\n    Inference count: 10\n"
        "  Composing models:\n  pre, version: 1\n      Inference count: 10\n      Execution count: 10\n"
        "      Avg request latency: 900 usec (overhead 1 usec + queue 600 usec + compute 299 usec)\n"
    )
    read = values(scan(FORMAT, text))
    assert read[("serve.step_of_ensemble", "server:this/model:pre")] is True
    assert read[("serve.ensemble", "server:this/model:pipe")] is True
    assert read[("serve.queue_seconds", "server:this/model:pre/load:concurrency 1")] == 0.0006
    assert read[("serve.compute_infer_seconds", "server:this/model:pre/load:concurrency 1")] == 0.000299


def test_a_csv_file_gives_one_load_per_row() -> None:
    text = (
        "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,"
        "Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency\n"
        "1,100,5,9000,10,20,900,30,6,9900,9950,9960,9990\n4,110,5,9000,26000,20,900,30,6,36000,36100,36200,36300\n"
    )
    read = values(scan(FORMAT, text))
    one = "server:this/model:this/load:concurrency 1"
    assert read[("serve.network_seconds", one)] == 0.009
    assert read[("serve.client_send_seconds", one)] == 0.000005
    assert read[("serve.queue_seconds", "server:this/model:this/load:concurrency 4")] == 0.026
    assert read[("serve.sweep_queue_ratio", "server:this/model:this/sweep:levels")] == 2600


def test_everything_of_the_report_is_understood() -> None:
    assert claimed(scan(FORMAT, REPORT)) == set(range(1, len(REPORT.splitlines()) + 1))


def test_prose_that_only_names_the_tool_gives_nothing() -> None:
    assert scan(FORMAT, "the request rate: high. Try perf_analyzer -m x\n") == []
