"""How models of one server work together: which step of an ensemble takes its time, and what a calling model adds.

An ensemble is told by its configuration. That a Python model calls another one (business logic scripting) is not; it is
taken from the counts: the other got as many requests, within the time that the caller was executing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpuwhy.kb.facts import SERVER, Entity, load
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.server_counters import WINDOW, Key, Snapshot, counted_between, entity_of
from gpuwhy.probes.artefacts.triton_config_facts import Config, ensemble_steps

MAX_CALLS = 4
"""Calls of one model per request of another, beyond which equal counts say little."""
COUNT_TOLERANCE = 0.05
"""Requests under way at either end of the window make counts differ by this share, and by one or two."""

Counters = Mapping[str, float]


def pipeline(
    snapshots: Sequence[Snapshot], configs: Mapping[str, Config], server: Entity = SERVER
) -> Iterator[Reading]:
    """Facts about steps and callers over the window."""
    keys = snapshots[-1].models
    counted = {key: counted_between(snapshots, key).counters for key in keys}
    steps: set[str] = set()
    for key, values in counted.items():
        names = ensemble_steps(configs[key[0]].fields) if key[0] in configs else []
        if names and values.get("successes", 0) > 0:
            steps.update(names)
            yield from _steps(values, names, counted, keys, server)
    for key, values in counted.items():
        config = configs.get(key[0])
        if config is not None and config.backend == "python" and values.get("successes", 0) > 0:
            others = {other: one for other, one in counted.items() if other != key and other[0] not in steps}
            yield from _caller(load(WINDOW, entity_of(key, keys, server)), values, others)


def _steps(
    whole: Counters, names: Sequence[str], counted: Mapping[Key, Counters], keys: Mapping[Key, object], server: Entity
) -> Iterator[Reading]:
    for key, values in counted.items():
        uses = names.count(key[0])
        if not uses or not _as_many(values.get("successes", 0), uses * whole["successes"]):
            continue
        total = whole.get("request", 0.0)
        if total > 0:
            share = min(1.0, values.get("request", 0.0) / total)
            yield Reading("serve.step_share", share, entity=load(WINDOW, entity_of(key, keys, server)))


def _caller(of: Entity, own: Counters, others: Mapping[Key, Counters]) -> Iterator[Reading]:
    infer, requests = own.get("compute_infer", 0.0), own["successes"]
    called = {
        key: one
        for key, one in others.items()
        if one.get("successes", 0) > 0
        and any(_as_many(one["successes"], calls * requests) for calls in range(1, MAX_CALLS + 1))
        and 0 < one.get("request", 0.0) <= infer
    }
    inside = sum(one["request"] for one in called.values())
    if not called or not 0 < inside <= infer:
        return
    yield Reading("serve.calls", ", ".join(name for name, _ in called), entity=of)
    yield Reading("serve.handler_seconds", (infer - inside) / requests, entity=of)
    yield Reading("serve.handler_share", (infer - inside) / infer, entity=of)


def _as_many(count: float, wanted: float) -> bool:
    return abs(count - wanted) <= max(2.0, COUNT_TOLERANCE * wanted)
