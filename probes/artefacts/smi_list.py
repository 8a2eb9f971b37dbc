"""`nvidia-smi -L`: the GPUs and MIG devices of a host, by name and UUID."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import HOST, Entity, gpu
from gpuwhy.probes.artefacts.contract import Extract, Text, TextFormat
from gpuwhy.probes.artefacts.gauges import Gauges

NAME = "nvidia-smi-list"

_DEVICE = re.compile(
    r"(?:^|[\s>])GPU (?P<index>\d{1,3}): (?P<name>\S.{0,80}?) \(UUID: (?P<uuid>GPU-[0-9A-Fa-f-]{4,40})\)"
)
_PARTITION = re.compile(
    r"\bMIG (?P<profile>\S{2,20})\s{1,12}Device\s{1,4}(?P<index>\d{1,3}): \(UUID: MIG-[^)\s]{4,80}\)"
)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all lines of `nvidia-smi -L` in a text."""
    gauges = Gauges()
    claimed: set[int] = set()
    devices: set[int] = set()
    partitions: dict[Entity, int] = {}
    device: Entity | None = None
    for line in text.lines:
        if "(UUID: " not in line.text:
            continue
        found = _DEVICE.search(line.text)
        if found:
            device = gpu(int(found["index"]))
            devices.add(int(found["index"]))
            gauges.put("gpu.name", device, found["name"], line.number, line.text)
            gauges.put("gpu.uuid", device, found["uuid"], line.number, line.text)
        elif device is not None and (part := _PARTITION.search(line.text)):
            partition = Entity("partition", part["index"], device)
            gauges.put("partition.profile", partition, part["profile"], line.number, line.text)
            gauges.put("gpu.mig_enabled", device, True, line.number, line.text)
            partitions[device] = partitions.get(device, 0) + 1
        else:
            continue
        claimed.add(line.number)
    if not claimed:
        return
    last = max(claimed)
    if devices == set(range(len(devices))):
        gauges.put("gpu.count", HOST, len(devices), last)
    for owner, count in partitions.items():
        gauges.put("gpu.partition_count", owner, count, last)
    readings, missing = gauges.fold()
    yield Extract(NAME, readings, missing, frozenset(claimed))


FORMAT = TextFormat(NAME, "nvidia-smi -L", ("(uuid: ",), scan)
