"""What labelled numbers mean where their words say it: above all, one piece of work timed under several settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from gpuwhy.kb.facts import HOST, JOB, Entity, Value
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.labelled_lines import Kind, Labelled
from gpuwhy.probes.artefacts.labelled_peers import peer_facts
from gpuwhy.probes.artefacts.quantities import whole_number

_WORD = re.compile(r"[a-z]+")
_SETTING = re.compile(r"([A-Za-z_]{2,24})\s{0,2}[=:]\s{0,2}([A-Za-z0-9_.]{1,16})")
_WORKERS = re.compile(
    r"(?i)(?:\b(?:num_?)?workers\s?[=: ]\s?([0-9]{1,4})\b|\b([0-9]{1,4}) (?:loader |dataloader )?workers\b)"
)
_UNPINNED = re.compile(r"(?i)pin(?:ned)?_?memory\s?=\s?(?:False|0)|pageable|un-?pinned|not pinned|without pin")
_PINNED = re.compile(r"(?i)pin(?:ned)?_?memory\s?=\s?(?:True|1)|\bpinned|pin_memory\(\)|page-?locked")
_CONDITION = re.compile(r"(?i)\b(with|without|w/o|no)\s+(?!.*\bwith(?:out)?\b)(.{2,60})$")
_VERSIONS = {
    "before",
    "after",
    "old",
    "new",
    "slow",
    "fast",
    "baseline",
    "optimized",
    "optimised",
    "original",
    "patched",
}
_GRAPH = {"graph", "graphs", "cudagraph", "cudagraphs"}
_EAGER = {"eager", "uncompiled"}
_COUNT_WORDS = {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "eight": 8, "sixteen": 16}
_GPUS = re.compile(
    r"(?i)^(one|single|two|three|four|eight|sixteen|[0-9]{1,4})\s?x?\s?(?:gpus?|cards?|devices?|ranks?|[A-Z]{1,4}[0-9]{2,4}\w{0,8})\b"
)
_PER_STEP = re.compile(r"/\s?(?:it|iter|iteration|step|batch)$")
_COUNTED = {"kernels": "step.kernel_count", "launches": "step.launch_count"}
_PLAIN: Mapping[str, tuple[str, Entity]] = {
    "workers": ("loader.workers", JOB),
    "num_workers": ("loader.workers", JOB),
    "batch size": ("job.batch_size", JOB),
    "batch_size": ("job.batch_size", JOB),
    "cpu count": ("host.cpu_count", HOST),
}


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _fact(fact: str, value: Value, source: Labelled, entity: Entity = JOB) -> Reading:
    return Reading(fact, value, source.line.number, source.line.text.strip()[:200], entity)


def named_facts(entries: Sequence[Labelled]) -> list[Reading]:
    """The named facts that these labelled numbers give."""
    readings: list[Reading] = []
    for find in (
        _worker_sweep,
        _pinning,
        _copies,
        _graphs,
        _conditions,
        _versions,
        _scaling,
        _busy_rows,
        _plain,
        peer_facts,
    ):
        readings.extend(find(entries))
    return readings


def _worker_sweep(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """Times or rates over the number of loader workers: the least number as good as the best, and what it gains."""
    series: dict[tuple[str, Kind], dict[int, Labelled]] = {}
    for entry in entries:
        found = _WORKERS.search(entry.row)
        if found and entry.kind in (Kind.SECONDS, Kind.RATE):
            count = int(found[1] or found[2])
            rest = (_WORKERS.sub("", entry.name), entry.kind)
            series.setdefault(rest, {}).setdefault(count, entry)
    for (_, kind), points in series.items():
        costs = {count: _cost(entry) for count, entry in points.items() if entry.value > 0}
        if len(costs) < 2:
            continue
        least, best_cost = min(costs), min(costs.values())
        best = min(count for count, cost in costs.items() if cost <= 1.05 * best_cost)
        gain = costs[least] / best_cost
        source = points[best]
        yield _fact("bench.workers_least", least, points[least])
        yield _fact("bench.workers_best", best, source)
        yield _fact("bench.workers_speedup", gain, source)
        yield _fact("loader.more_workers_help", gain >= 1.2, source)
        if kind is Kind.SECONDS:
            yield _fact("bench.workers_least_seconds", points[least].value, points[least])
            yield _fact("bench.workers_best_seconds", source.value, source)
        return


def _cost(entry: Labelled) -> float:
    return entry.value if entry.kind is Kind.SECONDS else 1.0 / entry.value


def _flag(text: str, name: str) -> bool | None:
    for key, value in _SETTING.findall(text):
        if key.lower() == name and value.lower() in ("true", "false", "0", "1"):
            return value.lower() in ("true", "1")
    return None


def _pinning(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """Times with and without pinned memory and non-blocking copies."""
    times: dict[tuple[bool, bool | None], Labelled] = {}
    for entry in entries:
        pinned = _flag(entry.row, "pin_memory")
        if pinned is not None and entry.kind is Kind.SECONDS and entry.value > 0:
            times.setdefault((pinned, _flag(entry.row, "non_blocking")), entry)
    for fact, slow, fast in (
        ("bench.pinned_speedup", (False, False), (True, False)),
        ("bench.pinned_speedup", (False, None), (True, None)),
        ("bench.nonblocking_speedup", (True, False), (True, True)),
        ("bench.nonblocking_pageable_speedup", (False, False), (False, True)),
        ("bench.pinned_nonblocking_speedup", (False, False), (True, True)),
    ):
        if slow in times and fast in times:
            yield _fact(fact, times[slow].value / times[fast].value, times[fast])


def _copies(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """Copy rates of several ways to copy over the same link."""
    rates = [entry for entry in entries if entry.kind is Kind.BYTE_RATE and entry.value > 0]
    ways = [entry for entry in rates if _PINNED.search(entry.name) or _UNPINNED.search(entry.name)]
    if not 2 <= len(ways) <= 8 or len({entry.name for entry in ways}) < len(ways):
        return
    for fact, group in (
        ("bench.pageable_bandwidth_bytes_per_second", [one for one in ways if _UNPINNED.search(one.name)]),
        ("bench.pinned_bandwidth_bytes_per_second", [one for one in ways if not _UNPINNED.search(one.name)]),
    ):
        if group:
            best = max(group, key=lambda one: one.value)
            yield _fact(fact, best.value, best)
    slowest, fastest = min(ways, key=lambda one: one.value), max(ways, key=lambda one: one.value)
    yield _fact("bench.transfer_slowest_bytes_per_second", slowest.value, slowest)
    yield _fact("bench.transfer_fastest_bytes_per_second", fastest.value, fastest)
    yield _fact("bench.transfer_speedup", fastest.value / slowest.value, fastest)


def _graphs(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """The same work eager and as a CUDA graph. Facts about the job are those of the eager run."""
    times: dict[str, Labelled] = {}
    busy: dict[str, Labelled] = {}
    counts: list[tuple[str, Labelled]] = []
    for entry in entries:
        words = _words(entry.name)
        variant = "graph" if words & _GRAPH else "eager" if words & _EAGER else None
        if variant is None:
            continue
        if entry.kind is Kind.COUNT and entry.unit in _COUNTED:
            counts.append((variant, entry))
        elif entry.kind is Kind.SECONDS:
            (busy if words & {"busy", "kernel", "kernels"} else times).setdefault(variant, entry)
    if len(times) < 2 or not times["graph"].value:
        return
    yield _fact("step.graph_speedup_ratio", times["eager"].value / times["graph"].value, times["graph"])
    for variant, entry in counts:
        yield from _both(_COUNTED[entry.unit], int(entry.value), entry, variant)
    for variant, entry in times.items():
        yield from _both("step.time_seconds", entry.value, entry, variant)
        if variant in busy and 0 < busy[variant].value <= entry.value:
            yield from _both("step.gpu_busy_share", busy[variant].value / entry.value, busy[variant], variant)


def _both(fact: str, value: Value, source: Labelled, variant: str) -> Iterator[Reading]:
    yield _fact(fact, value, source, Entity("workload", variant, JOB))
    if variant == "eager":
        yield _fact(fact, value, source)


def _conditions(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """The same work with and without something."""
    pairs: dict[tuple[str, Kind], dict[bool, Labelled]] = {}
    for entry in entries:
        found = _CONDITION.search(entry.row or entry.label)
        is_cpu = entry.kind is Kind.SHARE and "cpu" in _words(entry.label)
        if found and (is_cpu or entry.kind is Kind.SECONDS) and entry.value > 0:
            pairs.setdefault((found[2].lower().strip(), entry.kind), {})[found[1].lower() == "with"] = entry
    for (condition, kind), pair in pairs.items():
        if len(pair) < 2:
            continue
        limits_threads = "thread" in condition
        ratio = pair[False].value / pair[True].value
        if kind is Kind.SECONDS:
            fact = "bench.thread_limit_speedup" if limits_threads else "bench.variant_speedup"
            yield _fact(fact, ratio if limits_threads else max(ratio, 1.0 / ratio), pair[True])
        elif limits_threads:
            yield _fact("bench.thread_limit_cpu_ratio", ratio, pair[True])


def _versions(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """The same work in several versions (before, after, slow, fast): how far apart the slowest and fastest are."""
    groups: dict[str, list[Labelled]] = {}
    for entry in entries:
        if entry.kind is Kind.SECONDS and entry.value > 0 and _words(entry.name) & _VERSIONS:
            groups.setdefault(entry.label if entry.row else "", []).append(entry)
    for group in groups.values():
        if 2 <= len(group) <= 8 and not any(_CONDITION.search(entry.row or entry.label) for entry in group):
            slowest, fastest = max(group, key=lambda one: one.value), min(group, key=lambda one: one.value)
            yield _fact("bench.variant_speedup", slowest.value / fastest.value, fastest)
            yield _fact("bench.variant_count", len(group), fastest)
            return


def _scaling(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """The same training on one and on several GPUs, each with its own batch: what the added GPUs bring."""
    rates: dict[int, tuple[float, Labelled]] = {}
    for entry in entries:
        found = _GPUS.match(entry.row or entry.label)
        if not found or entry.value <= 0:
            continue
        count = _COUNT_WORDS.get(found[1].lower(), 0) or whole_number(found[1]) or 0
        if entry.kind is Kind.SECONDS and _PER_STEP.search(entry.unit):
            rates.setdefault(count, (count / entry.value, entry))
        elif entry.kind is Kind.RATE:
            rates.setdefault(count, (entry.value, entry))
    if len(rates) < 2 or 1 not in rates:
        return
    most = max(rates)
    speedup = rates[most][0] / rates[1][0]
    yield _fact("bench.scaling_gpu_count", most, rates[most][1])
    yield _fact("bench.scaling_speedup", speedup, rates[most][1])
    yield _fact("bench.scaling_efficiency_share", speedup / most, rates[most][1])


def _busy_rows(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """Rows with the GPU's busy time in a span. Facts about the job are those of the row that is busy least."""
    lines: dict[int, list[Labelled]] = {}
    for entry in entries:
        lines.setdefault(entry.line.number, []).append(entry)
    rows: list[tuple[float, list[Reading]]] = []
    for group in lines.values():
        facts = _busy_facts(group)
        if "step.gpu_busy_share" not in facts:
            continue
        share, source = facts["step.gpu_busy_share"]
        rows.append((share, [_fact(fact, value, one) for fact, (value, one) in facts.items()]))
        if source.row:
            workload = Entity("workload", source.row[:80], JOB)
            yield from (_fact(fact, value, one, workload) for fact, (value, one) in facts.items())
    if rows:
        yield from min(rows, key=lambda row: row[0])[1]


def _busy_facts(group: Sequence[Labelled]) -> dict[str, tuple[float, Labelled]]:
    facts: dict[str, tuple[float, Labelled]] = {}
    for entry in group:
        words = _words(entry.label)
        if entry.label in _COUNTED and entry.kind in (Kind.COUNT, Kind.VALUE):
            facts.setdefault(_COUNTED[entry.label], (int(entry.value), entry))
        elif entry.kind is Kind.SHARE and "busy" in words:
            facts["step.gpu_busy_share"] = (entry.value, entry)
        elif entry.kind is Kind.SECONDS and "mean" in words and words & {"kernel", "kernels"}:
            facts.setdefault("step.kernel_mean_seconds", (entry.value, entry))
        elif entry.kind is Kind.SECONDS and words & {"span", "window"}:
            facts.setdefault("step.window_seconds", (entry.value, entry))
        elif entry.kind is Kind.SECONDS and words & {"busy", "sum"}:
            facts.setdefault("step.kernel_total_seconds", (entry.value, entry))
    return _completed(facts)


def _completed(facts: dict[str, tuple[float, Labelled]]) -> dict[str, tuple[float, Labelled]]:
    """With the busy share and the mean kernel where they follow from the others.

    Times summed over streams that ran side by side can exceed the span: then they give no share.
    """
    total, span = facts.get("step.kernel_total_seconds"), facts.get("step.window_seconds")
    count = facts.get("step.kernel_count")
    if "step.gpu_busy_share" not in facts and total and span and 0 < total[0] <= span[0]:
        facts["step.gpu_busy_share"] = (total[0] / span[0], total[1])
    if "step.kernel_mean_seconds" not in facts and total and count and count[0] > 0:
        facts["step.kernel_mean_seconds"] = (total[0] / count[0], total[1])
    return facts


def _plain(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """Settings whose label says all, where only one value of them is given."""
    found: dict[str, dict[float, Labelled]] = {}
    for entry in entries:
        if entry.label.lower() in _PLAIN and entry.kind in (Kind.VALUE, Kind.COUNT) and entry.value == int(entry.value):
            found.setdefault(entry.label.lower(), {})[entry.value] = entry
    for label, values in found.items():
        if len(values) == 1:
            value, entry = next(iter(values.items()))
            fact, entity = _PLAIN[label]
            yield _fact(fact, int(value), entry, entity)
