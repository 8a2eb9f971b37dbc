"""Samples of SuperBench's monitor (`monitor.jsonl`): gauges of every GPU as one JSON object for each moment."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gpuwhy.kb.facts import gpu, is_number
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.gauges import Gauges

NAME = "superbench-monitor"

_GAUGES = {
    "gpu_usage": ("gpu.utilization_share", 0.01),
    "gpu_temperature": ("gpu.temperature_celsius", 1.0),
    "gpu_power": ("gpu.power_watts", 1.0),
    "gpu_power_limit": ("gpu.power_limit_watts", 1.0),
    "gpu_mem_used": ("gpu.memory_used_bytes", 1.0),
    "gpu_mem_total": ("gpu.memory_total_bytes", 1.0),
}
COUNTED = {
    "gpu_uncorrected_ecc": "gpu.ecc_uncorrected_count",
    "gpu_remap_uncorrectable_error": "gpu.remapped_rows_uncorrectable",
    "gpu_remap_correctable_error": "gpu.remapped_rows_correctable",
}
"""Counters that are also written as 0 where they cannot be read: only what is more than 0 is told."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all samples in a text."""
    gauges = Gauges()
    claimed: set[int] = set()
    troubles: list[Trouble] = []
    for line in text.lines:
        if line.text.lstrip()[:1] == "{" and '"gpu_' in line.text and '"time"' in line.text:
            sample = _sample(line)
            if sample is None:
                troubles.append(Trouble(line.number, "not a whole JSON object: cut short?"))
            elif _put(gauges, sample, line):
                claimed.add(line.number)
    if claimed:
        readings, missing = gauges.fold()
        yield Extract(NAME, readings, missing, frozenset(claimed), tuple(troubles))


def _sample(line: Line) -> dict[object, object] | None:
    try:
        found = json.loads(line.text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _put(gauges: Gauges, sample: dict[object, object], line: Line) -> bool:
    """Notes one moment; False if it holds nothing of a GPU."""
    when = sample.get("time")
    gauges.begin(when.replace("-", "/")[:40] if isinstance(when, str) else None)
    found = False
    for key, value in sample.items():
        if not isinstance(key, str) or not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        name, _, index = key.partition(":")
        if not (index.isascii() and index.isdigit() and len(index) < 4) or not is_number(value) or value < 0:
            continue
        device, text = gpu(int(index)), f'"{key}": {value}'
        if name in _GAUGES:
            fact, factor = _GAUGES[name]
            if not (fact.endswith("_share") and value > 100):
                gauges.put(fact, device, value * factor, line.number, text)
                found = True
        elif name in COUNTED and 0 < value == int(value):
            gauges.put(COUNTED[name], device, int(value), line.number, text)
            found = True
    return found


FORMAT = TextFormat(NAME, "Monitor of SuperBench", ('"gpu_usage:0"', '"gpu_temperature:0"', '"gpu_mem_used:0"'), scan)
