"""Reports of load generators: wrk, hey, ab, k6, vegeta, locust, and lists of latency percentiles in general.

Percentiles are taken where they carry a unit, or stand under a title that gives one. A report needs two latency
figures, or one and a rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number
from gpuwhy.probes.artefacts.serve_loads import Load, Loads

NAME = "load-report"
HINTS = (
    "latency", "percentile", "p99", "tp99", "99%", "http_req", "response time", "requests/sec", "requests per second",
    "qps", "p95", "p50", "p(95)", "latencies",
)  # fmt: skip

_N = rf"({NUMBER})"
_UNIT = r"(ns|us|µs|μs|usec|msecs?|ms|milliseconds?|microseconds?|secs?|seconds?|s|m)"
_DURATION = rf"{_N}\s{{0,3}}{_UNIT}\b"
_PERCENTILE = re.compile(
    rf"(?<![\w.])(?:latency[ _.-]?)?(?:t?p[ ._(]{{0,2}}(50|75|90|95|99\.9|999|99)\)?|(50|75|90|95|"
    rf"99\.9|99)(?:th|%)(?: percentile)?|median)"
    rf"(?: (?:latency|response time|time))?(?: in)?\s{{0,4}}[:=|]?\s{{0,24}}[<~≈]?\s?{_DURATION}",
    re.I,
)
_MEAN = re.compile(
    rf"\b(avg|average|mean|min(?:imum)?|max(?:imum)?|std(?:dev| dev)?|stddev|slowest|"
    rf"fastest)\b(?: (latency|response time|time|time per request))?"
    rf"\s{{0,4}}[:=|]?\s{{0,24}}{_DURATION}",
    re.I,
)
_BARE = re.compile(
    rf"\s{{0,12}}(50|75|90|95|99|100)%\s{{1,16}}{_N}(?:\s{{0,3}}{_UNIT})?\s{{0,4}}(?:\(longest request\))?\s{{0,4}}\Z"
)
_BARE_TITLE = re.compile(
    r"served within a certain time \((ms|s|us)\)|Latency Distribution|Response time percentiles", re.I
)
_WRK = re.compile(
    rf"\s{{0,12}}Latency\s{{1,12}}{_DURATION}\s{{1,12}}{_DURATION}\s{{1,12}}{_DURATION}\s{{1,12}}[0-9.]{{1,8}}%"
)
_K6 = re.compile(
    r"\b(http_req_duration|http_req_waiting|http_req_blocked|http_req_sending|http_req_receiving|"
    r"iteration_duration)\b[. {}:\w,]{0,80}?:\s{1,4}(avg=[^\n]{10,200})"
)
_K6_RATE = re.compile(rf"\bhttp_reqs\.{{0,40}}:\s{{1,4}}([0-9]{{1,12}})\s{{1,8}}{_N}/s")
_VEGETA = re.compile(r"\bLatencies\s{1,8}\[([^\]\n]{5,60})\]\s{1,8}([^\n]{5,160})")
_VEGETA_RATE = re.compile(
    rf"\bRequests\s{{1,8}}\[total, rate(?:, throughput)?\]\s{{1,8}}([0-9]{{1,12}}), {_N}(?:, {_N})?"
)
_AB_TIME = re.compile(rf"\bTime per request:\s{{1,12}}{_N} \[ms\] \(mean\)")
_LOCUST = re.compile(
    rf"\s{{0,4}}(?:GET|POST|PUT|grpc|\s)\s{{0,8}}(\S{{1,80}})\s{{1,80}}([0-9]{{1,9}})\s{{1,12}}([0-9]{{1,9}})"
    rf"\([0-9.]{{1,6}}%\)\s{{1,4}}\|\s{{1,8}}{_N}\s{{1,8}}{_N}\s{{1,8}}{_N}\s{{1,8}}{_N}\s{{1,4}}\|\s{{1,8}}{_N}"
)
_FIELDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"\A\s{{0,8}}total:\s{{1,24}}{_N}\s{{0,3}}(secs)\s{{0,4}}\Z", re.I), "duration"),
    (re.compile(
        rf"\b(?:concurrency(?: level)?|connections|clients|users|vus(?:_max)?|threads|"
        rf"workers)\b[. ]{{0,40}}[:=]\s{{0,12}}{_N}"
        , re.I), "serve.concurrency"),
    (re.compile(rf"\b{_N} threads and ([0-9]{{1,7}}) connections", re.I), "wrk"),
    (re.compile(
        rf"\b(?:requests?/s(?:ec)?|requests per second|rps|"
        rf"throughput)\b\s{{0,4}}[:=]\s{{0,12}}{_N}(?![\d.])(?!\s{{0,3}}(?:tok|[kmg]?i?b\b|infer|qps))"
        , re.I), "serve.requests_per_second"),
    (re.compile(
        rf"\b(?:throughput|requests/sec)\b\s{{0,4}}[:=]?\s{{0,12}}{_N}\s{{0,3}}(?:req(?:uests)?/s|rps|qps|"
        rf"/s\b)"
        , re.I), "serve.requests_per_second"),
    (re.compile(rf"\b(?:qps|(?:target|offered|request) (?:rate|qps|rps))\b\s{{0,4}}[:=]\s{{0,24}}{_N}", re.I), "qps"),
    (re.compile(
        rf"\b(?:complete(?:d)? requests|requests? sent|total requests|request count|"
        rf"num(?:ber)? (?:of )?requests)\b\s{{0,4}}[:=]\s{{0,24}}{_N}"
        , re.I), "serve.request_count"),
    (re.compile(
        rf"\b(?:failed requests|errors|failures|failed)\b\s{{0,4}}[:=]\s{{0,24}}{_N}\b(?!\s{{0,2}}%)"
        , re.I), "serve.failed_count"),
    (re.compile(rf"\b(?:error rate|failure rate)\b\s{{0,4}}[:=]\s{{0,24}}{_N}(\s{{0,2}}%)?", re.I), "error"),
    (re.compile(
        rf"\b(?:time taken for tests|duration|total time|"
        rf"elapsed)\b\s{{0,4}}[:=]\s{{0,24}}{_N}(?:\s{{0,3}}(s|sec|secs|seconds|m|min|ms))?\s{{0,4}}\Z"
        , re.I), "duration"),
)  # fmt: skip
_SENT = re.compile(r"\brequests? sent\b", re.I)
_HEADING = re.compile(r"\s{0,4}(?:#{1,6} |={2,} ?|-{2,} ?)([^\n#=*]{2,80}?)\s{0,4}(?:={2,}|-{2,})?:?\s{0,4}\Z")
_STATISTICS = {
    "avg": "mean", "average": "mean", "mean": "mean", "min": "min", "minimum": "min", "fastest": "min", "max": "max",
    "maximum": "max", "slowest": "max", "med": "p50", "median": "p50", "50": "p50", "75": "p75", "90": "p90",
    "95": "p95", "99": "p99", "99.9": "p999", "999": "p999", "100": "max", "50th": "p50", "90th": "p90", "95th": "p95",
    "99th": "p99",
}  # fmt: skip
_NOT = re.compile(
    r"\b(?:epoch|loss|step time|it/s|queue|compute|inference|infer|gpu|h2d|d2h|ttft|tpot|itl|token|"
    r"usec\b|min = |walltime|storage|clat|slat|iops)",
    re.I,
)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all reports of load generators in a text."""
    walk = _Walk()
    for line in text.lines:
        if walk.read(line):
            walk.claimed.add(line.number)
    if walk.loads.all and any(_is_report(one) for one in walk.loads.all):
        walk.finish()
        yield Extract(NAME, tuple(walk.loads.readings()), claimed=frozenset(walk.claimed))


def _is_report(load: Load) -> bool:
    latencies = sum(fact.startswith("serve.latency_") for fact in load.figures)
    rates = {"serve.requests_per_second", "serve.offered_per_second", "serve.request_count"} & load.figures.keys()
    return latencies >= 2 or (latencies == 1 and bool(rates))


class _Walk:
    def __init__(self) -> None:
        self.loads = Loads("report ")
        self.claimed: set[int] = set()
        self.unit: str | None = None
        self.closed = False
        self.sent = False

    def read(self, line: Line) -> bool:
        text = line.text
        if (title := _BARE_TITLE.search(text)) is not None:
            self.unit = title[1] or ""
            return True
        if self._tools(text, line):
            return True
        if (heading := _HEADING.match(text)) is not None and not _PERCENTILE.search(text):
            self.loads.group, self.closed = heading[1], True
            return False
        if _NOT.search(text):
            return False
        found = self._latencies(text, line)
        return self._fields(text, line) or found

    def _put(self, fact: str, value: float | None, line: Line) -> bool:
        if value is None:
            return False
        current = self.loads.current
        known = None if current is None else current.number(fact)
        if current is None or self.closed or (known is not None and known != value):
            current, self.closed = self.loads.start(), False
        current.put(fact, int(value) if fact.endswith("_count") and value == int(value) else value, line)
        return True

    def _latency(self, statistic: str, seconds: float | None, line: Line) -> bool:
        name = _STATISTICS.get(statistic.lower())
        return name is not None and self._put(f"serve.latency_{name}_seconds", seconds, line)

    def _latencies(self, text: str, line: Line) -> bool:
        found = False
        percentiles = list(_PERCENTILE.finditer(text))
        for hit in percentiles:
            found = self._latency(hit[1] or hit[2] or "median", parse_duration(f"{hit[3]} {hit[4]}"), line) or found
        for hit in _MEAN.finditer(text) if percentiles or self._about_latency(text) else ():
            found = self._latency(hit[1], parse_duration(f"{hit[3]} {hit[4]}"), line) or found
        if self.unit is not None and (bare := _BARE.match(text)) is not None:
            unit = bare[3] or self.unit
            found = self._latency(bare[1], parse_duration(f"{bare[2]} {unit}") if unit else None, line) or found
        return found

    def _about_latency(self, text: str) -> bool:
        lowered = text.lower()
        return (
            "latency" in lowered
            or "response time" in lowered
            or any(word in lowered for word in ("slowest:", "fastest:", "average:"))
        )

    def _fields(self, text: str, line: Line) -> bool:
        found = False
        for pattern, fact in _FIELDS:
            hit = pattern.search(text)
            if hit is not None:
                found = self._field(fact, hit, line) or found
        self.sent = self.sent or bool(_SENT.search(text))
        return found

    def _field(self, fact: str, hit: re.Match[str], line: Line) -> bool:
        value = parse_number(hit[1])
        if value is None:
            return False
        if fact == "wrk":
            self._put("serve.client_threads", value, line)
            return self._put("serve.concurrency", float(hit[2]), line)
        if fact == "duration":
            seconds = parse_duration(f"{hit[1]} {hit[2] or 's'}")
            return self._put("serve.window_seconds", seconds, line)
        if fact == "error":
            return self._put("serve.failed_share", value / 100 if hit[2] else min(value, 1.0), line)
        return self._put("serve.offered_per_second" if fact == "qps" else fact, value, line)

    def _tools(self, text: str, line: Line) -> bool:
        if (wrk := _WRK.match(text)) is not None:
            for place, name in ((1, "mean"), (3, "stddev"), (5, "max")):
                self._put(f"serve.latency_{name}_seconds", parse_duration(f"{wrk[place]} {wrk[place + 1]}"), line)
            return True
        if (k6 := _K6.search(text)) is not None:
            return self._k6(k6, line)
        if (rate := _K6_RATE.search(text)) is not None:
            self._put("serve.request_count", float(rate[1]), line)
            return self._put("serve.requests_per_second", parse_number(rate[2]), line)
        if (ab := _AB_TIME.search(text)) is not None:
            return self._put("serve.latency_mean_seconds", (parse_number(ab[1]) or 0.0) * 1e-3, line)
        return self._vegeta(text, line) or self._locust(text, line)

    def _k6(self, found: re.Match[str], line: Line) -> bool:
        if found[1] == "http_req_duration":
            for name, value in re.findall(
                r"(avg|min|med|max|p\([0-9.]{2,5}\))=([0-9.]{1,16}(?:ns|µs|us|ms|s|m))", found[2]
            ):
                self._latency(name.strip("p()"), parse_duration(value), line)
        return True

    def _vegeta(self, text: str, line: Line) -> bool:
        if (rate := _VEGETA_RATE.search(text)) is not None:
            self._put("serve.request_count", float(rate[1]), line)
            self._put("serve.offered_per_second", parse_number(rate[2]), line)
            return self._put("serve.requests_per_second", parse_number(rate[3] or rate[2]), line)
        found = _VEGETA.search(text)
        if found is None:
            return False
        for name, value in zip(found[1].split(","), found[2].split(","), strict=False):
            self._latency(name.strip(), parse_duration(value.strip()), line)
        return True

    def _locust(self, text: str, line: Line) -> bool:
        found = _LOCUST.match(text)
        if found is None or found[1].lower() == "aggregated":
            return found is not None
        self._put("serve.request_count", float(found[2]), line)
        self._put("serve.failed_count", float(found[3]), line)
        for place, name in ((4, "mean"), (5, "min"), (6, "max"), (7, "p50")):
            self._put(f"serve.latency_{name}_seconds", (parse_number(found[place]) or 0.0) * 1e-3, line)
        return self._put("serve.requests_per_second", parse_number(found[8]), line)

    def finish(self) -> None:
        """Loads with a rate that was meant and no rate that was answered keep it as meant."""
        for load in self.loads.all:
            count, seconds = load.number("serve.request_count"), load.number("serve.window_seconds")
            if count and seconds and not self.sent and load.number("serve.requests_per_second") is None:
                load.put("serve.requests_per_second", count / seconds, next(iter(load.figures.values()))[1])


FORMAT = TextFormat(NAME, "Latency reports of load generators", HINTS, scan)
