"""Rows of kernel and API summaries (nvprof, Nsight Systems) and the step facts that their sums give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.kernels import CallKind, CopyKind, call_kind, copy_kind, is_collective, is_device_copy_row
from gpuwhy.probes.artefacts.timeline_kernels import matrix_readings

KERNELS, COPIES, CALLS, OTHER = "kernels", "copies", "calls", "other"

_BUSY_OVER_HELD = 0.9
_SLOW_LAUNCH_FACTOR = 3.0
_SLOW_LAUNCH_SECONDS = 15e-6
_HELD_SHARE = 0.3


@dataclass(frozen=True)
class ProfileRow:
    """One row of a summary: times in seconds, the share as one of 1; None where a column is missing."""

    line: int
    text: str
    section: str
    name: str
    share: float | None
    total: float | None
    calls: int | None
    mean: float | None
    shortest: float | None = None
    longest: float | None = None

    @property
    def seconds(self) -> float:
        """Total time, 0 where the row has none."""
        return self.total or 0.0

    @property
    def count(self) -> int:
        """Number of calls, 0 where the row has none."""
        return self.calls or 0


def row_readings(rows: Sequence[ProfileRow]) -> Iterator[Reading]:
    """The rows as a profile. A name that returns is told apart by a number."""
    named: dict[str, int] = {}
    for row in rows:
        short = row.name[:200]
        named[short] = named.get(short, 0) + 1
        name = short if named[short] == 1 else f"{short} #{named[short]}"
        entity = Entity("entry", name, JOB)
        on_device = row.section in (KERNELS, COPIES)
        if row.total is not None:
            fact = "profile.device_total_seconds" if on_device else "profile.total_seconds"
            yield Reading(fact, row.total, row.line, row.text, entity)
        if row.share is not None:
            yield Reading(
                "profile.device_share" if on_device else "profile.share", row.share, row.line, row.text, entity
            )
        if row.calls is not None:
            yield Reading("profile.calls", row.calls, row.line, row.text, entity)
        if row.mean is not None:
            yield Reading("profile.mean_seconds", row.mean, row.line, row.text, entity)
        for label, value in (("shortest", row.shortest), ("longest", row.longest)):
            if value is not None:
                yield Reading(
                    "reading.seconds", value, row.line, row.text, Entity("measurement", f"{name}: {label}", JOB)
                )


def summary_readings(rows: Sequence[ProfileRow]) -> Iterator[Reading]:
    """Step facts from all rows: kernels, copies, launches, waits, and whether long launches are but a full queue."""
    kernels = [row for row in rows if row.section == KERNELS and not is_device_copy_row(row.name)]
    launched = [*kernels, *(row for row in rows if row.section in (KERNELS, COPIES) and _is_inside_copy(row))]
    copies = [row for row in rows if row.section in (KERNELS, COPIES) and _is_host_copy(row)]
    calls = [row for row in rows if row.section == CALLS]
    yield from _kernel_facts(launched)
    device = sum(row.seconds for row in rows if row.section in (KERNELS, COPIES))
    yield from _copy_facts(copies, device if kernels else 0.0)
    collectives = [row for row in kernels if is_collective(row.name)]
    if collectives and device > 0:
        share = sum(row.seconds for row in collectives) / device
        yield _job("step.communication_activity_share", share, max(collectives, key=lambda row: row.seconds))
    yield from _call_facts(calls)
    yield from _waiting_facts(calls, device, bool(kernels))


def _is_host_copy(row: ProfileRow) -> bool:
    host = (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST)
    return copy_kind(row.name) in host and (row.section == COPIES or is_device_copy_row(row.name))


def _is_inside_copy(row: ProfileRow) -> bool:
    """True for copies within the device: each is launched like a kernel and runs like one."""
    return is_device_copy_row(row.name) and copy_kind(row.name) is CopyKind.DEVICE_TO_DEVICE


def _job(fact: str, value: bool | int | float, row: ProfileRow) -> Reading:
    return Reading(fact, value, row.line, row.text, JOB)


def _kernel_facts(kernels: Sequence[ProfileRow]) -> Iterator[Reading]:
    if not kernels:
        return
    longest = max(kernels, key=lambda row: row.seconds)
    total, count = sum(row.seconds for row in kernels), sum(row.count for row in kernels)
    yield _job("step.no_device_time", False, longest)
    if total > 0:
        yield _job("step.kernel_total_seconds", total, longest)
    if count:
        yield _job("step.kernel_count", count, longest)
        yield _job("step.kernel_mean_seconds", total / count, longest)
    peaks = [row for row in kernels if row.longest is not None]
    if peaks:
        peak = max(peaks, key=lambda row: row.longest or 0.0)
        yield _job("step.kernel_longest_seconds", peak.longest or 0.0, peak)
    yield from matrix_readings([(row.name, row.seconds) for row in kernels], longest.line)


def _copy_facts(copies: Sequence[ProfileRow], device: float) -> Iterator[Reading]:
    total = sum(row.seconds for row in copies)
    if total <= 0:
        return
    longest = max(copies, key=lambda row: row.seconds)
    yield _job("step.copy_total_seconds", total, longest)
    if sum(row.count for row in copies):
        yield _job("step.copy_count", sum(row.count for row in copies), longest)
    if device > 0:
        yield _job("step.copy_activity_share", min(1.0, total / device), longest)


def _of_kind(calls: Sequence[ProfileRow], *kinds: CallKind) -> list[ProfileRow]:
    return [row for row in calls if call_kind(row.name) in kinds]


def _call_facts(calls: Sequence[ProfileRow]) -> Iterator[Reading]:
    whole = sum(row.seconds for row in calls)
    launches, waits = _of_kind(calls, CallKind.LAUNCH), _of_kind(calls, CallKind.WAIT, CallKind.BLOCKING_COPY)
    for rows, share_fact in ((launches, "step.launch_call_share"), (waits, "step.sync_call_share")):
        if not rows:
            continue
        longest = max(rows, key=lambda row: row.seconds)
        printed = [row.share for row in rows]
        if all(share is not None for share in printed):
            yield _job(share_fact, min(1.0, sum(share or 0.0 for share in printed)), longest)
        elif whole > 0:
            yield _job(share_fact, sum(row.seconds for row in rows) / whole, longest)
    count = sum(row.count for row in launches)
    if count:
        longest = max(launches, key=lambda row: row.seconds)
        total = sum(row.seconds for row in launches)
        yield _job("step.launch_count", count, longest)
        yield _job("step.launch_total_seconds", total, longest)
        yield _job("step.launch_mean_seconds", total / count, longest)
    if sum(row.count for row in waits):
        yield _job("step.sync_count", sum(row.count for row in waits), max(waits, key=lambda row: row.seconds))


def _waiting_facts(calls: Sequence[ProfileRow], device: float, has_kernels: bool) -> Iterator[Reading]:
    """Launches far longer than the shortest one, or waits, that sum to no more than the GPU's own work: a full queue.

    If the GPU worked at least as long as the host sat in these calls, the calls waited for the GPU and not it for them.
    """
    whole = sum(row.seconds for row in calls)
    slow = [row for row in _of_kind(calls, CallKind.LAUNCH) if _is_slow_launch(row)]
    held = [*slow, *_of_kind(calls, CallKind.WAIT, CallKind.BLOCKING_COPY)]
    time = sum(row.seconds for row in held)
    if not held or not has_kernels or whole <= 0:
        return
    longest = max(held, key=lambda row: row.seconds)
    waiting = time >= _HELD_SHARE * whole and device >= _BUSY_OVER_HELD * time
    yield _job("step.wait_booked_as_work", waiting, longest)
    if waiting and longest.count:
        yield _job("step.waiting_call_host_seconds", longest.seconds / longest.count, longest)


def _is_slow_launch(row: ProfileRow) -> bool:
    mean = row.seconds / row.count if row.count else 0.0
    if row.shortest:
        return mean >= _SLOW_LAUNCH_FACTOR * row.shortest
    return mean >= _SLOW_LAUNCH_SECONDS
