"""The hosts of a fleet as a Prometheus server knows them: found first, then read page by page.

A page is few enough hosts for one answer; what still is too much is asked for in halves. Where the server stops
answering, the hosts that are left are told as not read. What was read can be kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import islice

from gpuwhy.kb.facts import HOST, Absent, Fact
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes import prometheus_gpus, prometheus_host, prometheus_triton
from gpuwhy.probes.prometheus_gpus import Devices
from gpuwhy.probes.prometheus_http import Client, Kind, QueryError
from gpuwhy.probes.prometheus_names import literal, matchers, quoted, selector
from gpuwhy.probes.prometheus_page import HostRead, Page, Window
from gpuwhy.probes.prometheus_targets import INSTANCE, JOB_LABEL, NAMING, Hosts, HostTargets, LabelMap

PAGE_HOSTS = 50
TARGETS_AT_ONCE = 300
MOST_STEPS = 1440
LEAST_STEP_SECONDS = 30.0
LEAST_STEPS = 10
STALE_SECONDS = 600.0
"""A host whose newest sample is older than this at the end of the window is not known as it is now."""

_FAMILIES = {"dcgm": "DCGM_.*|dcgm_.*", "nvidia_gpu_exporter": "nvidia_smi_.*", "triton": "nv_.*", "node": "node_.*"}
_ANCHORS: Mapping[str, Sequence[str]] = {
    "dcgm": prometheus_gpus.DCGM_ANCHORS,
    "nvidia_gpu_exporter": prometheus_gpus.EXPORTER_ANCHORS,
    "triton": prometheus_triton.ANCHORS,
    "node": prometheus_host.ANCHORS,
}
_NOTHING_THERE = ("no samples in the window", "not exported")
"""What is told of a reading that a server was asked for and does not have."""
_NODE_LABELS = "kube_node_labels"


@dataclass(frozen=True)
class HostFacts:
    """What was read about a host. `stale`: why it is not known as it is now; `failed`: why nothing could be read."""

    name: str
    facts: tuple[Fact, ...] = ()
    absent: tuple[Absent, ...] = ()
    stale: str = ""
    failed: str = ""


@dataclass
class Found:
    """The hosts that a server knows, the metrics it has by exporter, and what is to be told beside them."""

    hosts: Hosts
    names: dict[str, frozenset[str]] = field(default_factory=dict)
    listed: list[HostTargets] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)


def window(end: float, since: float) -> Window:
    """The window of this length in seconds up to a moment."""
    return Window(
        end - since, end, float(max(min(LEAST_STEP_SECONDS, since // LEAST_STEPS), round(since / MOST_STEPS), 1))
    )


def find(client: Client, mapping: LabelMap, over: Window) -> Found:
    """The hosts that metrics of a GPU or of Triton come from within a window. Raises `QueryError`."""
    found = Found(Hosts(mapping))
    jobs: set[str] = set()
    for family, pattern in _FAMILIES.items():
        match = matchers(f'__name__=~"{pattern}"', mapping.match)
        names, warnings = client.values("__name__", f"{{{match}}}", over.start, over.end)
        found.names[family] = frozenset(names)
        found.warnings.update(dict.fromkeys(warnings))
        for labels in _targets(client, family, found, mapping.match, over):
            found.hosts.add(family, [labels])
            if family in NAMING:
                jobs.add(labels.get(JOB_LABEL, ""))
    _types(client, found, mapping.match, over)
    found.listed = found.hosts.finish()
    found.notes += found.hosts.unused() if found.listed else ()
    found.silent = dict(_silent(client, found, mapping, over, jobs - {""}))
    if found.hosts.unjoined:
        some = ", ".join(sorted(found.hosts.unjoined)[:3])
        found.notes.append(
            f"{len(found.hosts.unjoined)} node_exporter targets belong to no host with a GPU ({some}): "
            "if they do, name the label of the host with --host-label or a mapping file"
        )
    return found


def _targets(client: Client, family: str, found: Found, match: str, over: Window) -> Iterator[dict[str, str]]:
    """The labels of the series by which the targets of an exporter are found."""
    anchors = [one for one in _ANCHORS[family] if one in found.names[family]]
    anchors = anchors[:1] if family in ("triton", "node") else anchors
    if not anchors:
        return
    instances, _ = client.values(INSTANCE, selector(anchors, match), over.start, over.end)
    for part in _chunks(sorted(instances), TARGETS_AT_ONCE):
        inside = matchers(f"{INSTANCE}=~{quoted(_any_of(part))}", match)
        series, warnings = client.series(selector(anchors, inside), over.start, over.end)
        found.warnings.update(dict.fromkeys(warnings))
        yield from series


def _any_of(texts: Iterable[str]) -> str:
    return "|".join(map(literal, texts))


def _chunks(items: Iterable[str], size: int) -> Iterator[list[str]]:
    left = iter(items)
    while part := list(islice(left, size)):
        yield part


def _types(client: Client, found: Found, match: str, over: Window) -> None:
    """Machine types from the labels of Kubernetes nodes (kube-state-metrics), where the server has them."""
    if not found.hosts.by_name:
        return
    try:
        series, _ = client.series(selector((_NODE_LABELS,), match), over.start, over.end)
    except QueryError as error:
        if error.kind is Kind.REFUSED:
            raise
        found.notes.append(f"machine types of Kubernetes nodes could not be asked for: {error.says}")
        return
    found.hosts.add_types(series)


def _silent(
    client: Client, found: Found, mapping: LabelMap, over: Window, jobs: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Hosts whose GPU exporter was asked by Prometheus for the whole window and never answered."""
    wanted = sorted(jobs)
    if not wanted:
        return
    match = matchers(f"{JOB_LABEL}=~{quoted(_any_of(wanted))}", mapping.match)
    by = ", ".join((JOB_LABEL, INSTANCE, *mapping.host))
    span = f"[{over.seconds:.0f}s:{over.step:.0f}s]"
    try:
        answer = client.instant(f"max_over_time((max by ({by}) (up{{{match}}})){span}) == 0", over.end)
    except QueryError as error:
        if error.kind is Kind.REFUSED:
            raise
        found.notes.append(f"exporters that never answered could not be asked for: {error.says}")
        return
    for one in answer.series:
        name = found.hosts.name_of(one.labels, new=True)
        if name not in found.hosts.by_name:
            yield name, f"the exporter at {one.labels.get(INSTANCE)} did not answer in the whole window"


def read(
    client: Client,
    found: Found,
    mapping: LabelMap,
    over: Window,
    specs: Mapping[str, FactSpec],
    wanted: Sequence[HostTargets],
    told: Callable[[str], object] = lambda _: None,
) -> Iterator[HostFacts]:
    """What these hosts were like over the window. `told` gets warnings of the server.

    Where it stops answering or refuses to, the hosts that are left come with the reason.
    """
    size, at = PAGE_HOSTS, 0
    while at < len(wanted):
        part = wanted[at : at + size]
        page = Page(client, found.hosts, over, specs, mapping.match, _labels(mapping), {})
        try:
            yield from _page(page, found, part)
        except QueryError as error:
            yield from (HostFacts(one.name, failed=error.says) for one in wanted[at:])
            return
        finally:
            for warning in page.warnings:
                told(warning)
        at += len(part)
        size = max(1, size // 2) if page.narrowed else size


def _labels(mapping: LabelMap) -> tuple[str, ...]:
    return (JOB_LABEL, INSTANCE, *mapping.host)


def _page(page: Page, found: Found, about: Sequence[HostTargets]) -> Iterator[HostFacts]:
    page.read.update((one.name, HostRead()) for one in about)
    devices = {one.name: Devices() for one in about}
    for host in about:
        if host.instance_type:
            page.put(host.name, "host.instance_type", HOST, host.instance_type)
        if host.region:
            page.put(host.name, "host.region", HOST, host.region)
    for family in NAMING:
        prometheus_gpus.add_gpus(page, family, found.names[family], about, devices)
    prometheus_triton.add_triton(page, found.names["triton"], about, devices)
    prometheus_host.add_host(page, found.names["node"], about)
    for host in about:
        kept = page.read[host.name]
        _count(page, host, devices[host.name])
        yield HostFacts(host.name, tuple(kept.facts.values()), tuple(kept.absent.values()), _stale(kept, page.window))


def _count(page: Page, host: HostTargets, devices: Devices) -> None:
    if devices.found and any(host.instances(family) for family in NAMING):
        page.put(host.name, "host.metric_gpu_count", HOST, len(devices.found))


def _stale(kept: HostRead, over: Window) -> str:
    if kept.last_seen == float("-inf"):
        failed = Counter(one.reason for one in kept.absent.values() if not one.reason.startswith(_NOTHING_THERE))
        return failed.most_common(1)[0][0] if failed else _NOTHING_THERE[0]
    if over.end - kept.last_seen <= STALE_SECONDS:
        return ""
    moment = datetime.fromtimestamp(kept.last_seen, timezone.utc)
    return f"no samples since {moment:%Y-%m-%d %H:%M} UTC"
