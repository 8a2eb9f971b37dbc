"""What the lines of a training log say together: the typical step, the share of waiting for data, stalls, trends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gpuwhy.kb.averages import mean, median
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.probes.artefacts.step_log_lines import StepLine

WAITS_BARELY = 0.1
"""A step that spends less of its time than this waiting for data counts as one that did not wait."""

STALL_FACTOR = 3.0
"""A wait for data is a stall when it is this many times as long as the rest of a typical step."""


@dataclass(frozen=True)
class Row:
    """One line's step as a whole: `seconds` includes `wait`, whichever way the log counts."""

    line: StepLine
    seconds: float
    wait: float | None

    @property
    def wait_share(self) -> float | None:
        """Share of the step that waited for data."""
        if self.wait is None or self.seconds <= 0:
            return None
        return min(1.0, self.wait / self.seconds)


@dataclass(frozen=True)
class Means:
    """Means per step in seconds over `count` steps."""

    count: int
    seconds: float
    wait: float | None

    @property
    def wait_share(self) -> float | None:
        """Share of all step time that waited for data."""
        if self.wait is None or self.seconds <= 0:
            return None
        return min(1.0, self.wait / self.seconds)


def data_is_outside(lines: Sequence[StepLine]) -> bool:
    """True if the log's time of a step leaves out the wait for data: somewhere the wait is clearly longer.

    Means over a window and medians of it may cross without meaning that, so only logs of single steps count.
    """
    for line in lines:
        if line.seconds is None or line.data is None or line.last_seconds is not None:
            continue
        if line.data > 1.2 * line.seconds and line.data - line.seconds > 0.005:
            return True
    return False


def rows_of(lines: Sequence[StepLine]) -> list[Row]:
    """The lines that give a step time, as whole steps."""
    outside = data_is_outside(lines)
    rows = []
    for line in lines:
        if line.seconds is None:
            continue
        whole = line.seconds + (line.data or 0.0) if outside else line.seconds
        rows.append(Row(line, whole, line.data))
    return rows


def longest_epoch(lines: Sequence[StepLine]) -> list[StepLine]:
    """Of the stretches in which step numbers rise, the one that covers most steps (the later one of equals)."""
    stretches: list[list[StepLine]] = []
    for line in lines:
        if line.step is None:
            continue
        before = stretches[-1][-1].step if stretches else None
        if before is not None and line.step > before:
            stretches[-1].append(line)
        else:
            stretches.append([line])
    if not stretches:
        return []
    return max(reversed(stretches), key=lambda stretch: (stretch[-1].step or 0) - (stretch[0].step or 0))


def _begins_training(rows: Sequence[Row]) -> bool:
    """True if the first row is the start of training: its first step, or the first window of a windowed log."""
    first = rows[0].line.step
    if first is None:
        return False
    if first <= 1:
        return True
    second = rows[1].line.step
    return len(rows) >= 4 and second is not None and second - first in (first, first + 1)


def without_warm_up(rows: Sequence[Row]) -> list[Row]:
    """The rows without the start of training, where at least three remain."""
    if len(rows) >= 4 and _begins_training(rows):
        return list(rows[1:])
    return list(rows)


def _meter_base(lines: Sequence[StepLine]) -> int:
    """What to add to a step number for the count of steps in a running mean: 1 where numbers start at 0.

    Where the mean equals the value itself, the mean is over one step.
    """
    for line in lines:
        if line.average is not None and line.seconds and abs(line.average - line.seconds) <= 1e-3 * line.seconds:
            both = line.data is None or line.data_average is None or abs(line.data - line.data_average) < 2e-3
            if both and line.step in (0, 1):
                return 1 - line.step
    return 1


def running_means(lines: Sequence[StepLine], outside: bool) -> Means | None:
    """Means per step from the running means that the log prints; None if it prints none.

    Where the log shows its first step, that step is taken out: n·mean(n) - m·mean(m) is the sum from m+1 to n.
    """
    printed = [line for line in longest_epoch(lines) if line.average is not None and line.step is not None]
    if not printed:
        return None
    first, last = printed[0], printed[-1]
    base = _meter_base(printed)
    count = (last.step or 0) + base
    seconds, wait = last.average or 0.0, last.data_average
    begun = (first.step or 0) + base
    if begun == 1 and count >= 4:
        total = seconds * count - (first.average or 0.0)
        waited = None if wait is None else max(0.0, wait * count - (first.data_average or 0.0))
        if total > 0.002 * count and (waited is None or outside or waited <= 1.02 * total):
            count -= 1
            seconds, wait = total / count, None if waited is None else waited / count
    if outside and wait is not None:
        seconds += wait
    return Means(count, seconds, wait) if seconds > 0 else None


def row_means(rows: Sequence[Row]) -> Means | None:
    """Means per step over rows."""
    if not rows:
        return None
    waits = [row.wait for row in rows if row.wait is not None]
    if len(waits) < len(rows):
        measured = [row for row in rows if row.wait is not None]
        if len(measured) >= 0.5 * len(rows):
            rows = measured
        else:
            waits = []
    return Means(_steps_covered(rows), mean(row.seconds for row in rows), mean(waits) if waits else None)


def _steps_covered(rows: Sequence[Row]) -> int:
    """Steps that the rows stand for: each its own, or a window where step numbers advance evenly by more than one."""
    steps = [row.line.step for row in rows if row.line.step is not None]
    strides = {after - before for before, after in pairwise(steps) if after > before}
    if len(strides) == 1 and len(steps) == len(rows) and rows[0].line.average is None:
        return len(rows) * strides.pop()
    return len(rows)


def bar_means(lines: Sequence[StepLine]) -> Means | None:
    """Mean step time of a progress bar: elapsed time over steps done, from the last line of its longest run."""
    done = [line for line in longest_epoch(lines) if line.elapsed and line.step]
    if not done:
        return None
    last = done[-1]
    seconds = (last.elapsed or 0.0) / (last.step or 1)
    waits = [line.data for line in done if line.data is not None]
    wait = mean(waits) if len(waits) == len(done) and max(waits) <= 1.05 * seconds else None
    return Means(last.step or 1, seconds, wait)


def clock_means(lines: Sequence[StepLine]) -> Means | None:
    """Mean step time from timestamps and step numbers; None where the clock is too coarse for that."""
    stamped = [line for line in longest_epoch(lines) if line.clock is not None]
    if len(stamped) < 2:
        return None
    first, last = stamped[0], stamped[-1]
    count = (last.step or 0) - (first.step or 0)
    span = ((last.clock or 0.0) - (first.clock or 0.0)) % 86400.0
    if span < 10.0 or count < 1:
        return None
    return Means(count, span / count, None)


def as_differences(lines: Sequence[StepLine]) -> list[StepLine]:
    """The lines with per-step times where the log prints time since the start, which rises with the step number."""
    epoch = [line for line in longest_epoch(lines) if line.seconds is not None]
    if len(epoch) < 4 or len(epoch) < 0.8 * len(lines) or any(line.data is not None for line in epoch):
        return list(lines)
    times = [line.seconds or 0.0 for line in epoch]
    steps = [line.step or 0 for line in epoch]
    rising = all(after > before for before, after in pairwise(times))
    if not rising or times[-1] < 2 * times[0] or any(line.is_bar or line.is_explicit for line in epoch):
        return list(lines)
    slope = (times[-1] - times[0]) / (steps[-1] - steps[0])
    predicted = [times[0] + slope * (step - steps[0]) for step in steps]
    if any(abs(time - guess) > 0.25 * (times[-1] - times[0]) for time, guess in zip(times, predicted, strict=True)):
        return list(lines)
    return [
        replace(line, seconds=(time - times[index]) / (step - steps[index]))
        for index, (line, time, step) in enumerate(zip(epoch[1:], times[1:], steps[1:], strict=True))
    ]


@dataclass(frozen=True)
class Stalls:
    """Whether waits for data come in bursts, and how long such a wait is on average, in seconds."""

    periodic: bool
    mean_seconds: float | None


def stalls(rows: Sequence[Row], all_rows: Sequence[Row]) -> Stalls | None:
    """Bursts of waiting among single steps; None where there are too few steps to tell."""
    waiting = [row for row in rows if row.wait is not None]
    if len(waiting) < 5:
        return None
    work = median(max(0.0, row.seconds - (row.wait or 0.0)) for row in waiting)
    long = [row for row in waiting if _is_stall(row, work)]
    barely = sum(1 for row in waiting if (row.wait_share or 0.0) < WAITS_BARELY)
    total = sum(row.wait or 0.0 for row in waiting)
    at_start = sum(1 for row in all_rows[:1] if row not in rows and _is_stall(row, work))
    bursts = barely >= 0.5 * len(waiting) and bool(long) and len(long) + at_start >= 2
    if bursts and sum(row.wait or 0.0 for row in long) >= 0.7 * total:
        return Stalls(True, mean(row.wait or 0.0 for row in long))
    return Stalls(False, None) if len(waiting) >= 8 else None


def _is_stall(row: Row, work: float) -> bool:
    wait = row.wait or 0.0
    return wait > STALL_FACTOR * work and wait > 0.5 * row.seconds


def wait_grows(rows: Sequence[Row]) -> bool | None:
    """True if steps were fast at first and wait for data later; None where there are too few steps to tell."""
    waiting = [row for row in rows if row.wait is not None]
    if len(waiting) < 8:
        return None
    third = len(waiting) // 3
    early, late = row_means(waiting[:third]), row_means(waiting[-third:])
    if early is None or late is None or early.wait_share is None or late.wait_share is None:
        return None
    slower = median(row.seconds for row in waiting[-third:]) > 1.3 * median(row.seconds for row in waiting[:third])
    return early.wait_share < 0.15 and late.wait_share > 0.35 and slower
