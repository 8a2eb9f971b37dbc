"""Where the time of a timeline's steps goes: the shares that tell an input wall from a launch, copy or compute wall.

Busy time is the union of activity, never a sum of durations, since streams overlap. All shares are of the window, which
is the steps (the first left out where three remain) and the GPU work they launched, or else the span of GPU activity.
Where several GPUs work, a share is the mean over those with at least 1 % of the busiest one's kernel time.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.averages import mean, median
from gpuwhy.kb.facts import JOB, gpu
from gpuwhy.probes.artefacts.contract import Missing, Reading
from gpuwhy.probes.artefacts.intervals import Spans
from gpuwhy.probes.artefacts.kernels import CallKind, CopyKind, copy_kind, is_collective
from gpuwhy.probes.artefacts.timeline import COPY, FILL, KERNEL, Timeline
from gpuwhy.probes.artefacts.timeline_kernels import copy_readings, kernel_readings, profile_rows
from gpuwhy.probes.artefacts.timeline_view import MICROSECOND, View, of_job

BUSY, HELD, HALF = 0.9, 0.2, 0.5
FIRST_LAUNCH_FACTOR = 1000.0
_NOT_RECORDED = (
    "kernels were launched but no GPU activity was recorded (no permission for the tracer, or another profiler)"
)


def readings_of(timeline: Timeline) -> tuple[list[Reading], list[Missing]]:
    """All step facts of a timeline, and why those on the GPU are missing where the profile has no GPU activity."""
    view = View.of(timeline)
    readings = [*_step_readings(view), *_operator_readings(view), *_call_readings(view)]
    missing: list[Missing] = []
    if view.devices and view.window.total > 0:
        readings += [*_device_shares(view), *kernel_readings(view), *copy_readings(view), *profile_rows(view)]
    elif len(timeline.operators) or len(timeline.calls) or len(timeline.steps):
        readings.append(of_job("step.no_device_time", True, "no kernel, copy or fill in the profile"))
        launched = any(timeline.call_kind(at) is CallKind.LAUNCH for at in range(len(timeline.calls)))
        if launched:
            missing.append(Missing("step.gpu_busy_share", _NOT_RECORDED, entity=JOB))
    return readings, missing


def _step_readings(view: View) -> Iterator[Reading]:
    timeline, steps = view.timeline, view.steps
    if timeline.in_main_process is not None:
        yield of_job("loader.in_main_process", timeline.in_main_process, "name of the DataLoader iterator")
    seconds = steps.seconds
    if not seconds or sum(seconds) <= 0:
        return
    yield of_job("step.count", len(seconds), "first step left out" if steps.first_skipped else None)
    yield of_job("step.time_seconds", median(seconds))
    yield of_job("step.time_mean_seconds", mean(seconds))
    yield of_job("step.time_max_seconds", max(seconds))
    span = Spans.of(steps.spans)
    if len(timeline.fetches):
        waits = Spans.of(timeline.fetches.on(steps.thread))
        each = [Spans.of([step]).and_(waits).total * MICROSECOND for step in steps.spans]
        yield of_job("step.data_wait_share", sum(each) / sum(seconds), f"{sum(each):.6g} s of {sum(seconds):.6g} s")
        yield of_job("step.data_wait_seconds", mean(each))
        yield of_job(
            "step.data_wait_peak_share",
            max(wait / whole for wait, whole in zip(each, seconds, strict=True) if whole > 0),
        )
    if len(timeline.optimizers):
        optimizers = Spans.of(timeline.optimizers.on(None)).and_(span)
        yield of_job("step.optimizer_share", optimizers.total / span.total)


def _operator_readings(view: View) -> Iterator[Reading]:
    operators, window = view.timeline.operators, view.window
    inside = [at for at in range(len(operators)) if not window or view.inside(operators.starts[at])]
    if not inside:
        return
    threads: dict[int, list[tuple[float, float]]] = {}
    for at in inside:
        threads.setdefault(operators.threads[at], []).append((operators.starts[at], operators.ends[at]))
    own = sum(Spans.of(spans).total for spans in threads.values()) * MICROSECOND
    yield of_job("step.operator_count", len(inside))
    yield of_job("step.operator_mean_seconds", own / len(inside), "nested operators counted once in the time")


def _call_readings(view: View) -> Iterator[Reading]:
    timeline, calls = view.timeline, view.timeline.calls
    launches = [
        (calls.ends[at] - calls.starts[at]) * MICROSECOND
        for at in range(len(calls))
        if timeline.call_kind(at) is CallKind.LAUNCH and (not view.window or view.inside(calls.starts[at]))
    ]
    if launches:
        yield of_job("step.launch_count", len(launches))
        yield of_job("step.launch_total_seconds", sum(launches))
        yield of_job("step.launch_mean_seconds", mean(launches))
    if not view.window or not len(calls):
        return
    yield of_job("step.sync_count", sum(1 for start, _ in view.waits if view.inside(start)))
    spans = Spans.of([*view.waits, *timeline.waits.on(None)]).and_(view.window)
    yield of_job("step.sync_share", view.share(spans), "synchronising calls and copies that return only when done")


def _device_shares(view: View) -> Iterator[Reading]:
    window = view.window.total * MICROSECOND
    yield of_job("step.no_device_time", False)
    yield of_job("step.window_seconds", window)
    each = [_shares_of(view, device) for device in view.devices]
    for fact in each[0]:
        yield of_job(fact, mean(one[fact] for one in each), f"of {window:.6g} s")
    busy = mean(one["step.gpu_busy_share"] for one in each)
    yield of_job("step.gpu_busy_seconds", busy * window)
    yield from _waiting_readings(view, busy)
    yield from _activity_span(view)
    if len(each) > 1:
        for device, one in zip(view.devices, each, strict=True):
            yield from _readings_of_gpu(view, device, one)


def _readings_of_gpu(view: View, device: int, shares: dict[str, float]) -> Iterator[Reading]:
    rows = view.timeline.activity
    kernels = [at for at in view.kernels() if rows.devices[at] == device]
    entity = gpu(device)
    yield of_job("trace.gpu_busy_share", shares["step.gpu_busy_share"], entity=entity)
    yield of_job("trace.gpu_compute_share", shares["step.compute_share"], entity=entity)
    yield of_job("trace.gpu_communication_share", shares["step.communication_share"], entity=entity)
    yield of_job("trace.gpu_kernel_count", len(kernels), entity=entity)
    total = sum(rows.ends[at] - rows.starts[at] for at in kernels) * MICROSECOND
    yield of_job("trace.gpu_kernel_total_seconds", total, entity=entity)


def _waiting_readings(view: View, busy: float) -> Iterator[Reading]:
    """Whether long launches and waits of the host are but the queue of a busy GPU; whether this is only a start-up."""
    timeline, calls = view.timeline, view.timeline.calls
    inside = [at for at in range(len(calls)) if view.inside(calls.starts[at])]
    if not inside:
        return
    launches = [(calls.starts[at], calls.ends[at]) for at in inside if timeline.call_kind(at) is CallKind.LAUNCH]
    held = view.share(Spans.of([*launches, *view.waits]).and_(view.window))
    text = f"host in launches and waits for {held:.3g}, GPU busy for {busy:.3g} of the window"
    yield of_job("step.wait_booked_as_work", busy >= BUSY and held >= HELD, text)
    lengths = sorted(end - start for start, end in launches)
    if lengths and not view.steps.spans and busy < HALF:
        rare = lengths[-1] >= FIRST_LAUNCH_FACTOR * lengths[len(lengths) // 2]
        if rare and sum(lengths) >= HELD * view.window.total:
            yield of_job(
                "step.warmup_only", True, f"the longest launch took {lengths[-1] * MICROSECOND:.3g} s: first use"
            )


def _activity_span(view: View) -> Iterator[Reading]:
    """Busy time over the span from the first to the last GPU activity, whatever the steps are."""
    rows = view.timeline.activity
    spans, shares = [], []
    for device in view.devices:
        busy = Spans.of((rows.starts[at], rows.ends[at]) for at in range(len(rows)) if rows.devices[at] == device)
        spans.append(busy.ends[-1] - busy.starts[0])
        shares.append(busy.total / spans[-1])
    yield of_job("step.gpu_span_seconds", mean(spans) * MICROSECOND)
    yield of_job("step.gpu_span_busy_share", mean(shares))


def _shares_of(view: View, device: int) -> dict[str, float]:
    host_copies = (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST)
    is_kernel, is_copy = view.kind(KERNEL), view.kind(COPY)
    busy = view.activity(device, view.kind(KERNEL, COPY, FILL))
    kernels = view.activity(device, is_kernel)
    compute = view.activity(device, lambda at: is_kernel(at) and not is_collective(view.name(at)))
    collectives = view.activity(device, lambda at: is_kernel(at) and is_collective(view.name(at)))
    copies = view.activity(device, lambda at: is_copy(at) and copy_kind(view.name(at)) in host_copies)
    idle = view.window.without(busy)
    late, waiting = _idle_causes(view, device, idle)
    shares = {
        "step.gpu_busy_share": view.share(busy),
        "step.gpu_idle_share": view.share(idle),
        "step.compute_share": view.share(compute),
        "step.transfer_share": view.share(copies.without(kernels)),
        "step.communication_share": view.share(collectives.without(compute)),
    }
    if len(view.launches.starts):
        shares["step.host_wait_share"] = view.share(late)
        shares["step.idle_after_sync_share"] = view.share(waiting)
    if len(view.timeline.fetches):
        fetches = Spans.of(view.timeline.fetches.on(view.steps.thread))
        shares["step.idle_in_data_wait_share"] = view.share(idle.and_(fetches))
    return shares


def _idle_causes(view: View, device: int, idle: Spans) -> tuple[Spans, Spans]:
    """The gaps whose next work was launched only after the gap began; of these, those that began while the host waited.

    The class `host_wait` of Holistic Trace Analysis: the launching call starts after the end of all earlier GPU work.
    """
    rows = view.timeline.activity
    first: dict[float, int] = {}
    for at in range(len(rows)):
        if rows.devices[at] == device:
            first.setdefault(rows.starts[at], at)
    waits = Spans.of(view.waits)
    late: list[tuple[float, float]] = []
    after_wait: list[tuple[float, float]] = []
    for start, end in idle:
        following = first.get(end)
        launch = None if following is None else view.launches.find(rows.correlations[following])
        issued = end if launch is None else launch[0]
        if (launch is None and following is not None) or issued <= start:
            continue
        late.append((start, end))
        if _covers(waits, start):
            after_wait.append((start, end))
    return Spans.of(late), Spans.of(after_wait)


def _covers(spans: Spans, moment: float) -> bool:
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans.starts[middle] <= moment:
            low = middle + 1
        else:
            high = middle
    return low > 0 and spans.ends[low - 1] > moment
