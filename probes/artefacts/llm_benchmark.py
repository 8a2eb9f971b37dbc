"""Results of benchmarks of language-model servers: `vllm bench serve`, SGLang, GenAI-Perf, AIPerf, their JSON and CSV.

The blocks hold lines of a name with its unit in parentheses and a number. JSON results hold the same names with the
unit at the end (`mean_ttft_ms`). Tables and CSV files have a column for each statistic, named in their heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.probes.artefacts.contract import Extract, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_number
from gpuwhy.probes.artefacts.serve_loads import Loads

NAME = "llm-benchmark"
HINTS = ("ttft", "tpot", "time to first token", "inter token latency", "request throughput", "output token throughput")

_N = rf"({NUMBER})"
_LINE = re.compile(rf"\s{{0,8}}([A-Za-z][\w .()/%\[\]-]{{3,60}}?):\s{{1,60}}{_N}\s{{0,12}}\Z")
_JSON = re.compile(rf"\"([a-z][a-z0-9_]{{3,40}})\":\s{{0,4}}{_N}")
_START = re.compile(r"={4,}[^=\n]{0,60}\bBenchmark Result\b", re.I)
_STATISTIC = re.compile(
    r"(mean|avg|average|median|p50|p90|p95|p99|std|min|max)[ _](ttft|tpot|itl|e2el?(?: latency)?|latency)\b", re.I
)
_ROW_NAMES = (
    r"Time to first token|Inter token latency|Request latency|Output token throughput(?! per)|Request throughput|"
    r"Request count"
)
_GENAI = re.compile(
    rf"(?:[^\n|│┃]{{0,60}}[|│┃])?\s{{0,60}}(?P<name>{_ROW_NAMES})\s{{0,4}}(?:\((?P<unit>[\w/ ]{{1,14}})\))?\s{{0,30}}"
    r"(?P<bar>[|│┃,])(?P<cells>[^\n]{1,400})",
    re.I,
)
_HEADING = re.compile(
    r"(?:[^\n|│┃]{0,60}[|│┃])?\s{0,60}(?:Statistic|Metric)\s{0,40}(?P<bar>[|│┃,])(?P<cells>[^\n]{3,400})", re.I
)
_BAR = re.compile(r"[|│┃]")
_QUOTED = re.compile(r'"([^"\n]{0,40})"')

_PLAIN: dict[str, str] = {
    "successful requests": "serve.request_count",
    "completed": "serve.request_count",
    "failed requests": "serve.failed_count",
    "failed": "serve.failed_count",
    "benchmark duration": "serve.window_seconds",
    "duration": "serve.window_seconds",
    "total input tokens": "serve.input_tokens",
    "total_input_tokens": "serve.input_tokens",
    "total generated tokens": "serve.output_tokens",
    "total_output_tokens": "serve.output_tokens",
    "request throughput": "serve.requests_per_second",
    "request_throughput": "serve.requests_per_second",
    "output token throughput": "serve.output_tokens_per_second",
    "output_throughput": "serve.output_tokens_per_second",
    "input token throughput": "serve.input_tokens_per_second",
    "total token throughput": "serve.total_tokens_per_second",
    "total_token_throughput": "serve.total_tokens_per_second",
    "maximum request concurrency": "serve.concurrency",
    "max request concurrency": "serve.concurrency",
    "max_concurrency": "serve.concurrency",
    "request rate configured": "serve.offered_per_second",
    "traffic request rate": "serve.offered_per_second",
    "request_rate": "serve.offered_per_second",
    "concurrency": "serve.in_flight",
}
_KINDS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "latency", "e2el": "latency", "e2e latency": "latency",
          "latency": "latency"}  # fmt: skip
_STATISTICS = {"mean": "mean", "avg": "mean", "average": "mean", "median": "p50", "p50": "p50", "p90": "p90",
               "p95": "p95", "p99": "p99", "std": "stddev", "min": "min", "max": "max"}  # fmt: skip
_KNOWN = {
    "ttft": ("mean", "min", "p50", "p90", "p95", "p99"),
    "tpot": ("mean", "p50", "p99"),
    "itl": ("mean", "p50", "p99"),
    "latency": ("mean", "p50", "p90", "p95", "p99", "stddev", "min", "max"),
}
_SCALES = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "ns": 1e-9, "sec": 1.0}
_UNIT = re.compile(r"[ _(\[](ms|s|us|ns|sec)\)?\]?\Z")


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all benchmark results of a text."""
    loads = Loads("result ")
    claimed: set[int] = set()
    latencies = False
    order: tuple[str, ...] = _GENAI_ORDER
    for line in text.lines:
        if (heading := _HEADING.match(line.text)) is not None:
            order = tuple(_STATISTICS.get(cell, "") for cell in _cells(heading["cells"].lower(), heading["bar"]))
        if _START.search(line.text):
            loads.start()
            claimed.add(line.number)
            continue
        for fact, value in _figures(line.text, order):
            current = loads.current
            if current is None or (fact in current.figures and fact in _ENDS):
                current = loads.start()
            current.put(fact, value, line)
            claimed.add(line.number)
            latencies = latencies or "ttft" in fact or "tpot" in fact or "itl" in fact
    if latencies:
        yield Extract(NAME, tuple(loads.readings()), claimed=frozenset(claimed))


_ENDS = frozenset({"serve.request_count", "serve.ttft_mean_seconds"})


def _figures(text: str, order: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    pairs = [(found[1], found[2])] if (found := _LINE.match(text)) is not None else _JSON.findall(text)
    for name, number in pairs:
        value = parse_number(number)
        if value is not None and (fact := _fact(name.strip())) is not None:
            yield fact[0], _typed(fact[0], value * fact[1])
    if (row := _GENAI.match(text)) is not None:
        for total, cell in _genai(row, order):
            yield total, _typed(total, cell)


def _typed(fact: str, value: float) -> float:
    return int(value) if fact.endswith("_count") and value == int(value) else value


def _fact(name: str) -> tuple[str, float] | None:
    """The fact that a line's name means, and what its number is multiplied with."""
    lowered = name.lower()
    unit = _UNIT.search(lowered)
    base = re.sub(r"\s{0,4}\([^)]{0,20}\)\Z", "", lowered)
    if (plain := _PLAIN.get(base)) is not None:
        return plain, 1.0
    if (found := _STATISTIC.match(base.replace("_", " "))) is None or unit is None:
        return None
    kind, statistic = _KINDS[found[2].lower()], _STATISTICS[found[1].lower()]
    if statistic not in _KNOWN[kind]:
        return None
    return f"serve.{kind}_{statistic}_seconds", _SCALES[unit[1]]


_GENAI_KINDS = {"time to first token": "ttft", "inter token latency": "itl", "request latency": "latency"}
_GENAI_TOTALS = {
    "request throughput": "serve.requests_per_second",
    "output token throughput": "serve.output_tokens_per_second",
    "request count": "serve.request_count",
}
_GENAI_ORDER = ("mean", "min", "max", "p99", "p90", "")


def _cells(text: str, bar: str) -> list[str]:
    """The cells of a row of a table, or of a line of CSV."""
    plain = _QUOTED.sub(lambda found: found[1].replace(",", ""), text)
    return [cell.strip() for cell in (plain.split(",") if bar == "," else _BAR.split(plain))]


def _genai(row: re.Match[str], order: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """A row of GenAI-Perf or AIPerf, with a column for each statistic; totals have only the first."""
    cells = [parse_number(cell) for cell in _cells(row["cells"], row["bar"])]
    name, unit = row["name"].lower(), (row["unit"] or "ms").lower()
    if (total := _GENAI_TOTALS.get(name)) is not None:
        if cells and cells[0] is not None:
            yield total, cells[0]
        return
    kind = _GENAI_KINDS[name]
    for statistic, cell in zip(order, cells, strict=False):
        if cell is not None and statistic in _KNOWN[kind]:
            yield f"serve.{kind}_{statistic}_seconds", cell * _SCALES.get(unit, 1e-3)


FORMAT = TextFormat(NAME, "Benchmarks of language-model servers", HINTS, scan)
