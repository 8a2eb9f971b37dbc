"""A real tritonserver, with a known cause of latency provoked on it: the command line names the cause, from outside.

One pair of servers for all tests of this file. pytest-xdist keeps them on one worker with `--dist loadgroup`; otherwise
each worker that gets one of them starts its own pair.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.triton_lab.scenarios import SCENARIOS, Lab, Scenario, lab
from tests.triton_lab.server import why_not

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "runs here"),
    pytest.mark.xdist_group("triton"),
]

NAMED = {
    "steady": "serve.steady",
    "delayed": "serve.batch-delay",
    "saturated": "serve.queue-saturated",
    "unbatched": "serve.no-batching",
    "bursty": "serve.bursty-arrivals",
    "staged": "serve.instance-contention",
    "handler": "serve.handler-blocking",
    "failing": "serve.failing-requests",
    "cached": "serve.steady",
    "touched": "serve.model-reload",
    "reloaded": "serve.model-reload",
    "cold": "serve.cold-start",
    "shaped": "serve.shape-specialisation",
}
"""What the first conclusion must be."""


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("triton")) as running:
        yield running


def diagnosed(where: Lab, one: Scenario, *more: str) -> dict[str, Any]:
    """The report of the command line, as JSON, while a scenario runs."""
    server = where.explicit if one.explicit else where.polled
    where.prime(*one.prime)
    command = [sys.executable, "-m", "gpuwhy", "diagnose", "--format", "json", "--for", f"{one.seconds}s", *more]
    command += ["--triton", f"127.0.0.1:{server.metrics}", "--triton-http", f"127.0.0.1:{server.http}"]
    command += ["--repository", str(server.repository), "--log", str(server.log)]
    with one.provoke(where):
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def asserted(document: dict[str, Any]) -> list[str]:
    return [one["id"] for one in document["conclusions"] if one["status"] in ("confirmed", "likely")]


@pytest.mark.parametrize("name", NAMED)
def test_the_cause_is_named_first(where: Lab, name: str) -> None:
    one = next(one for one in SCENARIOS if one.name == name)
    found = asserted(diagnosed(where, one))
    assert found[0] == NAMED[name], found
    if name != "steady" and NAMED[name] != "serve.steady":
        assert "serve.steady" not in found


def test_a_warmed_model_is_no_cold_start(where: Lab) -> None:
    found = asserted(diagnosed(where, next(one for one in SCENARIOS if one.name == "warmed")))
    assert "serve.cold-start" not in found


def test_a_client_that_sends_less_than_it_means_to_is_the_limit(where: Lab) -> None:
    one = next(one for one in SCENARIOS if one.name == "slow-client")
    for _ in range(3):  # where another model still ends its work in the window, the answer is about neither of the two
        found = asserted(diagnosed(where, one, "--answer", "serve.offered_per_second=20"))
        if found[0] == "serve.client-bound":
            break
    assert found[0] == "serve.client-bound", found


def test_nothing_is_sent_to_a_model_unless_asked_for(where: Lab) -> None:
    where.prime("steady")
    server = where.polled
    command = [sys.executable, "-m", "gpuwhy", "diagnose", "--triton", f"127.0.0.1:{server.metrics}"]
    command += ["--triton-http", f"127.0.0.1:{server.http}", "--for", "0.5s", "--format", "json"]
    before = inferences(where, "steady")
    subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    assert inferences(where, "steady") == before
    command += ["--probe-load", "5", "--probe-model", "steady"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    facts = {one["id"]: one["value"] for one in json.loads(done.stdout)["facts"]}
    assert facts["serve.probe_count"] == 5
    assert inferences(where, "steady") == before + 5


def inferences(where: Lab, name: str) -> int:
    """Inferences of a model, once the last ones are counted: an answer is sent a little before it is."""

    def count() -> int:
        document = json.loads(where.polled.call(f"/v2/models/{name}/stats"))
        return int(document["model_stats"][0]["inference_count"])

    found = count()
    time.sleep(0.5)
    while (now := count()) != found:
        found = now
        time.sleep(0.5)
    return found


def test_a_server_that_is_started_anew_meanwhile_is_told_from_a_model_loaded_anew(where: Lab) -> None:
    where.prime("steady")

    def start_anew() -> None:
        where.polled.stop()
        where.polled.start()

    begun = threading.Timer(6, start_anew)
    begun.start()
    try:
        document = diagnosed(where, replace(SCENARIOS[0], prime=(), seconds=25))
        found = asserted(document)
    finally:
        begun.join()
        where.polled.wait()
    assert found[0] == "serve.server-restarted", found
    assert "serve.model-reload" not in found
