"""Memory figures that a program logs again and again (`Free GPU ram: 13000.5`, `gpu_mem=5.1 GB`): do they grow?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_number, parse_size

_HINTS = ("ram", "mem", "vram", "allocated", "reserved", "mib")
_OF_TOTAL = later(
    r"\b(?:epoch|step|iter(?:ation)?|batch|round)\b[^\n]{0,40}?[:=,-]\s{0,3}([0-9]{1,7})\s?MiB\s{0,2}/\s{0,2}([0-9]{1,7})\s?MiB",
    re.IGNORECASE,
)
"""`epoch 3: 4100MiB / 16384MiB`, as nvidia-smi writes what is in use of a GPU."""
_PAIR = later(
    rf"\b([A-Za-z][A-Za-z0-9_/ ()]{{2,48}}?)\s{{0,3}}[=:]\s{{0,3}}({NUMBER})"
    r"\s{0,2}([kKMGT]i?B|[bB]ytes|G|M|B|%)?(?![A-Za-z0-9:])"
)
_MEMORY = frozenset(("ram", "mem", "memory", "vram", "hbm", "memused", "memfree"))
_GPU = frozenset(("gpu", "cuda", "vram", "hbm", "device", "torch", "allocated", "reserved", "cached"))
_PEAKS = frozenset(("peak", "max"))  # only ever grow, so their growth says nothing
_FREE = frozenset(("free", "available", "left", "remaining"))
_STATES = frozenset(("used", "current", *_PEAKS))
_LONGEST_HEAD = 120
_TIME = later(r"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?")
_FEWEST = 3
_MOST_SAMPLES = 200_000
_LEAST_GROWTH_SHARE = 0.05  # own choice: growth below this is rounding or fragmentation, not a trend
_FEWEST_RISES = 3
_AT_THE_END = 3  # changes; a pool that fills while the program warms up has stopped growing by then
_LARGEST_FALL_SHARE = 0.1  # of the whole rise; a falling back beyond it is a working set, not a leak


@dataclass(frozen=True)
class _Sample:
    line: int
    value: float
    seconds: float | None
    text: str


def _scan(text: Text) -> Iterable[Extract]:
    series: dict[tuple[str, str], list[_Sample]] = {}
    alone: dict[tuple[str, str], set[int]] = {}
    total = 0
    for line in text.lines:
        lowered = line.text.lower()
        if not any(hint in lowered for hint in _HINTS):
            continue
        if "mib" in lowered and (used := _OF_TOTAL.search(line.text[:1000])):
            key = (f"gpu memory used of {used[2]}", "MiB")
            series.setdefault(key, []).append(_Sample(line.number, float(used[1]), None, used[0][:200]))
            alone.setdefault(key, set())
        for key, sample, whole in _samples(line.number, line.text[:1000]):
            series.setdefault(key, []).append(sample)
            alone.setdefault(key, set()).update({line.number} if whole else ())
            total += 1
        if total > _MOST_SAMPLES:
            break
    kept = {key: samples for key, samples in series.items() if len(samples) >= _FEWEST}
    readings = [reading for key, samples in kept.items() for reading in _readings(key, samples)]
    if readings:
        claimed = frozenset(line for key in kept for line in alone[key])
        yield Extract(FORMAT.name, tuple(readings), claimed=claimed)


def _samples(number: int, text: str) -> Iterator[tuple[tuple[str, str], _Sample, bool]]:
    moment = _TIME.search(text) if text.count(":") > 1 else None
    seconds = None if moment is None else _seconds(moment)
    head: list[str] = []
    for found in _PAIR.finditer(text):
        words = re.split(r"[^a-z]+", found[1].lower())
        if not _about_gpu_memory(words):
            head = head or _heading(text[: found.start()])
            words = [*head, *words]
        value = parse_number(found[2])
        if value is None or not _about_gpu_memory(words) or found[3] == "%":
            continue
        label = " ".join(word for word in words if word in _MEMORY | _GPU | _FREE | _STATES)
        yield (
            (label, found[3] or ""),
            _Sample(number, value, seconds, found[0][:200]),
            found.end() >= len(text.rstrip()),
        )


def _heading(before: str) -> list[str]:
    """Words in the head of a line that say what its figures are (`Memory of GPU 0: current: 1, peak: 3`), or none."""
    words = re.split(r"[^a-z]+", before[-_LONGEST_HEAD:].lower()) if ":" in before else []
    return [word for word in dict.fromkeys(words) if word in _MEMORY | _GPU] if _about_gpu_memory(words) else []


def _about_gpu_memory(words: Iterable[str]) -> bool:
    present = set(words)
    return bool(present & _MEMORY) and bool(present & _GPU)


def _seconds(moment: re.Match[str]) -> float | None:
    try:
        return datetime.fromisoformat(f"{moment[1]}T{moment[2]}").timestamp() + float(f"0.{moment[3] or 0}")
    except (ValueError, OverflowError):
        return None


def _readings(key: tuple[str, str], samples: list[_Sample]) -> Iterator[Reading]:
    label, unit = key
    values = [sample.value for sample in samples]
    first, last = samples[0], samples[-1]
    changes = [after - before for before, after in pairwise(values) if after != before]
    shown = (
        ("first", first.value, first), ("last", last.value, last), ("lowest", min(values), last),
        ("highest", max(values), last),
        ("fall" if last.value < first.value else "rise", abs(last.value - first.value), last),
    )  # fmt: skip
    for name, value, sample in shown:
        yield _sized(f"{label}, {name}", value, unit, sample)
    yield Reading("memory_log.sample_count", len(samples), last.line, None, _entity(label))
    yield Reading("memory_log.change_count", len(changes), last.line, None, _entity(label))
    if first.seconds is not None and last.seconds is not None and last.seconds >= first.seconds:
        yield Reading("memory_log.span_seconds", last.seconds - first.seconds, last.line, None, _entity(label))
    every = [after - before for before, after in pairwise(values)]
    used = [-change if set(label.split()) & _FREE else change for change in every]
    if not set(label.split()) & _PEAKS and _grows(used, max(abs(value) for value in values)):
        yield Reading(
            "job.memory_grows", True, last.line, f"{label}: {first.value:g} to {last.value:g} {unit}".strip(), JOB
        )


def _entity(label: str) -> Entity:
    return Entity("measurement", label, JOB)


def _sized(label: str, value: float, unit: str, sample: _Sample) -> Reading:
    size = parse_size(f"{value} {unit}") if unit else None
    if size is None:
        return Reading("reading.value", value, sample.line, sample.text, _entity(label))
    return Reading("reading.bytes", size, sample.line, sample.text, _entity(label))


def _grows(changes: list[float], scale: float) -> bool:
    """True if use rises several times, still at the end, hardly ever falls back, and the whole rise matters."""
    rises = [change for change in changes if change > 0]
    if not any(change > 0 for change in changes[-_AT_THE_END:]):
        return False
    fallen = -sum(change for change in changes if change < 0)
    risen = sum(rises)
    enough = len(rises) >= _FEWEST_RISES and risen - fallen >= _LEAST_GROWTH_SHARE * scale
    return enough and fallen <= _LARGEST_FALL_SHARE * risen


FORMAT = TextFormat("memory-log", "GPU memory logged over time", _HINTS, _scan)
