"""Metrics of GPUs in the Prometheus text format: dcgm-exporter of every generation, and nvidia_gpu_exporter.

DCGM has a number for each kind of "no value"; none of them is a reading.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpuwhy.kb.facts import HOST, Entity, Value, gpu
from gpuwhy.probes.artefacts import smi_values
from gpuwhy.probes.artefacts.contract import Extract, Missing, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.exposition import Sample, Scrape, scrapes
from gpuwhy.probes.artefacts.gauges import Gauges
from gpuwhy.probes.artefacts.gpu_metric_names import ANCIENT, DCGM, EXPORTER, PARTITION_FACTS, VIOLATIONS, Metric

NAME = "gpu-metrics"

_FAMILIES = ("DCGM_", "dcgm_", "nvidia_smi_")
_BLANKS = ((2147483632.0, 2147483648.0), (140737488355328.0, 140737488355344.0))
_BLANK_FROM = 9.2e18
"""Blank 64-bit values lie between this and the largest one; as floats they cannot be told apart."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all metrics of each exporter in a text."""
    for prefix in _FAMILIES:
        found = scrapes(text.lines, prefix)
        if found:
            yield _extract(prefix, found)


def _extract(prefix: str, found: list[Scrape]) -> Extract:
    reader = _Reader(prefix)
    for scrape in found:
        reader.scrape(scrape)
    readings, missing = reader.gauges.fold()
    claimed = frozenset(number for scrape in found for number in scrape.lines)
    return Extract(NAME, (*readings, *reader.more()), (*missing, *reader.missing.values()), claimed)


class _Reader:
    """Collects the metrics of one exporter, scrape by scrape."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.gauges = Gauges()
        self.missing: dict[tuple[str, Entity], Missing] = {}
        self.by_uuid: dict[str, int] = {}
        self.devices: dict[Entity, int] = {}
        self.partitions: dict[Entity, dict[str, None]] = {}
        self.xids: dict[Entity, Sample] = {}
        self.counters: dict[tuple[str, Entity], list[Sample]] = {}
        self.series: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}

    def scrape(self, scrape: Scrape) -> None:
        self.gauges.begin()
        for one in scrape.named("nvidia_smi_gpu_info"):
            uuid, index = one.label("uuid"), one.label("index")
            if uuid and index and index.isdecimal():
                self.by_uuid[uuid] = int(index)
        for one in scrape.samples:
            self.series.setdefault((one.name, one.labels), one.line)
            self._sample(one)

    def _sample(self, one: Sample) -> None:
        device = self._device(one)
        if device is None:
            return
        self.devices.setdefault(device, one.line)
        self._names(one, device)
        name, metric = self._metric(one.name)
        entity, fact = self._place(one, device, metric.fact) if metric else (device, "")
        if name in VIOLATIONS:
            self.counters.setdefault((VIOLATIONS[name], device), []).append(one)
        elif metric is None:
            return
        elif not one.known or _blank(one.value):
            self.missing.setdefault((fact, entity), Missing(fact, "blank: no value", one.line, entity))
        else:
            self._value(one, entity, fact, metric)

    def _metric(self, printed: str) -> tuple[str, Metric | None]:
        if self.prefix == "nvidia_smi_":
            name = printed.removeprefix("nvidia_smi_")
            return name, EXPORTER.get(name)
        name = printed.removeprefix("DCGM_FI_").removeprefix("DEV_").removeprefix("PROF_")
        name = ANCIENT.get(printed.removeprefix("dcgm_"), name)
        return name, DCGM.get(name)

    def _device(self, one: Sample) -> Entity | None:
        index = one.label("gpu") or one.label("minor_number")
        if index and index.isdecimal() and len(index) < 4:
            return gpu(int(index))
        uuid = one.label("uuid") or one.label("UUID")
        if not uuid:
            return None
        return gpu(self.by_uuid.setdefault(uuid, len(self.by_uuid)))

    def _names(self, one: Sample, device: Entity) -> None:
        for label, fact in (("modelName", "gpu.name"), ("pci_bus_id", "gpu.bus_id"), ("UUID", "gpu.uuid")):
            value = one.label(label)
            if value:
                self.gauges.put(fact, device, value, one.line, one.text)
        if one.name == "nvidia_smi_gpu_info" and one.label("name"):
            self.gauges.put("gpu.name", device, one.label("name") or "", one.line, one.text)
        for label in ("DCGM_FI_DRIVER_VERSION", "driver_version"):
            version = one.label(label)
            if version:
                self.gauges.put("host.driver_version", HOST, version, one.line, one.text)

    def _place(self, one: Sample, device: Entity, fact: str) -> tuple[Entity, str]:
        """The partition that a sample is of, where it is of one and the fact is known of partitions."""
        instance = one.label("GPU_I_ID")
        if not instance or fact not in PARTITION_FACTS:
            return device, fact
        partition = Entity("partition", instance, device)
        self.partitions.setdefault(device, {})[instance] = None
        profile = one.label("GPU_I_PROFILE")
        if profile:
            self.gauges.put("partition.profile", partition, profile, one.line, one.text)
        return partition, PARTITION_FACTS[fact]

    def _value(self, one: Sample, entity: Entity, fact: str, metric: Metric) -> None:
        value: Value = one.value * metric.factor
        if metric.kind == "xid":
            if one.value > 0:
                self.xids[entity] = one
            return
        if metric.kind == "bits":
            for event, active in (smi_values.events(hex(max(int(one.value), 0))) or {}).items():
                self.gauges.put(event, entity, active, one.line, one.text)
            return
        if metric.kind == "flag":
            value = one.value != 0
        elif metric.kind == "whole":
            value = int(one.value)
        self.gauges.put(fact, entity, value, one.line, one.text)

    def more(self) -> Iterator[Reading]:
        """What is not a gauge: codes, growth of counters, and how much there is."""
        for device, one in self.xids.items():
            code = int(one.value)
            yield Reading("gpu.xid_first", code, one.line, one.text[:200], device)
            yield Reading("xid.code", code, one.line, one.text[:200], Entity("xid", str(code), device))
        for (fact, device), samples in self.counters.items():
            share = _growth(samples)
            if share is not None:
                yield Reading(fact, share, samples[-1].line, samples[-1].text[:200], device)
        for device, instances in self.partitions.items():
            yield Reading("gpu.partition_count", len(instances), self.devices[device], entity=device)
            yield Reading("gpu.mig_enabled", True, self.devices[device], entity=device)
        if self.devices:
            first = min(self.devices.values())
            yield Reading("host.metric_gpu_count", len(self.devices), first)
            yield Reading("host.metric_series_count", len(self.series), first)


def _growth(samples: list[Sample]) -> float | None:
    """Share of the time between the first and the last sample; None where the times are not known or nothing fits."""
    first, last = samples[0], samples[-1]
    if first.at is None or last.at is None or last.at <= first.at or last.value < first.value:
        return None
    share = (last.value - first.value) / 1e9 / (last.at - first.at)
    return share if math.isfinite(share) and share <= 1 else None


def _blank(value: float) -> bool:
    return value >= _BLANK_FROM or any(low <= value < high for low, high in _BLANKS)


FORMAT = TextFormat(NAME, "Prometheus metrics (dcgm-exporter, nvidia_gpu_exporter)", ("dcgm_", "nvidia_smi_"), scan)
