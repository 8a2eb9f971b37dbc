"""Latencies of one request after another: the first against later ones, throughput over time, pauses in between.

The lines are ad hoc: `iter 3 time = 2.1 ms`, `first request: 20 s`, `t=10 s throughput 2/s`, `sleep 1 s: 6 ms`. Lines
that differ only in their numbers are one series; only those about requests, inference or latency count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from math import prod

from gpuwhy.kb.averages import median
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number
from gpuwhy.probes.artefacts.serve_loads import SPIKE_RATIO, Load, Loads

NAME = "latency-series"
HINTS = (
    "infer",
    "request",
    "latency",
    "predict",
    "response",
    "query",
    "throughput",
    "first",
    "warm",
    "sleep",
    "interval",
    "qps",
    "req ",
    "session.run",
    "took",
    " cost:",
)

_N = rf"({NUMBER})"
_D = rf"{_N}\s{{0,3}}(ns|us|µs|usec|ms|msec|milliseconds?|s|secs?|seconds?|min|minutes?)\b"
_DURATION = re.compile(rf"(?<![\w.]){_D}")
_ABOUT = re.compile(
    r"\b(?:infer\w{0,8}|req(?:uest)?s?|latency|predict\w{0,6}|response|query|queries|generat\w{0,5}|"
    r"session\.run|forward|call)\b",
    re.I,
)
_NOT = re.compile(
    r"\b(?:epoch|loss|step_time|data_time|it/s|lr|percentile|p50|p99|queue_time|tokens per second|"
    r"usec|min =|mean =)\b",
    re.I,
)
_FIRST = re.compile(r"\b(?:first|1st|initial|cold)\b", re.I)
_LATER = re.compile(
    r"\b(?:second|2nd|third|3rd|subsequent|following|later|next|after(?:wards)?|then|others?|"
    r"remaining|rest|warm|steady|repeated|again)\b",
    re.I,
)
_SHAPE = re.compile(
    r"\b(?:new|each|every|different|unseen|other|another|changed?)\b[^\n]{0,24}\b(?:inputs?|shapes?|"
    r"sizes?|resolutions?|lengths?|images?|batch(?:es)?)\b",
    re.I,
)
_PAUSE = re.compile(rf"\b(?:sleep|interval|gap|pause|idle|delay between|every|wait(?:ing)?)\b[^\n\d]{{0,20}}{_D}", re.I)
_NO_PAUSE = re.compile(
    r"\b(?:no (?:sleep|pause|gap|interval|delay|wait)|without (?:sleep|a? ?pause|delay)|"
    r"continuous(?:ly)?|back[- ]to[- ]back)\b",
    re.I,
)
_TIMED = re.compile(
    rf"\bt\s{{0,2}}[=:]\s{{0,2}}{_D}[^\n]{{0,40}}?\b(?:throughput|qps|rps|"
    rf"infer/s(?:ec)?)\b\s{{0,4}}[=:]?\s{{0,4}}{_N}",
    re.I,
)
_TITLE = re.compile(r":\s{0,4}\Z")
_BARE = re.compile(rf"\b(time|average|avg|mean|took|elapsed|cost)\b[ =:,]{{1,8}}{_N}\s{{0,4}}\Z", re.I)
_OTHER = re.compile(
    r"\b(?:input|shape|size|image|img|batch)\s?[_#]?[2-9]\b|\b(?:new|other|second|another) (?:input|"
    r"shape|size)\b",
    re.I,
)
_WHOLE = re.compile(r"[0-9]{1,6}")
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
FIRST_SLOW = 2.9
"""Slower than this at the start is counted as slow: queueing alone keeps the tail below it (bench/queueing.py)."""
SHAPE_SPIKE = 100.0
"""An input that takes this many times as long as its size explains has been waited for, not computed. Its size explains
the square of how many times more values it has: nothing grows faster than attention does with the length."""
MIN_SERIES = 4
MIN_ALIKE = 3
"""A series this short counts where all but its first are about the same."""
ALIKE = 1.18
"""Durations within this ratio are about the same."""
_SHAPED = re.compile(
    r"(?P<what>[A-Za-z_][\w ]{0,24}?)\s?[:=]?\s?"
    r"(?P<shape>[(\[][0-9]{1,6}(?:\s?[,x]\s?[0-9]{1,6}){1,5}[)\]])[^\n]{0,24}?"
    rf"\b(?P<kind>cost|took|takes?|time|latency|elapsed|duration)\s?[:=]?\s?(?P<value>{NUMBER})",
    re.I,
)
"""`input:(1444,80) cost:100.49`: an input's shape and what it took, the unit left out."""
MAX_SERIES = 20_000


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all series, first-against-later pairs and throughputs over time in a text."""
    walk = _Walk()
    for line in text.lines:
        walk.read(line)
    walk.finish()
    if walk.claimed:
        yield Extract(NAME, tuple(walk.loads.readings()), claimed=frozenset(walk.claimed))


class _Walk:
    def __init__(self) -> None:
        self.loads = Loads("series ")
        self.claimed: set[int] = set()
        self.series: dict[str, list[tuple[float, Line]]] = {}
        self.first: list[tuple[float, Line]] = []
        self.later: list[tuple[float, Line]] = []
        self.pauses: list[tuple[float, float, Line]] = []
        self.timed: list[tuple[float, float, Line]] = []
        self.shaped: dict[str, list[tuple[str, float, Line]]] = {}
        self.shape = False
        self.title: tuple[float, Line] | None = None
        self.bare_first: list[tuple[float, Line]] = []
        self.bare_later: list[tuple[float, Line]] = []

    def read(self, line: Line) -> None:
        text = line.text[:400]
        if (timed := _TIMED.search(text)) is not None:
            at, rate = parse_duration(f"{timed[1]} {timed[2]}"), parse_number(timed[3])
            if at is not None and rate is not None:
                self.timed.append((at, rate, line))
            return
        if _NOT.search(text):
            return
        if (shaped := _SHAPED.search(text)) is not None and (cost := parse_number(shaped["value"])) is not None:
            self.shaped.setdefault(shaped["what"].lower(), []).append((shaped["shape"], cost, line))
        durations = [(hit, value) for hit in _DURATION.finditer(text) if (value := _seconds(hit)) is not None]
        if not durations:
            self._bare(text, line)
            return
        if self._paused(text, durations, line):
            return
        self._pair(text, durations, line)
        if len(durations) == 1 and _ABOUT.search(text) and not _FIRST.search(text):
            key = _DIGITS.sub("#", text[: durations[0][0].start()].strip())
            if len(self.series.setdefault(key, [])) < MAX_SERIES:
                self.series[key].append((durations[0][1], line))

    def _paused(self, text: str, durations: list[tuple[re.Match[str], float]], line: Line) -> bool:
        pause = _PAUSE.search(text)
        if pause is not None and len(durations) >= 2 and (at := parse_duration(f"{pause[1]} {pause[2]}")) is not None:
            value = next((value for hit, value in durations if hit.start() >= pause.end()), durations[0][1])
            self.pauses.append((at, value, line))
            return True
        if pause is not None and len(durations) == 1 and _TITLE.search(text):
            self.title = (durations[0][1], line)
            return True
        if self.title is not None and pause is None and 0 < line.number - self.title[1].number <= 3:
            self.pauses.append((self.title[0], durations[0][1], line))
            self.claimed.add(self.title[1].number)
            self.title = None
            return True
        if _NO_PAUSE.search(text) and len(durations) == 1:
            self.pauses.append((0.0, durations[0][1], line))
            return True
        return False

    def _bare(self, text: str, line: Line) -> None:
        """`first run time 5.2` and `average 0.05` without a unit: only their ratio is told."""
        found = _BARE.search(text)
        value = parse_number(found[2]) if found is not None else None
        if found is None or value is None or value <= 0:
            return
        if _FIRST.search(text):
            self.bare_first.append((value, line))
            self.shape = self.shape or (len(self.bare_first) > 1 and bool(_OTHER.search(text)))
        elif self.bare_first:
            self.bare_later.append((value, line))

    def _bare_ratio(self) -> None:
        if self.first or not self.bare_first or not self.bare_later:
            return
        at = self._claim([line for _, line in (*self.bare_first, *self.bare_later)])
        later = median(sorted(value for value, _ in self.bare_later))
        load = self.loads.start("first and later")
        load.put("serve.first_latency_ratio", self.bare_first[0][0] / later, at)
        if self.shape:
            load.put("serve.new_shape_ratio", min(value for value, _ in self.bare_first) / later, at)

    def _pair(self, text: str, durations: list[tuple[re.Match[str], float]], line: Line) -> None:
        """`first …: 20 s` on one line, `second …: 0.1 s` on another or on the same one."""
        first, later = _FIRST.search(text), _LATER.search(text)
        if first is None and later is None:
            return
        if _SHAPE.search(text):
            self.shape = True
        for hit, value in durations:
            near_first = first is not None and first.start() < hit.start()
            near_later = later is not None and later.start() < hit.start()
            if near_first and near_later and first is not None and later is not None:
                near_first, near_later = first.start() > later.start(), later.start() > first.start()
            if near_first:
                self.first.append((value, line))
            elif near_later:
                self.later.append((value, line))

    def finish(self) -> None:
        """Turns what was gathered into loads."""
        self._pairs()
        self._bare_ratio()
        self._over_time()
        self._after_pauses()
        for shapes in self.shaped.values():
            self._by_shape(shapes)
        for key, values in self.series.items():
            if len(values) >= MIN_SERIES or _alike(values):
                self._one_series(key, values)

    def _claim(self, lines: list[Line]) -> Line:
        self.claimed.update(line.number for line in lines)
        return lines[-1]

    def _pairs(self) -> None:
        if not self.first or not self.later:
            return
        at = self._claim([line for _, line in (*self.first, *self.later)])
        load = self.loads.start("first and later")
        first, later = self.first[0][0], median(sorted(value for value, _ in self.later))
        _put_first(load, first, later, at)
        if self.shape and later > 0:
            load.put("serve.new_shape_ratio", first / later, at)

    def _over_time(self) -> None:
        if len(self.timed) < 2:
            return
        at = self._claim([line for _, _, line in self.timed])
        ordered = sorted(self.timed, key=lambda one: one[0])
        load = self.loads.start("over time")
        (start, first, _), (_, last, _) = ordered[0], ordered[-1]
        if first > 0:
            load.put("serve.start_throughput_ratio", last / first, at)
        steady = next(when for when, rate, _ in ordered if rate >= 0.9 * last)
        load.put("serve.slow_start_seconds", steady - start, at)
        load.put("serve.throughput_per_second", last, at)

    def _after_pauses(self) -> None:
        if len(self.pauses) < 2:
            return
        ordered = sorted(self.pauses, key=lambda one: one[0])
        (short, fast, _), (long, slow, _) = ordered[0], ordered[-1]
        if long <= short or fast <= 0:
            return
        at = self._claim([line for _, _, line in self.pauses])
        load = self.loads.start("pauses")
        load.put("serve.after_idle_ratio", slow / fast, at)
        load.put("serve.latency_max_seconds", slow, at)
        load.put("serve.latency_min_seconds", fast, at)

    def _by_shape(self, costs: list[tuple[str, float, Line]]) -> None:
        """Whether inputs of different shapes take usual time or many times as long, as where each is compiled for."""
        if len({shape for shape, _, _ in costs}) < MIN_SERIES:
            return
        values = sorted((value, _size(shape)) for shape, value, _ in costs if value > 0)
        if len(values) < MIN_SERIES:
            return
        usual, size = values[0]
        slow = [value for value, more in values if value >= SHAPE_SPIKE * usual * max(1.0, more / size) ** 2]
        at = self._claim([line for _, _, line in costs])
        load = self.loads.start("by shape")
        load.put("serve.series_count", len(values), at)
        load.put("serve.spike_count", len(slow), at)
        if slow and len(slow) < len(values):
            load.put("serve.spike_ratio", median(slow) / usual, at)
            load.put("serve.new_shape_ratio", median(slow) / usual, at)

    def _one_series(self, key: str, values: list[tuple[float, Line]]) -> None:
        at = self._claim([line for _, line in values])
        load = self.loads.start(key[:40].strip(" :=") or "series")
        numbers = [value for value, _ in values]
        rest = sorted(numbers[1:])
        usual = median(rest)
        load.put("serve.series_count", len(numbers), at)
        load.put("serve.request_count", len(numbers), at)
        _put_first(load, numbers[0], usual, at)
        load.put("serve.latency_p50_seconds", median(sorted(numbers)), at)
        load.put("serve.latency_max_seconds", max(numbers), at)
        load.put("serve.latency_min_seconds", min(numbers), at)
        slow = next((place for place, value in enumerate(numbers) if value < FIRST_SLOW * usual), len(numbers))
        load.put("serve.slow_start_count", slow, at)
        load.put("serve.rise_score", _rise_score(numbers), at)
        if numbers[0] > 0:
            load.put("serve.growth_ratio", numbers[-1] / numbers[0], at)
        _put_spikes(load, numbers[max(1, slow) :], usual, at)


def _size(shape: str) -> int:
    """How many values an input of this shape has, at least 1: `(8,3,224)` has 5,376."""
    return max(1, prod(int(one) for one in _WHOLE.findall(shape)))


def _alike(values: list[tuple[float, Line]]) -> bool:
    """True where a few durations are told, all but the first about the same."""
    rest = [value for value, _ in values[1:]]
    return len(values) >= MIN_ALIKE and min(rest) > 0 and max(rest) < ALIKE * min(rest)


def _put_spikes(load: Load, numbers: list[float], usual: float, at: Line) -> None:
    spikes = [value for value in numbers if value > SPIKE_RATIO * usual]
    load.put("serve.spike_count", len(spikes), at)
    if spikes and usual > 0:
        load.put("serve.spike_ratio", median(sorted(spikes)) / usual, at)


def _put_first(load: Load, first: float, later: float, at: Line) -> None:
    load.put("serve.first_latency_seconds", first, at)
    load.put("serve.steady_latency_seconds", later, at)


def _rise_score(numbers: list[float]) -> float:
    """How far more latencies are above the one before than half of them, in standard deviations of chance.

    The difference-sign test: of n values without a trend (n-1)/2 rise, with variance (n+1)/12. Equal neighbours count
    half.
    """
    rises = sum(1.0 if later > earlier else 0.5 if later == earlier else 0.0 for earlier, later in pairwise(numbers))
    count = len(numbers)
    return float((rises - (count - 1) / 2) / ((count + 1) / 12) ** 0.5)


def _seconds(hit: re.Match[str]) -> float | None:
    return parse_duration(f"{hit[1]} {hit[2]}")


FORMAT = TextFormat(NAME, "Latencies of one request after another", HINTS, scan)
