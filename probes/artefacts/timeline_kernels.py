"""What the kernels and copies of a timeline are like: how long, on tensor cores or not, how well they fill the GPU."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.kernels import CopyKind, MatrixKind, copy_kind, matrix_kind
from gpuwhy.probes.artefacts.timeline import COPY
from gpuwhy.probes.artefacts.timeline_view import MICROSECOND, View, of_job

RATE_COPY_BYTES = 1 << 20
PROFILE_ROWS = 20


def kernel_readings(view: View) -> Iterator[Reading]:
    """Count, mean and sum of the kernels that start in the window, and what their names and launch geometry tell."""
    rows = view.timeline.activity
    kernels = view.kernels()
    if not kernels:
        return
    seconds = [(rows.ends[at] - rows.starts[at]) * MICROSECOND for at in kernels]
    total = sum(seconds)
    yield of_job("step.kernel_count", len(kernels))
    yield of_job("step.kernel_total_seconds", total)
    yield of_job("step.kernel_mean_seconds", total / len(kernels))
    if total <= 0:
        return
    yield from matrix_readings([(view.name(at), time) for at, time in zip(kernels, seconds, strict=True)])
    yield from _fill_readings(view, list(zip(kernels, seconds, strict=True)))


def matrix_readings(kernels: list[tuple[str, float]], line: int | None = None) -> Iterator[Reading]:
    """Tensor-core and FP32 shares of kernels given as (name, seconds); nothing where most names do not tell."""
    spent = dict.fromkeys(MatrixKind, 0.0)
    for name, time in kernels:
        kind = matrix_kind(name)
        if kind is not None:
            spent[kind] += time
    known = spent[MatrixKind.TENSOR_CORE] + spent[MatrixKind.FLOAT32]
    total = sum(time for _, time in kernels)
    if known <= 0 or total <= 0 or known < spent[MatrixKind.OTHER]:
        return
    text = "by the names of the matrix kernels"
    yield Reading("step.tensor_core_share", spent[MatrixKind.TENSOR_CORE] / known, line, text, JOB)
    yield Reading("step.float32_matmul_share", spent[MatrixKind.FLOAT32] / total, line, text, JOB)


def _fill_readings(view: View, kernels: list[tuple[int, float]]) -> Iterator[Reading]:
    rows = view.timeline.activity
    sized = [(rows.blocks_per_sm[at], time) for at, time in kernels if rows.blocks_per_sm[at] >= 0]
    weight = sum(time for _, time in sized)
    if weight > 0:
        yield of_job("step.kernel_blocks_per_sm", sum(blocks * time for blocks, time in sized) / weight)
        yield of_job("step.underfilled_kernel_share", sum(time for blocks, time in sized if blocks < 1) / weight)
    estimated = [(rows.occupancies[at], time) for at, time in kernels if rows.occupancies[at] >= 0]
    weight = sum(time for _, time in estimated)
    if weight > 0:
        yield of_job("step.kernel_occupancy_share", sum(share * time for share, time in estimated) / weight)


def copy_readings(view: View) -> Iterator[Reading]:
    """Bytes, pageable share and rate of the copies from host to device that start in the window."""
    rows = view.timeline.activity
    pageable = pinned = rated_bytes = rated_time = 0.0
    for at in range(len(rows)):
        if rows.kinds[at] != COPY or rows.sizes[at] < 0 or not view.inside(rows.starts[at]):
            continue
        name = view.name(at)
        if copy_kind(name) is not CopyKind.HOST_TO_DEVICE:
            continue
        pageable += rows.sizes[at] if "pageable" in name.lower() else 0.0
        pinned += rows.sizes[at] if "pinned" in name.lower() else 0.0
        if rows.sizes[at] >= RATE_COPY_BYTES:
            rated_bytes += rows.sizes[at]
            rated_time += (rows.ends[at] - rows.starts[at]) * MICROSECOND
    if pageable + pinned > 0:
        yield of_job("step.pageable_copy_share", pageable / (pageable + pinned))
        yield of_job("step.copy_total_bytes", pageable + pinned)
    if rated_time > 0:
        yield of_job("step.copy_bytes_per_second", rated_bytes / rated_time, "copies of at least 1 MiB")


def profile_rows(view: View) -> Iterator[Reading]:
    """The longest kernels and copies of the window as rows of a profile."""
    rows = view.timeline.activity
    spent: dict[int, tuple[float, int]] = {}
    for at in range(len(rows)):
        if view.inside(rows.starts[at]):
            before, count = spent.get(rows.names[at], (0.0, 0))
            spent[rows.names[at]] = (before + (rows.ends[at] - rows.starts[at]) * MICROSECOND, count + 1)
    total = sum(time for time, _ in spent.values())
    for name in sorted(spent, key=lambda one: -spent[one][0])[:PROFILE_ROWS]:
        time, count = spent[name]
        entity = Entity("entry", view.timeline.names.texts[name], JOB)
        yield of_job("profile.device_total_seconds", time, entity=entity)
        yield of_job("profile.calls", count, entity=entity)
        if total > 0:
            yield of_job("profile.device_share", time / total, entity=entity)
