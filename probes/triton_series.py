"""What many reads of a server's counters show over time: bursts, idle time, slow first requests, slow single ones.

A stretch is the time between two reads. What is judged is the mean of each stretch, so that one slow request shows as
the time by which a stretch took longer than its requests usually take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwhy.kb.averages import mean, median
from gpuwhy.kb.facts import SERVER, Entity, load
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.serve_loads import SPIKE_RATIO
from gpuwhy.probes.artefacts.server_counters import WINDOW, Key, ModelCounters, Snapshot, difference, entity_of, fell

MIN_STRETCHES = 4
"""Fewer stretches with requests than this show no course."""


@dataclass(frozen=True)
class Stretch:
    """What a model did between two reads. `first`: the first requests since it was loaded are in it."""

    seconds: float
    requests: float
    request: float
    infer: float
    executions: float
    first: bool = False


def stretches(snapshots: Sequence[Snapshot], key: Key) -> list[Stretch]:
    """The stretches of one model, in order; without the time at which a reset happened."""
    found: list[Stretch] = []
    before: tuple[ModelCounters, float | None] | None = None
    for snapshot in snapshots:
        now = snapshot.models.get(key)
        if now is None:
            before = None
            continue
        if before is not None and snapshot.at is not None and before[1] is not None and snapshot.at > before[1]:
            reset = fell(before[0], now)
            counted = difference(before[0], now).counters
            fresh = reset or before[0].counters.get("executions", 1) == 0
            found.append(_stretch(counted, snapshot.at - before[1], fresh))
        before = (now, snapshot.at)
    return found


def _stretch(counted: dict[str, float] | object, seconds: float, fresh: bool) -> Stretch:
    assert isinstance(counted, dict)
    requests = counted.get("successes", 0.0)
    return Stretch(
        seconds,
        requests,
        counted.get("request", 0.0),
        counted.get("compute_infer", 0.0),
        counted.get("executions", 0.0),
        fresh and requests > 0,
    )


def _earlier(snapshots: Sequence[Snapshot], key: Key, usual: float) -> Iterator[tuple[str, float]]:
    """How much longer the requests before the window took than as many would take now."""
    before = snapshots[0].models.get(key)
    executed = 0.0 if before is None else before.counters.get("successes", 0.0)
    if before is None or executed <= 0 or usual <= 0 or any(one.first for one in stretches(snapshots, key)):
        return
    yield "serve.earlier_request_count", executed
    yield "serve.earlier_excess_seconds", max(0.0, before.counters.get("compute_infer", 0.0) - executed * usual)


def course(snapshots: Sequence[Snapshot], server: Entity = SERVER) -> Iterator[Reading]:
    """Facts about the course of every model over the window."""
    last = snapshots[-1]
    for key in last.models:
        of = load(WINDOW, entity_of(key, last.models, server))
        found = stretches(snapshots, key)
        if sum(one.requests for one in found) > 0:
            yield from _arrivals(found, of)
            yield from _speed(found, of)
            usual = [one.infer / one.requests for one in found if one.requests > 0 and not one.first]
            if usual:
                yield Reading("serve.usual_infer_seconds", median(usual), entity=of)
                for fact, value in _earlier(snapshots, key, median(usual)):
                    yield Reading(fact, value, entity=of)


def _arrivals(found: list[Stretch], of: Entity) -> Iterator[Reading]:
    if len(found) < MIN_STRETCHES:
        return
    rates = [one.requests / one.seconds for one in found]
    yield Reading("serve.rate_peak_ratio", max(rates) / mean(rates), entity=of)
    yield Reading("serve.idle_stretch_share", sum(one.requests == 0 for one in found) / len(found), entity=of)


def _speed(found: list[Stretch], of: Entity) -> Iterator[Reading]:
    """The first request against later ones, and slow single requests among those."""
    busy = [one for one in found if one.requests > 0]
    first = next((one for one in busy if one.first), None)
    later = [one for one in busy if not one.first]
    if not later:
        return
    usual = median(one.infer / one.requests for one in later)
    usual_latency = median(one.request / one.requests for one in later)
    if first is not None:
        slow = max(0.0, first.request - (first.requests - 1) * usual_latency)
        yield Reading("serve.first_latency_seconds", max(slow, first.request / first.requests), entity=of)
        yield Reading("serve.steady_latency_seconds", usual_latency, entity=of)
    if len(later) < MIN_STRETCHES or usual <= 0:
        return
    excess = [one.infer - one.requests * usual for one in later]
    spikes = [one for one in excess if one > SPIKE_RATIO * usual]
    yield Reading("serve.spike_count", len(spikes), entity=of)
    if spikes:
        yield Reading("serve.spike_ratio", (usual + median(spikes)) / usual, entity=of)
    means = sorted(one.infer / one.requests for one in later)
    yield Reading("serve.infer_spread_ratio", means[int(0.9 * (len(means) - 1))] / usual, entity=of)
