"""How long requests wait and compute in a server, as a sentence gives it: `avg queue 160 ms, compute 15 ms`.

Both must be told within one line; a queue alone has nothing to be compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import load, model
from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import parse_duration
from gpuwhy.probes.artefacts.reported_sentences import observed

NAME = "stated-latency"
HINTS = ("queue", "queuing", "排队")
_LONGEST = 600
_NO_SENTENCE = later(r"\||\+|^\s{0,12}(?:nv_|[{\"#])|usec|\bp[0-9]{2}\b.{0,8}queue")
_TIME = r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,3})?) ?(?P<unit>ms|us|µs|s|sec|seconds?|milliseconds?)(?![A-Za-z0-9/])"
_OF = (
    r"(?: ?(?:time|duration|latency|delay|wait)s?)?(?: ?(?:per request|in the server))?"
    r"(?: ?(?:is|was|of|at|takes?|averages?|avg|about|around|only|roughly|up|to|dominates|[:=~≈(])){0,4} ?"
)
_QUEUE = later(rf"(?i)(?:\bqueu(?:e|ing)\b{_OF}|排队(?:时间|延迟)?[^0-9\n]{{0,6}}){_TIME}")
_COMPUTE = later(
    rf"(?i)(?:\b(?:compute|execution|inference|infer|model)(?:[ _]infer)?{_OF}"
    rf"|(?:推理|计算|执行)(?:时间|耗时)?[^0-9\n]{{0,6}}){_TIME}"
)
_HEARD = load("as said", model())


def scan(text: Text) -> Iterator[Extract]:
    """One extract of the first line that gives both; it claims that line."""
    for line in text.lines:
        if len(line.text) > _LONGEST or _NO_SENTENCE.search(line.text):
            continue
        queue, compute = _QUEUE.search(line.text), _COMPUTE.search(line.text)
        lowered = line.text.lower()
        if (
            queue is None
            or compute is None
            or not (observed(queue, lowered, True) and observed(compute, lowered, True))
        ):
            continue
        figures = {"serve.queue_seconds": _seconds(queue), "serve.compute_infer_seconds": _seconds(compute)}
        if all(figures.values()):
            quoted = line.text.strip()[:160]
            readings = [
                Reading(fact, value, line.number, quoted, _HEARD, said=True)
                for fact, value in figures.items()
                if value is not None
            ]
            yield Extract(NAME, tuple(readings), claimed=frozenset({line.number}))
            return


def _seconds(found: re.Match[str]) -> float | None:
    unit = found["unit"].lower()
    plain = "ms" if unit.startswith("mil") else "s" if unit.startswith("s") else unit.replace("µ", "u")
    return parse_duration(f"{found['number']}{plain}")


FORMAT = TextFormat(NAME, "Waiting and computing in a server, as said", HINTS, scan)
