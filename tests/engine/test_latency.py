"""Times of tokens and waits in queues: by hand arithmetic, by closed forms, and never surer than they are."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

from gpuwhy.engine.latency import erlang_c, latency, prefill_budget, wait_seconds
from gpuwhy.engine.shapes import of_config, of_parameters
from gpuwhy.engine.workload import Work
from gpuwhy.kb.load import load
from gpuwhy.kb.offers import Machine, machines


@cache
def types() -> dict[str, Machine]:
    return {one.name: one for one in machines(load().catalogue)}


A10, A100, TWO_A100 = "ecs.gn7i-c8g1.2xlarge", "ecs.gn7e-c16g1.4xlarge", "ecs.gn7e-c16g1.8xlarge"


def served(parameters: float = 7.7e9, **more: Any) -> Work:
    given: dict[str, Any] = {"task": "serve", "method": "inference", "dtype": "bf16", "sequence": 2048} | more
    return Work(shape=of_parameters(parameters), **given)


def test_a_single_place_waits_as_an_m_m_1_queue_does() -> None:
    # M/M/1: P(wait) is the load; waits of those that do are exponential with mean service / (1 - load)
    assert erlang_c(0.5, 1) == pytest.approx(0.5)
    assert wait_seconds(0.5, 1.0, 1, 1.0) == pytest.approx(2 * math.log(0.5 / 0.01))


def test_erlang_c_of_two_places() -> None:
    # a = 1, k = 2: C = (a^k/k!) / ((1 - a/k) * sum_{n<k} a^n/n! + a^k/k!) = 0.5 / (0.5 * 2 + 0.5) = 1/3
    assert erlang_c(1.0, 2) == pytest.approx(1 / 3)


def test_service_times_that_are_all_alike_halve_the_wait() -> None:
    even, exponential = (wait_seconds(1.0, 1.5, 2, variation) for variation in (0.0, 1.0))
    assert even is not None
    assert exponential is not None
    assert even == pytest.approx(exponential / 2)


def test_more_than_all_places_waits_without_end() -> None:
    assert wait_seconds(2.0, 1.0, 2, 0.0) is None
    assert wait_seconds(3.0, 1.0, 2, 0.0) is None


def test_few_requests_for_many_places_do_not_wait() -> None:
    assert wait_seconds(0.1, 1.0, 64, 1.0) == 0.0


def test_thousands_of_places_do_not_overflow() -> None:
    assert 0 < erlang_c(4990.0, 5000) < 1


def test_a_token_takes_at_least_the_weights_at_the_full_bandwidth() -> None:
    times = latency(served(), types()[A10])
    # 7.7e9 x 2 byte / 600e9 byte/s
    assert times.token_least == pytest.approx(15.4e9 / 600e9)


def test_a_single_request_is_not_interrupted() -> None:
    times = latency(served(), types()[A10])
    # weights and keys and values of 2048 tokens (2 x 32 layers x 4096 x 2 byte each), at half of the bandwidth
    held = 15.4e9 + 2048 * 2 * 32 * 4096 * 2
    assert times.token_most == pytest.approx(held / 300e9)


def test_prefill_of_others_comes_between_tokens_unless_answers_are_long() -> None:
    alone = latency(served(concurrency=1), types()[A100]).token_most
    unknown = latency(served(concurrency=8), types()[A100]).token_most
    short = latency(served(concurrency=8, answer_tokens=100), types()[A100]).token_most
    # 7 others, one step of prefill each, in 1,900 tokens: 0.4 %
    long = latency(served(concurrency=8, answer_tokens=1900), types()[A100]).token_most
    assert alone is not None
    assert unknown is not None
    assert short is not None
    assert long is not None
    # 2048 tokens x 2 operations x 7.7e9 and attention, at 45 % of 312 TFLOPS: 0.22 s
    assert unknown - long > 0.2
    assert short > 0.1 > long


def test_the_last_step_of_a_long_prompt_attends_to_all_of_it() -> None:
    alone, other = (latency(served(sequence=32_768, concurrency=one), types()[A100]).token_most for one in (1, 2))
    # weights are held once, keys and values (524,288 bytes a token) twice; the others' step is of 2048 tokens, the last
    # of 32,768: 2048 x 2 x 7.7e9 + 2 x 32 x 4096 x (32,768^2 - 30,720^2) operations at 45 % of 312 TFLOPS
    held = 32_768 * 524_288 / 2039e9 / 0.5
    step = (2048 * 2 * 7.7e9 + 2 * 32 * 4096 * (32_768**2 - 30_720**2)) / 312e12 / 0.45
    assert alone is not None
    assert other is not None
    assert other - alone == pytest.approx(held + step)


def test_the_first_token_takes_at_least_the_prompt_at_the_full_rate() -> None:
    times = latency(served(), types()[A100])
    # 2 x 7.7e9 x 2048 + 2 x 32 layers x 4096 x 2048^2 operations at 312 TFLOPS
    assert times.first_least == pytest.approx((2 * 7.7e9 * 2048 + 2 * 32 * 4096 * 2048**2) / 312e12)


def test_the_load_is_the_rate_times_the_time_of_a_request_over_the_places() -> None:
    work = served(concurrency=4, answer_tokens=1000, requests_per_second=0.5)
    times = latency(work, types()[A100])
    prompt = (2 * 7.7e9 * 1048 + 2 * 32 * 4096 * 1048**2) / 312e12
    assert times.load_least == pytest.approx(0.5 * (prompt + 1000 * 15.4e9 / 2039e9) / 4)
    assert times.load_most is not None
    assert times.load_most > times.load_least  # type: ignore[operator]


def test_what_comes_too_fast_has_no_time_to_the_first_token() -> None:
    times = latency(served(answer_tokens=1000, requests_per_second=10.0), types()[A100])
    assert times.load_least is not None
    assert times.load_least > 1
    assert times.first_least is None


def test_a_model_that_generates_nothing_is_bound_by_compute() -> None:
    times = latency(served(0.11e9, sequence=128, answer_tokens=0, concurrency=4), types()[A10])
    once = (2 * 0.11e9 * 128 + 2 * 12 * 768 * 128**2) / 125e12
    assert times.token_least == pytest.approx(once)
    assert times.token_most == pytest.approx(4 * once / 0.45)


def test_a_slice_has_a_low_side_only_and_a_partition_is_one_of_seven() -> None:
    small = served(0.5e9)
    whole, slice_ = latency(small, types()[A10]), latency(small, types()["ecs.sgn7i-vws-m8.4xlarge"])
    assert slice_.token_least == whole.token_least
    assert slice_.token_most is None
    card, part = latency(small, types()[A100]), latency(served(0.5e9, partitions=True), types()[A100])
    assert card.token_most is not None
    assert part.token_most == pytest.approx(7 * card.token_most)
    assert part.token_least == card.token_least


def test_training_has_no_token_time() -> None:
    assert latency(served(method="full"), types()[A10]).token_least is None


def test_an_unknown_bandwidth_gives_no_times() -> None:
    assert latency(served(), types()["ecs.sgn8ia-m48.24xlarge"]).token_least is None


def test_of_several_experts_only_those_that_are_chosen_are_read() -> None:
    config = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}
    mixtral = of_config(
        config | {"intermediate_size": 14_336, "vocab_size": 32_000, "num_local_experts": 8, "num_experts_per_tok": 2}
    )
    # Mixtral 8x7B: 46.7 billion parameters, 12.9 billion in use
    assert mixtral.parameters == pytest.approx(46.7e9, rel=0.01)
    assert mixtral.active_parameters == pytest.approx(12.9e9, rel=0.01)
    work = Work(task="serve", method="inference", dtype="bf16", shape=mixtral, sequence=2048)
    assert latency(work, types()[TWO_A100]).token_least == pytest.approx(12.9e9 * 2 / 2 / 2039e9, rel=0.01)


def test_the_prefill_of_a_step_that_keeps_the_time() -> None:
    work = served(concurrency=2, token_seconds=0.1)
    # 0.1 s less (15.4e9 + 2 x 2048 x 524,288) / 2039e9 / 0.5, at 45 % of 312 TFLOPS; a token takes 2 x 7.7e9
    # operations, and at the end of a prompt of 2048 another 4 x 32 x 4096 x 2048
    left = 0.1 - (15.4e9 + 2 * 2048 * 524_288) / 2039e9 / 0.5
    assert prefill_budget(work, types()[A100]) == int(left * 312e12 * 0.45 / (2 * 7.7e9 + 4 * 32 * 4096 * 2048))


def test_no_step_is_small_enough_where_decoding_alone_takes_too_long() -> None:
    assert prefill_budget(served(token_seconds=0.03), types()[A10]) == 0
