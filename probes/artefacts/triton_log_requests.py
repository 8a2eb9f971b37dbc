"""Single requests in a verbose log of Triton: when each was prepared, with which shapes, and when its answer was ready.

Records of --log-verbose=1: `prepared: … model: m, …, batch + shape: [1,3]` and `add response output: …`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from gpuwhy.kb.averages import median
from gpuwhy.kb.facts import load, model
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Line, Reading

LOGGED = "logged requests"
MIN_REQUESTS = 4
MAX_REQUESTS = 100_000
SLOW_RATIO = 5.0
"""The first request of a shape counts as slow from this many times the median of repeated shapes."""

_PREPARED = re.compile(r"(?:\[request id: [^\]\n]{0,200}\] )?prepared: [^\n]{0,200}?model: ([^,\n]{1,200}), ")
_SHAPE = re.compile(r"batch \+ shape: \[([0-9,]{0,200})\]")
_RESPONSE = re.compile(r"add response output: ")


@dataclass
class _Request:
    model: str
    shape: str
    began: float
    line: Line
    ended: float | None = None


@dataclass
class Requests:
    """Requests of a log. Answers are matched in the order of the requests, which is right where they do not overlap."""

    waiting: deque[_Request] = field(default_factory=deque)
    done: list[_Request] = field(default_factory=list)
    overlap: bool = False

    def note(self, message: str, at: float, line: Line) -> None:
        """Takes a record in."""
        prepared = _PREPARED.match(message)
        if prepared and len(self.done) < MAX_REQUESTS:
            self.overlap = self.overlap or bool(self.waiting)
            shapes = "/".join(_SHAPE.findall(message.split("override inputs", 1)[0]))
            self.waiting.append(_Request(prepared.group(1), shapes, at, line))
        elif self.waiting and _RESPONSE.match(message):
            one = self.waiting.popleft()
            one.ended = at
            self.done.append(one)

    def readings(self) -> Iterator[Reading]:
        """Facts about every model whose requests follow one another."""
        if self.overlap:
            return
        for name in dict.fromkeys(one.model for one in self.done):
            yield from _of_model(name, [one for one in self.done if one.model == name])


def _of_model(name: str, found: list[_Request]) -> Iterator[Reading]:
    of = load(LOGGED, model(name))
    where = (found[-1].line.number, None)
    took = [max(0.0, (one.ended or one.began) - one.began) for one in found]
    if len(found) < MIN_REQUESTS:
        return
    firsts, repeats = _by_shape(found, took)
    if not repeats:
        return
    usual = median(repeats)
    yield Reading("serve.steady_latency_seconds", usual, *where, of)
    yield Reading("serve.shape_count", len(firsts) + 1, *where, of)
    if firsts and usual > 0:
        slow = [one for one in firsts if one >= SLOW_RATIO * usual]
        yield Reading("serve.new_shape_ratio", median(firsts) / usual, *where, of)
        yield Reading("serve.slow_on_new_shape", len(slow) * 2 > len(firsts), *where, of)
        if len(slow) * 2 > len(firsts):
            yield Reading("serve.first_latency_seconds", median(firsts), *where, of)


def _by_shape(found: list[_Request], took: list[float]) -> tuple[list[float], list[float]]:
    """Times of the first request of every further shape, and of requests whose shape was there before."""
    seen = {found[0].shape}
    firsts: list[float] = []
    repeats: list[float] = []
    for one, seconds in zip(found[1:], took[1:], strict=True):
        (repeats if one.shape in seen else firsts).append(seconds)
        seen.add(one.shape)
    return firsts, repeats
