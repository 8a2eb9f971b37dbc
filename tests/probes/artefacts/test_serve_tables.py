"""Tables of measurements at several loads, and latencies one after another."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts import latency_series, serve_tables
from gpuwhy.probes.artefacts.serve_columns import Column, column, number_in
from tests.probes.artefacts.helpers import scan, values

MODEL = "server:this/model:this"


@pytest.mark.parametrize(
    ("name", "fact", "unit"),
    [
        ("Concurrency", "serve.concurrency", ""),
        ("batch", "serve.request_batch_size", ""),
        ("p99 latency (ms)", "serve.latency_p99_seconds", "ms"),
        ("compute_infer(ms)", "serve.compute_infer_seconds", "ms"),
        ("Queue [us]", "serve.queue_seconds", "us"),
        ("ttft_p50_ms", "serve.ttft_p50_seconds", "ms"),
        ("Mean TTFT (ms)", "serve.ttft_mean_seconds", "ms"),
        ("agg_tok_per_s", "serve.output_tokens_per_second", ""),
        ("decode_p50", "serve.decode_tokens_per_second", ""),
        ("Throughput (req/s)", "serve.throughput_per_second", ""),
        ("QPS", "serve.throughput_per_second", ""),
    ],
)
def test_a_column_is_known_by_its_name(name: str, fact: str, unit: str) -> None:
    found = column(name)
    assert found is not None
    assert (found.fact, found.unit) == (fact, unit)


@pytest.mark.parametrize("name", ["loss", "model", "", "GPU", "lr", "accuracy", "x" * 70])
def test_other_columns_are_not(name: str) -> None:
    assert column(name) is None


def test_a_time_without_a_unit_is_no_time() -> None:
    assert number_in("12", Column("serve.latency_mean_seconds", True)) is None
    assert number_in("12 ms", Column("serve.latency_mean_seconds", True)) == 0.012
    assert number_in("12", Column("serve.latency_mean_seconds", True, "us")) == pytest.approx(12e-6)


def test_a_table_gives_a_load_per_row_and_compares_them() -> None:
    text = (
        "| Concurrency | Throughput (req/s) | p50 latency (ms) |\n|---|---|---|\n"
        "| 1 | 50 | 20 |\n| 8 | 100 | 80 |\n| 16 | 101 | 158 |\n"
    )
    read = values(scan(serve_tables.FORMAT, text))
    assert read[("serve.latency_p50_seconds", f"{MODEL}/load:concurrency 8")] == 0.08
    assert read[("serve.sweep_throughput_ratio", f"{MODEL}/sweep:levels")] == 2.02
    assert read[("serve.sweep_latency_ratio", f"{MODEL}/sweep:levels")] == 7.9
    assert read[("serve.sweep_knee", f"{MODEL}/sweep:levels")] == 8


def test_the_latency_beside_a_queue_is_the_servers() -> None:
    read = values(scan(serve_tables.FORMAT, "batch | queue(ms) | avg_latency(ms)\n2 | 7 | 17\n4 | 9 | 27\n"))
    assert read[("serve.server_latency_seconds", f"{MODEL}/load:batch 2")] == 0.017
    assert read[("serve.sweep_over_batch", f"{MODEL}/sweep:levels")] is True


def test_rows_of_keys_and_values_are_loads() -> None:
    text = (
        "slots=1: agg_tok_per_s 94 ttft_p50_ms 4110.8 decode_p50 98\n"
        "slots=4: agg_tok_per_s 95 ttft_p50_ms 133.4 decode_p50 24.5\n"
    )
    read = values(scan(serve_tables.FORMAT, text))
    assert read[("serve.ttft_p50_seconds", f"{MODEL}/load:concurrency 1")] == 4.1108
    assert read[("serve.sweep_decode_ratio", f"{MODEL}/sweep:levels")] == 0.25
    assert read[("serve.sweep_load_ratio", f"{MODEL}/sweep:levels")] == 4


def test_a_training_table_is_none_of_loads() -> None:
    assert scan(serve_tables.FORMAT, "| batch | loss | acc |\n| 1 | 2 | 3 |\n") == []


def test_a_slow_first_request_is_seen_in_a_series() -> None:
    text = "".join(f"request {place}: {value} ms\n" for place, value in enumerate((5000, 52, 50, 51, 50, 49)))
    read = values(scan(latency_series.FORMAT, text))
    one = f"{MODEL}/load:request #"
    assert read[("serve.first_latency_seconds", one)] == 5
    assert read[("serve.steady_latency_seconds", one)] == 0.05
    assert read[("serve.slow_start_count", one)] == 1
    assert read[("serve.growth_ratio", one)] == pytest.approx(49 / 5000)
    # of five steps one rises (50 to 51), 2.5 would by chance, the standard deviation is the root of 7/12
    assert read[("serve.rise_score", one)] == pytest.approx(-1.5 / (7 / 12) ** 0.5)
    assert read[("serve.spike_count", one)] == 0


def test_a_series_that_grows_is_seen() -> None:
    text = "".join(f"request {place} took {value} ms\n" for place, value in enumerate((50, 100, 150, 200, 250)))
    read = values(scan(latency_series.FORMAT, text))
    assert read[("serve.growth_ratio", f"{MODEL}/load:request # took")] == 5
    # all four steps rise, two would by chance, the standard deviation is the root of 6/12
    assert read[("serve.rise_score", f"{MODEL}/load:request # took")] == pytest.approx(2 / 0.5**0.5)


def test_the_first_of_a_new_shape_is_told_from_the_first_of_all() -> None:
    shape = "first inference of a new shape: 20 s\nsecond inference of the same shape: 0.1 s\n"
    read = values(scan(latency_series.FORMAT, shape))
    assert read[("serve.new_shape_ratio", f"{MODEL}/load:first and later")] == 200
    plain = values(scan(latency_series.FORMAT, "first inference: 20 s\nlater inferences: 0.1 s\n"))
    assert plain[("serve.first_latency_seconds", f"{MODEL}/load:first and later")] == 20
    assert plain[("serve.steady_latency_seconds", f"{MODEL}/load:first and later")] == 0.1
    assert ("serve.new_shape_ratio", f"{MODEL}/load:first and later") not in plain


def test_pauses_that_make_requests_slow_are_seen() -> None:
    text = "interval 0.1 s: latency 2.1 ms\ninterval 1 s: latency 6.3 ms\n"
    read = values(scan(latency_series.FORMAT, text))
    assert read[("serve.after_idle_ratio", f"{MODEL}/load:pauses")] == pytest.approx(3)


def test_throughput_over_time_is_compared_with_its_start() -> None:
    text = "t=0 s throughput 1/s\nt=10 s throughput 2/s\nt=240 s throughput 20/s\n"
    read = values(scan(latency_series.FORMAT, text))
    assert read[("serve.start_throughput_ratio", f"{MODEL}/load:over time")] == 20
    assert read[("serve.slow_start_seconds", f"{MODEL}/load:over time")] == 240


def test_first_and_later_without_a_unit_give_only_their_ratio() -> None:
    text = "first run time  5.0\naverage 0.05\ninput2 first run time  4.9\naverage 0.05\n"
    read = values(scan(latency_series.FORMAT, text))
    one = f"{MODEL}/load:first and later"
    assert read[("serve.first_latency_ratio", one)] == 100
    assert read[("serve.new_shape_ratio", one)] == pytest.approx(98)  # 4.9 over 0.05
    assert ("serve.first_latency_seconds", one) not in read


def test_pauses_named_in_titles_are_compared() -> None:
    text = "interval 0.1s:\n  Handler (avg): 2441us, Queue (avg): 16us\ninterval 1s:\n  Handler (avg): 9811us\n"
    ratio = values(scan(latency_series.FORMAT, text))[("serve.after_idle_ratio", f"{MODEL}/load:pauses")]
    assert ratio == pytest.approx(9811 / 2441)


def test_inputs_whose_shape_is_new_take_a_thousand_times_as_long() -> None:
    rows = [("1444,80", 100.49), ("1182,80", 36.46), ("874,80", 0.0339), ("962,80", 0.03), ("1033,80", 0.0321)]
    text = "\n".join(f"input:({shape}) cost:{cost} of inference" for shape, cost in rows) + "\n"
    found = {fact: value for (fact, _), value in values(scan(latency_series.FORMAT, text)).items()}
    assert found["serve.spike_count"] == 2
    # the middle of 100.49 and 36.46 is 68.475, over the fastest of 0.03
    assert found["serve.spike_ratio"] == found["serve.new_shape_ratio"] == pytest.approx(2282.5)


def test_inputs_that_are_far_larger_may_take_far_longer() -> None:
    """Of (1,128) and (32,2048) values, the second has 512 times as many: 800 times the time is what that costs."""
    rows = [("1,128", 0.01), ("1,256", 0.02), ("4,512", 0.2), ("32,2048", 8.0)]
    text = "\n".join(f"input:({shape}) cost:{cost} of inference" for shape, cost in rows) + "\n"
    found = {fact: value for (fact, _), value in values(scan(latency_series.FORMAT, text)).items()}
    assert found["serve.spike_count"] == 0
    assert "serve.new_shape_ratio" not in found


def test_inputs_of_different_size_that_take_a_little_longer_are_no_sign() -> None:
    text = "\n".join(f"input:({size},80) cost:{size / 1000} of inference" for size in range(200, 1200, 200)) + "\n"
    found = {fact for fact, _ in values(scan(latency_series.FORMAT, text))}
    assert "serve.new_shape_ratio" not in found
