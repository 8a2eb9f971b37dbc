"""A catalogue kept current: what a provider's command line says of machine types and prices, as a file to be reviewed.

An overlay has the form of a catalogue file. Machine types and families that it names replace those of the pack, its
prices are added; of one machine and region the newest price counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpuwhy.kb.catalogue import SECTIONS, Catalogue
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.records import replace

SOURCE = "aliyun-api"
"""What an overlay gives as the source of its values: the provider's answer, with no page to quote."""
MERGED = ("families", "machines", "prices")


class OverlayError(ValueError):
    """An answer of a provider that holds no machine types or no price."""


def of_instance_types(document: Mapping[str, Any], known: Catalogue) -> dict[str, Any]:
    """The GPU machine types in what `aliyun ecs DescribeInstanceTypes` printed; unknown families are added."""
    plain = document.get("InstanceTypes", {})
    listed = plain.get("InstanceType") if isinstance(plain, Mapping) else None
    if not isinstance(listed, list):
        raise OverlayError("no InstanceTypes.InstanceType in it: is it the JSON of `aliyun ecs DescribeInstanceTypes`?")
    with_gpu = [one for one in listed if isinstance(one, Mapping) and _number(one, "GPUAmount")]
    if not with_gpu:
        raise OverlayError("none of its machine types has a GPU")
    families = {one["name"] for one in known.sections.get("families", ())}
    new: dict[str, dict[str, Any]] = {}
    machines = []
    for one in with_gpu:
        family = str(one.get("InstanceTypeFamily", "")).removeprefix("ecs.")
        if family not in families:
            new.setdefault(family, _family(family, one))
        machines.append(_machine(family, one))
    return ({"families": list(new.values())} if new else {}) | {"machines": machines}


def of_price(document: Mapping[str, Any], machine: str, region: str, date: str) -> dict[str, Any]:
    """The hourly price in what `aliyun ecs DescribePrice --PriceUnit Hour` printed."""
    price = document.get("PriceInfo", {})
    price = price.get("Price") if isinstance(price, Mapping) else None
    amount = _number(price, "TradePrice") if isinstance(price, Mapping) else None
    if amount is None or not isinstance(price, Mapping):
        raise OverlayError("no PriceInfo.Price.TradePrice in it: is it the JSON of `aliyun ecs DescribePrice`?")
    sheet = {"provider": "alicloud", "mode": "payg", "currency": str(price.get("Currency", "CNY")), "date": date}
    return {"prices": [sheet | {"source": SOURCE, "per_hour": {machine: {region: amount}}}]}


def _family(name: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    family: dict[str, Any] = {"name": name, "provider": "alicloud", "gpu": str(plain.get("GPUSpec") or "not named")}
    memory = _number(plain, "GPUMemorySize")
    known = {"gpu_memory_gb": round(memory * 1.073741824, 3)} if memory else {}
    return family | {"status": "listed"} | known | {"rdma": bool(_number(plain, "EriQuantity")), "source": SOURCE}


def _machine(family: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    machine: dict[str, Any] = {"name": str(plain.get("InstanceTypeId", "")), "family": family}
    for key, name in (("vcpus", "CpuCoreCount"), ("memory_gib", "MemorySize"), ("gpus", "GPUAmount")):
        number = _number(plain, name)
        if number is None:
            raise OverlayError(f"{machine['name'] or 'a machine type'} has no {name}")
        machine[key] = number
    network, disk = _number(plain, "InstanceBandwidthRx"), _number(plain, "LocalStorageCapacity")
    if network:
        machine["network_gbit_s"] = round(network / 1e6, 3)  # the answer is in kbit/s
    if disk:
        machine["local_disk_gib"] = disk
    return machine | {"source": SOURCE}


def _number(plain: Mapping[str, Any], name: str) -> int | float | None:
    value = plain.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def text(overlay: Mapping[str, Any], of: str) -> str:
    """An overlay as YAML, to be read before it is used."""
    import yaml

    body = yaml.safe_dump(dict(overlay), sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    return f"# From {of}. Read it, then use it with --overlay.\n{body}"


def check(content: bytes, name: str) -> dict[str, Any]:
    """The data of an overlay. Raises `KnowledgeError` with everything that is wrong in it."""
    from gpuwhy.kb.load import rules_folder
    from gpuwhy.kb.schema import violations
    from gpuwhy.kb.strict_yaml import loads

    document = loads(content, name)
    problems = violations(document, "catalogue", rules_folder() / "schema" / "v1")
    if problems:
        raise KnowledgeError(problems)
    found: dict[str, Any] = document.data
    return found


def merged(catalogue: Catalogue, overlays: Iterable[Mapping[str, Any]]) -> Catalogue:
    """The catalogue with overlays: entries of a name are replaced, prices are added."""
    sections = {name: catalogue.sections.get(name, ()) for name in SECTIONS}
    for overlay in overlays:
        for name in MERGED:
            added = tuple(overlay.get(name, ()))
            names = {one["name"] for one in added if "name" in one}
            sections[name] = (*(one for one in sections[name] if one.get("name") not in names or not names), *added)
    return replace(catalogue, sections=sections)


def read(path: Path) -> dict[str, Any]:
    """The overlay of a file. Raises `KnowledgeError`, or `OSError` where it cannot be read."""
    with path.open("rb") as file:
        return check(file.read(1 << 20), path.name)
