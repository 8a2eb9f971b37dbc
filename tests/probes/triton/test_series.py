"""What many reads show over time: bursts, slow first requests, slow single ones, and models that call others."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.server_counters import ModelCounters, Snapshot
from gpuwhy.probes.artefacts.triton_config import from_json
from gpuwhy.probes.triton_pipeline import pipeline
from gpuwhy.probes.triton_series import course


def reads(*stretches: tuple[float, float], before: tuple[float, float] = (1000, 10.0)) -> list[Snapshot]:
    """Reads one second apart, from requests and seconds of execution of each stretch."""
    requests, infer = before
    found = [snapshot(0, requests, infer)]
    for number, (more, seconds) in enumerate(stretches, 1):
        requests, infer = requests + more, infer + seconds
        found.append(snapshot(number, requests, infer))
    return found


def snapshot(at: float, requests: float, infer: float) -> Snapshot:
    counters = {"successes": requests, "executions": requests, "request": infer, "compute_infer": infer}
    return Snapshot({("m", "1"): ModelCounters(counters)}, at)


def told(snapshots: list[Snapshot]) -> dict[str, Value]:
    return {one.fact: one.value for one in course(snapshots)}


def test_an_even_load() -> None:
    found = told(reads(*[(10, 0.1)] * 10))
    assert found["serve.rate_peak_ratio"] == pytest.approx(1)
    assert found["serve.idle_stretch_share"] == 0
    assert found["serve.spike_count"] == 0
    assert found["serve.infer_spread_ratio"] == pytest.approx(1)
    assert found["serve.usual_infer_seconds"] == pytest.approx(0.01)


def test_requests_that_come_together() -> None:
    found = told(reads(*[(40, 0.4), (0, 0), (0, 0), (0, 0)] * 3))
    assert found["serve.rate_peak_ratio"] == pytest.approx(4)  # 40 against a mean of 10
    assert found["serve.idle_stretch_share"] == 0.75


def test_one_slow_request_among_many_is_a_spike() -> None:
    found = told(reads(*[(10, 0.1)] * 6, (10, 0.6), *[(10, 0.1)] * 3))
    assert found["serve.spike_count"] == 1
    assert found["serve.spike_ratio"] == pytest.approx(51)  # 0.01 s and 0.5 s more, over 0.01 s


def test_the_first_request_after_a_start() -> None:
    found = told(reads((5, 0.54), *[(10, 0.1)] * 6, before=(0, 0)))
    assert found["serve.first_latency_seconds"] == pytest.approx(0.5)  # 0.54 s less four of 0.01 s
    assert found["serve.steady_latency_seconds"] == pytest.approx(0.01)
    assert "serve.earlier_excess_seconds" not in found


def test_what_requests_before_the_window_took_more() -> None:
    found = told(reads(*[(10, 0.1)] * 6, before=(20, 0.7)))
    assert found["serve.earlier_request_count"] == 20
    assert found["serve.earlier_excess_seconds"] == pytest.approx(0.5)  # 0.7 s less twenty of 0.01 s


def test_no_requests_no_course() -> None:
    assert told(reads(*[(0, 0)] * 6)) == {}


def test_a_reset_is_a_new_start() -> None:
    after = [snapshot(6, 1, 0.3), snapshot(7, 11, 0.4), snapshot(8, 21, 0.5)]
    found = told([*reads(*[(10, 0.1)] * 5), *after])
    assert found["serve.first_latency_seconds"] == pytest.approx(0.3)


def two(caller: tuple[float, float, float], called: tuple[float, float, float]) -> list[Snapshot]:
    """Two reads of two models: requests, seconds in all, seconds of execution in between."""
    names = ("successes", "request", "compute_infer")
    zero = ModelCounters(dict.fromkeys(names, 0.0))
    models = {
        (name, "1"): ModelCounters(dict(zip(names, one, strict=True))) for name, one in (("a", caller), ("b", called))
    }
    return [Snapshot(dict.fromkeys(models, zero), 0), Snapshot(models, 10)]


PYTHON = from_json({"name": "a", "backend": "python"})


def test_a_python_model_that_calls_another_one() -> None:
    found = {one.fact: one.value for one in pipeline(two((100, 5.2, 5.0), (100, 1.0, 0.9)), {"a": PYTHON})}
    assert found["serve.calls"] == "b"
    assert found["serve.handler_seconds"] == pytest.approx(0.04)  # (5 s - 1 s) / 100
    assert found["serve.handler_share"] == pytest.approx(0.8)


@pytest.mark.parametrize("called", [(57, 1.0, 0.9), (100, 6.0, 5.9), (0, 0, 0)], ids=["other count", "longer", "idle"])
def test_models_that_have_nothing_to_do_with_each_other(called: tuple[float, float, float]) -> None:
    assert list(pipeline(two((100, 5.2, 5.0), called), {"a": PYTHON})) == []


def test_steps_of_an_ensemble_share_its_time() -> None:
    whole = from_json({"name": "a", "platform": "ensemble", "ensemble_scheduling": {"step": [{"model_name": "b"}]}})
    found = {one.fact: one.value for one in pipeline(two((100, 10.0, 0), (100, 8.0, 7.0)), {"a": whole})}
    assert found == {"serve.step_share": pytest.approx(0.8)}
