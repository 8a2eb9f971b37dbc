"""GPUs as dcgm-exporter and nvidia_gpu_exporter saw them over a window, asked of a Prometheus server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuwhy.kb.facts import HOST, Entity, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts import smi_values
from gpuwhy.probes.artefacts.gpu_metric_names import PARTITION_FACTS
from gpuwhy.probes.prometheus_http import Series
from gpuwhy.probes.prometheus_names import (
    BLANK_32,
    IDENTITY,
    How,
    Source,
    dcgm,
    nvidia_gpu_exporter,
    selector,
    within,
)
from gpuwhy.probes.prometheus_page import Page, value_of
from gpuwhy.probes.prometheus_targets import INSTANCE, HostTargets

MOMENTS = 240
"""At how many moments of the window clock events are looked at: their bits can only be told apart here."""

DCGM_ANCHORS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", "DCGM_FI_DEV_GPU_UTIL",
                "DCGM_FI_DEV_GPU_UTIL_RATIO", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS",
                "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_XID_ERRORS", "dcgm_gpu_temp",
                "dcgm_gpu_utilization")  # fmt: skip
EXPORTER_ANCHORS = ("nvidia_smi_gpu_info", "nvidia_smi_temperature_gpu", "nvidia_smi_utilization_gpu_ratio")
"""Metrics of which every GPU has one, the best first: by them GPUs are found."""

_DESCRIPTIONS = ("modelName", "name", "index", "pci_bus_id", "DCGM_FI_DRIVER_VERSION", "driver_version",
                 "GPU_I_PROFILE")  # fmt: skip
_PODS = (("exported_namespace", "exported_pod"), ("namespace", "pod"), ("pod_namespace", "pod_name"))
XIDS = ("DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR", "dcgm_xid_errors")
_XID_COUNTS = "DCGM_EXP_XID_ERRORS_COUNT"
CLOCK_EVENTS = {
    "dcgm": ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"),
    "nvidia_gpu_exporter": (
        "nvidia_smi_clocks_event_reasons_active",
        "nvidia_smi_clocks_throttle_reasons_active",
    ),
}
"""The metrics of the last Xid code, and by exporter those of the bits of clock events."""


@dataclass
class Devices:
    """The GPUs and partitions of one host, by what the labels of a series say."""

    by_uuid: dict[str, Entity] = field(default_factory=dict)
    found: dict[Entity, None] = field(default_factory=dict)

    def of(self, labels: Mapping[str, str]) -> Entity | None:
        """The GPU of a series: by its number, else by its UUID."""
        index = labels.get("gpu") or labels.get("minor_number") or labels.get("index")
        uuid = labels.get("UUID") or labels.get("uuid") or labels.get("gpu_uuid") or ""
        if uuid and uuid in self.by_uuid:
            return self.by_uuid[uuid]
        if index and index.isdecimal() and len(index) < 4:
            device = gpu(int(index))
        elif uuid:
            device = gpu(next(number for number in range(1 << 16) if gpu(number) not in self.found))
        else:
            return None
        self.found[device] = None
        if uuid:
            self.by_uuid[uuid] = device
        return device


def add_gpus(
    page: Page, family: str, names: frozenset[str], about: Sequence[HostTargets], devices: dict[str, Devices]
) -> None:
    """Adds what an exporter says of the GPUs of these hosts; `names`: the metrics that the server has."""
    about = [one for one in about if one.instances(family)]
    anchors = [one for one in (DCGM_ANCHORS if family == "dcgm" else EXPORTER_ANCHORS) if one in names]
    if not about or not anchors:
        return
    seen = page.seen(anchors, about, family)
    _describe(page, family, anchors[0], about, devices)
    sources = dcgm() if family == "dcgm" else nvidia_gpu_exporter()
    for one, there in within(sources, names):
        if there:
            _read(page, family, one, about, devices, seen)
    _events(page, family, names, about, devices)
    if family == "dcgm":
        _xids(page, names, about, devices)
    for host in about:
        for device in devices[host.name].found:
            _lacks(page, host.name, device, dcgm() if family == "dcgm" else nvidia_gpu_exporter(), names)


def _describe(page: Page, family: str, anchor: str, about: Sequence[HostTargets], devices: dict[str, Devices]) -> None:
    """Names, UUIDs, driver versions and pods: of several series of a GPU those of the latest."""
    pods = tuple(name for pair in _PODS for name in pair)
    by = ", ".join((*page.target_labels, *IDENTITY, *_DESCRIPTIONS, *pods))
    span = f"[{page.window.seconds:.0f}s:{page.window.step:.0f}s]"

    def question(match: str) -> str:
        return f"max_over_time((max by ({by}) (timestamp({selector((anchor,), match)}))){span})"

    found = sorted(page.series(question, about, family, ("gpu.name",)), key=lambda one: -one[1].value)
    for host, one in found:
        device = devices[host.name].of(one.labels)
        if device is not None:
            _names(page, host.name, device, one)


def _names(page: Page, host: str, device: Entity, one: Series) -> None:
    labels = one.labels
    for label, fact in (("modelName", "gpu.name"), ("name", "gpu.name"), ("pci_bus_id", "gpu.bus_id"),
                        ("UUID", "gpu.uuid"), ("uuid", "gpu.uuid")):  # fmt: skip
        if labels.get(label):
            page.put(host, fact, device, labels[label])
    for label in ("DCGM_FI_DRIVER_VERSION", "driver_version"):
        if labels.get(label):
            page.put(host, "host.driver_version", HOST, labels[label])
    instance = labels.get("GPU_I_ID")
    if instance:
        partition = Entity("partition", instance, device)
        if labels.get("GPU_I_PROFILE"):
            page.put(host, "partition.profile", partition, labels["GPU_I_PROFILE"])
        page.put(host, "gpu.mig_enabled", device, True)
    for space, pod in _PODS:
        if labels.get(pod):
            page.put(host, "gpu.pod", device, f"{labels.get(space, '')}/{labels[pod]}".strip("/"))
            break


def _read(
    page: Page,
    family: str,
    one: Source,
    about: Sequence[HostTargets],
    devices: dict[str, Devices],
    seen: Mapping[str, float],
) -> None:
    best: dict[tuple[str, Entity, str], float] = {}
    for host, series in page.ask(one, about, family):
        device = devices[host.name].of(series.labels)
        if device is None:
            continue
        number: float | None = series.value
        if one.how is How.RATE:
            number = page.corrected(series.value, seen.get(series.labels.get(INSTANCE, "")))
        if number is None:
            page.lack(host.name, one.fact, device, "watched for too short a time")
            continue
        entity, fact = _place(series, device, one.fact)
        key = (host.name, entity, fact)
        best[key] = max(number, best.get(key, number))
    for (name, entity, fact), number in best.items():
        value = value_of(one, number)
        if value is None:
            page.lack(name, fact, entity, f"no usable value ({number})")
        else:
            page.put(name, fact, entity, value, one.names[0])


def _place(series: Series, device: Entity, fact: str) -> tuple[Entity, str]:
    """The partition that a series is of, where it is of one and the fact is known of partitions."""
    instance = series.labels.get("GPU_I_ID")
    if not instance or fact not in PARTITION_FACTS:
        return device, fact
    return Entity("partition", instance, device), PARTITION_FACTS[fact]


def _events(
    page: Page, family: str, names: frozenset[str], about: Sequence[HostTargets], devices: dict[str, Devices]
) -> None:
    """Clock events: active if they were in half of the moments, with the share beside it."""
    kept = tuple(one for one in CLOCK_EVENTS[family] if one in names)
    if not kept:
        return
    facts = tuple(fact for _, fact in smi_values.EVENT_BITS)
    for host, device, samples in _moments(page, family, kept, about, devices, facts):
        for bit, fact in smi_values.EVENT_BITS:
            share = sum(bool(int(value) & bit) for value in samples) / len(samples)
            page.put(host, fact, device, share >= 0.5, kept[0])
            page.put(host, f"{fact}_sample_share", device, share, kept[0])


def _moments(
    page: Page,
    family: str,
    metrics: tuple[str, ...],
    about: Sequence[HostTargets],
    devices: dict[str, Devices],
    facts: tuple[str, ...],
) -> Iterator[tuple[str, Entity, list[float]]]:
    """The values of a metric of each GPU at moments of the window, blanks left out."""
    by = ", ".join((*page.target_labels, *IDENTITY))
    step = max(page.window.step, page.window.seconds / MOMENTS)

    def question(match: str) -> str:
        return f"max by ({by}) ({selector(metrics, match)}{BLANK_32})"

    for host, one in page.series(question, about, family, facts, step):
        device = devices[host.name].of(one.labels)
        values = [value for _, value in one.samples if value >= 0]
        if device is not None and values:
            yield host.name, device, values


def _xids(page: Page, names: frozenset[str], about: Sequence[HostTargets], devices: dict[str, Devices]) -> None:
    """Xid errors of the window. The exporter keeps the last code for good: what it was at the start is not of now."""
    codes: dict[tuple[str, Entity], dict[int, None]] = {}
    kept = tuple(one for one in XIDS if one in names)
    for host, device, values in _moments(page, "dcgm", kept, about, devices, ("xid.code",)) if kept else ():
        before = int(values[0])
        new = [int(value) for number, value in enumerate(values) if number and value and value != values[number - 1]]
        codes.setdefault((host, device), {}).update(dict.fromkeys(new))
        if before and not new:
            page.lack(host, "xid.code", device, f"the last Xid is {before}, and was raised before the window")
    for host, device, code in _counted_xids(page, names, about, devices):
        codes.setdefault((host, device), {})[code] = None
    for (name, device), found in codes.items():
        for number, code in enumerate(found):
            page.put(name, "xid.code", Entity("xid", str(code), device), code, "DCGM_FI_DEV_XID_ERRORS")
            if number == 0:
                page.put(name, "gpu.xid_first", device, code, "DCGM_FI_DEV_XID_ERRORS")


def _counted_xids(
    page: Page, names: frozenset[str], about: Sequence[HostTargets], devices: dict[str, Devices]
) -> Iterator[tuple[str, Entity, int]]:
    if _XID_COUNTS not in names:
        return
    by = ", ".join((*page.target_labels, *IDENTITY, "xid"))
    span = f"[{page.window.seconds:.0f}s:{page.window.step:.0f}s]"

    def question(match: str) -> str:
        return f"max_over_time((max by ({by}) ({selector((_XID_COUNTS,), match)})){span}) > 0"

    for host, one in page.series(question, about, "dcgm", ("xid.code",)):
        device, code = devices[host.name].of(one.labels), one.labels.get("xid", "")
        if device is not None and code.isdecimal() and 0 < int(code) < 1000:
            yield host.name, device, int(code)


def _lacks(page: Page, host: str, device: Entity, sources: Iterable[Source], names: frozenset[str]) -> None:
    """Every fact that the exporter could give and did not, with the reason."""
    found = page.read[host]
    for one in sources:
        if (one.fact, device) in found.facts:
            continue
        whole = found.absent.get((one.fact, HOST))
        there = any(name in names for name in one.names)
        reason = whole.reason if whole else "no samples in the window" if there else f"not exported ({one.names[0]})"
        page.lack(host, one.fact, device, reason)
