"""Time to the first token of a request alone and under load, in a sentence."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.stated_first_token import FORMAT
from tests.probes.artefacts.helpers import scan, values


def told(text: str) -> dict[str, object]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text + "\n")).items()}


@pytest.mark.parametrize(
    ("text", "alone", "loaded", "count"),
    [
        ("TTFT is 9 s at 64 concurrent users but 0.2 s with one; TPOT 25 ms in both cases.", 0.2, 9.0, 64),
        ("TTFT is 9 s at 64 concurrent users but 0.2 s with one.", 0.2, 9.0, 64),
        ("TTFT goes from 0.3 s at 1 request to 12 s at 100 concurrent requests with vLLM", 0.3, 12.0, 100),
        ("time to first token: 150 ms with a single user, 4.5 seconds with 32 users", 0.15, 4.5, 32),
        ("首token延迟: 并发1时 200ms, 并发64时 9秒", 0.2, 9.0, 64),
        ("TTFT at concurrency 1 is 0.3 s, at concurrency 64 it is 9 s", 0.3, 9.0, 64),
    ],
)
def test_both_times(text: str, alone: float, loaded: float, count: int) -> None:
    assert told(text) == {
        "serve.ttft_alone_seconds": pytest.approx(alone),
        "serve.ttft_mean_seconds": pytest.approx(loaded),
        "serve.concurrency": count,
    }


@pytest.mark.parametrize(
    "text",
    [
        "TTFT is 9 s at 64 concurrent users",
        "TTFT should be 0.2 s with one user and 1 s at 64 users",
        "Would TTFT be 9 s at 64 users and 0.2 s with one?",
        "TPOT is 25 ms at 64 users and 20 ms with one user; the first token is fine",
        "latency is 9 s at 64 users and 0.2 s with one",
        "TTFT is 0.2 s for 1 k tokens and 9 s for 64 k tokens of users",
        "| TTFT | 9 s at 64 users | 0.2 s with one user |",
    ],
)
def test_other_sentences_are_none(text: str) -> None:
    assert told(text) == {}
