"""Times the phases of a training loop from inside it, and keeps them as a facts file that `gpuwhy diagnose` reads.

    from gpuwhy.probes.step_timer import StepTimer

    timer = StepTimer("timer.json")
    for batch in timer.data(loader):
        with timer.step():
            loss = train(batch)
            value = timer.sync(loss.item)
            with timer.logging():
                log(value)

It needs the standard library only, and costs a few clock readings in a step. It never touches the device, so that the
time of a launch is that of the host; `synchronize=torch.cuda.synchronize` waits for the device at the end of every
step, which slows the job down. The file is written every so many seconds and when the program ends; where it cannot be
written the training goes on.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import TypeVar, overload

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import JOB, Absent, Fact, Origin, OriginKind, Value

Batch = TypeVar("Batch")
Result = TypeVar("Result")

SOURCE = "timer"
WARM_UP_STEPS = 3
"""The first steps start workers, compile and fill caches; they are not counted."""

WRITE_EVERY_SECONDS = 30.0
MAX_STEPS_KEPT = 20_000
"""Of a longer run the typical step is that of the last so many."""

_UNITS = {
    "step.count": "count",
    "step.time_seconds": "seconds",
    "step.time_mean_seconds": "seconds",
    "step.time_max_seconds": "seconds",
    "step.data_wait_seconds": "seconds",
    "step.window_seconds": "seconds",
    "step.sync_count": "count",
    "step.data_wait_share": "share",
    "step.data_wait_peak_share": "share",
    "step.sync_share": "share",
    "step.logging_share": "share",
    "step.checkpoint_share": "share",
    "step.warmup_only": None,
    "job.timing_synchronized": None,
    "job.rank_count": "count",
}
_PHASES = ("data", "sync", "logging", "checkpoint")


class _Span:
    """Times one phase as a context; entering it again inside itself counts once."""

    __slots__ = ("_begun", "_depth", "_phase", "_timer")

    def __init__(self, timer: StepTimer, phase: str) -> None:
        self._timer = timer
        self._phase = phase
        self._begun = 0.0
        self._depth = 0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._begun = self._timer.clock()

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._timer.add(self._phase, self._timer.clock() - self._begun)


class _Step:
    """The step as a context."""

    __slots__ = ("_timer",)

    def __init__(self, timer: StepTimer) -> None:
        self._timer = timer

    def __enter__(self) -> None:
        self._timer.begin_step()

    def __exit__(self, kind: object, *_: object) -> None:
        self._timer.end_step(complete=kind is None)


class _Pause:
    """A stretch that belongs to no step, such as an evaluation."""

    __slots__ = ("_begun", "_timer")

    def __init__(self, timer: StepTimer) -> None:
        self._timer = timer
        self._begun = 0.0

    def __enter__(self) -> None:
        self._begun = self._timer.clock()

    def __exit__(self, *_: object) -> None:
        self._timer.leave_out(self._timer.clock() - self._begun)


class StepTimer:
    """Times steps, waiting for data, waiting for the device, logging and checkpoints of one process.

    `path` is the facts file; of several ranks each writes its own (`timer.rank3.json`). A step reaches from the end of
    the step before to its own end, so that waiting for data is part of it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        write_every_seconds: float = WRITE_EVERY_SECONDS,
        synchronize: Callable[[], object] | None = None,
        warm_up_steps: int = WARM_UP_STEPS,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.clock = clock
        self.path = _path_of_rank(Path(path))
        self._every = write_every_seconds
        self._synchronize = synchronize
        self._warm_up = warm_up_steps
        self._step = _Step(self)
        self._spans = {phase: _Span(self, phase) for phase in _PHASES}
        self._total = dict.fromkeys(_PHASES, 0.0)
        self._current = dict.fromkeys(_PHASES, 0.0)
        self._syncs = self._current_syncs = 0
        self._seconds: deque[float] = deque(maxlen=MAX_STEPS_KEPT)
        self._longest = self._window = self._peak = 0.0
        self._counted = self._seen = 0
        self._last_end: float | None = None
        self._written = clock()
        self._process = os.getpid()
        self._failed = False
        atexit.register(self.write)

    def data(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        """The batches of a loader; the time until each is there counts as waiting for data."""
        if self._last_end is None:
            self._last_end = self.clock()
        batches, span = iter(loader), self._spans["data"]
        while True:
            try:
                with span:
                    batch = next(batches)
            except StopIteration:
                return
            yield batch

    def step(self) -> _Step:
        """The context of one step."""
        return self._step

    @overload
    def sync(self) -> _Span: ...
    @overload
    def sync(self, call: Callable[[], Result]) -> Result: ...
    def sync(self, call: Callable[[], Result] | None = None) -> _Span | Result:
        """The context of waiting for the device, or, given something to call, what that returns."""
        span = self._spans["sync"]
        if call is None:
            return span
        with span:
            return call()

    def logging(self) -> _Span:
        """The context of printing, logging and writing metrics."""
        return self._spans["logging"]

    def checkpoint(self) -> _Span:
        """The context of writing a checkpoint."""
        return self._spans["checkpoint"]

    def pause(self) -> _Pause:
        """The context of what belongs to no step: an evaluation, for example."""
        return _Pause(self)

    def begin_step(self) -> None:
        """A step begins; for callbacks, which have no context."""
        if self._last_end is None:
            self._last_end = self.clock()

    def end_step(self, complete: bool = True) -> None:
        """A step ends. One that an exception ended is not counted."""
        if complete and self._synchronize is not None:
            with self._spans["sync"]:
                self._synchronize()
        now = self.clock()
        seconds = now - (self._last_end if self._last_end is not None else now)
        self._last_end = now
        self._seen += complete
        if complete and self._seen > self._warm_up:
            self._count(seconds)
        self._current = dict.fromkeys(_PHASES, 0.0)
        self._current_syncs = 0
        if now - self._written >= self._every:
            self.write()

    def _count(self, seconds: float) -> None:
        self._counted += 1
        self._window += seconds
        self._seconds.append(seconds)
        self._longest = max(self._longest, seconds)
        for phase in _PHASES:
            self._total[phase] += self._current[phase]
        self._syncs += self._current_syncs
        if seconds > 0:
            self._peak = max(self._peak, min(1.0, self._current["data"] / seconds))

    def add(self, phase: str, seconds: float) -> None:
        """Notes time of a phase (data, sync, logging, checkpoint) of the step that is running or comes next."""
        self._current[phase] += seconds
        if phase == "sync":
            self._current_syncs += 1

    def leave_out(self, seconds: float) -> None:
        """Takes time out of the step that is running or comes next."""
        if self._last_end is not None:
            self._last_end += seconds

    def facts(self) -> tuple[list[Fact], list[Absent]]:
        """What was measured so far, and why something was not."""
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if self._counted == 0:
            text = f"only {self._seen} step(s) so far, and the first {self._warm_up} are not counted"
            absent = [Absent(name, JOB, text, Origin(OriginKind.MEASURED, SOURCE)) for name in ("step.time_seconds",)]
            return [_fact("step.warmup_only", True, text, at, None)] if self._seen else [], absent
        text = f"{self._counted} steps, the first {self._warm_up} left out"
        return [_fact(name, value, text, at, self._window) for name, value in self._values().items()], []

    def _values(self) -> dict[str, Value]:
        used = {phase for phase in _PHASES if self._total[phase] > 0}
        values: dict[str, Value] = {
            "step.count": self._counted,
            "step.time_seconds": median(self._seconds),
            "step.time_mean_seconds": self._window / self._counted,
            "step.time_max_seconds": self._longest,
            "step.window_seconds": self._window,
        }
        if self._window > 0:
            values |= {
                f"step.{'data_wait' if phase == 'data' else phase}_share": min(1.0, self._total[phase] / self._window)
                for phase in _PHASES
                if phase in used
            }
        if "data" in used:
            values["step.data_wait_seconds"] = self._total["data"] / self._counted
            values["step.data_wait_peak_share"] = self._peak
        if "sync" in used:
            values["step.sync_count"] = self._syncs
        if self._synchronize is not None:
            values["job.timing_synchronized"] = True
        ranks = os.environ.get("WORLD_SIZE", "")
        if ranks.isdigit() and int(ranks) > 0:
            values["job.rank_count"] = int(ranks)
        return values

    def write(self) -> None:
        """Writes the facts file in one step, so that nobody reads half of it. A failure is said once, never raised."""
        self._written = self.clock()
        if os.getpid() != self._process or self._seen == 0:
            return  # a worker that was forked from this process, or nothing to tell
        temporary = self.path.with_name(f".{self.path.name}.{self._process}")
        try:
            temporary.write_text(dump(*self.facts()), "utf-8")
            os.replace(temporary, self.path)
        except OSError as error:
            if not self._failed:
                self._failed = True
                print(f"gpuwhy: {self.path} cannot be written: {error.strerror}; the training goes on", file=sys.stderr)


def _fact(name: str, value: Value, text: str, at: str, window: float | None) -> Fact:
    return Fact(name, value, _UNITS[name], JOB, Origin(OriginKind.MEASURED, SOURCE, None, text), at, window)


def _path_of_rank(path: Path) -> Path:
    """The path, with the rank in its name where there are several."""
    rank, ranks = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    several = rank.isdigit() and ranks.isdigit() and int(ranks) > 1
    return path.with_name(f"{path.stem}.rank{rank}{path.suffix}") if several else path
