"""A timeline as the step facts look at it: its steps, its window, the GPUs that work, the host calls that wait."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.intervals import Spans
from gpuwhy.probes.artefacts.kernels import CallKind, CopyKind, copy_kind
from gpuwhy.probes.artefacts.timeline import COPY, KERNEL, LaunchIndex, Steps, Timeline, window_of

MICROSECOND = 1e-6
MINOR_DEVICE_SHARE = 0.01


@dataclass(frozen=True)
class View:
    """A timeline with its steps, its window and the activities that start in it (or reach into it)."""

    timeline: Timeline
    steps: Steps
    launches: LaunchIndex
    window: Spans
    devices: tuple[int, ...]

    @staticmethod
    def of(timeline: Timeline) -> View:
        """The view on the steps of a timeline."""
        steps, launches = Steps.of(timeline), LaunchIndex.of(timeline.calls)
        return View(timeline, steps, launches, window_of(timeline, steps, launches), _devices(timeline))

    @cached_property
    def waits(self) -> list[tuple[float, float]]:
        """Host calls that wait for the device."""
        return _waiting_calls(self)

    def inside(self, moment: float) -> bool:
        """True if this moment lies between the window's first and last instant."""
        return bool(self.window) and self.window.starts[0] <= moment <= self.window.ends[-1]

    def activity(self, device: int | None, keep: Callable[[int], bool]) -> Spans:
        """The union of the activities (by index) that `keep` accepts, within the window."""
        rows = self.timeline.activity
        found = (
            (rows.starts[at], rows.ends[at])
            for at in range(len(rows))
            if (device is None or rows.devices[at] == device) and keep(at)
        )
        return Spans.of(found).and_(self.window)

    def kind(self, *kinds: int) -> Callable[[int], bool]:
        """A test for activities of these kinds."""
        rows = self.timeline.activity.kinds
        return lambda at: rows[at] in kinds

    def name(self, at: int) -> str:
        """Name of the activity at this index."""
        return self.timeline.names.texts[self.timeline.activity.names[at]]

    def share(self, spans: Spans) -> float:
        """The share of the window that these spans cover."""
        return spans.total / self.window.total

    def kernels(self) -> list[int]:
        """Indexes of the kernels that start in the window."""
        rows = self.timeline.activity
        return [at for at in range(len(rows)) if rows.kinds[at] == KERNEL and self.inside(rows.starts[at])]


def _devices(timeline: Timeline) -> tuple[int, ...]:
    rows = timeline.activity
    spent: dict[int, float] = {}
    for at in range(len(rows)):
        if rows.kinds[at] == KERNEL:
            spent[rows.devices[at]] = spent.get(rows.devices[at], 0.0) + rows.ends[at] - rows.starts[at]
    most = max(spent.values(), default=0.0)
    return tuple(sorted(device for device, time in spent.items() if time >= MINOR_DEVICE_SHARE * most))


def of_job(fact: str, value: bool | int | float, text: str | None = None, entity: Entity = JOB) -> Reading:
    """A reading on the job as a whole, or on `entity`; it has no line, since it is worked out from many events."""
    return Reading(fact, value, text=text, entity=entity)


def _waiting_calls(view: View) -> list[tuple[float, float]]:
    """Host calls that wait for the device; the synchronisation with which a profiler ends its recording is left out."""
    timeline, calls = view.timeline, view.timeline.calls
    blocked = _blocking_correlations(view)
    kinds = [timeline.call_kind(at) for at in range(len(calls))]
    last_launch = max((calls.starts[at] for at, kind in enumerate(kinds) if kind is CallKind.LAUNCH), default=None)
    found: list[tuple[float, float]] = []
    for at, kind in enumerate(kinds):
        span = (calls.starts[at], calls.ends[at])
        name = timeline.names.texts[calls.names[at]]
        closing = last_launch is not None and span[0] > last_launch and "DeviceSynchronize" in name
        blocking = kind in (CallKind.WAIT, CallKind.BLOCKING_COPY) and not closing
        outlasting = kind is CallKind.ASYNC_COPY and span[1] >= blocked.get(calls.correlations[at], float("inf"))
        if blocking or outlasting:
            found.append(span)
    return found


def _blocking_correlations(view: View) -> dict[int, float]:
    """Ends of host copies that are not pinned, by correlation: a call that outlasts such a copy has waited for it."""
    rows = view.timeline.activity
    found: dict[int, float] = {}
    for at in range(len(rows)):
        if rows.kinds[at] == COPY and rows.correlations[at] >= 0:
            name = view.name(at)
            if copy_kind(name) in (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST) and "pinned" not in name.lower():
                found[rows.correlations[at]] = rows.ends[at]
    return found
