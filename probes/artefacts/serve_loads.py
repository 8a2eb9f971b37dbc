"""Readings about loads of a served model, collected while a parser walks through an artefact.

Benchmarks come as blocks: a level of load, then its figures. A parser starts a load, puts figures into it, and gets
readings, and comparisons of the levels, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from gpuwhy.kb.facts import Entity, Value, load, model, sweep
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Line, Reading
from gpuwhy.probes.artefacts.serve_settings import batching_of, instances_of

TEXT_LIMIT = 200
NAME_LIMIT = 60
DIGITS = 12
"""Figures that were scaled are rounded to this many digits: 427976 us are 0.427976 s."""
MAX_LOADS = 200

LOAD_FACTS = (
    "serve.concurrency",
    "serve.offered_per_second",
    "serve.client_threads",
    "serve.request_batch_size",
)
"""What tells the levels of a sweep apart, the first that all levels have and that differs."""

SPIKE_RATIO = 10.0
"""A request is a spike if it took more than this many usual ones; smaller ones are the noise of a busy host, as a real
server showed (bench/triton/runs-2026-11-30.txt)."""

_Kind = TypeVar("_Kind")

NEARLY_BEST = 0.95
"""A level with this share of the best throughput counts as having reached it."""


@dataclass
class Load:
    """One load: its entity, and its figures by fact with the line each stands on. A figure is kept as first read."""

    entity: Entity
    group: str
    figures: dict[str, tuple[Value, Line | None]] = field(default_factory=dict)

    def put(self, fact: str, value: Value | None, line: Line | None) -> None:
        """Notes a figure unless it is already known or is none."""
        if value is not None:
            self.figures.setdefault(fact, (value, line))

    def number(self, fact: str) -> float | None:
        """A figure as a number, or None."""
        found = self.figures.get(fact)
        return None if found is None or isinstance(found[0], str) else float(found[0])

    def readings(self) -> Iterator[Reading]:
        """All figures as readings."""
        for fact, (value, line) in self.figures.items():
            yield reading(fact, value, line, self.entity)


def reading(fact: str, value: Value, line: Line | None, entity: Entity) -> Reading:
    """A reading with its line and the start of its text."""
    text = None if line is None else line.text.strip()[:TEXT_LIMIT]
    if isinstance(value, float):
        value = float(f"{value:.{DIGITS}g}")
    return Reading(fact, value, None if line is None else line.number, text, entity)


class Loads:
    """The loads of one artefact. `group` is a heading: levels under one heading belong together."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.owner = model()
        self.group = ""
        self.all: list[Load] = []
        self.about: dict[tuple[Entity, str], tuple[Value, Line | None]] = {}

    @property
    def current(self) -> Load | None:
        """The load that figures go to, if one was started."""
        return self.all[-1] if self.all else None

    def start(self, name: str = "", owner: Entity | None = None) -> Load:
        """Starts a load; one of this name under the same heading is gone on with."""
        of = owner or self.owner
        label = ", ".join(part for part in (self.group[:NAME_LIMIT], name[:NAME_LIMIT]) if part)
        label = label or f"{self.prefix}{len(self.all) + 1}"
        for known in self.all:
            if known.entity == load(label, of):
                return self._last(known)
        if len(self.all) >= MAX_LOADS:
            return self.all[-1]
        self.all.append(Load(load(label, of), self.group))
        return self.all[-1]

    def _last(self, known: Load) -> Load:
        self.all.remove(known)
        self.all.append(known)
        return known

    def say(self, fact: str, value: Value | None, line: Line | None, of: Entity | None = None) -> None:
        """Notes something about the model (or the server `of`)."""
        if value is not None:
            self.about.setdefault((of or self.owner, fact), (value, line))

    def readings(self) -> Iterator[Reading]:
        """All readings: of the loads, of the model, and of the levels of each heading compared."""
        for one in self.all:
            yield from one.readings()
        for (entity, fact), (value, line) in self.about.items():
            yield reading(fact, value, line, entity)
        for group, levels in self._groups().items():
            yield from compared(levels, sweep(group[:NAME_LIMIT] or "levels", levels[0].entity.parent or model()))
        yield from across(self.all)

    def _groups(self) -> dict[str, list[Load]]:
        groups: dict[str, list[Load]] = {}
        for one in self.all:
            groups.setdefault(f"{one.group}", []).append(one)
        return groups


def compared(levels: list[Load], entity: Entity) -> Iterator[Reading]:
    """How throughput, latency and its parts change from the lowest to the highest load."""
    axis = next((fact for fact in LOAD_FACTS if _differ(levels, fact)), "serve.concurrency")
    rated = sorted(((level, one) for one in levels if (level := _level(one, axis))), key=lambda item: item[0])
    if not rated or rated[0][0] == rated[-1][0]:
        return
    known = [one for _, one in rated]
    low, high = known[0], known[-1]
    at = next(iter(high.figures.values()))[1]
    yield reading("serve.sweep_levels", len(known), at, entity)
    yield reading("serve.sweep_load_ratio", rated[-1][0] / rated[0][0], at, entity)
    for fact, figures in _RATIOS.items():
        ratio = next((one for name in figures if (one := _ratio(low, high, name)) is not None), None)
        if ratio is not None:
            yield reading(fact, ratio, at, entity)
    best = max((_throughput(one) or 0.0 for one in known), default=0.0)
    if best > 0:
        knee = next(level for level, one in rated if (_throughput(one) or 0.0) >= NEARLY_BEST * best)
        yield reading("serve.sweep_best_throughput_per_second", best, at, entity)
        yield reading("serve.sweep_knee", knee, at, entity)
        yield reading("serve.sweep_beyond_knee_ratio", rated[-1][0] / knee, at, entity)
    if axis == "serve.request_batch_size":
        yield reading("serve.sweep_over_batch", True, at, entity)


def across(loads: list[Load]) -> Iterator[Reading]:
    """What a setting changes: loads with and without batching, with few and many instances, sparse and dense ones."""
    if len(loads) < 2:
        return
    entity = sweep("settings", loads[0].entity.parent or model())
    at = next(iter(loads[-1].figures.values()), (0, None))[1]
    yield reading("serve.sweep_levels", len(loads), at, entity)
    batching = _best_by({one.group: batching_of(one.group) for one in loads}, loads)
    if False in batching and True in batching and batching[False] > 0:
        yield reading("serve.batching_throughput_ratio", batching[True] / batching[False], at, entity)
    groups = {one.group: instances_of(one.group) for one in loads}
    instances = {count: best for count, best in _best_by(groups, loads).items() if count is not None}
    if len(instances) > 1 and instances[min(instances)] > 0:
        ratio = instances[max(instances)] / instances[min(instances)]
        yield reading("serve.instances_throughput_ratio", ratio, at, entity)
    yield from _sparse_against_dense(loads, at, entity)


def _best_by(kinds: dict[str, _Kind], loads: list[Load]) -> dict[_Kind, float]:
    best: dict[_Kind, float] = {}
    for one in loads:
        kind = kinds[one.group]
        best[kind] = max(best.get(kind, 0.0), _throughput(one) or 0.0)
    return best


def _sparse_against_dense(loads: list[Load], at: Line | None, entity: Entity) -> Iterator[Reading]:
    """Execution time under the sparsest load over that under the densest one, where both form equal batches."""
    rated = sorted(
        ((rate, infer, one) for one in loads if (rate := _rate(one)) and (infer := _execution(one))),
        key=lambda item: item[0],
    )
    if len(rated) < 2 or any(_batch(one) != _batch(rated[0][2]) for _, _, one in rated):
        return
    (low, slow, _), (high, fast, _) = rated[0], rated[-1]
    if high > low > 0 and fast > 0:
        yield reading("serve.sparse_load_ratio", high / low, at, entity)
        yield reading("serve.sparse_infer_ratio", slow / fast, at, entity)


def _rate(one: Load) -> float | None:
    facts = ("serve.throughput_per_second", "serve.requests_per_second", "serve.offered_per_second")
    return next((value for fact in (*facts, "serve.inference_count") if (value := one.number(fact)) is not None), None)


def _execution(one: Load) -> float | None:
    return one.number("serve.compute_infer_seconds") or one.number("serve.gpu_compute_seconds")


def _batch(one: Load) -> float:
    inferences, executions = one.number("serve.inference_count"), one.number("serve.execution_count")
    mean = inferences / executions if inferences and executions else 1.0
    return round(max(mean, one.number("serve.request_batch_size") or 1.0), 1)


_THROUGHPUT = (
    "serve.throughput_per_second",
    "serve.requests_per_second",
    "serve.output_tokens_per_second",
    "serve.total_tokens_per_second",
)
_RATIOS: dict[str, tuple[str, ...]] = {
    "serve.sweep_throughput_ratio": _THROUGHPUT,
    "serve.sweep_latency_ratio": (
        "serve.latency_mean_seconds",
        "serve.latency_p50_seconds",
        "serve.latency_p90_seconds",
        "serve.latency_p95_seconds",
        "serve.latency_p99_seconds",
        "serve.ttft_mean_seconds",
        "serve.ttft_p50_seconds",
    ),
    "serve.sweep_queue_ratio": ("serve.queue_seconds",),
    "serve.sweep_infer_ratio": ("serve.compute_infer_seconds",),
    "serve.sweep_decode_ratio": ("serve.decode_tokens_per_second",),
}


def _level(one: Load, axis: str) -> float | None:
    """How much load a level is: as printed, or the requests in flight by Little's law."""
    printed = one.number(axis)
    if printed is not None or axis != "serve.concurrency":
        return printed
    rate, latency = _throughput(one), one.number("serve.latency_mean_seconds")
    batch = one.number("serve.request_batch_size") or 1.0
    return rate / batch * latency if rate and latency and batch > 0 else None


def _throughput(one: Load) -> float | None:
    return next((value for fact in _THROUGHPUT if (value := one.number(fact)) is not None), None)


def _differ(levels: list[Load], fact: str) -> bool:
    numbers = {value for one in levels if (value := one.number(fact)) is not None and value > 0}
    return len(numbers) > 1


def _ratio(low: Load, high: Load, fact: str) -> float | None:
    below, above = low.number(fact), high.number(fact)
    return None if below is None or above is None or below <= 0 else above / below
