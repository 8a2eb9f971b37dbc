"""Training step logs of any framework: step time, waiting for data, throughput, memory over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpuwhy.kb.averages import median
from gpuwhy.kb.facts import JOB, Entity, Value
from gpuwhy.kb.records import replace
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.step_log_lines import StepLine, is_device_memory_line, read_lines
from gpuwhy.probes.artefacts.step_log_memory import Series, device_memory_zero, series_of, trend_readings
from gpuwhy.probes.artefacts.step_log_phases import phase_readings
from gpuwhy.probes.artefacts.step_log_statistics import (
    Means,
    Row,
    as_differences,
    bar_means,
    clock_means,
    data_is_outside,
    row_means,
    rows_of,
    running_means,
    stalls,
    wait_grows,
    without_warm_up,
)

MOST_READINGS = 60
"""Readings kept of single steps; statistics rest on all of them."""

_WORKERS = later(r"(?i)\bUsing ([0-9]{1,4}) data ?loader workers")
_TABLE_HEAD = later(r"(?i)^\s{0,12}epoch\s{1,12}(?:gpu_)?mem\s")
_NO_LOG = later(r"(?i)out of memory|tried to allocate|\bXid\b|nvidia-smi|total capacity")


def scan(text: Text) -> Iterator[Extract]:
    """One extract for all training-log lines of the text."""
    found = [line for line in read_lines(text.lines) if not _NO_LOG.search(line.text)]
    steps = _join_halves([line for line in found if _is_step(line)], found)
    training = [line for line in steps if not line.is_evaluation] or steps
    series = series_of(_memory_lines(found, training))
    main = _main_style(training)
    readings = [*_step_readings(main), *_throughput(main, training), *_memory_readings(series, training)]
    readings.extend(_detail(main, training))
    parts, in_parts = phase_readings(text.lines, _typical(readings))
    told = {(reading.fact, reading.entity) for reading in readings}
    readings.extend(reading for reading in parts if (reading.fact, reading.entity) not in told)
    claimed = {line.number for line in steps} | {line.number for one in series for line in one.lines}
    claimed |= {line.number for line in found if line.scored and (line.step is not None or steps or series)}
    claimed |= in_parts
    for line in text.lines:
        workers = _WORKERS.search(line.text)
        if workers:
            readings.extend(_worker_readings(int(workers[1]), line.number, workers[0]))
            claimed.add(line.number)
        elif steps and _TABLE_HEAD.match(line.text):
            claimed.add(line.number)
    if readings:
        yield Extract("step-log", tuple(readings), claimed=frozenset(claimed))


def _typical(readings: Sequence[Reading]) -> float | None:
    """Time of a typical step in seconds, if the readings so far tell it."""
    times = (reading.value for reading in readings if reading.fact == "step.time_seconds")
    return next((float(time) for time in times if isinstance(time, int | float)), None)


def _is_step(line: StepLine) -> bool:
    if line.is_bar or (line.seconds is not None and line.data is not None):
        return True
    if line.step is not None:
        return line.has_times or line.scored
    return line.rate is not None or (line.epoch is not None and (line.is_explicit or line.samples is not None))


def _join_halves(steps: Sequence[StepLine], found: Sequence[StepLine]) -> list[StepLine]:
    """Step lines, each with the data wait that a line next to it gives: timers may stand on lines of their own."""
    halves = {line.number: line for line in found if line.data is not None and line.seconds is None}
    if not halves:
        return list(steps)
    joined: list[StepLine] = []
    for line in steps:
        if line.seconds is not None and line.data is None and not line.is_bar:
            around = (halves.get(line.number + offset) for offset in (1, -1, 2, -2, 3, -3))
            near = next((half for half in around if half is not None and half.step in (None, line.step)), None)
            if near is not None:
                line = replace(line, data=near.data, data_average=near.data_average)
        if line.seconds is not None or line.data is None or line.step is not None:
            joined.append(line)
    return joined


def _main_style(lines: Sequence[StepLine]) -> list[StepLine]:
    """The lines of the style that says most: a log often prints steps in more than one way."""
    styles: dict[tuple[bool, bool, bool], list[StepLine]] = {}
    for line in lines:
        styles.setdefault((line.seconds is not None, line.data is not None, line.is_bar), []).append(line)
    if not styles:
        return []

    def worth(style: tuple[bool, bool, bool]) -> tuple[int, int]:
        timed, waits, bar = style
        return (3 if timed and waits else 2 if timed and not bar else 1 if timed else 0, len(styles[style]))

    return styles[max(styles, key=worth)]


def _step(fact: str, value: Value, line: StepLine) -> Reading:
    return Reading(fact, value, line.number, line.text, JOB)


def _step_readings(lines: Sequence[StepLine]) -> Iterator[Reading]:
    if not lines:
        return
    lines = as_differences(lines)
    all_rows = rows_of(lines)
    rows = without_warm_up(all_rows)
    last = lines[-1]
    means = running_means(lines, data_is_outside(lines)) or _means_without_averages(lines, rows)
    if means is not None:
        yield from _means_readings(means, last)
    if rows:
        yield _step("step.time_seconds", median(row.seconds for row in rows), last)
    elif means is not None:
        yield _step("step.time_seconds", means.seconds, last)
    if len(rows) >= 2 and not last.is_bar:
        longest = max(rows, key=lambda row: max(row.seconds, row.line.last_seconds or 0.0))
        yield _step("step.time_max_seconds", max(longest.seconds, longest.line.last_seconds or 0.0), longest.line)
    yield from _wait_readings(rows, all_rows)
    yield from _warm_up(lines)


def _means_without_averages(lines: Sequence[StepLine], rows: Sequence[Row]) -> Means | None:
    if lines[-1].is_bar:
        return bar_means(lines) or row_means(rows)
    return row_means(rows) or clock_means(lines)


def _means_readings(means: Means, line: StepLine) -> Iterator[Reading]:
    yield _step("step.count", means.count, line)
    yield _step("step.time_mean_seconds", means.seconds, line)
    if means.wait is not None and means.wait_share is not None:
        yield _step("step.data_wait_seconds", means.wait, line)
        yield _step("step.data_wait_share", means.wait_share, line)


def _wait_readings(rows: Sequence[Row], all_rows: Sequence[Row]) -> Iterator[Reading]:
    waiting = [row for row in rows if row.wait_share is not None]
    if len(waiting) >= 2:
        worst = max(waiting, key=lambda row: (row.wait_share or 0.0, row.seconds))
        yield _step("step.data_wait_peak_share", worst.wait_share or 0.0, worst.line)
    bursts = stalls(rows, all_rows)
    if bursts is not None:
        yield _step("step.data_stalls_periodic", bursts.periodic, rows[-1].line)
        if bursts.mean_seconds is not None:
            yield _step("step.data_stall_seconds", bursts.mean_seconds, rows[-1].line)
    grows = wait_grows(rows)
    if grows is not None:
        yield _step("step.data_wait_grows", grows, rows[-1].line)


def _warm_up(lines: Sequence[StepLine]) -> Iterator[Reading]:
    steps = [line.step for line in lines if line.step is not None]
    if not steps or len(steps) < len(lines):
        return
    begins = min(steps) <= 1 and all((line.epoch or 0) <= 1 for line in lines)
    totals = [line.total for line in lines if line.total is not None]
    few = max(steps) <= 3 and len(lines) <= 4 and (not totals or max(totals) > 20)
    yield _step("step.warmup_only", begins and few, lines[-1])


def _throughput(main: Sequence[StepLine], lines: Sequence[StepLine]) -> Iterator[Reading]:
    for fact, name in (("step.throughput_per_second", "rate"), ("step.samples_per_second", "samples")):
        for group in (main, lines):
            printed = [line for line in group if getattr(line, name) is not None]
            if printed:
                typical = median(float(getattr(line, name)) for line in printed)
                yield _step(fact, typical, printed[-1])
                break


def _memory_lines(found: Sequence[StepLine], steps: Sequence[StepLine]) -> list[StepLine]:
    """Lines whose memory figures belong to the training: step lines, and repeated lines that name device memory."""
    numbers = {line.number for line in steps}
    others: dict[str, list[StepLine]] = {}
    for line in found:
        if line.memory and line.number not in numbers and is_device_memory_line(line):
            others.setdefault(line.memory[0].key, []).append(line)
    repeated = [line for group in others.values() if len(group) >= 3 for line in group]
    return sorted([*(line for line in steps if line.memory), *repeated], key=lambda line: line.number)


def _memory_readings(series: Sequence[Series], steps: Sequence[StepLine]) -> Iterator[Reading]:
    yield from trend_readings(series)
    if steps:
        zero = device_memory_zero(series)
        if zero is not None:
            yield zero
    for one in series:
        for label, index in (("first", 0), ("last", -1)):
            line = one.lines[index]
            yield _reading("reading.bytes", f"{label} {one.key}", one.sizes[index], line)


def _worker_readings(workers: int, line: int, text: str) -> Iterator[Reading]:
    yield Reading("loader.workers", workers, line, text, JOB)
    yield Reading("loader.in_main_process", workers == 0, line, text, JOB)


def _reading(fact: str, label: str, value: float, line: StepLine) -> Reading:
    return Reading(fact, value, line.number, line.text, Entity("measurement", label, JOB))


def _detail(main: Sequence[StepLine], lines: Sequence[StepLine]) -> list[Reading]:
    """Readings of single steps: first and last ones, and those that took or waited longest."""
    readings: list[Reading] = []
    steps = [line for line in lines if line.step is not None]
    for label, line in (("first step", steps[0]), ("last step", steps[-1])) if steps else ():
        readings.append(_reading("reading.count", label, line.step or 0, line))
    totals = [line for line in steps if line.total is not None]
    if totals:
        readings.append(_reading("reading.count", "steps in all", totals[-1].total or 0, totals[-1]))
    seen: set[str] = set()
    shown = {line.number for line in main}
    for line in [*_telling(main), *_telling([line for line in lines if line.number not in shown])]:
        for reading in _line_detail(line):
            if len(readings) < MOST_READINGS and reading.entity.name not in seen:
                seen.add(reading.entity.name)
                readings.append(reading)
    return readings


def _telling(lines: Sequence[StepLine]) -> list[StepLine]:
    if len(lines) <= 10:
        return [*lines[-1:], *lines[:-1]]
    slow = sorted(lines, key=lambda line: (line.data or 0.0, line.seconds or 0.0), reverse=True)[:5]
    chosen = [lines[-1], *lines[:3], *lines[-3:-1], *slow]
    return list(dict.fromkeys(chosen))


def _line_detail(line: StepLine) -> Iterable[Reading]:
    label = f"step {line.step}" if line.step is not None else f"line {line.number}"
    named: tuple[tuple[str, str, float | None], ...] = (
        ("reading.seconds", "time", line.seconds),
        ("reading.seconds", "data wait", line.data),
        ("reading.seconds", "mean time so far", line.average),
        ("reading.seconds", "mean data wait so far", line.data_average),
        ("reading.seconds", "newest time", line.last_seconds),
        ("reading.seconds", "newest data wait", line.last_data),
        ("reading.seconds", "elapsed", line.elapsed),
        ("reading.value", "samples per second", line.samples),
        ("reading.value", "tokens per second", line.tokens),
        ("reading.value", "steps per second", line.rate),
    )
    return [_reading(fact, f"{label} {what}", value, line) for fact, what, value in named if value is not None]


FORMAT = TextFormat(
    name="step-log",
    title="Training step log",
    hints=(
        "epoch",
        "iter",
        "step",
        "batch",
        "it/s",
        "s/it",
        "data_time",
        "dataloader workers",
        "samples per second",
        "train_runtime",
        "gpu ram",
        "gpu mem",
        "free mem",
        "vram",
        "|net ",
        "eta:",
    ),
    scan=scan,
)
