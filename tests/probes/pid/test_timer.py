"""The timer inside a training loop, by a clock that the tests move: what it measures, writes, and survives."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuwhy.kb.fact_file import load
from gpuwhy.kb.facts import JOB
from gpuwhy.kb.load import load as load_rules
from gpuwhy.probes import step_timer
from gpuwhy.probes.step_callbacks import lightning_callback, transformers_callback
from gpuwhy.probes.step_timer import StepTimer


class Clock:
    """Time that passes only when told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def values(timer: StepTimer) -> dict[str, object]:
    facts, _ = timer.facts()
    specs = load_rules().facts
    assert {(one.id, one.unit) for one in facts} <= {(spec.id, spec.unit) for spec in specs.values()}
    assert {one.entity for one in facts} <= {JOB}
    return {one.id: one.value for one in facts}


def train(timer: StepTimer, clock: Clock, steps: int) -> None:
    """Steps of 1.0 s: 0.3 s until the batch is there, 0.2 s waiting for the device, 0.1 s logging, 0.4 s the rest."""

    def batches() -> Iterator[int]:
        for number in range(steps):
            clock.pass_(0.3)
            yield number

    for _ in timer.data(batches()):
        with timer.step():
            clock.pass_(0.4)
            timer.sync(lambda: clock.pass_(0.2))
        with timer.logging():
            clock.pass_(0.1)


def test_the_shares_are_those_of_the_steps_after_the_first(tmp_path: Path, clock: Clock) -> None:
    timer = StepTimer(tmp_path / "t.json", clock=clock)
    train(timer, clock, 13)
    found = values(timer)
    assert found["step.count"] == 10
    assert found["step.time_seconds"] == pytest.approx(1.0)
    assert found["step.window_seconds"] == pytest.approx(10.0)
    assert found["step.data_wait_share"] == pytest.approx(0.3)
    assert found["step.data_wait_seconds"] == pytest.approx(0.3)
    assert found["step.sync_share"] == pytest.approx(0.2)
    assert found["step.logging_share"] == pytest.approx(0.1)
    assert found["step.sync_count"] == 10
    assert "step.checkpoint_share" not in found  # never said, so not known


def test_before_the_first_counted_step_there_is_a_reason(tmp_path: Path, clock: Clock) -> None:
    timer = StepTimer(tmp_path / "t.json", clock=clock)
    train(timer, clock, 3)
    facts, absent = timer.facts()
    assert [one.id for one in facts] == ["step.warmup_only"]
    assert "only 3 step(s)" in absent[0].reason


def test_an_evaluation_belongs_to_no_step(tmp_path: Path, clock: Clock) -> None:
    timer = StepTimer(tmp_path / "t.json", clock=clock, warm_up_steps=0)
    for _ in range(4):
        with timer.step():
            clock.pass_(1.0)
        with timer.pause():
            clock.pass_(50.0)
    assert values(timer)["step.time_mean_seconds"] == pytest.approx(1.0)


def test_a_step_that_fails_is_not_counted_and_the_failure_goes_on(tmp_path: Path, clock: Clock) -> None:
    timer = StepTimer(tmp_path / "t.json", clock=clock, warm_up_steps=0)
    with pytest.raises(RuntimeError, match="out of memory"), timer.step():
        raise RuntimeError("out of memory")
    assert values(timer) == {}


def test_synchronising_at_the_end_of_a_step_is_waiting(tmp_path: Path, clock: Clock) -> None:
    timer = StepTimer(tmp_path / "t.json", clock=clock, warm_up_steps=0, synchronize=lambda: clock.pass_(1.0))
    for _ in range(3):
        with timer.step():
            clock.pass_(1.0)
    assert values(timer)["step.sync_share"] == pytest.approx(0.5)
    assert values(timer)["job.timing_synchronized"] is True


def test_the_file_is_written_every_so_many_seconds(tmp_path: Path, clock: Clock) -> None:
    timer = StepTimer(tmp_path / "t.json", clock=clock, write_every_seconds=5.0, warm_up_steps=0)
    train(timer, clock, 4)
    assert not (tmp_path / "t.json").exists()
    train(timer, clock, 2)
    facts, _ = load((tmp_path / "t.json").read_text())
    assert {one.id: one.value for one in facts}["step.count"] == 6


def test_each_rank_has_a_file_of_its_own(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    timer = StepTimer(tmp_path / "t.json", clock=clock)
    train(timer, clock, 5)
    timer.write()
    assert (tmp_path / "t.rank3.json").exists()
    assert values(timer)["job.rank_count"] == 8


def test_a_file_that_cannot_be_written_is_said_once(
    tmp_path: Path, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    timer = StepTimer(tmp_path / "no" / "t.json", clock=clock, write_every_seconds=1.0)
    train(timer, clock, 9)
    assert capsys.readouterr().err.count("cannot be written") == 1


PROGRAM = """
import sys
from gpuwhy.probes.step_timer import StepTimer
timer = StepTimer(sys.argv[1], warm_up_steps=0)
for _ in range(3):
    with timer.step():
        pass
heavy = {"torch", "numpy", "yaml", "jsonschema", "click", "pynvml"} & set(sys.modules)
assert not heavy, heavy
if sys.argv[2] == "crash":
    raise RuntimeError("the training fails")
"""


@pytest.mark.parametrize("end", ["well", "crash"])
def test_what_was_timed_is_kept_however_the_program_ends(tmp_path: Path, end: str) -> None:
    path = tmp_path / "t.json"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path), end], capture_output=True, text=True)
    assert ("the training fails" in done.stderr) == (end == "crash"), done.stderr
    facts, _ = load(path.read_text())
    assert {one.id: one.value for one in facts}["step.count"] == 3


def test_the_units_are_those_of_the_vocabulary() -> None:
    specs = load_rules().facts
    assert {name: specs[name].unit for name in step_timer._UNITS} == step_timer._UNITS


class Callback:
    """What a framework's callbacks derive from."""


@pytest.mark.parametrize("framework", ["lightning", "transformers"])
def test_the_callbacks_time_what_the_trainer_tells(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, framework: str
) -> None:
    module = types.ModuleType(framework)
    module.Callback = module.TrainerCallback = Callback  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, framework, module)
    monkeypatch.setitem(sys.modules, f"{framework}.pytorch", module)
    timer = StepTimer(tmp_path / "t.json", clock=clock, warm_up_steps=1)
    if framework == "lightning":
        one = lightning_callback(timer)
        begin, end, evaluated = one.on_train_batch_start, one.on_train_batch_end, one.on_validation_end
        saved = one.on_save_checkpoint
    else:
        one = transformers_callback(timer)
        begin, end, evaluated, saved = one.on_step_begin, one.on_step_end, one.on_evaluate, one.on_save
    assert isinstance(one, Callback)
    for _ in range(5):  # steps of 2.0 s: 0.5 s data, 1.0 s work, 0.5 s checkpoint; evaluations of 9 s between
        begin("trainer", "module")
        clock.pass_(1.0)
        end("trainer", outputs=None)
        clock.pass_(9.0)
        evaluated()
        clock.pass_(0.5)
        saved()
        clock.pass_(0.5)
    found = values(timer)
    assert found["step.count"] == 4
    assert found["step.time_seconds"] == pytest.approx(2.0)
    assert found["step.data_wait_share"] == pytest.approx(0.25)
    assert found["step.checkpoint_share"] == pytest.approx(0.25)
    one.on_train_end()  # type: ignore[attr-defined]  # not of the base
    assert (tmp_path / "t.json").exists()


def test_a_callback_without_its_framework_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match="transformers"):
        transformers_callback(StepTimer(tmp_path / "t.json"))
