"""Tables and CSV files of GenAI-Perf and AIPerf: the columns are those that the heading names."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.llm_benchmark import FORMAT
from tests.probes.artefacts.helpers import scan, values

LOAD = "server:this/model:this/load:result 1"
GENAI = """\
┃                         Statistic ┃      avg ┃    min ┃      max ┃      p99 ┃      p90 ┃      p75 ┃
│          Time To First Token (ms) │ 9,421.30 │ 210.22 │ 18,902.1 │ 18,711.2 │ 16,980.1 │ 14,020.9 │
│         Time To Second Token (ms) │    31.44 │  20.01 │    88.33 │    80.10 │    40.02 │    34.90 │
│              Request Latency (ms) │ 14,811.0 │ 5,201.3│ 24,022.9 │ 23,888.1 │ 22,100.3 │ 19,400.2 │
│          Inter Token Latency (ms) │    21.10 │  19.90 │    25.12 │    24.90 │    22.80 │    21.70 │
│  Output Token Throughput Per User │    47.30 │  39.80 │    50.20 │    50.10 │    49.80 │    48.90 │
│                 (tokens/sec/user) │          │        │          │          │          │          │
│   Output Sequence Length (tokens) │   255.10 │ 250.00 │   256.00 │   256.00 │   256.00 │   256.00 │
│ Output Token Throughput (per sec) │ 1,710.33 │    N/A │      N/A │      N/A │      N/A │      N/A │
│      Request Throughput (per sec) │     6.70 │    N/A │      N/A │      N/A │      N/A │      N/A │
│             Request Count (count) │   200.00 │    N/A │      N/A │      N/A │      N/A │      N/A │
"""
AIPERF = """\
┃               Metric ┃     avg ┃     min ┃     max ┃     p99 ┃     p90 ┃     p50 ┃  std ┃
│  Time to First Token │   18.26 │   11.22 │  106.32 │   68.82 │   27.76 │   16.62 │ 12.1 │
│                 (ms) │         │         │         │         │         │         │      │
│      Request Latency │  487.30 │  267.07 │  769.57 │  715.99 │  580.83 │  476.17 │ 79.6 │
│                 (ms) │         │         │         │         │         │         │      │
"""
CSV = """\
Metric,avg,min,max,p99,p95,p90,p75,p50,p25,std
Time To First Token (ms),"1,039.13",21.23,2041.49,2041.48,2040.0,1941.32,1441.29,1039.0,500.0,3.1
Request Latency (ms),1799.53,1783.41,1802.41,1802.39,1802.3,1802.18,1801.73,1800.0,1799.0,6.0

Metric,Value
Request Throughput (per sec),0.56
Request Count (count),10.00
"""


def _of(text: str) -> dict[str, object]:
    return {fact: value for (fact, entity), value in values(scan(FORMAT, text)).items() if entity == LOAD}


def test_table_of_genai_perf() -> None:
    found = _of(GENAI)
    assert found["serve.ttft_mean_seconds"] == pytest.approx(9.4213)
    assert found["serve.ttft_min_seconds"] == pytest.approx(0.21022)
    assert found["serve.ttft_p90_seconds"] == pytest.approx(16.9801)
    assert found["serve.latency_min_seconds"] == pytest.approx(5.2013)
    assert found["serve.itl_p99_seconds"] == pytest.approx(0.0249)
    assert found["serve.output_tokens_per_second"] == pytest.approx(1710.33)  # of all, not per user
    assert found["serve.requests_per_second"] == pytest.approx(6.7)
    assert found["serve.request_count"] == 200
    assert "serve.ttft_p50_seconds" not in found  # the table has none


def test_table_of_aiperf_has_other_columns() -> None:
    found = _of(AIPERF)
    assert found["serve.ttft_p50_seconds"] == pytest.approx(0.01662)
    assert found["serve.latency_p50_seconds"] == pytest.approx(0.47617)
    assert found["serve.latency_stddev_seconds"] == pytest.approx(0.0796)


def test_log_prefix_and_quotation() -> None:
    quoted = "\n".join(f"> 2026-11-30 10:00:01 {line}" for line in AIPERF.splitlines())
    assert _of(quoted) == _of(AIPERF)


def test_csv() -> None:
    found = _of(CSV)
    assert found["serve.ttft_p50_seconds"] == pytest.approx(1.039)
    assert found["serve.latency_p95_seconds"] == pytest.approx(1.8023)
    assert found["serve.requests_per_second"] == pytest.approx(0.56)
    assert found["serve.request_count"] == 10


@pytest.mark.parametrize(
    "text",
    [
        "Request latency is 20 ms, 30 ms at worst",
        "Time to first token (ms)",
        "ttft | tpot",
        "| Request count | none |",
        "Request count,",
    ],
)
def test_other_lines_are_none(text: str) -> None:
    assert scan(FORMAT, text) == []
