"""Reports of load generators."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.load_report import FORMAT
from tests.probes.artefacts.helpers import scan, values

ONE = "server:this/model:this/load:report 1"
WRK = """\
Running 30s test @ http://localhost:8000/predict
  12 threads and 400 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms  12.92ms   93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.54%
  Latency Distribution
     50%  250.00us
     90%  700.00us
     99%    5.80ms
Requests/sec: 748.53
"""
HEY = """\
Summary:
  Total:	1.2000 secs
  Slowest:	0.5000 secs
  Fastest:	0.0100 secs
  Average:	0.0200 secs
  Requests/sec:	4000.5
Latency distribution:
  50% in 0.0119 secs
  99% in 0.0300 secs
"""
AB = """\
Concurrency Level:      10
Time taken for tests:   3.5 seconds
Complete requests:      100
Failed requests:        2
Requests per second:    30.1 [#/sec] (mean)
Time per request:       330.1 [ms] (mean)
Percentage of the requests served within a certain time (ms)
  50%    320
  99%    400
 100%    500 (longest request)
"""
K6 = """\
     http_req_blocked...............: avg=1.2ms min=1us med=2us max=1s p(90)=3us p(95)=4us
     http_req_duration..............: avg=1.2s min=100ms med=1.1s max=3s p(90)=2s p(95)=2.5s
     http_reqs......................: 1000    33.3/s
     vus............................: 10
"""
VEGETA = """\
Requests      [total, rate, throughput]  1200, 120.00, 65.87
Latencies     [mean, 50, 95, 99, max]  156.6ms, 140ms, 300ms, 400ms, 1.2s
"""
LIST = """\
Average Latency:    1947427us
P50:    1931263us
P99.9:   3921919us
Request sent:    50000
Error rate:    0.5
QPS:   100
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (WRK, {"latency_mean_seconds": 0.00063591, "latency_p50_seconds": 0.00025, "latency_p99_seconds": 0.0058,
               "concurrency": 400, "client_threads": 12, "requests_per_second": 748.53,
               "latency_max_seconds": 0.01292}),
        (HEY, {"latency_mean_seconds": 0.02, "latency_p50_seconds": 0.0119, "latency_p99_seconds": 0.03,
               "latency_max_seconds": 0.5, "requests_per_second": 4000.5, "window_seconds": 1.2}),
        (AB, {"concurrency": 10, "window_seconds": 3.5, "request_count": 100, "failed_count": 2,
              "requests_per_second": 30.1, "latency_mean_seconds": 0.3301, "latency_p50_seconds": 0.32,
              "latency_p99_seconds": 0.4, "latency_max_seconds": 0.5}),
        (K6, {"latency_mean_seconds": 1.2, "latency_p50_seconds": 1.1, "latency_p90_seconds": 2,
              "latency_p95_seconds": 2.5,
              "request_count": 1000, "requests_per_second": 33.3, "concurrency": 10}),
        (VEGETA, {"offered_per_second": 120, "requests_per_second": 65.87, "latency_mean_seconds": 0.1566,
                  "latency_p99_seconds": 0.4, "latency_max_seconds": 1.2}),
        (LIST, {"latency_mean_seconds": 1.947427, "latency_p50_seconds": 1.931263, "latency_p999_seconds": 3.921919,
                "request_count": 50000, "failed_share": 0.5, "offered_per_second": 100}),
    ],
    ids=["wrk", "hey", "ab", "k6", "vegeta", "list"],
)  # fmt: skip
def test_a_report_is_read(text: str, wanted: dict[str, float]) -> None:
    read = values(scan(FORMAT, text))
    assert {fact: read.get((f"serve.{fact}", ONE)) for fact in wanted} == pytest.approx(wanted)


def test_a_training_log_is_no_report() -> None:
    assert scan(FORMAT, "epoch 1 step 10 avg loss 2.1 step time 120 ms\nthroughput: 90 samples/s\n") == []


def test_one_latency_without_a_rate_is_no_report() -> None:
    assert scan(FORMAT, "average latency: 12 ms\n") == []
