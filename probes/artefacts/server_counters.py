"""Cumulative counters of an inference server, and what two or more reads of them say about the time between.

Shared by pasted scrapes and a live look. Counters run from the start of the server or the load of the model, so that
only differences say what happens now. Formulas: Triton's documentation of its metrics and statistics
(https://github.com/triton-inference-server/server/blob/main/docs/user_guide/metrics.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from gpuwhy.kb.facts import SERVER, Entity, load, model
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Missing, Reading

Key = tuple[str, str]
"""A model's name and version."""

COUNTS = ("successes", "failures", "inferences", "executions", "cache_hits", "cache_misses")
TIMES = ("request", "queue", "compute_input", "compute_infer", "compute_output")
REASONS = ("rejected", "canceled", "backend", "other")
FALLING = ("successes", "inferences", "executions", "request", "queue", "compute_infer")
"""Counters by which a reset is seen."""

SINCE_START = "since the start"
WINDOW = "window"

_COUNT_FACTS = (
    ("successes", "serve.request_count"),
    ("failures", "serve.failed_count"),
    ("inferences", "serve.inference_count"),
    ("executions", "serve.execution_count"),
    ("cache_hits", "serve.cache_hit_count"),
    ("cache_misses", "serve.cache_miss_count"),
)
_TIME_FACTS = (
    ("request", "serve.server_latency_seconds"),
    ("queue", "serve.queue_seconds"),
    ("compute_input", "serve.compute_input_seconds"),
    ("compute_infer", "serve.compute_infer_seconds"),
    ("compute_output", "serve.compute_output_seconds"),
)
_TOTAL_FACTS = (
    ("request", "serve.server_total_seconds"),
    ("queue", "serve.queue_total_seconds"),
    ("compute_input", "serve.compute_input_total_seconds"),
    ("compute_infer", "serve.compute_infer_total_seconds"),
    ("compute_output", "serve.compute_output_total_seconds"),
)
"""Sums over all requests: their shares need no count of requests, which excerpts often lack."""
_GAUGE_FACTS = {
    "request_p50": "serve.server_latency_p50_seconds",
    "request_p90": "serve.server_latency_p90_seconds",
    "request_p99": "serve.server_latency_p99_seconds",
    "queue_p50": "serve.queue_p50_seconds",
    "queue_p90": "serve.queue_p90_seconds",
    "queue_p99": "serve.queue_p99_seconds",
    "compute_infer_p50": "serve.compute_infer_p50_seconds",
    "compute_infer_p99": "serve.compute_infer_p99_seconds",
}


@dataclass(frozen=True)
class ModelCounters:
    """Counters and gauges of one model version at one moment; times in seconds.

    `counters` only holds what was there. `lines` says where each stands; `empty` are gauges that were NaN.
    """

    counters: Mapping[str, float]
    gauges: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[str, tuple[int | None, str | None]] = field(default_factory=dict)
    empty: frozenset[str] = frozenset()

    def line(self, name: str) -> tuple[int | None, str | None]:
        """Where a value stands."""
        return self.lines.get(name, (None, None))


@dataclass(frozen=True)
class Snapshot:
    """The counters of all models at one moment (seconds on any one clock; None: unknown)."""

    models: Mapping[Key, ModelCounters]
    at: float | None = None


@dataclass(frozen=True)
class Told:
    """Readings, and what could not be had, of one or more snapshots."""

    readings: tuple[Reading, ...]
    missing: tuple[Missing, ...] = ()


def entity_of(key: Key, keys: Sequence[Key] | Mapping[Key, object], server: Entity = SERVER) -> Entity:
    """The entity of a model version: by its name, and by its version too where several are there."""
    several = len({version for name, version in keys if name == key[0]}) > 1
    return model(f"{key[0]} (version {key[1]})" if several else key[0], server)


def fell(first: ModelCounters, second: ModelCounters) -> bool:
    """True if a counter is lower than before: the server was restarted or the model loaded anew."""
    return any(second.counters.get(name, value) < value for name, value in first.counters.items() if name in FALLING)


def difference(first: ModelCounters, second: ModelCounters) -> ModelCounters:
    """What was counted between; after a reset, what was counted since then."""
    if fell(first, second):
        return second
    counters = {name: value - first.counters.get(name, 0.0) for name, value in second.counters.items()}
    return ModelCounters(counters, second.gauges, second.lines, second.empty)


def tell(snapshots: Sequence[Snapshot], server: Entity = SERVER) -> Told:
    """Facts about every model: of one snapshot those since the start, of several those of the time between.

    After a reset within the window the counts since then are told, and that there was one.
    """
    readings: list[Reading] = []
    missing: list[Missing] = []
    first, last = snapshots[0], snapshots[-1]
    for key, now in last.models.items():
        of = load(SINCE_START if len(snapshots) == 1 else WINDOW, entity_of(key, last.models, server))
        before = first.models.get(key) if len(snapshots) > 1 else None
        reset = any(fell(a, b) for a, b in _pairs(snapshots, key))
        counted = counted_between(snapshots, key) if len(snapshots) > 1 else now
        seconds = _seconds(first, last) if len(snapshots) > 1 else None
        readings += [
            Reading("serve.cumulative", len(snapshots) == 1, *now.line("successes"), of),
            *_counts(counted, of, seconds),
            *_means(counted, of, seconds),
            *_gauges(snapshots, key, of),
        ]
        if reset:
            readings.append(Reading("serve.counter_reset", True, *now.line("successes"), of))
        elif before is not None:
            readings.append(Reading("serve.counter_reset", False, *now.line("successes"), of))
        missing += _missing(counted, of, len(snapshots) == 1)
    readings += _steps(last.models, server)
    return Told(tuple(readings), tuple(missing))


def _steps(models: Mapping[Key, ModelCounters], server: Entity) -> Iterator[Reading]:
    """Models beside the only one that is called an ensemble are its steps."""
    ensembles = [key for key in models if "ensemble" in key[0].lower()]
    if len(ensembles) != 1 or len(models) < 2:
        return
    for key, counters in models.items():
        where = next(iter(counters.lines.values()), (None, None))
        fact = "serve.ensemble" if key == ensembles[0] else "serve.step_of_ensemble"
        yield Reading(fact, True, *where, entity_of(key, models, server))


def _pairs(snapshots: Sequence[Snapshot], key: Key) -> Iterator[tuple[ModelCounters, ModelCounters]]:
    """Consecutive readings of one model; snapshots without it are stepped over."""
    seen = [one.models[key] for one in snapshots if key in one.models]
    return pairwise(seen)


def counted_between(snapshots: Sequence[Snapshot], key: Key) -> ModelCounters:
    """What was counted from the first to the last snapshot, across resets and reloads."""
    seen = [one.models[key] for one in snapshots if key in one.models]
    total: dict[str, float] = {} if key in snapshots[0].models else dict(seen[0].counters)
    for a, b in pairwise(seen):
        for name, value in difference(a, b).counters.items():
            total[name] = total.get(name, 0.0) + value
    if not total:
        total = dict.fromkeys(seen[-1].counters, 0.0)
    return ModelCounters(total, seen[-1].gauges, seen[-1].lines, seen[-1].empty)


def _seconds(first: Snapshot, last: Snapshot) -> float | None:
    if first.at is None or last.at is None or last.at <= first.at:
        return None
    return last.at - first.at


def _counts(counted: ModelCounters, of: Entity, seconds: float | None) -> Iterator[Reading]:
    values = counted.counters
    if seconds is not None:
        yield Reading("serve.window_seconds", seconds, entity=of)
    for name, fact in _COUNT_FACTS:
        if name in values:
            yield Reading(fact, values[name], *counted.line(name), of, window_seconds=seconds)
    for reason in REASONS:
        if f"failures_{reason}" in values:
            where = counted.line(f"failures_{reason}")
            yield Reading(f"serve.failed_{reason}_count", values[f"failures_{reason}"], *where, of)
    if seconds is not None and "successes" in values:
        where = counted.line("successes")
        yield Reading("serve.requests_per_second", values["successes"] / seconds, *where, of, window_seconds=seconds)
    if seconds is not None and "inferences" in values:
        where, rate = counted.line("inferences"), values["inferences"] / seconds
        yield Reading("serve.throughput_per_second", rate, *where, of, window_seconds=seconds)


def _means(counted: ModelCounters, of: Entity, seconds: float | None) -> Iterator[Reading]:
    values = counted.counters
    executions, requests = values.get("executions", 0), values.get("successes", 0)
    if executions > 0 and values.get("inferences", 0) > 0:
        yield Reading("serve.batch_size_mean", values["inferences"] / executions, *counted.line("executions"), of)
    if seconds is not None and "busy" in values:
        yield Reading("serve.busy_instances", values["busy"] / seconds, *counted.line("busy"), of)
    for name, fact in _TOTAL_FACTS:
        if name in values:
            yield Reading(fact, values[name], *counted.line(name), of, window_seconds=seconds)
    if requests <= 0:
        return
    without = uncounted(values)
    yield Reading("serve.statistics_missing", without, *counted.line("request"), of)
    if without:
        return
    for name, fact in _TIME_FACTS:
        if name in values:
            yield Reading(fact, values[name] / requests, *counted.line(name), of, window_seconds=seconds)


def uncounted(values: Mapping[str, float]) -> bool:
    """True if requests were answered, not from the cache, and no time was counted for them.

    Some backends do not report; an ensemble counts the time of its requests, but not that of their parts.
    """
    if values.get("successes", 0) <= 0 or values.get("cache_hits", 0) >= values["successes"]:
        return False
    times = [values[name] for name in TIMES if name in values]
    return bool(times) and not any(times)


def _gauges(snapshots: Sequence[Snapshot], key: Key, of: Entity) -> Iterator[Reading]:
    last = snapshots[-1].models[key]
    pending = [one.models[key].gauges["pending"] for one in snapshots if "pending" in _gauges_of(one, key)]
    if pending:
        yield Reading("serve.pending_count", sum(pending) / len(pending), *last.line("pending"), of)
        yield Reading("serve.pending_max_count", max(pending), *last.line("pending"), of)
    for name, fact in _GAUGE_FACTS.items():
        if name in last.gauges:
            yield Reading(fact, last.gauges[name], *last.line(name), of)
    if "load_seconds" in last.gauges:
        assert of.parent is not None
        yield Reading("serve.load_seconds", last.gauges["load_seconds"], *last.line("load_seconds"), of.parent)


def _gauges_of(snapshot: Snapshot, key: Key) -> Mapping[str, float]:
    return snapshot.models[key].gauges if key in snapshot.models else {}


def _missing(counted: ModelCounters, of: Entity, since_start: bool) -> Iterator[Missing]:
    """Why a mean or a percentile cannot be told."""
    values = counted.counters
    when = "since the start" if since_start else "between the two reads"
    for name, fact in _TIME_FACTS:
        if name not in values:
            yield Missing(fact, f"the counter is not in what was read ({_metric(name)})", entity=of)
        elif values.get("successes", 0) <= 0:
            yield Missing(fact, f"no request was answered {when}", entity=of)
        elif uncounted(values):
            yield Missing(fact, "requests were answered, but the server counted no time for them", entity=of)
    for name in counted.empty:
        if name in _GAUGE_FACTS:
            yield Missing(_GAUGE_FACTS[name], "NaN: no request in the summary's own window", entity=of)
    if since_start:
        reason = "counters run from the start of the server; a second read, some seconds later, gives a rate"
        for fact in ("serve.window_seconds", "serve.requests_per_second", "serve.busy_instances"):
            yield Missing(fact, reason, entity=of)


def _metric(name: str) -> str:
    return f"nv_inference_{name}_duration_us"
