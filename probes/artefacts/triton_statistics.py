"""The statistics endpoint of Triton Inference Server: JSON of `/v2/models/stats`, once or several times in one paste.

Fields: https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_statistics.md . Times are in
nanoseconds and cumulative. `batch_stats` counts each execution once, so that their sum is the time instances worked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from gpuwhy.kb.facts import SERVER
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.json_find import objects
from gpuwhy.probes.artefacts.server_counters import Key, ModelCounters, Snapshot, tell

NANO = 1e-9
_TIMES = {
    "success": "request",
    "queue": "queue",
    "compute_input": "compute_input",
    "compute_infer": "compute_infer",
    "compute_output": "compute_output",
}
_COUNTS = {
    "success": "successes",
    "fail": "failures",
    "cache_hit": "cache_hits",
    "cache_miss": "cache_misses",
}
_MAX_COUNT = float(1 << 63)


def snapshot_of(document: object, at: float | None = None, line: int | None = None) -> Snapshot:
    """The counters of every model in one response; what does not have the shape of one is left out."""
    models: dict[Key, ModelCounters] = {}
    entries = document.get("model_stats") if isinstance(document, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            key = (cast(str, entry["name"])[:200], str(entry.get("version", ""))[:40])
            counters = _counters(entry)
            models[key] = ModelCounters(counters, lines=dict.fromkeys(counters, (line, None)))
    return Snapshot(models, at)


def _counters(entry: Mapping[str, object]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, short in (("inference_count", "inferences"), ("execution_count", "executions")):
        value = _number(entry.get(name))
        if value is not None:
            found[short] = value
    statistics = entry.get("inference_stats")
    for name, one in statistics.items() if isinstance(statistics, dict) else ():
        count, spent = (_number(one.get("count")), _number(one.get("ns"))) if isinstance(one, dict) else (None, None)
        if name in _COUNTS and count is not None:
            found[_COUNTS[name]] = count
        if name in _TIMES and spent is not None:
            found[_TIMES[name]] = spent * NANO
    busy = _busy(entry.get("batch_stats"))
    if busy is not None:
        found["busy"] = busy * NANO
    return found


def _busy(batches: object) -> float | None:
    """Nanoseconds that instances spent on batches; None where the backend tells nothing about them."""
    total, any_known = 0.0, False
    for one in batches if isinstance(batches, list) else ():
        for part in ("compute_input", "compute_infer", "compute_output"):
            inner = one.get(part) if isinstance(one, dict) else None
            spent = _number(inner.get("ns")) if isinstance(inner, dict) else None
            if spent is not None:
                total, any_known = total + spent, True
    return total if any_known else None


def _number(value: object) -> float | None:
    """A count or time; some clients print 64-bit integers as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _MAX_COUNT:
        return None
    return float(value)


def _scan(text: Text) -> Iterable[Extract]:
    snapshots: list[Snapshot] = []
    lines: set[int] = set()
    troubles: list[Trouble] = []
    for found in objects(text, ('"model_stats"', '"inference_stats"')):
        lines.update(line.number for line in text.lines if found.first <= line.number <= found.last)
        document: object = found.value
        if isinstance(found.value, dict) and "model_stats" not in found.value and "inference_stats" in found.value:
            document = {"model_stats": [found.value]}
        snapshot = snapshot_of(document, None, found.first)
        if snapshot.models:
            snapshots.append(snapshot)
        elif found.value is None:
            troubles.append(Trouble(found.first, "these statistics are cut off or damaged: not valid JSON"))
    if snapshots:
        told = tell(snapshots)
        first = Reading("serve.software", "triton", min(lines), None, SERVER)
        if len(snapshots) > 1:
            message = "nothing says how much time passed between the reads: means are told, rates are not"
            troubles.append(Trouble(min(lines), message))
        yield Extract(FORMAT.name, (first, *told.readings), told.missing, frozenset(lines), tuple(troubles))
    elif troubles:
        yield Extract(FORMAT.name, claimed=frozenset(lines), troubles=tuple(troubles))


FORMAT = TextFormat(
    "triton-statistics",
    "Statistics of Triton Inference Server (/v2/models/stats)",
    ('"model_stats"', '"inference_stats"'),
    _scan,
)
