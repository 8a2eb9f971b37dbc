"""The statistics endpoint of Triton, pasted: compact or pretty-printed, once or twice, cut off."""

from __future__ import annotations

import json

import pytest

from gpuwhy.probes.artefacts.triton_statistics import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

OF = "server:this/model:echo/load:since the start"
WINDOW = "server:this/model:echo/load:window"


def statistics(requests: int, executions: int, queue_ns: int, infer_ns: int, busy_ns: int) -> dict[str, object]:
    """A response for one model."""

    def duration(count: int, spent: int) -> dict[str, int]:
        return {"count": count, "ns": spent}

    return {
        "model_stats": [
            {
                "name": "echo",
                "version": "1",
                "last_inference": 1796025969515,
                "inference_count": requests,
                "execution_count": executions,
                "inference_stats": {
                    "success": duration(requests, queue_ns + infer_ns),
                    "fail": duration(1, 500),
                    "queue": duration(requests, queue_ns),
                    "compute_input": duration(requests, 0),
                    "compute_infer": duration(requests, infer_ns),
                    "compute_output": duration(requests, 0),
                    "cache_hit": duration(3, 30),
                    "cache_miss": duration(0, 0),
                },
                "batch_stats": [{"batch_size": 4, "compute_infer": duration(executions, busy_ns)}],
            }
        ]
    }


ONCE = statistics(40, 10, 800_000_000, 400_000_000, 100_000_000)


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "pretty"])
def test_means_since_the_start(indent: int | None) -> None:
    text = "$ curl -s localhost:8000/v2/models/stats\n" + json.dumps(ONCE, indent=indent) + "\n$ \n"
    extracts = scan(FORMAT, text)
    found = values(extracts)
    assert found["serve.cumulative", OF] is True
    assert found["serve.queue_seconds", OF] == pytest.approx(0.02)  # 0.8 s over 40
    assert found["serve.server_latency_seconds", OF] == pytest.approx(0.03)
    assert found["serve.batch_size_mean", OF] == 4
    assert found["serve.failed_count", OF] == 1
    assert found["serve.cache_hit_count", OF] == 3
    assert 1 not in claimed(extracts)
    assert 2 in claimed(extracts)


def test_two_responses_are_a_window() -> None:
    later = statistics(60, 12, 800_000_000 + 200_000_000, 700_000_000, 130_000_000)
    found = values(scan(FORMAT, json.dumps(ONCE) + "\n" + json.dumps(later) + "\n"))
    assert found["serve.cumulative", WINDOW] is False
    assert found["serve.queue_seconds", WINDOW] == pytest.approx(0.01)  # 0.2 s over 20
    assert found["serve.batch_size_mean", WINDOW] == 10


def test_sixty_four_bit_numbers_as_text_are_numbers() -> None:
    text = json.dumps(ONCE).replace('"ns": 800000000', '"ns": "800000000"')
    assert values(scan(FORMAT, text))["serve.queue_seconds", OF] == pytest.approx(0.02)


def test_a_response_that_is_cut_off_is_said_to_be() -> None:
    extracts = scan(FORMAT, json.dumps(ONCE)[:300])
    assert values(extracts) == {}
    assert "cut off" in extracts[0].troubles[0].message


def test_other_json_is_left_alone() -> None:
    assert scan(FORMAT, '{"a": 1}\n{"b": "inference_stats"}\n') == []
