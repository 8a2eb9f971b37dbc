"""A profile's timeline in compact number arrays: GPU activity, host API calls, operators, annotations.

Times are in microseconds. A trace of a gigabyte holds millions of events: each is kept as a few numbers, never as an
object.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import pairwise

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.intervals import Spans
from gpuwhy.probes.artefacts.kernels import CallKind, call_kind

KERNEL, COPY, FILL = 0, 1, 2
NAME_LIMIT = 240
NAMES_LIMIT = 200_000


@dataclass
class Names:
    """Event names by number; beyond a bound of distinct names all further ones share the number of `...`."""

    known: dict[str, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def number(self, name: str) -> int:
        """The number of a name, shortened to 240 characters."""
        key = name[:NAME_LIMIT]
        found = self.known.get(key)
        if found is not None:
            return found
        if len(self.texts) >= NAMES_LIMIT and key != "...":
            return self.number("...")
        self.known[key] = len(self.texts)
        self.texts.append(key)
        return self.known[key]


@dataclass
class Activity:
    """What the GPUs did. `correlations` are those of the host calls that asked for it; missing numbers are -1."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    kinds: array[int] = field(default_factory=lambda: array("b"))
    devices: array[int] = field(default_factory=lambda: array("i"))
    names: array[int] = field(default_factory=lambda: array("i"))
    correlations: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[float] = field(default_factory=lambda: array("d"))
    blocks_per_sm: array[float] = field(default_factory=lambda: array("f"))
    occupancies: array[float] = field(default_factory=lambda: array("f"))

    def add(
        self,
        kind: int,
        device: int,
        span: tuple[float, float],
        name: int,
        correlation: int = -1,
        size: float = -1.0,
        blocks_per_sm: float = -1.0,
        occupancy: float = -1.0,
    ) -> None:
        """Takes in one kernel, copy or fill."""
        self.starts.append(span[0])
        self.ends.append(span[1])
        self.kinds.append(kind)
        self.devices.append(device)
        self.names.append(name)
        self.correlations.append(correlation)
        self.sizes.append(size)
        self.blocks_per_sm.append(blocks_per_sm)
        self.occupancies.append(occupancy)

    def __len__(self) -> int:
        return len(self.starts)


@dataclass
class Calls:
    """Host API calls."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    names: array[int] = field(default_factory=lambda: array("i"))
    correlations: array[int] = field(default_factory=lambda: array("q"))

    def add(self, span: tuple[float, float], name: int, correlation: int) -> None:
        """Takes in one call."""
        self.starts.append(span[0])
        self.ends.append(span[1])
        self.names.append(name)
        self.correlations.append(correlation)

    def __len__(self) -> int:
        return len(self.starts)


@dataclass
class Marks:
    """Spans that the framework names on a host thread: steps, fetches of a batch, optimizer steps."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    threads: array[int] = field(default_factory=lambda: array("i"))

    def add(self, span: tuple[float, float], thread: int) -> None:
        """Takes in one span."""
        self.starts.append(span[0])
        self.ends.append(span[1])
        self.threads.append(thread)

    def __len__(self) -> int:
        return len(self.starts)

    def on(self, thread: int | None) -> list[tuple[float, float]]:
        """The spans of one thread (of all threads for None) in order of their start."""
        rows = zip(self.starts, self.ends, self.threads, strict=True)
        return sorted((start, end) for start, end, on in rows if thread is None or on == thread)

    def main_thread(self) -> int | None:
        """The thread that has most of these spans; None where there are none."""
        counts: dict[int, int] = {}
        for thread in self.threads:
            counts[thread] = counts.get(thread, 0) + 1
        return max(counts, key=counts.__getitem__) if counts else None


@dataclass
class Timeline:
    """Everything of a profile that the step facts are worked out from."""

    names: Names = field(default_factory=Names)
    activity: Activity = field(default_factory=Activity)
    calls: Calls = field(default_factory=Calls)
    waits: Marks = field(default_factory=Marks)
    operators: Marks = field(default_factory=Marks)
    steps: Marks = field(default_factory=Marks)
    fetches: Marks = field(default_factory=Marks)
    optimizers: Marks = field(default_factory=Marks)
    in_main_process: bool | None = None

    def call_kind(self, at: int) -> CallKind:
        """The kind of the call at this index."""
        return call_kind(self.names.texts[self.calls.names[at]])


@dataclass(frozen=True)
class LaunchIndex:
    """When the host call behind a GPU activity began and ended, by correlation."""

    correlations: array[int]
    starts: array[float]
    ends: array[float]

    @staticmethod
    def of(calls: Calls) -> LaunchIndex:
        """The index over all calls that carry a correlation."""
        known = (at for at in range(len(calls)) if calls.correlations[at] >= 0)
        order = sorted(known, key=calls.correlations.__getitem__)
        return LaunchIndex(
            array("q", (calls.correlations[at] for at in order)),
            array("d", (calls.starts[at] for at in order)),
            array("d", (calls.ends[at] for at in order)),
        )

    def find(self, correlation: int) -> tuple[float, float] | None:
        """Start and end of the call with this correlation, or None."""
        at = bisect_left(self.correlations, correlation)
        if correlation < 0 or at == len(self.correlations) or self.correlations[at] != correlation:
            return None
        return self.starts[at], self.ends[at]


WARMUP_KEPT = 3


@dataclass(frozen=True)
class Steps:
    """The steps that are looked at: those marked by the framework, or from one fetch of a batch to the next."""

    spans: tuple[tuple[float, float], ...]
    thread: int | None
    first_skipped: bool

    @staticmethod
    def of(timeline: Timeline) -> Steps:
        """The steps of a timeline; the first is left out where at least three remain, since it warms up."""
        thread = timeline.steps.main_thread()
        spans = timeline.steps.on(thread) if thread is not None else []
        if not spans and len(timeline.fetches) > 1:
            thread = timeline.fetches.main_thread()
            starts = [start for start, _ in timeline.fetches.on(thread)]
            spans = list(pairwise(starts))
        skip = len(spans) > WARMUP_KEPT
        return Steps(tuple(spans[1:] if skip else spans), thread, skip)

    @property
    def seconds(self) -> list[float]:
        """Length of each step."""
        return [(end - start) * 1e-6 for start, end in self.spans]


def window_of(timeline: Timeline, steps: Steps, launches: LaunchIndex) -> Spans:
    """The time that shares refer to: the steps, and beyond the last one until the GPU work it launched is done.

    Without steps: from the first GPU activity or its launch to the last one's end.
    """
    activity = timeline.activity
    if steps.spans:
        first, last = steps.spans[0][0], steps.spans[-1][1]
        late = ((at, end) for at, end in enumerate(activity.ends) if end > last)
        ends = [end for at, end in late if _launched_within(launches, activity.correlations[at], first, last)]
        return Spans.of([*steps.spans, *([(last, max(ends))] if ends else [])])
    if not len(activity):
        return Spans.of([])
    begun = [launch[0] for launch in map(launches.find, activity.correlations) if launch is not None]
    return Spans.of([(min(min(activity.starts), min(begun, default=min(activity.starts))), max(activity.ends))])


def _launched_within(launches: LaunchIndex, correlation: int, first: float, last: float) -> bool:
    launch = launches.find(correlation)
    return launch is not None and first <= launch[0] <= last
