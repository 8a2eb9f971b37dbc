"""Triton's `perf_analyzer` (`perf_client`): the blocks of its report, its closing lines, and its CSV files.

Times are printed in microseconds. The server's part is a mean over successful requests; the batch that was formed is
inferences over executions. What follows `Composing models:` are the steps of an ensemble, each a model of its own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from gpuwhy.kb.facts import SERVER, model
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_number
from gpuwhy.probes.artefacts.serve_loads import Load, Loads

NAME = "perf-analyzer"
HINTS = (
    "request concurrency:",
    "request rate:",
    "infer/sec",
    "avg request latency",
    "inference count:",
    "execution count:",
    "inferences/second",
    "avg http time",
    "avg grpc time",
)

_N = rf"({NUMBER})"
_COMMAND = re.compile(r"\bperf_(?:analyzer|client)\b[^\n]{0,400}?\s-m\s{1,4}([\w.\-/]{1,80})")
_HEADING = re.compile(r"\s{0,8}(?:#{1,6} |\*\*)\s{0,4}([^\n#*]{1,80}?)\s{0,4}(?:\*\*)?:?\s{0,8}\Z")
_LEVEL = re.compile(rf"(?<!send )\bRequest (concurrency|rate): {_N}", re.I)
"""The "Avg send request rate" is what was sent, which may be less than what was asked for."""
_CLOSING = re.compile(
    rf"\b(Concurrency|Request Rate): {_N}, (?:throughput: )?{_N} infer/sec(?:[^\n]{{0,60}}?, latency {_N} usec)?", re.I
)
_STEP = re.compile(r"\s{0,12}([\w.\-]{1,80}), version: ?([\w.\-]{0,12}):?\s{0,8}\Z")
_STATISTIC = re.compile(r"\bInferences/Second vs\. Client (?:Average|p([0-9]{2}))", re.I)
_SPLIT = re.compile(rf"\b(overhead|queue|compute input|compute infer|compute output|compute) {_N} usec", re.I)
_MARSHAL = re.compile(rf"(\(un\)marshal request/response|\bsend/recv|\bmarshal|\bunmarshal) {_N} usec", re.I)
_WAIT = re.compile(rf"\bresponse wait {_N} usec", re.I)

_MICRO = 1e-6
_FIELDS: tuple[tuple[re.Pattern[str], str, float], ...] = (
    (re.compile(rf"\bBatch size: {_N}", re.I), "serve.request_batch_size", 1),
    (re.compile(rf"(?<!successful )(?<!delayed )\bRequest count: {_N}", re.I), "serve.request_count", 1),
    (re.compile(rf"\bDelayed Request count: {_N}", re.I), "serve.delayed_count", 1),
    (re.compile(rf"{_N} ?% of the requests were delayed", re.I), "serve.delayed_share", 0.01),
    (re.compile(rf"\bThroughput: {_N} infer/sec", re.I), "serve.throughput_per_second", 1),
    (re.compile(rf"\bAvg latency: {_N} usec", re.I), "serve.latency_mean_seconds", _MICRO),
    (re.compile(rf"\bstandard deviation {_N} usec", re.I), "serve.latency_stddev_seconds", _MICRO),
    (re.compile(rf"\bp50 latency: {_N} usec", re.I), "serve.latency_p50_seconds", _MICRO),
    (re.compile(rf"\bp90 latency: {_N} usec", re.I), "serve.latency_p90_seconds", _MICRO),
    (re.compile(rf"\bp95 latency: {_N} usec", re.I), "serve.latency_p95_seconds", _MICRO),
    (re.compile(rf"\bp99 latency: {_N} usec", re.I), "serve.latency_p99_seconds", _MICRO),
    (re.compile(rf"\bInference count: {_N}", re.I), "serve.inference_count", 1),
    (re.compile(rf"\bExecution count: {_N}", re.I), "serve.execution_count", 1),
    (re.compile(rf"\bCache hit count: {_N}", re.I), "serve.cache_hit_count", 1),
    (re.compile(rf"\bCache miss count: {_N}", re.I), "serve.cache_miss_count", 1),
    (re.compile(rf"\bSuccessful request count: {_N}", re.I), "serve.request_count", 1),
    (re.compile(rf"\bAvg request latency: {_N} usec", re.I), "serve.server_latency_seconds", _MICRO),
    (re.compile(rf"\bAvg (?:HTTP|gRPC) time: {_N} usec", re.I), "serve.latency_mean_seconds", _MICRO),
)
_COUNTS = frozenset({"serve.request_batch_size", "serve.request_count", "serve.delayed_count", "serve.inference_count",
                     "serve.execution_count", "serve.cache_hit_count", "serve.cache_miss_count"})  # fmt: skip
_PARTS = {
    "overhead": "serve.overhead_seconds",
    "queue": "serve.queue_seconds",
    "compute input": "serve.compute_input_seconds",
    "compute infer": "serve.compute_infer_seconds",
    "compute": "serve.compute_infer_seconds",
    "compute output": "serve.compute_output_seconds",
}
_NOISE = re.compile(
    r"\s{0,12}(?:\*{3} Measurement Settings|Service Kind:|Using |Measurement window:|Stabilizing using|Client:|Server:|"
    r"Composing models|Pass \[|Inferences/Second vs|\[WARNING\] Perf Analyzer|WARNING: |Failed to obtain stable|"
    r"Minimum latency threshold|Latency limit:|Concurrency limit:|Latency report|Waiting until concurrency)"
)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all `perf_analyzer` output of a text."""
    walk = _Walk()
    for line in text.lines:
        if walk.read(line):
            walk.claimed.add(line.number)
    if walk.useful:
        yield Extract(NAME, tuple(walk.loads.readings()), claimed=frozenset(walk.claimed))


class _Walk:
    def __init__(self) -> None:
        self.loads = Loads("window ")
        self.claimed: set[int] = set()
        self.useful = False
        self.batch: tuple[int, Line] | None = None
        self.statistic = "serve.latency_mean_seconds"
        self.columns: list[str] = []
        self.steps: Load | None = None
        self.closed = False

    def read(self, line: Line) -> bool:
        """Takes one line; True if it was understood."""
        found = self._table(line) or self._level(line) or self._closing(line)
        found = self._fields(line) or found
        if found:
            self.useful = True
            return True
        if (command := _COMMAND.search(line.text)) is not None:
            self.loads.owner = model(command[1])
            self.loads.say("serve.software", "triton", line, SERVER)
            return True
        if (step := _STEP.match(line.text)) is not None and self.loads.all:
            self._start_step(step[1], line)
            return True
        if (heading := _HEADING.match(line.text)) is not None:
            self.loads.group, self.closed = heading[1], True
            return False
        if (statistic := _STATISTIC.search(line.text)) is not None:
            self.statistic = f"serve.latency_{'p' + statistic[1] if statistic[1] else 'mean'}_seconds"
        return bool(_NOISE.match(line.text))

    def _start_step(self, name: str, line: Line) -> None:
        parent = self.loads.all[-1]
        self.loads.say("serve.ensemble", True, line, parent.entity.parent)
        step = self.loads.start(parent.entity.name, owner=model(name))
        self.loads.say("serve.step_of_ensemble", True, line, step.entity.parent)

    def _level(self, line: Line) -> bool:
        found = _LEVEL.search(line.text)
        if found is None:
            return False
        self._started(found[1], found[2], line)
        return True

    def _started(self, kind: str, number: str, line: Line) -> Load:
        value = parse_number(number)
        rate = "rate" in kind.lower()
        load = self.loads.start(f"{'rate' if rate else 'concurrency'} {number.removesuffix('.')}")
        load.put("serve.offered_per_second" if rate else "serve.concurrency", value, line)
        if self.batch is not None:
            load.put("serve.request_batch_size", self.batch[0], self.batch[1])
        self.closed = False
        return load

    def _closing(self, line: Line) -> bool:
        found = _CLOSING.search(line.text)
        if found is None:
            return False
        load = self._started(found[1], found[2], line)
        load.put("serve.throughput_per_second", parse_number(found[3]), line)
        if found[4] and (latency := parse_number(found[4])) is not None:
            load.put(self.statistic, latency * _MICRO, line)
        return True

    def _fields(self, line: Line) -> bool:
        found = [(fact, number) for pattern, fact, scale in _FIELDS if (hit := pattern.search(line.text))
                 if (number := _scaled(hit[1], scale, fact)) is not None]  # fmt: skip
        if found and found[0][0] == "serve.request_batch_size":
            self.batch = (int(found[0][1]), line)
            return True
        parts = [(_PARTS[hit[1].lower()], _scaled(hit[2], _MICRO, "")) for hit in _SPLIT.finditer(line.text)]
        if not found and not parts:
            return False
        load = self._load_for(found)
        for fact, number in (*found, *parts):
            load.put(fact, number, line)
        self._client(load, line)
        return True

    def _client(self, load: Load, line: Line) -> None:
        pieces = [_scaled(hit[2], _MICRO, "") or 0.0 for hit in _MARSHAL.finditer(line.text)]
        if pieces:
            load.put("serve.client_marshal_seconds", sum(pieces), line)
        if (wait := _WAIT.search(line.text)) is not None:
            load.put("serve.response_wait_seconds", _scaled(wait[1], _MICRO, ""), line)

    def _load_for(self, found: list[tuple[str, float]]) -> Load:
        """The load that a line belongs to: a new one where a heading or a repeated figure says that one has ended."""
        current = self.loads.current
        again = current is not None and any(
            current.number(fact) not in (None, number) for fact, number in found if fact in _ENDS
        )
        if current is None or self.closed or again:
            self.closed = False
            return self.loads.start()
        return current

    def _table(self, line: Line) -> bool:
        if "Inferences/Second" in line.text and "," in line.text and "Server" in line.text:
            self.columns = next(csv.reader([line.text.strip()]), [])
            return True
        if not self.columns or line.text.count(",") < len(self.columns) - 2:
            self.columns = self.columns if not line.text.strip() else []
            return False
        return self._row(line)

    def _row(self, line: Line) -> bool:
        cells = next(csv.reader([line.text.strip()]), [])
        if not cells or parse_number(cells[0]) is None:
            self.columns = []
            return False
        load = self._started(self.columns[0], cells[0], line)
        for column, cell in zip(self.columns, cells, strict=False):
            number = parse_number(cell)
            if number is not None and (fact := _COLUMNS.get(column.strip().lower())) is not None:
                load.put(fact[0], number * fact[1], line)
        return True


_ENDS = frozenset({"serve.inference_count", "serve.server_latency_seconds"})
_COLUMNS: dict[str, tuple[str, float]] = {
    "inferences/second": ("serve.throughput_per_second", 1),
    "client send": ("serve.client_send_seconds", _MICRO),
    "network+server send/recv": ("serve.network_seconds", _MICRO),
    "server queue": ("serve.queue_seconds", _MICRO),
    "server compute input": ("serve.compute_input_seconds", _MICRO),
    "server compute infer": ("serve.compute_infer_seconds", _MICRO),
    "server compute output": ("serve.compute_output_seconds", _MICRO),
    "client recv": ("serve.client_receive_seconds", _MICRO),
    "p50 latency": ("serve.latency_p50_seconds", _MICRO),
    "p90 latency": ("serve.latency_p90_seconds", _MICRO),
    "p95 latency": ("serve.latency_p95_seconds", _MICRO),
    "p99 latency": ("serve.latency_p99_seconds", _MICRO),
    "avg latency": ("serve.latency_mean_seconds", _MICRO),
    "response wait": ("serve.response_wait_seconds", _MICRO),
}


def _scaled(number: str, scale: float, fact: str) -> float | None:
    value = parse_number(number)
    if value is None:
        return None
    return int(value) if fact in _COUNTS and value == int(value) else value * scale


FORMAT = TextFormat(NAME, "Triton perf_analyzer", HINTS, scan)
