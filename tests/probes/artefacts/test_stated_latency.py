"""What sentences say of waiting and computing in a server."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.stated_latency import FORMAT
from tests.probes.artefacts.helpers import scan, values


def told(report: str) -> dict[str, object]:
    """The facts of a report."""
    return {fact: value for (fact, _), value in values(scan(FORMAT, report + "\n")).items()}


@pytest.mark.parametrize(
    ("report", "queue", "compute"),
    [
        ("queue duration dominates (avg queue 160ms, compute 15ms).", 0.16, 0.015),
        ("In the server the queue time is 2 s while inference takes 300 ms.", 2.0, 0.3),
        ("Queue 500 us, compute infer 8 ms", 0.0005, 0.008),
        ("排队时间 120ms，推理时间 10ms", 0.12, 0.01),
    ],
)
def test_queue_and_computing_of_one_line(report: str, queue: float, compute: float) -> None:
    assert told(report) == {
        "serve.queue_seconds": pytest.approx(queue),
        "serve.compute_infer_seconds": pytest.approx(compute),
    }


@pytest.mark.parametrize(
    "report",
    [
        "the queue takes 160 ms",  # nothing to compare it with
        "inference takes 300 ms and the message queue has 20 entries",
        "if the queue took 160 ms and compute 15 ms, what would help?",
        "Avg request latency: 70 usec (overhead 10 usec + queue 20 usec + compute infer 15 usec)",  # perf_analyzer's
        "max_queue_delay_microseconds: 100, compute 5 ms",
    ],
)
def test_lines_that_do_not_give_both(report: str) -> None:
    assert told(report) == {}
