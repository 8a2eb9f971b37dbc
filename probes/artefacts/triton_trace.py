"""Request traces of Triton: time stamps in nanoseconds per request, as JSON or as a list of `NAME: stamp`.

`QUEUE_START` to `COMPUTE_START` is the queue, then follow input, execution and output; between `COMPUTE_END` and
`REQUEST_END` the response is handed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.averages import mean, median
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.serve_loads import Loads

NAME = "triton-trace"
HINTS = ("request_start", "queue_start", "compute_start", "compute_input_end")

_STAMP = re.compile(
    r"[\"']?\b([A-Z_]{4,32}_(?:START|"
    r"END))[\"']?\s{0,3}[:,]\s{0,3}(?:\"ns\"\s{0,3}:\s{0,3})?[\"']?([0-9]{6,20})"
)
_PARTS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("serve.queue_seconds", ("QUEUE_START",), ("COMPUTE_START",)),
    ("serve.compute_input_seconds", ("COMPUTE_START",), ("COMPUTE_INPUT_END",)),
    ("serve.compute_infer_seconds", ("COMPUTE_INPUT_END",), ("COMPUTE_OUTPUT_START",)),
    ("serve.compute_output_seconds", ("COMPUTE_OUTPUT_START",), ("COMPUTE_END",)),
    ("serve.response_seconds", ("COMPUTE_END",), ("REQUEST_END",)),
    ("serve.server_latency_seconds", ("REQUEST_START",), ("REQUEST_END",)),
    ("serve.latency_mean_seconds", ("HTTP_RECV_START", "GRPC_WAITREAD_START"), ("HTTP_SEND_END", "GRPC_SEND_END")),
)
MAX_REQUESTS = 100_000


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all traced requests of a text."""
    requests: list[dict[str, int]] = [{}]
    claimed: set[int] = set()
    last: Line | None = None
    for line in text.lines:
        for name, stamp in _STAMP.findall(line.text):
            if name in requests[-1] and len(requests) < MAX_REQUESTS:
                requests.append({})
            requests[-1].setdefault(name, int(stamp))
            claimed.add(line.number)
            last = line
    timed = [parts for one in requests if (parts := _parts(one))]
    if not timed:
        return
    loads = Loads()
    load = loads.start("trace")
    load.put("serve.request_count", len(timed), last)
    for fact in {fact: None for parts in timed for fact in parts}:
        load.put(fact, mean([parts[fact] for parts in timed if fact in parts]), last)
    totals = [parts["serve.server_latency_seconds"] for parts in timed if "serve.server_latency_seconds" in parts]
    if len(totals) > 2:
        load.put("serve.first_latency_seconds", totals[0], last)
        load.put("serve.steady_latency_seconds", median(sorted(totals[1:])), last)
    yield Extract(NAME, tuple(loads.readings()), claimed=frozenset(claimed))


def _parts(stamps: dict[str, int]) -> dict[str, float]:
    parts: dict[str, float] = {}
    for fact, starts, ends in _PARTS:
        start = next((stamps[name] for name in starts if name in stamps), None)
        end = next((stamps[name] for name in ends if name in stamps), None)
        if start is not None and end is not None and end >= start:
            parts[fact] = (end - start) * 1e-9
    return parts


FORMAT = TextFormat(NAME, "Triton request traces", HINTS, scan)
