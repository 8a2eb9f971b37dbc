"""The metrics of Triton Inference Server: its Prometheus text, once or several times in one paste.

Shapes: triton-inference-server/core, src/metrics.cc; meaning and units:
https://github.com/triton-inference-server/server/blob/main/docs/user_guide/metrics.md .
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone

from gpuwhy.kb.facts import SERVER, gpu
from gpuwhy.probes.artefacts.contract import Extract, Line, Missing, Reading, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.exposition import Sample, Scrape, scrapes
from gpuwhy.probes.artefacts.server_counters import Key, ModelCounters, Snapshot, tell
from gpuwhy.probes.artefacts.triton_between import Reads

MICRO = 1e-6
_COUNTERS: Mapping[str, tuple[str, float]] = {
    "nv_inference_request_success": ("successes", 1),
    "nv_inference_count": ("inferences", 1),
    "nv_inference_exec_count": ("executions", 1),
    "nv_inference_request_duration_us": ("request", MICRO),
    "nv_inference_queue_duration_us": ("queue", MICRO),
    "nv_inference_compute_input_duration_us": ("compute_input", MICRO),
    "nv_inference_compute_infer_duration_us": ("compute_infer", MICRO),
    "nv_inference_compute_output_duration_us": ("compute_output", MICRO),
    "nv_cache_num_hits_per_model": ("cache_hits", 1),
    "nv_cache_num_misses_per_model": ("cache_misses", 1),
}
_FAILURE = "nv_inference_request_failure"
_GAUGES = {"nv_inference_pending_request_count": "pending", "nv_model_load_duration_secs": "load_seconds"}
_SUMMARY = re.compile(r"nv_inference_(request|queue|compute_input|compute_infer|compute_output)_summary_us\Z")
_QUANTILES = {"0.5": "p50", "0.9": "p90", "0.99": "p99"}
_SERVER_GAUGES = {
    "nv_pinned_memory_pool_total_bytes": "serve.pinned_pool_bytes",
    "nv_pinned_memory_pool_used_bytes": "serve.pinned_pool_used_bytes",
}
_GPU_GAUGES = {
    "nv_gpu_utilization": "gpu.utilization_share",
    "nv_gpu_memory_total_bytes": "gpu.memory_total_bytes",
    "nv_gpu_memory_used_bytes": "gpu.memory_used_bytes",
    "nv_gpu_power_usage": "gpu.power_watts",
    "nv_gpu_power_limit": "gpu.power_limit_watts",
}
_NEVER_ZERO = ("nv_gpu_memory_total_bytes", "nv_gpu_power_usage", "nv_gpu_power_limit")
"""A GPU that is there has memory, a power limit, and draws power: zero is a reading that failed."""

_ISO = re.compile(r"\b(20[0-9]{2}-[01][0-9]-[0-3][0-9])[T ]([0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?)(Z?)")
_DATE = re.compile(
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? ([0-3]?[0-9]) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (20[0-9]{2}) "
    r"([0-2][0-9]:[0-5][0-9]:[0-5][0-9])\b"
)
_UNIX_DATE = re.compile(
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}([0-3]?[0-9]) "
    r"([0-2][0-9]:[0-5][0-9]:[0-5][0-9])(?: (?:AM|PM))?(?: [A-Z]{2,5})? (20[0-9]{2})\b"
)
_SLEEP = re.compile(r"\bsleep ([0-9]{1,5}(?:\.[0-9]{1,3})?)\s?([smh]?)\b")
_LOOK_BACK = 12
"""How many lines before a scrape may say when it was taken."""


def snapshot_of(scrape: Scrape, at: float | None = None) -> Snapshot:
    """The counters of every model in one scrape; those of one model on several GPUs are added up."""
    counters: dict[Key, dict[str, float]] = {}
    gauges: dict[Key, dict[str, float]] = {}
    lines: dict[Key, dict[str, tuple[int | None, str | None]]] = {}
    empty: dict[Key, set[str]] = {}
    for one in scrape.samples:
        name = one.label("model")
        if name is None:
            continue
        key = (name, one.label("version") or "")
        for short, value, is_counter in _of_model(one):
            lines.setdefault(key, {}).setdefault(short, (one.line, one.text))
            kept = counters.setdefault(key, {})
            if not one.known or (is_counter and value < 0):  # a counter below zero was not read, whatever it says
                empty.setdefault(key, set()).add(short)
            elif is_counter:
                kept[short] = kept.get(short, 0.0) + value
            else:
                gauges.setdefault(key, {})[short] = value
    models = {
        key: ModelCounters(found, gauges.get(key, {}), lines.get(key, {}), frozenset(empty.get(key, ())))
        for key, found in counters.items()
    }
    return Snapshot(models, at)


def _of_model(one: Sample) -> Iterator[tuple[str, float, bool]]:
    """What a sample means: a short name, the value in our unit, and whether it is a counter."""
    if one.name in _COUNTERS:
        short, factor = _COUNTERS[one.name]
        yield short, one.value * factor, True
    elif one.name == _FAILURE:
        yield "failures", one.value, True
        reason = (one.label("reason") or "").lower()
        if reason in ("rejected", "canceled", "backend", "other"):
            yield f"failures_{reason}", one.value, True
    elif one.name in _GAUGES:
        yield _GAUGES[one.name], one.value, False
    else:
        summary = _SUMMARY.match(one.name)
        quantile = _QUANTILES.get(one.label("quantile") or "")
        if summary and quantile:
            yield f"{summary.group(1)}_{quantile}", one.value * MICRO, False


def server_readings(scrape: Scrape) -> tuple[list[Reading], list[Missing]]:
    """Facts about the server and its GPUs in one scrape; a zero that cannot be is a reading that failed."""
    readings = [Reading("serve.software", "triton", scrape.first, None, SERVER)]
    missing: list[Missing] = []
    for one in scrape.samples:
        fact = _SERVER_GAUGES.get(one.name)
        if fact is not None and one.known:
            readings.append(Reading(fact, one.value, one.line, one.text, SERVER))
    total = next((one for one in scrape.named("nv_pinned_memory_pool_total_bytes") if one.known), None)
    if total is not None and total.value == 0:
        readings.append(Reading("serve.pinned_pool_missing", True, total.line, total.text, SERVER))
    by_gpu: dict[str, list[Sample]] = {}
    for one in scrape.samples:
        if one.name in _GPU_GAUGES and one.label("gpu_uuid"):
            by_gpu.setdefault(one.label("gpu_uuid") or "", []).append(one)
    for number, (uuid, samples) in enumerate(by_gpu.items()):
        _gpu_readings(number, uuid, samples, readings, missing)
    return readings, missing


def _gpu_readings(
    number: int, uuid: str, samples: list[Sample], readings: list[Reading], missing: list[Missing]
) -> None:
    of = gpu(number)
    readings.append(Reading("gpu.uuid", uuid, samples[0].line, samples[0].text, of))
    failed = any(one.value == 0 for one in samples if one.name in _NEVER_ZERO)
    for one in samples:
        fact = _GPU_GAUGES[one.name]
        if not one.known or (failed and one.value == 0):
            reason = "Triton exports 0 where its read of the GPU failed" if one.known else "NaN"
            missing.append(Missing(fact, reason, one.line, of))
        else:
            readings.append(Reading(fact, one.value, one.line, one.text, of))
    if failed:
        first = next(one for one in samples if one.name in _NEVER_ZERO and one.value == 0)
        readings.append(Reading("serve.gpu_metrics_missing", True, first.line, first.text, SERVER))


def _scan(text: Text) -> Iterable[Extract]:
    found = [one for one in scrapes(text.lines, "nv_") if any(sample.label("model") for sample in one.samples)]
    if not found:
        return
    times = scrape_times(text, found)
    snapshots = [snapshot_of(one, at) for one, at in zip(found, times, strict=True)]
    told = tell([one for one in snapshots if one.models] or snapshots[:1])
    readings, missing = server_readings(found[-1])
    troubles = []
    if len(found) > 1 and None in times:
        message = "nothing says how much time passed between the reads: means are told, rates are not"
        troubles.append(Trouble(found[-1].first, message))
    lines = frozenset(number for one in found for number in one.lines)
    reads = Reads(
        tuple(one for one in snapshots if one.models),
        frozenset(sample.label("gpu_uuid") or "" for one in found for sample in one.samples) - {""},
    )
    yield Extract(
        FORMAT.name,
        (*readings, *told.readings),
        (*missing, *told.missing),
        lines,
        tuple(troubles),
        reads=reads if reads.snapshots else None,
    )


def scrape_times(text: Text, found: list[Scrape]) -> list[float | None]:
    """When each scrape was taken: its own time stamps, a date printed before it, or a `sleep` between two."""
    times: list[float | None] = []
    end = 0
    for scrape in found:
        own = next((one.at for one in scrape.samples if one.at is not None), None)
        before = [one for one in text.lines if end < one.number < scrape.first]
        times.append(own if own is not None else _stamp(before[-_LOOK_BACK:]))
        slept = _slept(before)
        if times[-1] is None and slept is not None and len(times) > 1:
            if times[-2] is None and len(times) == 2:
                times[-2] = 0.0
            previous = times[-2]
            times[-1] = None if previous is None else previous + slept
        end = max(scrape.lines)
    return times


def _slept(lines: Iterable[Line]) -> float | None:
    for line in lines:
        found = _SLEEP.search(line.text)
        if found:
            return float(found.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600}[found.group(2)]
    return None


def _stamp(lines: list[Line]) -> float | None:
    """The last date and time of these lines, in seconds since the epoch; a time without zone is taken as UTC."""
    for line in reversed(lines):
        iso, date, unix = _ISO.search(line.text), _DATE.search(line.text), _UNIX_DATE.search(line.text)
        try:
            if iso:
                return _parsed(f"{iso.group(1)} {iso.group(2)[:8]}", "%Y-%m-%d %H:%M:%S") + float(
                    "0" + iso.group(2)[8:] if len(iso.group(2)) > 8 else 0
                )
            if date:
                return _parsed(" ".join(date.groups()), "%d %b %Y %H:%M:%S")
            if unix:
                return _parsed(" ".join(unix.groups()), "%b %d %H:%M:%S %Y")
        except ValueError:
            continue
    return None


def _parsed(text: str, form: str) -> float:
    return datetime.strptime(text, form).replace(tzinfo=timezone.utc).timestamp()


FORMAT = TextFormat("triton-metrics", "Metrics of Triton Inference Server (/metrics)", ("nv_inference_",), _scan)
