"""A live look at a Triton server: its counters read again and again over a window, its configuration, its log.

Only reads: `GET /metrics`, `GET /v2…`, and `POST /v2/repository/index`, which lists models. No inference is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from gpuwhy.kb.facts import SERVER, Absent, Entity, Fact, Origin, OriginKind, load, model
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass, field, replace
from gpuwhy.probes.artefacts.attach import typed
from gpuwhy.probes.artefacts.contract import Line, Missing, Reading
from gpuwhy.probes.artefacts.exposition import Scrape, scrapes
from gpuwhy.probes.artefacts.server_counters import (
    WINDOW,
    Key,
    ModelCounters,
    Snapshot,
    counted_between,
    entity_of,
    fell,
    tell,
)
from gpuwhy.probes.artefacts.triton_config import from_json
from gpuwhy.probes.artefacts.triton_config_facts import Config, config_readings
from gpuwhy.probes.artefacts.triton_metrics import server_readings
from gpuwhy.probes.artefacts.triton_metrics import snapshot_of as metrics_snapshot
from gpuwhy.probes.artefacts.triton_statistics import snapshot_of as statistics_snapshot
from gpuwhy.probes.gathering import Gathering
from gpuwhy.probes.triton_discovery import Endpoints, discover
from gpuwhy.probes.triton_http import Address, model_path, read
from gpuwhy.probes.triton_load import Prober
from gpuwhy.probes.triton_log_follow import Follower
from gpuwhy.probes.triton_pipeline import pipeline
from gpuwhy.probes.triton_repository import repository_readings
from gpuwhy.probes.triton_series import course

READS = 40
"""How many reads a window is divided into, as far as they are neither closer nor further apart than these seconds."""
MIN_APART_SECONDS = 0.2
MAX_APART_SECONDS = 2.0
MAX_CONFIGS = 50

ACTIVITY = ("successes", "failures", "executions")
_LIFECYCLE = ("serve.load_count", "serve.unload_count", "serve.reload_count")

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Target:
    """What to look at: the address given, that of the HTTP service where it was given, repository and log."""

    address: Address
    http: Address | None = None
    repository: Path | None = None
    log: Path | None = None
    probe_load: int | None = None
    probe_model: str | None = None


@dataclass
class Watched:
    """What was collected over the window, before it becomes facts."""

    snapshots: list[Snapshot] = field(default_factory=list)
    scrape: Scrape | None = None
    states: list[Mapping[str, str]] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    gaps: int = 0
    gone: int = 0
    interrupted: bool = False


def look(target: Target, seconds: float, specs: Mapping[str, FactSpec], progress: Progress | None = None) -> Gathering:
    """Watches a server for so many seconds; facts, and for what could not be had, the reason.

    An interrupt (Ctrl-C) ends the watch early and keeps what was seen.
    """
    endpoints = discover(target.address, target.http)
    follower = Follower(target.log) if target.log is not None else None
    began = time.monotonic()
    sent = Prober(endpoints.http, target.probe_load, target.probe_model) if target.probe_load else None
    watched = _watch(endpoints, seconds, progress, sent)
    lasted = time.monotonic() - began
    readings: list[Reading] = []
    missing: list[Missing] = list(endpoints.missing)
    if target.repository is not None:
        found, lacking = repository_readings(target.repository)
        readings, missing = [*readings, *found], [*missing, *lacking]
    configs: dict[str, Config] = {}
    if endpoints.http is not None:
        readings += _server_version(endpoints.http)
        configs = _configurations(endpoints.http, watched)
        readings += [reading for one in configs.values() for reading in config_readings(one)]
    for source in (follower, sent):
        if source is None:
            continue
        found, lacking = source.readings()
        readings, missing = [*readings, *found], [*missing, *lacking]
    found, lacking = _told(watched, endpoints)
    if watched.snapshots:
        found += pipeline(watched.snapshots, configs)
    told = _of_active([*readings, *found], watched)
    return _gathering(target.address, told, [*missing, *lacking], specs, lasted, watched)


def _watch(endpoints: Endpoints, seconds: float, progress: Progress | None, sent: Prober | None) -> Watched:
    """Reads at even distances, the first at once and the last at the end; requests are sent after the first."""
    watched = Watched()
    if endpoints.metrics is None and endpoints.http is None:
        return watched
    apart = min(MAX_APART_SECONDS, max(MIN_APART_SECONDS, seconds / READS))
    count = max(1, round(seconds / apart))
    began = time.monotonic()
    try:
        for number in range(count + 1):
            due = began + seconds * number / count
            while (left := due - time.monotonic()) > 0:
                time.sleep(min(left, 0.5))
                if progress is not None:
                    progress(min(1.0, (time.monotonic() - began) / seconds))
            if time.monotonic() - due > apart and number not in (0, count):
                continue  # a slow server is read less often, not for longer
            _once(endpoints, watched)
            if number == 0 and sent is not None:
                sent.start()
    except KeyboardInterrupt:
        watched.interrupted = True
    finally:
        if sent is not None:
            sent.stop()
    return watched


def _once(endpoints: Endpoints, watched: Watched) -> None:
    """One read of what answers."""
    metrics, statistics = Snapshot({}), Snapshot({})
    answered = False
    if endpoints.metrics is not None:
        reply = read(endpoints.metrics, endpoints.metrics.path or "/metrics")
        at = time.monotonic()
        watched.gone += reply.refused
        if reply.ok:
            found = scrapes((Line(number, text) for number, text in enumerate(reply.text.splitlines(), 1)), "nv_")
            if found:
                watched.scrape, answered = found[0], True
                metrics = metrics_snapshot(found[0], at)
        else:
            watched.reasons["metrics"] = reply.reason
    if endpoints.http is not None:
        reply = read(endpoints.http, "/v2/models/stats")
        at = time.monotonic()
        watched.gone += reply.refused
        if reply.ok:
            statistics, answered = statistics_snapshot(reply.json(), at), True
            watched.states.append(_states(endpoints.http))
        else:
            watched.reasons["statistics"] = reply.reason
    if not answered:
        watched.gaps += 1
        return
    watched.snapshots.append(_merged(metrics, statistics))


def _merged(metrics: Snapshot, statistics: Snapshot) -> Snapshot:
    """One snapshot of both: counters of the statistics, which are finer, and what only the metrics have."""
    if not statistics.models:
        return metrics
    models: dict[Key, ModelCounters] = {}
    for key, fine in statistics.models.items():
        coarse = metrics.models.get(key)
        if coarse is None:
            models[key] = fine
            continue
        only = {name: value for name, value in coarse.counters.items() if name.startswith("failures_")}
        models[key] = replace(fine, counters={**fine.counters, **only}, gauges=coarse.gauges, empty=coarse.empty)
    return Snapshot(models, statistics.at)


def _states(http: Address) -> Mapping[str, str]:
    """The state of every model in the repository: READY, UNAVAILABLE, LOADING, …"""
    found = read(http, "/v2/repository/index", b"{}").json()
    states: dict[str, str] = {}
    for one in found if isinstance(found, list) else ():
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            states[str(one["name"])] = str(one.get("state") or "UNAVAILABLE")
    return states


def _server_version(http: Address) -> Iterator[Reading]:
    server = read(http, "/v2").json()
    if isinstance(server, dict) and isinstance(server.get("version"), str):
        yield Reading("serve.software_version", str(server["version"])[:40], entity=SERVER)


def _configurations(http: Address, watched: Watched) -> dict[str, Config]:
    """The configurations of models, those with the most requests first."""
    found: dict[str, Config] = {}
    models = watched.snapshots[-1].models if watched.snapshots else {}
    order = sorted(models, key=lambda key: -models[key].counters.get("successes", 0.0))
    for name in list(dict.fromkeys(key[0] for key in order))[:MAX_CONFIGS]:
        document = read(http, model_path(name, "config")).json()
        if isinstance(document, dict) and "name" in document:
            found[name] = from_json(document)
    return found


def _of_active(readings: list[Reading], watched: Watched) -> list[Reading]:
    """Without what is about models that did nothing in the window, unless none did; counts add up to the larger."""
    active = {
        key[0]
        for one in watched.snapshots[-1:]
        for key in one.models
        if any(counted_between(watched.snapshots, key).counters.get(name, 0) > 0 for name in ACTIVITY)
        or one.models[key].gauges.get("pending", 0) > 0
    }
    active |= {_owner(one) for one in readings if one.fact in _LIFECYCLE and one.value}
    kept = [one for one in readings if not active or _owner(one) in active or one.entity.kind not in ("model", "load")]
    highest: dict[tuple[str, Entity], Reading] = {}
    for one in kept:
        key = (one.fact, one.entity)
        old = highest.get(key)
        if one.fact not in _LIFECYCLE or old is None or float(old.value) < float(one.value):
            highest[key] = one
    return list(highest.values())


def _owner(one: Reading) -> str:
    """The name of the model that a reading is about."""
    return next((of.name.split(" (version ")[0] for of in one.entity.lineage() if of.kind == "model"), "")


def _told(watched: Watched, endpoints: Endpoints) -> tuple[list[Reading], list[Missing]]:
    answered = {"serve.metrics_answered": watched.scrape is not None, "serve.statistics_answered": bool(watched.states)}
    readings = [Reading(fact, True, entity=SERVER) for fact, value in answered.items() if value]
    missing = [
        Missing("serve.metrics_answered" if what == "metrics" else "serve.statistics_answered", reason, entity=SERVER)
        for what, reason in watched.reasons.items()
    ]
    if watched.snapshots:
        readings.append(Reading("serve.software", "triton", entity=SERVER))
    elif not endpoints.missing:
        missing.append(Missing("serve.request_count", "the server never answered", entity=load(WINDOW, model())))
    if watched.scrape is not None:
        found, lacking = server_readings(watched.scrape)
        readings, missing = [*readings, *found], [*missing, *lacking]
    if watched.snapshots:
        told = tell(watched.snapshots)
        readings, missing = [*readings, *told.readings, *course(watched.snapshots)], [*missing, *told.missing]
        readings += _reloads(watched)
    return readings, missing


def _reloads(watched: Watched) -> Iterator[Reading]:
    """Models loaded anew in the window, and whether it was the server that began anew."""
    first = watched.snapshots[0]
    restarted = watched.gone > 0 and len(watched.snapshots) > 1
    yield Reading("serve.restarted", restarted, entity=SERVER)
    names = {key[0] for one in watched.snapshots for key in one.models}
    for name in sorted(names):
        resets = 0 if restarted else sum(_resets(watched.snapshots, key) for key in _keys(watched, name))
        came = 0 if restarted else _came_back(watched.states, name)
        gone = 0 if restarted else _went(watched.states, name)
        of = _model(watched, name)
        yield Reading("serve.unload_count", gone, entity=of)
        yield Reading("serve.reload_count", max(resets, came), entity=of)
        if first.at is not None and not restarted and _appeared(watched.states, name):
            yield Reading("serve.load_count", 1 + max(0, came - 1), entity=of)


def _keys(watched: Watched, name: str) -> list[Key]:
    return list(dict.fromkeys(key for one in watched.snapshots for key in one.models if key[0] == name))


def _model(watched: Watched, name: str) -> Entity:
    keys = dict.fromkeys(_keys(watched, name))
    of = entity_of(next(iter(keys)), keys)
    return of if len(keys) == 1 else model(name)


def _resets(snapshots: list[Snapshot], key: Key) -> int:
    seen = [one.models[key] for one in snapshots if key in one.models]
    return sum(fell(a, b) for a, b in pairwise(seen))


def _ready(states: list[Mapping[str, str]], name: str) -> list[bool]:
    return [one.get(name) == "READY" for one in states]


def _came_back(states: list[Mapping[str, str]], name: str) -> int:
    """How often a model was ready again after it had been ready and then was not."""
    ready = _ready(states, name)
    if True not in ready:
        return 0
    since = ready[ready.index(True) :]
    return sum(not a and b for a, b in pairwise(since))


def _went(states: list[Mapping[str, str]], name: str) -> int:
    ready = _ready(states, name)
    return sum(a and not b for a, b in pairwise(ready))


def _appeared(states: list[Mapping[str, str]], name: str) -> bool:
    ready = _ready(states, name)
    return bool(ready) and not ready[0] and ready[-1]


def _gathering(
    at: Address,
    readings: list[Reading],
    missing: list[Missing],
    specs: Mapping[str, FactSpec],
    lasted: float,
    watched: Watched,
) -> Gathering:
    source = f"triton at {at.shown}"
    facts: list[Fact] = []
    unfit: list[str] = []
    for one in readings:
        spec = specs.get(one.fact)
        value = None if spec is None else typed(one.value, spec)
        if spec is None or value is None:
            unfit.append(f"{one.fact} of {one.entity.path} = {one.value!r}")
            continue
        origin = Origin(OriginKind.MEASURED, source, None, one.text)
        facts.append(Fact(one.fact, value, spec.unit, one.entity, origin, one.observed_at, one.window_seconds))
    known = {(one.id, one.entity) for one in facts}
    absent = tuple(
        Absent(one.fact, one.entity, one.reason, Origin(OriginKind.MEASURED, source))
        for one in missing
        if one.fact in specs and (one.fact, one.entity) not in known
    )
    return Gathering(tuple(facts), absent, lasted, watched.interrupted, tuple(unfit))
