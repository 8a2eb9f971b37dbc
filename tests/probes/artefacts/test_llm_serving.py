"""Logs and benchmarks of language-model servers."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts import llm_benchmark, llm_serving
from tests.probes.artefacts.helpers import scan, values

LOG = "server:this/model:this/load:log"
VLLM = (
    "INFO 10-06 11:23:{at:02} [loggers.py:127] Engine 000: Avg prompt throughput: {prompt} tokens/s, Avg generation "
    "throughput: {made} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: {cache}%, "
    "Prefix cache hit rate: 10.0%\n"
)


def test_intervals_of_vllm_are_folded_and_idle_ones_left_out() -> None:
    text = "".join(
        VLLM.format(at=at, prompt=100.0, made=made, running=running, waiting=waiting, cache=cache)
        for at, made, running, waiting, cache in (
            (1, 0.0, 0, 0, 0.0), (11, 800.0, 60, 0, 70.5), (21, 900.0, 64, 20, 99.0), (31, 1000.0, 64, 50, 98.0),
        )
    )  # fmt: skip
    read = values(scan(llm_serving.FORMAT, text))
    assert read[("serve.software", "server:this")] == "vllm"
    assert read[("serve.output_tokens_per_second", LOG)] == 900  # the middle of 800, 900, 1000
    assert read[("serve.waiting_count", LOG)] == 20
    assert read[("serve.waiting_max_count", LOG)] == 50
    assert read[("serve.running_max_count", LOG)] == 64
    assert read[("serve.kv_cache_used_max_share", LOG)] == 0.99
    assert read[("serve.waiting_share", LOG)] == pytest.approx(2 / 3)


def test_old_vllm_words_it_otherwise() -> None:
    text = (
        "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 40.0 tokens/s, Running: 1 reqs, "
        "Swapped: 2 reqs, "
        "Pending: 7 reqs, GPU KV cache usage: 12.5%, CPU KV cache usage: 0.0%\n"
    )
    read = values(scan(llm_serving.FORMAT, text))
    assert read[("serve.waiting_count", LOG)] == 7
    assert read[("serve.swapped_count", LOG)] == 2
    assert read[("serve.kv_cache_used_share", LOG)] == 0.125


def test_batches_of_sglang_are_read() -> None:
    text = (
        "[2026-05-20 08:02:44 TP0] Decode batch, #running-req: 4, #token: 477376, token usage: 0.90, cuda "
        "graph: True, "
        "gen throughput (token/s): 199.95, #queue-req: 6\n"
        "[2026-05-20 08:02:45 TP0] Prefill batch. #new-seq: 1, #new-token: 1, #cached-token: 0, token usage: 0.90, "
        "#running-req: 4, #queue-req: 6\n"
    )
    read = values(scan(llm_serving.FORMAT, text))
    assert read[("serve.running_count", LOG)] == 4
    assert read[("serve.waiting_count", LOG)] == 6
    assert read[("serve.kv_cache_used_share", LOG)] == 0.9
    assert read[("serve.output_tokens_per_second", LOG)] == 199.95


def test_requests_of_tgi_are_averaged() -> None:
    line = (
        '2024-12-10T21:50:03Z  INFO chat_completions{{total_time="{0}ms" queue_time="{1}ms" '
        'inference_time="500ms" time_per_token="25ms" seed="Some(1)"}}: text_generation_router::server: Success\n'
    )
    read = values(scan(llm_serving.FORMAT, line.format(600, 100) + line.format(1200, 700)))
    assert read[("serve.queue_seconds", LOG)] == 0.4  # the mean of 100 and 700 ms
    assert read[("serve.queue_max_seconds", LOG)] == 0.7
    assert read[("serve.server_latency_seconds", LOG)] == 0.9
    assert read[("serve.compute_infer_seconds", LOG)] == 0.5
    assert read[("serve.request_count", LOG)] == 2


def test_timings_of_llama_cpp_are_read() -> None:
    text = (
        "llama_perf_context_print: prompt eval time =    2441.22 ms /   161 tokens (   15.16 ms per token,   "
        " 65.95 tokens "
        "per second)\n"
        "llama_perf_context_print:        eval time =  349899.35 ms /  8853 runs   (   39.52 ms per token,   "
        " 25.30 tokens "
        "per second)\n"
    )
    read = values(scan(llm_serving.FORMAT, text))
    one = "server:this/model:this/load:log 1"
    assert read[("serve.prefill_seconds", one)] == 2.44122
    assert read[("serve.prefill_tokens_per_second", one)] == 65.95
    assert read[("serve.decode_tokens_per_second", one)] == 25.30
    assert read[("serve.output_tokens", one)] == 8853


def test_settings_and_preemptions_are_read() -> None:
    text = (
        "non-default args: {'max_num_seqs': 16, 'enforce_eager': True}\n"
        "WARNING scheduler.py:1057] Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because "
        "there is not "
        "enough KV cache space. total_cumulative_preemption_cnt=51\n"
    )
    read = values(scan(llm_serving.FORMAT, text))
    assert read[("serve.slot_count", "server:this")] == 16
    assert read[("serve.eager_mode", "server:this")] is True
    assert read[("serve.preemption_count", LOG)] == 51


BENCHMARK = """\
============ Serving Benchmark Result ============
Successful requests:                     300
Maximum request concurrency:             25
Request rate configured (RPS):           1.50
Benchmark duration (s):                  1869.43
Total generated tokens:                  150317
Request throughput (req/s):              0.16
Output token throughput (tok/s):         80.41
---------------Time to First Token----------------
Mean TTFT (ms):                          34710.68
Median TTFT (ms):                        33368.32
P99 TTFT (ms):                           46270.26
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          179.07
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   157842.85
"""
RESULT = "server:this/model:this/load:result 1"


def test_a_benchmark_block_is_one_load() -> None:
    read = values(scan(llm_benchmark.FORMAT, BENCHMARK))
    assert read[("serve.request_count", RESULT)] == 300
    assert read[("serve.concurrency", RESULT)] == 25
    assert read[("serve.offered_per_second", RESULT)] == 1.5
    assert read[("serve.requests_per_second", RESULT)] == 0.16
    assert read[("serve.ttft_mean_seconds", RESULT)] == 34.71068
    assert read[("serve.tpot_mean_seconds", RESULT)] == 0.17907
    assert read[("serve.latency_mean_seconds", RESULT)] == 157.84285


def test_two_blocks_are_compared() -> None:
    text = BENCHMARK + BENCHMARK.replace("25", "50").replace("80.41", "88.451")
    read = values(scan(llm_benchmark.FORMAT, text))
    assert read[("serve.sweep_load_ratio", "server:this/model:this/sweep:levels")] == 2
    assert read[("serve.output_tokens_per_second", "server:this/model:this/load:result 2")] == 88.451


def test_the_json_of_a_result_is_the_same() -> None:
    text = '{"completed": 300, "request_throughput": 0.16, "mean_ttft_ms": 34710.68, "median_tpot_ms": 180.5}\n'
    read = values(scan(llm_benchmark.FORMAT, text))
    assert read[("serve.ttft_mean_seconds", RESULT)] == 34.71068
    assert read[("serve.tpot_p50_seconds", RESULT)] == 0.1805
    assert read[("serve.requests_per_second", RESULT)] == 0.16
