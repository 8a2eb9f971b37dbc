"""Hosts as node_exporter saw them over a window, asked of a Prometheus server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuwhy.kb.facts import HOST, Entity
from gpuwhy.probes.prometheus_http import Series
from gpuwhy.probes.prometheus_names import How, Source, node, within
from gpuwhy.probes.prometheus_page import Page, value_of
from gpuwhy.probes.prometheus_targets import INSTANCE, HostTargets

ANCHORS = ("node_uname_info", "node_boot_time_seconds", "node_memory_MemTotal_bytes", "node_cpu_seconds_total")
_SHARED_MEMORY = "/dev/shm"


def add_host(page: Page, names: frozenset[str], about: Sequence[HostTargets]) -> None:
    """Adds what node_exporter says of these hosts; `names`: the metrics that the server has."""
    about = [one for one in about if one.instances("node")]
    anchors = [one for one in ANCHORS if one in names]
    if not about or not anchors:
        return
    seen = page.seen(anchors, about, "node")
    for one, there in within(node(), names):
        if there:
            _read(page, one, about, seen)
        elif not one.labels:
            for host in about:
                page.lack(host.name, one.fact, HOST, f"not exported ({one.names[0]})")
    for host in about:
        _used(page, host.name)


def _read(page: Page, one: Source, about: Sequence[HostTargets], seen: Mapping[str, float]) -> None:
    for host, series in page.ask(one, about, "node"):
        number: float | None = series.value
        if one.how is How.RATE:
            number = page.corrected(series.value, seen.get(series.labels.get(INSTANCE, "")))
        value = None if number is None else value_of(one, number)
        entity = _entity(series)
        if value is None:
            page.lack(host.name, one.fact, entity, "no usable value, or watched for too short a time")
            continue
        page.put(host.name, one.fact, entity, value, one.names[0])
        if entity.kind == "filesystem" and series.labels.get("fstype"):
            page.put(host.name, "filesystem.type", entity, series.labels["fstype"])


def _entity(series: Series) -> Entity:
    for label, kind in (("mountpoint", "filesystem"), ("device", "disk")):
        if series.labels.get(label):
            return Entity(kind, series.labels[label][:200], HOST)
    return HOST


def _used(page: Page, host: str) -> None:
    """The used share of each file system, as df reckons it: of what a user can use."""
    facts = page.read[host].facts
    for fact, entity in list(facts):
        if fact != "filesystem.total_bytes":
            continue
        available = facts.get(("filesystem.available_bytes", entity))
        total = float(facts[fact, entity].value)
        if available is not None and total > 0:
            share = min(max(1 - float(available.value) / total, 0.0), 1.0)
            page.put(host, "filesystem.used_share", entity, share, "node_filesystem_avail_bytes")
            if entity.name == _SHARED_MEMORY:
                page.put(host, "loader.shared_memory_total_bytes", HOST, total, "node_filesystem_size_bytes")
                page.put(host, "loader.shared_memory_used_share", HOST, share, "node_filesystem_avail_bytes")
