"""Device memory printed line by line in a training log: whether it only ever grows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gpuwhy.kb.facts import JOB
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.step_log_keys import Meaning
from gpuwhy.probes.artefacts.step_log_lines import StepLine

_KINDS = {Meaning.USED_MEMORY: "used", Meaning.PEAK_MEMORY: "peak", Meaning.FREE_MEMORY: "free"}
_PREFERENCE = (Meaning.FREE_MEMORY, Meaning.USED_MEMORY, Meaning.PEAK_MEMORY)


@dataclass(frozen=True)
class Series:
    """One figure of memory over the lines that print it, oldest first."""

    kind: Meaning
    key: str
    lines: tuple[StepLine, ...]
    sizes: tuple[float, ...]


def series_of(lines: Sequence[StepLine]) -> list[Series]:
    """The series of device memory in these lines, by kind and key."""
    found: dict[tuple[Meaning, str], list[tuple[StepLine, float]]] = {}
    for line in lines:
        for reading in line.memory:
            found.setdefault((reading.kind, reading.key), []).append((line, reading.size_bytes))
    return [
        Series(kind, key, tuple(line for line, _ in points), tuple(size for _, size in points))
        for (kind, key), points in found.items()
    ]


def trend_readings(series: Sequence[Series]) -> list[Reading]:
    """Facts on the trend of the most telling series: the longest, free or used memory before a peak."""
    long = [one for one in series if len(one.sizes) >= 3]
    if not long:
        return []
    telling = [one for one in long if one.kind is not Meaning.PEAK_MEMORY] or long
    best = max(telling, key=lambda one: (len(one.sizes), -_PREFERENCE.index(one.kind)))
    sizes, first, last = best.sizes, best.lines[0], best.lines[-1]
    changes = [after - before for before, after in pairwise(sizes)]
    down, up = sum(change < 0 for change in changes), sum(change > 0 for change in changes)
    sign = -1.0 if best.kind is Meaning.FREE_MEMORY else 1.0
    values: dict[str, float | int | bool | str] = {
        "memory_trend.kind": _KINDS[best.kind],
        "memory_trend.samples": len(sizes),
        "memory_trend.first_bytes": sizes[0],
        "memory_trend.last_bytes": sizes[-1],
        "memory_trend.change_bytes": sizes[-1] - sizes[0],
        "memory_trend.growth_bytes": sign * (sizes[-1] - sizes[0]),
        "memory_trend.decreasing_steps": down,
        "memory_trend.increasing_steps": up,
        "memory_trend.growing_steps": down if sign < 0 else up,
        "memory_trend.monotone": (down == 0) != (up == 0),
    }
    if first.clock is not None and last.clock is not None:
        values["memory_trend.span_seconds"] = (last.clock - first.clock) % 86400.0
    return [Reading(fact, value, last.number, last.text, JOB) for fact, value in values.items()]


def device_memory_zero(series: Sequence[Series]) -> Reading | None:
    """The reading that steps run while the log reports no GPU memory in use; None where it reports some or nothing."""
    used = [one for one in series if one.kind is not Meaning.FREE_MEMORY]
    if not used:
        return None
    running = [line for one in used for line in one.lines if (line.step or 0) >= 1]
    if not running:
        return None
    zero = not any(size for one in used for size in one.sizes)
    return Reading("step.device_memory_zero", zero, running[-1].number, running[-1].text, JOB)
