"""What can be rented: machine types with their GPUs, and prices, from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.units import parse_quantity

GB = 1e9
GIB = 2.0**30


@dataclass(frozen=True)
class Machine:
    """A machine type. What the catalogue does not know is None, never 0; `says` is what to know before renting it.

    `gpu_memory_bytes` is what one GPU, or slice, reports; `memory_is_nominal` where only the number on the box is
    known, which is taken as decimal GB. Network and disk are what the whole machine has.
    """

    name: str
    provider: str
    family: str
    status: str
    gpu: str
    gpus: int
    gpu_memory_bytes: float
    memory_is_nominal: bool
    is_slice: bool
    architecture: str | None
    compute_capability: float | None
    bandwidth_bytes_per_second: float | None
    tensor16_flops: float | None
    float32_flops: float | None
    has_tensor_cores: bool | None
    supports_bfloat16: bool | None
    supports_tf32: bool | None
    supports_fp8: bool | None
    nvlink_bytes_per_second: float | None
    rdma: bool
    mig: bool | None
    vcpus: int
    memory_bytes: float
    network_bytes_per_second: float | None
    disk_bytes_per_second: float | None
    local_disk_bytes: float | None
    says: str
    source: str


@dataclass(frozen=True)
class Price:
    """What one hour of a machine type costs in a region, as of a day. `mode` is payg, subscription or spot.

    `converted`: the amount and currency that it was given in, and the rate, where it is converted.
    """

    machine: str
    region: str
    per_hour: float
    currency: str
    mode: str
    date: str
    source: str
    converted: str = ""


def machines(catalogue: Catalogue) -> list[Machine]:
    """All machine types, in the order of the catalogue."""
    families = {one["name"]: one for one in catalogue.sections.get("families", ())}
    cards = {name: _card(catalogue, one) for name, one in families.items()}
    return [
        _machine(one, families[one["family"]], cards[one["family"]]) for one in catalogue.sections.get("machines", ())
    ]


def prices(catalogue: Catalogue) -> Iterator[Price]:
    """All prices; of one machine, region and mode the newest comes last."""
    for sheet in sorted(catalogue.sections.get("prices", ()), key=lambda one: str(one["date"])):
        for machine, regions in sheet["per_hour"].items():
            for region, amount in regions.items():
                yield Price(
                    machine,
                    region,
                    float(amount),
                    sheet["currency"],
                    sheet["mode"],
                    str(sheet["date"]),
                    sheet["source"],
                )


def _card(catalogue: Catalogue, family: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a family's GPU, by fact; what the family itself says comes first."""
    known = {one.fact: one.value for one in catalogue.of_gpu(family["gpu"])}
    card: dict[str, Any] = {
        "memory": _number(known, "gpu.expected_memory_bytes", "bytes"),
        "bandwidth": _number(known, "gpu.expected_memory_bandwidth_bytes_per_second", "bytes_per_second"),
        "tensor16": _number(known, "gpu.expected_tensor16_flops", "flops"),
        "float32": _number(known, "gpu.expected_float32_flops", "flops"),
        "capability": _decimal(known.get("gpu.compute_capability")),
        "architecture": known.get("gpu.architecture"),
    }
    for word in ("has_tensor_cores", "supports_bfloat16", "supports_tf32", "supports_fp8"):
        card[word] = known.get(f"gpu.{word}")
    card["nominal"] = card["memory"] is None
    return card | _of_family(family, card)


def _of_family(family: Mapping[str, Any], card: Mapping[str, Any]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    if card["memory"] is None and "gpu_memory_gb" in family:
        own["memory"] = family["gpu_memory_gb"] * GB
    for key, word, scale in (("bandwidth", "bandwidth_gb_s", GB), ("tensor16", "fp16_tflops", 1e12)):
        if word in family:
            own[key] = family[word] * scale
    if "architecture" in family:
        own["architecture"] = family["architecture"]
    if "compute_capability" in family:
        own["capability"] = _decimal(family["compute_capability"])
    if own.get("architecture") in ("Ada", "Hopper", "Blackwell"):
        own |= {"has_tensor_cores": True, "supports_bfloat16": True, "supports_tf32": True, "supports_fp8": True}
    return own


def _machine(plain: Mapping[str, Any], family: Mapping[str, Any], card: Mapping[str, Any]) -> Machine:
    part = plain.get("slice_gb")
    memory = _slice_bytes(part, card["memory"]) if part else card["memory"]
    return Machine(
        name=plain["name"],
        provider=family["provider"],
        family=family["name"],
        status=plain.get("status", family["status"]),
        gpu=family["gpu"],
        gpus=plain["gpus"],
        gpu_memory_bytes=memory or 0.0,
        memory_is_nominal=bool(card["nominal"] or part),
        is_slice=bool(family.get("slice")),
        architecture=card["architecture"],
        compute_capability=card["capability"],
        bandwidth_bytes_per_second=card["bandwidth"],
        tensor16_flops=card["tensor16"],
        float32_flops=card["float32"],
        has_tensor_cores=card["has_tensor_cores"],
        supports_bfloat16=card["supports_bfloat16"],
        supports_tf32=card["supports_tf32"],
        supports_fp8=card["supports_fp8"],
        nvlink_bytes_per_second=_scaled(family, "nvlink_gb_s", GB),
        rdma=family["rdma"],
        mig=family.get("mig"),
        vcpus=plain["vcpus"],
        memory_bytes=plain["memory_gib"] * GIB,
        network_bytes_per_second=_scaled(plain, "network_gbit_s", GB / 8),
        disk_bytes_per_second=_scaled(plain, "disk_gb_s", GB),
        local_disk_bytes=_scaled(plain, "local_disk_gib", GIB),
        says=family.get("says", ""),
        source=plain["source"],
    )


def _slice_bytes(gigabytes: float, whole: float | None) -> float:
    """A slice is named after a share of the number on the box; it has no more than the whole card reports."""
    return min(gigabytes * GB, whole) if whole else gigabytes * GB


def _scaled(plain: Mapping[str, Any], key: str, scale: float) -> float | None:
    return plain[key] * scale if key in plain else None


def _number(known: Mapping[str, Any], fact: str, unit: str) -> float | None:
    value = known.get(fact)
    return parse_quantity(value, unit) if isinstance(value, str) else value


def _decimal(text: object) -> float | None:
    return float(text) if isinstance(text, str) else None
