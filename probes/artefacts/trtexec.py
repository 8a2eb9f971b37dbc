"""`trtexec`: its performance summary in the layouts of TensorRT 6 to 10, its warnings, and the build of the engine.

Pastes join lines and lose signs, so every figure is looked for in the piece of text that its label opens. H2D latency,
GPU compute time and D2H latency are those of one inference; the latency is their sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number
from gpuwhy.probes.artefacts.serve_loads import Load, Loads

NAME = "trtexec"
HINTS = ("gpu compute", "enqueue time", "trtexec", "engine built in", "h2d latency", "host latency", "gpu latency")

_N = rf"({NUMBER})"
_MS = r"\s{0,2}(ms|us|s)\b"
_LABEL = re.compile(
    r"\b(Throughput|End-to-End Host Latency|Host Latency|H2D Latency|D2H Latency|Latency|Enqueue Time|"
    r"GPU Compute Time|GPU Compute|Total Host Walltime|Total GPU Compute Time|GPU compute time is unstable)"
    r"(?=[:\s,]|\Z)",
)
_FIGURE = re.compile(
    rf"\b(min|max|mean|median|percentile)\s{{0,2}}(?:\(?([0-9.]{{1,5}})%\)?)?\s{{0,3}}[:=]?\s{{0,3}}{_N}{_MS}"
    r"(?:\s{0,2}at ([0-9.]{1,5})%)?"
)
_QUERIES = re.compile(rf"\bthroughput:\s{{0,4}}{_N}\s{{0,4}}(?:qps|queries)", re.I)
_WALL = re.compile(rf"\b(?:Total Host Walltime|walltime):?\s{{0,4}}{_N}\s{{0,4}}(ms|s)\b", re.I)
_TOTAL = re.compile(rf"\btotal (?:GPU )?compute time:?\s{{0,4}}{_N}\s{{0,4}}(ms|s)\b", re.I)
_VARIANCE = re.compile(rf"\bcoefficient of variance\s{{0,3}}=\s{{0,3}}{_N}\s{{0,2}}%", re.I)
_AVERAGE = re.compile(
    rf"\bAverage on [0-9]{{1,7}} runs - GPU latency: {_N} ms - Host latency: {_N} ms"
    rf"(?: \(end to end {_N} ms)?(?:,? ?\(?enqueue {_N} ms)?"
)
_BUILT = re.compile(
    rf"\b(?:Engine (?:built|generation completed|deserialized|loaded) in|building engine took|Created engine in|"
    rf"total building time is)\s{{1,3}}{_N}\s{{0,2}}(seconds?|sec|s|ms|minutes?|min)\b",
    re.I,
)
_COMMAND = re.compile(r"\btrtexec(?:\.exe)?\b[^\n]{0,2000}")
_BATCH = re.compile(r"--(?:batch|shapes|optShapes)=(?:[\w./]{1,60}:)?([0-9]{1,6})")
_WARNINGS = (
    (re.compile(r"bound by Enqueue Time rather than GPU Compute", re.I), "serve.warned_enqueue_bound"),
    (re.compile(r"bound by host-to-device transfers", re.I), "serve.warned_h2d_bound"),
    (re.compile(r"bound by device-to-host transfers", re.I), "serve.warned_d2h_bound"),
    (re.compile(r"GPU compute time is unstable", re.I), "serve.warned_gpu_unstable"),
)
_KINDS = {
    "latency": "serve.latency",
    "host latency": "serve.latency",
    "enqueue time": "serve.enqueue",
    "h2d latency": "serve.h2d",
    "d2h latency": "serve.d2h",
    "gpu compute time": "serve.gpu_compute",
    "gpu compute": "serve.gpu_compute",
}
_STATISTICS: dict[str, dict[str, str]] = {
    "serve.latency": {
        "mean": "_mean", "median": "_p50", "min": "_min", "max": "_max", "90": "_p90", "95": "_p95", "99": "_p99",
    },
    "serve.gpu_compute": {"mean": "", "median": "_p50", "min": "_min", "max": "_max", "99": "_p99"},
    "serve.enqueue": {"mean": "", "median": "_p50", "99": "_p99"},
    "serve.h2d": {"mean": "", "median": "_p50"},
    "serve.d2h": {"mean": "", "median": "_p50"},
}  # fmt: skip
_PREFIX = re.compile(r"\[[0-9/:\- ]{10,25}\] ?\[[IWEV]\] ?|\[[IWEV]\] ")
_NOISE = re.compile(
    r"\s{0,4}(?:\[[^\]\n]{1,30}\] ?){0,2}\[[IWV]\]|\s{0,4}(?:If not already in use|Add --noDataTransfers?|=== |&&&& )"
)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all that `trtexec` and the TensorRT builder say in a text."""
    walk = _Walk()
    for line in text.lines:
        if walk.read(line):
            walk.claimed.add(line.number)
    if walk.loads.all or walk.on_purpose:
        walk.loads.about.pop((walk.loads.owner, "serve.engine_built"), None)
    if walk.useful:
        yield Extract(NAME, tuple(walk.loads.readings()), claimed=frozenset(walk.claimed))


class _Walk:
    def __init__(self) -> None:
        self.loads = Loads("run ")
        self.claimed: set[int] = set()
        self.useful = False
        self.open = ""
        self.on_purpose = False
        self.batch: tuple[int, Line] | None = None

    def read(self, line: Line) -> bool:
        found = self._built(line)
        command = _COMMAND.search(line.text)
        if command is not None:
            self.on_purpose = True
            if (batch := _BATCH.search(command[0])) is not None:
                self.batch = (int(batch[1]), line)
            return True
        text = _PREFIX.sub("", line.text)
        found = self._warned(line) or found
        found = self._figures(text, line) or self._average(text, line) or found
        self.useful = self.useful or found
        return found or bool(_NOISE.match(line.text))

    def _load(self, again: str | None = None) -> Load:
        current = self.loads.current
        if current is None or (again is not None and again in current.figures):
            current = self.loads.start()
            if self.batch is not None:
                current.put("serve.request_batch_size", self.batch[0], self.batch[1])
        return current

    def _built(self, line: Line) -> bool:
        found = _BUILT.search(line.text)
        if found is None or "serial" in found[0].lower() or "loaded" in found[0].lower():
            return False
        seconds = parse_duration(f"{found[1]} {found[2]}")
        self.loads.say("serve.engine_build_seconds", seconds, line)
        self.loads.say("serve.engine_built", True, line)
        return True

    def _warned(self, line: Line) -> bool:
        found = False
        for pattern, fact in _WARNINGS:
            if pattern.search(line.text):
                self._load().put(fact, True, line)
                found = True
        if (variance := _VARIANCE.search(line.text)) is not None and (number := parse_number(variance[1])) is not None:
            self._load().put("serve.gpu_compute_variation_share", number / 100, line)
        return found

    def _average(self, text: str, line: Line) -> bool:
        found = _AVERAGE.search(text)
        if found is None:
            return False
        load = self._load()
        for group, fact in (
            (1, "serve.gpu_compute_seconds"),
            (2, "serve.latency_mean_seconds"),
            (4, "serve.enqueue_seconds"),
        ):
            if found[group] and not self.open:
                load.put(f"{fact}", (parse_number(found[group]) or 0.0) * 1e-3, line)
        return True

    def _figures(self, text: str, line: Line) -> bool:
        found = False
        for label, piece in _pieces(text, self.open):
            self.open = label
            for pattern, fact in ((_WALL, "serve.total_walltime_seconds"), (_TOTAL, "serve.gpu_compute_total_seconds")):
                if (hit := pattern.search(piece)) is not None:
                    found = self._put(fact, parse_duration(f"{hit[1]} {hit[2]}"), line) or found
            if (queries := _QUERIES.search(piece)) is not None:
                found = self._put("serve.throughput_per_second", parse_number(queries[1]), line) or found
            base = _KINDS.get(label)
            for hit in _FIGURE.finditer(piece) if base is not None else ():
                ending = _STATISTICS[base or ""].get((hit[2] or hit[5] or hit[1]).removesuffix(".0"))
                if ending is not None:
                    found = self._put(f"{base}{ending}_seconds", parse_duration(f"{hit[3]} {hit[4]}"), line) or found
        return found

    def _put(self, fact: str, value: float | None, line: Line) -> bool:
        if value is None:
            return False
        repeated = fact in ("serve.throughput_per_second", "serve.latency_mean_seconds")
        self._load(fact if repeated and fact == "serve.throughput_per_second" else None).put(fact, value, line)
        return True


def _pieces(text: str, opened: str) -> Iterator[tuple[str, str]]:
    """The text before the first label belongs to the label of an earlier line; then each label and what follows it."""
    hits = list(_LABEL.finditer(text))
    first = hits[0].start() if hits else len(text)
    if text[:first].strip():
        yield opened, text[:first]
    ends = [*(hit.start() for hit in hits[1:]), len(text)]
    for hit, end in zip(hits, ends, strict=False):
        yield hit[1].lower(), text[hit.start() : end]


FORMAT = TextFormat(NAME, "TensorRT trtexec and builder", HINTS, scan)
