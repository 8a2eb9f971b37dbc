"""Tables of Lightning's SimpleProfiler: where a training epoch's time goes, with the nesting of its rows respected.

`run_training_epoch` holds fetching and `run_training_batch`; that holds `optimizer_step`; and that, by way of the
closure, holds the training step and backward. Adding rows up would count time twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpuwhy.kb.facts import JOB, Entity, Value
from gpuwhy.kb.records import dataclass, field, replace
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import parse_number

_RULER = re.compile(r"^[\s|>:=+-]*$")
_EPOCH = re.compile(r"run_training_epoch$|^fit_loop\.run$|training_epoch$")
_BATCH = re.compile(r"run_training_batch$")
_FETCH = re.compile(
    r"(?i)train_dataloader_next|get_train_batch|fetch_next_train_batch|train_next$|training_?epoch_?loop\]?\..*next"
)
_OPTIMIZER = re.compile(r"optimizer_step(?:_and_closure(?:_\d{1,3})?|_with_closure(?:_\d{1,3})?)?$")
_NUMBERED = re.compile(r"optimizer_step_(?:and|with)_closure_\d{1,3}$")
_STEP_AND_BACKWARD = re.compile(r"training_step_and_backward$")
_TRAINING_STEP = re.compile(r"(?:^|\.)training_step$|model_forward$")
_BACKWARD = re.compile(r"(?:^|\.)(?:model_)?backward$")
_CHECKPOINT = re.compile(r"ModelCheckpoint|save_checkpoint")


@dataclass(frozen=True)
class _Row:
    line: Line
    name: str
    mean: float | None
    calls: int | None
    total: float | None
    share: float | None


@dataclass
class _Table:
    columns: Sequence[str]
    claimed: set[int]
    rows: list[_Row] = field(default_factory=list)


def scan(text: Text) -> Iterator[Extract]:
    """One extract per table."""
    for table in _tables(text.lines):
        if table.rows:
            readings = [reading for row in table.rows for reading in _row_readings(row)]
            readings.extend(_step_readings(table.rows))
            yield Extract("lightning-profiler", tuple(readings), claimed=frozenset(table.claimed))


def _cells(text: str) -> list[str]:
    cells = [cell.strip() for cell in text.strip().removeprefix("> ").strip().split("|")]
    if cells and not cells[0]:
        cells = cells[1:]
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _tables(lines: Sequence[Line]) -> Iterator[_Table]:
    table: _Table | None = None
    title: set[int] = set()
    for line in lines:
        lowered = line.text.lower()
        if "action" in lowered and "mean duration" in lowered and "|" in lowered:
            if table is not None:
                yield table
            table, title = _Table([cell.lower() for cell in _cells(line.text)], {line.number, *title}), set()
        elif table is not None and not _take(table, line):
            yield table
            table = None
        elif "profiler report" in lowered and len(line.text) < 80:
            title = {line.number}
    if table is not None:
        yield table


def _take(table: _Table, line: Line) -> bool:
    """Add a line to the table; False if the table has ended before it. Empty lines may stand between its rows."""
    if _RULER.match(line.text):
        if line.text.strip():
            table.claimed.add(line.number)
        return True
    cells = _cells(line.text)
    if "|" not in line.text or len(cells) < min(3, len(table.columns)):
        return False
    row = _row(line, dict(zip(table.columns, cells, strict=False)))
    if row is not None:
        table.rows.append(row)
        table.claimed.add(line.number)
    return row is not None


def _row(line: Line, cells: Mapping[str, str]) -> _Row | None:
    def number(*marks: str) -> float | None:
        for column, cell in cells.items():
            if any(mark in column for mark in marks):
                return parse_number(cell.removesuffix("%"))
        return None

    name = next(iter(cells.values()), "")
    mean, calls, total, share = number("mean"), number("calls"), number("total"), number("percent", "%")
    if not name or (mean is None and total is None):
        return None
    return _Row(
        line, name[:160], mean, None if calls is None else int(calls), total, None if share is None else share / 100
    )


def _row_readings(row: _Row) -> Iterator[Reading]:
    entity = Entity("entry", row.name, JOB)
    values: tuple[tuple[str, Value | None], ...] = (
        ("profile.total_seconds", row.total),
        ("profile.mean_seconds", row.mean),
        ("profile.calls", row.calls),
        ("profile.share", row.share),
    )
    for fact, value in values:
        if value is not None:
            yield Reading(fact, value, row.line.number, row.line.text.strip()[:200], entity)


def _optimizer(rows: Sequence[_Row]) -> _Row | None:
    """The row of the optimizer step; with several optimizers, which take turns, one row for all of them together.

    Rows that are cut off show in the closures: they hold the training step and backward, so they take as long at least.
    """
    longest, numbered = _longest(rows, _OPTIMIZER), [row for row in rows if _NUMBERED.search(row.name)]
    if longest is None or longest.total is None:
        return None
    several = sum(row.total or 0.0 for row in numbered) if longest in numbered else 0.0
    return replace(longest, total=max(longest.total, several, _inside_optimizer(rows) or 0.0))


def _longest(rows: Sequence[_Row], pattern: re.Pattern[str]) -> _Row | None:
    """Of the rows with such a name the one with most time: one of them may contain the others."""
    fitting = [row for row in rows if row.total is not None and pattern.search(row.name)]
    return max(fitting, key=lambda row: row.total or 0.0, default=None)


def _step_readings(rows: Sequence[_Row]) -> Iterator[Reading]:
    fetch, batch, optimizer = _longest(rows, _FETCH), _longest(rows, _BATCH), _longest(rows, _OPTIMIZER)
    base = _longest(rows, _EPOCH) or _longest(rows, re.compile(r"(?i)^total$"))
    whole = _sum_of_parts(rows, fetch, batch, optimizer) if base is None else base.total
    base = base or fetch
    if base is None or not whole:
        return
    yield _fact("job.framework", "lightning", base)
    yield _fact("step.window_seconds", whole, base)
    counted = next((row for row in (batch, optimizer, fetch) if row is not None and row.calls), None)
    if counted is not None and counted.calls:
        yield _fact("step.count", counted.calls, counted)
        yield _fact("step.time_mean_seconds", whole / counted.calls, base)
        yield _fact("step.time_seconds", whole / counted.calls, base)
    if fetch is not None and fetch.total is not None:
        yield _fact("step.data_wait_share", min(1.0, fetch.total / whole), fetch)
        calls = counted.calls if counted is not None and counted.calls else fetch.calls
        if calls:
            yield _fact("step.data_wait_seconds", fetch.total / calls, fetch)
    yield from _nested_shares(rows, whole, batch, _optimizer(rows))
    checkpoint = _longest(rows, _CHECKPOINT)
    if checkpoint is not None and checkpoint.total is not None:
        yield _fact("step.checkpoint_share", min(1.0, checkpoint.total / whole), checkpoint)


def _sum_of_parts(rows: Sequence[_Row], fetch: _Row | None, batch: _Row | None, optimizer: _Row | None) -> float:
    """Seconds of the epoch where no row stands for it (early versions): fetching, and what the batches took.

    The optimizer step holds the forward and backward pass where it is at least as long as both; else they stand beside.
    """
    if fetch is None or fetch.total is None:
        return 0.0
    inner = _inside_optimizer(rows) or 0.0
    steps = 0.0 if optimizer is None else optimizer.total or 0.0
    work = max(0.0 if batch is None else batch.total or 0.0, steps if steps >= inner else steps + inner)
    return fetch.total + work if work > 0 else 0.0


def _nested_shares(rows: Sequence[_Row], whole: float, batch: _Row | None, optimizer: _Row | None) -> Iterator[Reading]:
    """Shares of what is left of a row when the rows inside it are taken out."""
    if batch is not None and batch.total is not None and batch.total <= whole:
        yield _fact("step.outside_batch_share", (whole - batch.total) / whole, batch)
        if optimizer is not None and optimizer.total is not None and optimizer.total <= batch.total:
            yield _fact("step.batch_overhead_share", (batch.total - optimizer.total) / whole, optimizer)
    inner = _inside_optimizer(rows)
    if optimizer is not None and optimizer.total is not None and inner is not None and inner < optimizer.total:
        yield _fact("step.optimizer_share", (optimizer.total - inner) / whole, optimizer)


def _inside_optimizer(rows: Sequence[_Row]) -> float | None:
    """Seconds of the training step and backward, which run in the closure of the optimizer step; None if not shown."""
    both = _longest(rows, _STEP_AND_BACKWARD)
    if both is not None:
        return both.total
    step, backward = _longest(rows, _TRAINING_STEP), _longest(rows, _BACKWARD)
    if step is None or backward is None:
        return None
    return (step.total or 0.0) + (backward.total or 0.0)


def _fact(fact: str, value: Value, row: _Row) -> Reading:
    return Reading(fact, value, row.line.number, row.line.text.strip()[:200], JOB)


FORMAT = TextFormat(
    name="lightning-profiler",
    title="Lightning profiler report",
    hints=("mean duration",),
    scan=scan,
)
