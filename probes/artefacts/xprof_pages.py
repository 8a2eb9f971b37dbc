"""Pages of the TensorFlow and XLA profilers as JSON (`input_pipeline`, `overview_page`): step time and input time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpuwhy.kb.averages import median
from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Reading, Trouble
from gpuwhy.probes.artefacts.kineto_stream import open_bytes
from gpuwhy.probes.artefacts.quantities import parse_number

_SIZE_LIMIT = 64 << 20
_MARKS = (b"infeedPercentAverage", b"steptime_ms_average", b"device_idle_time_percent", b"inputTimeMs", b"infeedTimeMs")
_WAITING = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s?% of the total step time sampled is waiting for input")
_ROWS_LIMIT = 200
_MILLISECOND = 1e-3
_MICROSECOND = 1e-6


def accepts(start: bytes, _name: str) -> bool:
    """True for the start of a list of such tables."""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    return text[:1] in (b"[", b"{") and b'"cols"' in text and any(mark in text for mark in _MARKS)


def read(source: Path | bytes, name: str) -> Extract:
    """The share of step time that waits for input, step times, and what input time is spent on."""
    try:
        with open_bytes(source) as file:
            content = file.read(_SIZE_LIMIT)
        pages: object = json.loads(content)
    except (OSError, EOFError, ValueError, RecursionError) as error:
        return Extract("xprof-page", troubles=(Trouble(None, f"{name} cannot be read: {error}"),))
    readings: dict[tuple[str, Entity], Reading] = {}
    for table in pages if isinstance(pages, list) else [pages]:
        if isinstance(table, dict):
            for reading in _of_table(table):
                readings.setdefault((reading.fact, reading.entity), reading)
    return Extract("xprof-page", tuple(readings.values()))


def _of_table(table: Mapping[str, object]) -> Iterator[Reading]:
    found = table.get("p")
    properties: Mapping[str, object] = found if isinstance(found, dict) else {}
    for text in properties.values():
        match = _WAITING.search(text) if isinstance(text, str) else None
        if match is not None:
            yield Reading("step.data_wait_share", float(match[1]) / 100.0, text=match[0], entity=JOB)
    rows = list(_rows(table))
    yield from _steps(rows)
    yield from _properties(properties)
    yield from _input_time(properties)
    yield from _operations(rows)


def _rows(table: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """The rows of a table by the ids of its columns."""
    columns, rows = table.get("cols"), table.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list):
        return
    ids = [str(column.get("id")) if isinstance(column, dict) else "" for column in columns]
    for row in rows[:_ROWS_LIMIT]:
        cells = row.get("c") if isinstance(row, dict) else None
        if isinstance(cells, list):
            values = [cell.get("v") if isinstance(cell, dict) else None for cell in cells]
            yield dict(zip(ids, values, strict=False))


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return parse_number(repr(value))
    return parse_number(value.removesuffix("%")) if isinstance(value, str) else None


def _reading(fact: str, value: bool | int | float, text: str) -> Reading:
    return Reading(fact, value, text=text, entity=JOB)


def _steps(rows: Sequence[Mapping[str, object]]) -> Iterator[Reading]:
    """From a table of steps that gives compute and input time of each."""
    steps = [
        (compute, wait)
        for row in rows
        if (compute := _number(row.get("noninfeedTimeMs"))) is not None
        and (wait := _number(row.get("infeedTimeMs"))) is not None
        and compute >= 0
        and wait >= 0
    ]
    whole = sum(compute + wait for compute, wait in steps)
    if whole <= 0:
        return
    waited = sum(wait for _, wait in steps)
    yield _reading("step.data_wait_share", waited / whole, f"{waited:.6g} ms of {whole:.6g} ms")
    yield _reading("step.data_wait_seconds", waited / len(steps) * _MILLISECOND, "mean of the steps")
    shares = [wait / (compute + wait) for compute, wait in steps if compute + wait > 0]
    yield _reading("step.data_wait_peak_share", max(shares), "longest wait of a step")
    yield _reading("step.count", len(steps), "steps in the table")
    yield _reading("step.time_seconds", median(sum(step) for step in steps) * _MILLISECOND, "median of the steps")


def _properties(properties: Mapping[str, object]) -> Iterator[Reading]:
    times = {
        "steptime_ms_average": "step.time_mean_seconds",
        "steptime_ms_maximum": "step.time_max_seconds",
        "input_ms_average": "step.data_wait_seconds",
        "idle_ms_average": "step.idle_seconds",
    }
    labelled = (  # of a TPU, waiting in an infeed operation is no idle time
        "device_idle_time_percent",
        "host_idle_time_percent",
        "mxu_utilization_percent",
        "flop_rate_utilization_relative_to_roofline",
        "memory_bw_utilization_relative_to_hw_limit",
        "infeed_percent_average",
        "infeed_percent_maximum",
        "infeed_percent_minimum",
    )
    for key, value in properties.items():
        number = _number(value)
        if number is None:
            continue
        text = f"{key}: {value}"[:200]
        if key in times:
            yield _reading(times[key], number * _MILLISECOND, text)
        elif key in labelled:
            yield Reading("reading.share", number / 100.0, text=text, entity=Entity("measurement", key, JOB))
        elif key.endswith(("_ms_average", "_ms_minimum", "_ms_maximum", "_ms_standard_deviation")):
            entity = Entity("measurement", key, JOB)
            yield Reading("reading.seconds", number * _MILLISECOND, text=text, entity=entity)


def _input_time(properties: Mapping[str, object]) -> Iterator[Reading]:
    """What the host spends input time on, from sums in microseconds."""
    keys = (
        "enqueue_us",
        "preprocessing_us",
        "demanded_file_read_us",
        "advanced_file_read_us",
        "unclassified_nonequeue_us",
    )
    spent = {key: number for key in keys if (number := _number(properties.get(key))) is not None}
    whole = sum(spent.values())
    if whole <= 0:
        return
    for key, number in spent.items():
        entity = Entity("measurement", key.removesuffix("_us"), JOB)
        yield Reading("reading.seconds", number * _MICROSECOND, text=f"{key}: {number}", entity=entity)
    text = f"of {whole * _MICROSECOND:.6g} s of input time on the host"
    yield _reading("step.input_preprocessing_share", spent.get("preprocessing_us", 0.0) / whole, text)
    reading = spent.get("demanded_file_read_us", 0.0) + spent.get("advanced_file_read_us", 0.0)
    yield _reading("step.input_read_share", reading / whole, text)
    yield _reading("step.input_enqueue_share", spent.get("enqueue_us", 0.0) / whole, text)


def _operations(rows: Sequence[Mapping[str, object]]) -> Iterator[Reading]:
    """Rows of operations on the device and of input operations on the host, as rows of a profile."""
    for row in rows:
        share, name = _number(row.get("selfTimePercent")), str(row.get("operation") or "")[:200]
        if share is not None and name:
            yield Reading("profile.self_share", share, text=name, entity=Entity("entry", name, JOB))
        time, name = _number(row.get("timeInMs")), str(row.get("opName") or "")[:200]
        if time is None or not name:
            continue
        entity = Entity("entry", name, JOB)
        yield Reading("profile.total_seconds", time * _MILLISECOND, text=name, entity=entity)
        count = _number(row.get("count"))
        if count is not None:
            yield Reading("profile.calls", int(count), text=name, entity=entity)


FORMAT = FileFormat("xprof-page", "TensorFlow or XLA profiler page", accepts, read)
