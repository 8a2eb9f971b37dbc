"""A look, probe by probe: what each found, that one can be cancelled and run again, and the curves that are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpuwhy.kb.fact_file import load as facts_of
from gpuwhy.kb.facts import HOST, Fact, Origin, OriginKind
from gpuwhy.kb.load import load
from gpuwhy.probes.gathering import Gathering
from gpuwhy.probes.nvml_glance import Glance, Vital
from gpuwhy.tui.incident.looking import HOST as HOST_PROBE
from gpuwhy.tui.incident.looking import Look, Probe, Run, Specs, State, Unavailable, plan
from gpuwhy.tui.incident.vitals import MOST_POINTS, Recorder, from_text, to_text

GIB = 2**30


def told(fact: str, value: float) -> Gathering:
    spec = load().facts[fact]
    return Gathering((Fact(fact, value, spec.unit, HOST, Origin(OriginKind.MEASURED, "test")),), (), 1.0)


def probe(name: str, run: Run) -> Probe:
    return Probe(name, name, run, (("host.cpu_busy_share", "busy"),))


def steady(_seconds: float, _progress: Callable[[float], None], stop: threading.Event, _specs: Specs) -> Gathering:
    """Watches until it is told to end."""
    stop.wait(60)
    return told("host.cpu_busy_share", 0.5)


def nothing(_seconds: float, _progress: Callable[[float], None], _stop: threading.Event, _specs: Specs) -> Gathering:
    raise Unavailable("nothing answers")


class Waiting:
    """Tells a test when a look is as it should be."""

    def __init__(self) -> None:
        self._moved = threading.Condition()

    def __call__(self) -> None:
        with self._moved:
            self._moved.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        with self._moved:
            assert self._moved.wait_for(holds, timeout=60)


def begun(*probes: Probe) -> tuple[Look, Waiting]:
    waiting = Waiting()
    look = Look(probes, 20.0, load().facts, waiting)
    look.start()
    return look, waiting


def test_what_a_probe_found_is_told_and_counts() -> None:
    look, waiting = begun(probe("host", steady), probe("server", nothing))
    look.end()
    waiting.until(lambda: look.over)
    assert [(one.state, one.found) for one in look.steps] == [
        (State.DONE, "busy 50 %"),
        (State.UNAVAILABLE, "nothing answers"),
    ]
    event = look.result()
    assert event is not None
    assert [one.id for one in facts_of(event.facts)[0]] == ["host.cpu_busy_share"]


def test_what_a_cancelled_probe_saw_does_not_count_and_it_can_run_again() -> None:
    look, waiting = begun(probe("host", steady))
    look.cancel("host")
    assert look.over
    assert look.steps[0].state is State.CANCELLED
    assert look.result() is None
    look.retry("host")
    assert not look.over
    look.end()
    waiting.until(lambda: look.over)
    assert look.result() is not None


def test_a_probe_that_fails_leaves_the_others_alone() -> None:
    def broken(_seconds: float, _progress: Callable[[float], None], _stop: threading.Event, _specs: Specs) -> Gathering:
        raise OSError(5, "Input/output error")

    look, waiting = begun(probe("broken", broken), probe("host", steady))
    look.end()
    waiting.until(lambda: look.over)
    assert "Input/output error" in look.steps[0].found
    assert look.steps[0].state is State.FAILED
    assert look.result() is not None


def test_a_host_alone_is_watched_where_there_is_no_gpu() -> None:
    look, waiting = begun(HOST_PROBE)
    look.end()
    waiting.until(lambda: look.over)
    assert look.steps[0].state is State.DONE
    assert "CPUs" in look.steps[0].found


def test_a_server_is_looked_for_where_inference_jitters_alone() -> None:
    assert [one.id for one in plan("serve")] == ["gpus", "host", "triton"]
    assert [one.id for one in plan("oom")] == ["gpus", "host"]


def glance(busy: float | None) -> Glance:
    return Glance((Vital(0, "NVIDIA A10", busy, 4 * GIB, 16 * GIB, 49.0, 98.0),))


def test_curves_are_shares_of_the_cards_own_limits() -> None:
    recorder = Recorder()
    recorder.take(0.0, glance(0.25))
    recorder.take(1.0, glance(None))
    (course,) = recorder.courses()
    assert course.values == ((0.25, None), (0.25, 0.25), (0.5, 0.5))  # 4 of 16 GiB, 49 of 98 degrees
    assert course.limits == ("100 %", "16.00 GiB", "98 °C")
    assert from_text(to_text([course])) == (course,)


def test_a_long_look_stays_small_from_end_to_end() -> None:
    recorder = Recorder()
    for second in range(5 * MOST_POINTS):
        recorder.take(float(second), glance(0.5))
    (course,) = recorder.courses()
    assert MOST_POINTS / 3 < len(course.seconds) <= MOST_POINTS
    assert course.seconds[0] == 0.0
    assert course.seconds[-1] > 4.9 * MOST_POINTS


def test_curves_that_are_none_are_left_out() -> None:
    for text in (
        "",
        "[",
        "{}",
        "[1]",
        '[{"gpu": 0, "name": "x", "seconds": [1], "values": [[], [], []], "limits": []}]',
    ):
        assert from_text(text) == ()
