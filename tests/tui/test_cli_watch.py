"""Watching from the command line, on the stand-in for the driver: events, how it ends, and how much room it takes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from gpuwhy.kb.facts import Fact, Origin, OriginKind, gpu
from gpuwhy.tui import cli
from gpuwhy.tui.watch_events import Gpus, lasting
from gpuwhy.tui.wording import columns
from tests.conftest import ROOT
from tests.probes.nvml.conftest import compiled
from tests.probes.nvml.live import environment

SCHEMA = json.loads((ROOT / "tui" / "schema" / "watch-1.schema.json").read_text("utf-8"))
PACK = {
    "pack.yaml": "name: watched\nversion: 1.0.0\nsummary: One rule.\n",
    "pipeline.yaml": """
stages:
  - {id: input, share: step.data_wait_share, conclusion: slow.compute-bound-test, says: waiting}
  - {id: compute, share: step.compute_share, conclusion: slow.compute-bound-test, says: computing}
""",
    "signatures/slow/hot.yaml": """
id: sig.slow.hot
version: 1.0.0
status: stable
title: The card is at work
concludes: slow.compute-bound-test
scope: gpu
requires: {fact: gpu.event_software_power_cap, op: eq, value: true}
because: ["it draws {gpu.power_watts}"]
""",
    "conclusions/watched.yaml": """
conclusions:
  - {id: slow.compute-bound-test, kind: cause, says: "The card is at work."}
""",
}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a recent driver."""
    return compiled(tmp_path_factory.mktemp("nvml-watch"))


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rules that do not move under the tests: a card that is held back by its power limit is a cause."""
    folder = tmp_path_factory.mktemp("watched-rules")
    for name in ("facts", "conclusions", "references", "schema"):
        shutil.copytree(ROOT / "rules" / name, folder / name)
    for name, text in PACK.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def watch(library: Path, scenario: str | Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpuwhy", "watch", "--every", "0.2s", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(library, scenario),
    )


def events(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for one in found:
        Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(one)
    return found


def test_a_cause_appears_once_and_still_stands_at_the_end(library: Path, pack: Path) -> None:
    done = watch(library, "healthy-busy", "--for", "6s", "--json", "--rules", str(pack))
    assert (done.returncode, done.stderr) == (1, "")
    seen = events(done)
    assert [one["event"] for one in seen] == ["started", "appeared", "ended"]
    appeared, ended = seen[1], seen[2]
    assert (appeared["conclusion"], appeared["entity"]) == ("slow.compute-bound-test", "gpu:0")
    assert appeared["says"] == "it draws 391 W"
    assert ended["standing"] == [{"conclusion": "slow.compute-bound-test", "entity": "gpu:0", "status": "likely"}]
    assert ended["appeared"] == [{"conclusion": "slow.compute-bound-test", "entity": "gpu:0", "times": 1}]


def test_a_gpu_that_is_lost_is_a_line_and_not_the_end(library: Path) -> None:
    done = watch(library, "lost-midway", "--for", "5s", "--json")
    assert done.returncode == 1
    seen = events(done)
    kinds = [one["event"] for one in seen]
    assert kinds[0] == "started"
    assert kinds[-1] == "ended"
    (stopped,) = [one for one in seen if one["event"] == "gpu-stopped"]
    assert (stopped["entity"], stopped["says"]) == ("gpu:1", "the GPU is lost (NVML 15)")
    assert seen[-1]["stopped"] == ["gpu:1"]
    assert seen[-1]["windows"] > 3  # it went on


def test_without_a_driver_it_ends_and_says_why() -> None:
    done = watch(Path("/no/such/folder"), "idle", "--json")
    assert done.returncode == 3
    first, last = events(done)
    assert (first["event"], first["reason"]) == ("driver-silent", "library-missing")
    assert last["event"] == "ended"


def test_lines_fit_a_terminal(library: Path, pack: Path) -> None:
    done = watch(library, "lost-midway", "--for", "3s", "--rules", str(pack))
    assert max(map(columns, done.stdout.splitlines())) <= 80
    assert "GPU STOPPED  gpu:1" in done.stdout
    assert "healthy" not in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_the_summary(library: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuwhy", "watch", "--every", "0.2s", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(library, "idle"),
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert json.loads(first)["event"] == "started"
    assert json.loads(rest.splitlines()[-1])["event"] == "ended"
    assert (process.returncode in (0, 1), errors) == (True, "")


@pytest.mark.parametrize(
    "arguments",
    [("--every", "0"), ("--every", "2h"), ("--for", "soon"), ("--webhook", "example.com"), ("--webhook", "file:///x")],
    ids="_".join,
)
def test_unusable_arguments_are_refused_at_once(arguments: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli.main, ["watch", *arguments])
    assert done.exit_code == 2
    assert done.stdout == ""


def test_a_gpu_stops_and_answers_again() -> None:
    def fact(name: str, value: bool | str, index: int = 0) -> Fact:
        return Fact(name, value, None, gpu(index), Origin(OriginKind.MEASURED, "nvml", None, "lost"))

    gpus = Gpus()
    well, lost = [fact("gpu.name", "A10"), fact("gpu.lost", False)], [fact("gpu.lost", True)]
    windows = [well, lost, lost, [fact("gpu.name", "A10", 1)], well, well]
    assert [[one.kind for one in gpus.take(facts, 0.0)] for facts in windows] == [
        [],
        ["gpu-stopped"],
        [],
        [],  # nothing is known of it: neither an end nor a return
        ["gpu-answers"],
        [],
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"), (11400, "3 h 10 min")]
)
def test_lengths_of_time_are_said_for_people(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


THOUSANDS = """
import gc, sys, threading, time
from gpuwhy.engine.watching import Watching, facts_of_interest
from gpuwhy.kb.load import load
from gpuwhy.kb.facts import Fact
from gpuwhy.kb.records import replace
from gpuwhy.probes.nvml_watch import _Source

kb = load()
wanted = {one: kb.facts[one] for one in facts_of_interest(kb)}
source, watching = _Source(0.001, wanted, threading.Event(), True), Watching(kb)

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def turn(count):
    for number in range(count):
        if number % 4 == 0:
            window = source.window()
        moved = [replace(one, value=number % 2 * 0.9) if one.id == "gpu.utilization_share" else one
                 for one in window.facts]
        watching.take(moved, 100.0 * turn.done, lambda: 0.0)
        turn.done += 1
turn.done = 0

turn(100)
gc.collect()
objects, size = len(gc.get_objects()), resident()
turn(1000)
gc.collect()
print(watching.evaluations, len(gc.get_objects()) - objects, resident() - size)
"""


def test_thousands_of_windows_take_no_more_room(library: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", THOUSANDS],
        capture_output=True,
        text=True,
        timeout=900,
        env=environment(library, "healthy-busy"),
    )
    assert done.returncode == 0, done.stderr
    evaluations, objects, size = map(int, done.stdout.split())
    assert evaluations > 1000
    assert objects < 200  # a thousand times so many facts would leave hundreds of thousands, were they kept
    assert size < 4 << 20
