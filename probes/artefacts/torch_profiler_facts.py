"""What the rows of PyTorch's profiler tables tell about the steps: waits for data, launches, waits for the device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import JOB
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.kernels import CallKind, call_kind, is_collective, is_device_copy_row
from gpuwhy.probes.artefacts.timeline_kernels import matrix_readings
from gpuwhy.probes.artefacts.torch_profiler_rows import Row, Table

_FETCH = re.compile(r"enumerate\(DataLoader\)|dataloader_next|dataloader_iter|get_train_batch", re.IGNORECASE)
_COMMUNICATION = re.compile(r"^(?:c10d::|record_param_comms|nccl:|gloo:)")
_OPERATOR = re.compile(r"^(?:aten|c10d|torch\w{0,40}|xformers|flash_attn\w{0,20}|quantized|prims)::")
_HOST_ONLY = re.compile(
    r"(?:aten|autograd|c10d|torch\w{0,40})::|(?:cuda|cu|hip)[A-Z]|Optimizer\.|enumerate\(|ProfilerStep|\[pl\]|## "
    r"|Activity Buffer"
)
_ITEMS = ("aten::_local_scalar_dense", "aten::item")
_PROFILER_SYNCHRONISATIONS = 2
_LONG_CALL_FACTOR = 10.0
_LONG_CALL_SECONDS = 20e-6
_LONG_CALL_SHARE = 0.2
_DEVICE_OVER_HOST = 0.9


def step_readings(tables: Sequence[Table]) -> list[Reading]:
    """Facts on the steps; each is taken from the first table that has it."""
    found: dict[str, Reading] = {}
    for table in tables:
        for reading in _of_table(table):
            found.setdefault(reading.fact, reading)
    for reading in _overall(tables, found):
        found.setdefault(reading.fact, reading)
    return list(found.values())


def _of_table(table: Table) -> Iterator[Reading]:
    host, device = total_of(table, "cpu"), total_of(table, "device")
    if host is not None:
        yield Reading("step.host_cpu_seconds", host[0], host[1], entity=JOB)
    if device is not None and device[0] > 0:
        yield Reading("step.device_seconds", device[0], device[1], entity=JOB)
    steps = max(table.find("ProfilerStep"), key=_total, default=None)
    yield from _step_rows(steps)
    whole = _total(steps) if steps is not None and _total(steps) > 0 else (host[0] if host is not None else None)
    yield from _data_wait(table, whole)
    yield from _optimizer(table, whole)
    yield from _operators(table)
    yield from _calls(table, host[0] if host is not None else None)
    yield from _device_rows(table, device[0] if device is not None else None)


def total_of(table: Table, where: str) -> tuple[float, int] | None:
    """Total own time of the table in seconds and its line: as printed below it, or a row's time over its share."""
    if where in table.totals:
        return table.totals[where]
    columns = (f"{where}.self_share", f"{where}.self"), (f"{where}.share", f"{where}.total")
    candidates = [
        (row.values[share], row.values[time] / row.values[share], row.line)
        for share, time in columns
        for row in table.rows
        if row.values.get(share, 0.0) >= 0.01 and row.values.get(time, 0.0) > 0
    ]
    if not candidates:
        return None
    _, seconds, line = max(candidates)
    return seconds, line


def _total(row: Row) -> float:
    return row.values.get("cpu.total", 0.0)


def _own(row: Row) -> float:
    return row.values.get("cpu.self", row.values.get("cpu.total", 0.0))


def _count(row: Row) -> int:
    return int(row.values.get("calls", 0))


def _reading(fact: str, value: bool | int | float, row: Row) -> Reading:
    return Reading(fact, value, row.line, row.text, JOB)


def _step_rows(steps: Row | None) -> Iterator[Reading]:
    if steps is None or _total(steps) <= 0:
        return
    if _count(steps) > 0:
        yield _reading("step.count", _count(steps), steps)
        mean = steps.values.get("cpu.mean", _total(steps) / _count(steps))
        yield _reading("step.time_mean_seconds", mean, steps)
        yield _reading("step.time_seconds", mean, steps)
    if "cpu.self" in steps.values:
        yield _reading("step.outside_operator_share", min(1.0, steps.values["cpu.self"] / _total(steps)), steps)


def _data_wait(table: Table, whole: float | None) -> Iterator[Reading]:
    rows = [row for row in table.rows if _FETCH.search(row.name)]
    if not rows:
        return
    longest = max(rows, key=_total)
    for row in rows:
        if "_SingleProcess" in row.name or "_MultiProcess" in row.name:
            yield _reading("loader.in_main_process", "_SingleProcess" in row.name, row)
    waited = sum(_total(row) for row in rows if "enumerate(DataLoader)" in row.name) or _total(longest)
    if whole is not None and whole > 0 and waited > 0:
        yield _reading("step.data_wait_share", min(1.0, waited / whole), longest)
    elif "cpu.share" in longest.values:
        yield _reading("step.data_wait_share", longest.values["cpu.share"], longest)
    if _count(longest) > 0 and waited > 0:
        yield _reading("step.data_wait_seconds", longest.values.get("cpu.mean", waited / _count(longest)), longest)


def _optimizer(table: Table, whole: float | None) -> Iterator[Reading]:
    rows = table.find("Optimizer.step")
    time = sum(map(_total, rows))
    if rows and whole is not None and whole > 0 and time > 0:
        yield _reading("step.optimizer_share", min(1.0, time / whole), rows[0])


def _operators(table: Table) -> Iterator[Reading]:
    rows = [row for row in table.rows if _OPERATOR.match(row.name) and _count(row) > 0]
    count = sum(map(_count, rows))
    if not count:
        return
    most = max(rows, key=_count)
    yield _reading("step.operator_count", count, most)
    own = [row for row in rows if "cpu.self" in row.values]
    if own:
        yield _reading("step.operator_mean_seconds", sum(map(_own, own)) / sum(map(_count, own)), most)


def _calls(table: Table, host: float | None) -> Iterator[Reading]:
    launches = [row for row in table.rows if call_kind(row.name) is CallKind.LAUNCH and _count(row) > 0]
    if launches:
        time, count, row = sum(map(_own, launches)), sum(map(_count, launches)), max(launches, key=_count)
        yield _reading("step.launch_count", count, row)
        yield _reading("step.launch_total_seconds", time, row)
        yield _reading("step.launch_mean_seconds", time / count, row)
    waits = [row for row in table.rows if is_wait(row)]
    items = [row for row in table.rows if row.name in _ITEMS]
    if not waits and not items:
        return
    time = max(sum(map(_own, waits)), max(map(_total, items), default=0.0))
    row = max([*waits, *items], key=_total)
    count = max(sum(map(_count, waits)), max(map(_count, items), default=0))
    if count:
        yield _reading("step.sync_count", count, row)
    if host is not None and host > 0:
        yield _reading("step.sync_share", min(1.0, time / host), row)


def is_wait(row: Row) -> bool:
    """True for rows of calls that wait for the device; the wait with which the profiler itself ends is left out."""
    kind = call_kind(row.name)
    closing = "DeviceSynchronize" in row.name and _count(row) <= _PROFILER_SYNCHRONISATIONS
    return kind in (CallKind.WAIT, CallKind.BLOCKING_COPY) and not closing


def _device_time(row: Row) -> float:
    return row.values.get("device.self", row.values.get("device.total", 0.0))


def _is_kernel(row: Row) -> bool:
    """True for rows that have device time and none on the host: kernels, copies and fills under their own names."""
    idle_host = row.values.get("cpu.total", 1.0) == 0 and row.values.get("cpu.self", 0.0) == 0
    return idle_host and _device_time(row) > 0 and not _HOST_ONLY.match(row.name)


def _device_rows(table: Table, total: float | None) -> Iterator[Reading]:
    activities = [row for row in table.rows if _is_kernel(row)]
    kernels = [row for row in activities if not is_device_copy_row(row.name)]
    count = sum(map(_count, kernels))
    if count:
        time, row = sum(map(_device_time, kernels)), max(kernels, key=_device_time)
        yield _reading("step.kernel_count", count, row)
        yield _reading("step.kernel_total_seconds", time, row)
        yield _reading("step.kernel_mean_seconds", time / count, row)
        yield from matrix_readings([(kernel.name, _device_time(kernel)) for kernel in kernels], row.line)
    by_host = [row for row in table.rows if _COMMUNICATION.match(row.name)]
    by_kernel = [row for row in activities if is_collective(row.name)]
    # An older profiler gives the time of a collective to its operator too: of the two listings the fuller one counts.
    listed = max((by_host, by_kernel), key=lambda rows: sum(map(_device_time, rows)))
    time = sum(map(_device_time, listed))
    if listed and total is not None and total > 0 and time > 0:
        yield _reading("step.communication_activity_share", min(1.0, time / total), max(listed, key=_device_time))


def _overall(tables: Sequence[Table], found: dict[str, Reading]) -> Iterator[Reading]:
    """What holds over all tables of a text: no device columns anywhere, or a host that waits for a busy device."""
    if not any(table.has_device for table in tables):
        full = next((table for table in tables if table.is_full), None)
        if full is not None and not any("device" in table.totals for table in tables):
            yield Reading("step.no_device_time", True, full.line, "no device columns", JOB)
        return
    yield Reading("step.no_device_time", False, next(table.line for table in tables if table.has_device), entity=JOB)
    host, device = found.get("step.host_cpu_seconds"), found.get("step.device_seconds")
    if host is None or device is None:
        return
    rows = (row for table in tables for row in table.rows)
    longest = max((row for row in rows if _waits_for_device(row, float(host.value))), key=_own, default=None)
    busy = float(device.value) >= _DEVICE_OVER_HOST * float(host.value)
    if longest is None or not busy:
        return
    yield _reading("step.wait_booked_as_work", True, longest)
    yield _reading("step.waiting_call_host_seconds", _own(longest) / _count(longest), longest)
    yield _reading("step.waiting_call_device_seconds", _device_each(longest), longest)


def _device_each(row: Row) -> float:
    return row.values.get("device.total", row.values.get("device.self", 0.0)) / max(1, _count(row))


def _waits_for_device(row: Row, host: float) -> bool:
    """True for an operator or API call with much of the host's time, far longer than the GPU work it asks for."""
    named = row.name.startswith("aten::") or call_kind(row.name) is not CallKind.OTHER
    if not named or not _count(row) or host <= 0 or not {"device.total", "device.self"} & set(row.values):
        return False
    each = _own(row) / _count(row)
    long = each >= _LONG_CALL_SECONDS and each >= _LONG_CALL_FACTOR * _device_each(row)
    return long and _own(row) >= _LONG_CALL_SHARE * host
