"""PCI bus addresses: one form for the many in which they are printed, and the entity of the GPU at one.

The driver's log, nvidia-smi and lspci print the same address in different widths; which index a GPU has is known only
where nvidia-smi shows both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuwhy.kb.facts import HOST, Entity, gpu
from gpuwhy.kb.patterns import later

ADDRESS = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f])?"
"""A pattern of a bus address: domain and function may be missing."""

_PARTS = later(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-9a-f]))?")


def place(printed: str) -> str | None:
    """A bus address in one form, `0000:3b:00.0`; None if it is none."""
    found = _PARTS.fullmatch(printed.strip().lower())
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    return f"{(domain or '0')[-4:].rjust(4, '0')}:{bus}:{device}.{function or '0'}"


def gpu_at(printed: str) -> Entity:
    """The GPU at a bus address, named by it until an index is known."""
    return gpu(place(printed) or printed)


def device_at(printed: str) -> Entity:
    """The PCI device at a bus address."""
    return Entity("device", place(printed) or printed, HOST)


def joined(entities: Iterable[Entity], bus_ids: Mapping[Entity, str]) -> dict[Entity, Entity]:
    """GPUs named by a bus address, and the GPUs with an index that they are; `bus_ids` are those that were read.

    Where only one GPU with an index is known, without its address, and only one address, they are taken to be the same.
    """
    gpus = {one for each in entities for one in each.lineage() if one.kind == "gpu"}
    indexed = {one for one in gpus if one.name.isdecimal()}
    by_place = {place(bus_id): entity for entity, bus_id in bus_ids.items() if entity in indexed}
    placed = {one: place(one.name) for one in gpus - indexed}
    found = {one: by_place[at] for one, at in placed.items() if at is not None and at in by_place}
    rest = {one: at for one, at in placed.items() if at is not None and one not in found}
    lone = indexed - set(by_place.values())
    if len(indexed) == 1 and lone and len(set(rest.values())) == 1:
        found.update(dict.fromkeys(rest, next(iter(lone))))
        rest = {}
    found.update({one: gpu(at) for one, at in rest.items() if one.name != at})
    return found
