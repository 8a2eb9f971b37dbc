"""Metrics of one server in two files are one window; those of two servers, or of one that was restarted, are not."""

from __future__ import annotations

import pytest

from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.read import Gathered, gather
from tests.probes.artefacts.test_triton_metrics import scrape

# between: 100 requests, 200 s in the queue and 10 s executing: 2 s and 0.1 s each
EARLY, LATE = scrape(100, queue=1_000_000, infer=20_000_000), scrape(200, queue=201_000_000, infer=30_000_000)


def read(**texts: str) -> Gathered:
    return gather([(name, text.encode()) for name, text in texts.items()], load().facts)


def values(found: Gathered, fact: str) -> dict[str, object]:
    return {one.entity.name: one.value for one in found.facts if one.id == fact}


@pytest.mark.parametrize("texts", [{"a": EARLY, "b": LATE}, {"b": LATE, "a": EARLY}], ids=["in-order", "turned-round"])
def test_two_files_of_one_server_are_read_as_one_window(texts: dict[str, str]) -> None:
    found = read(**texts)
    assert values(found, "serve.request_count") == {"window": 100}
    assert values(found, "serve.queue_seconds") == {"window": pytest.approx(2.0)}
    assert values(found, "serve.compute_infer_seconds") == {"window": pytest.approx(0.1)}
    assert values(found, "serve.cumulative") == {"window": False}
    told = " ".join(one.reason for one in found.not_understood)
    assert "a, b are taken for reads of one server" in told
    assert "rates are not" in told
    assert values(found, "serve.requests_per_second") == {}


def test_dates_before_them_give_the_time_between() -> None:
    found = read(
        a=f"Mon Nov 30 02:15:06 UTC 2026\n{EARLY}",
        b=f"Mon Nov 30 02:15:16 UTC 2026\n{LATE}",
    )
    assert values(found, "serve.requests_per_second") == {"window": pytest.approx(10.0)}  # 100 in 10 s
    assert "rates are not" not in " ".join(one.reason for one in found.not_understood)


def gpu(uuid: str) -> str:
    return f'nv_gpu_utilization{{gpu_uuid="{uuid}"}} 0.5\n'


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (EARLY, LATE.replace('model="echo"', 'model="other"')),
        (EARLY + gpu("GPU-1"), LATE + gpu("GPU-2")),
        (scrape(100, queue=9_000_000, infer=20_000_000), scrape(200, queue=1_000_000, infer=30_000_000)),
    ],
    ids=["other-models", "other-gpus", "a-counter-fell"],
)
def test_what_is_not_of_one_server_stands_for_itself(first: str, second: str) -> None:
    found = read(a=first, b=second)
    assert set(values(found, "serve.cumulative").values()) == {True}
    assert "one server" not in " ".join(one.reason for one in found.not_understood)
