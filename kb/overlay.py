"""A catalogue kept current: what a provider's command line says of machine types and prices, as a file to be reviewed.

An overlay has the form of a catalogue file. Machine types and families that it names replace those of the pack, its
prices are added; of one machine and region the newest price counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpuwhy.kb.catalogue import SECTIONS, Catalogue
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.records import replace

SOURCE = "aliyun-api"
"""What an overlay gives as the source of its values: the provider's answer, with no page to quote."""
TENCENT_SOURCE = "tencent-api"
HOURS_OF_A_MONTH = 720
MERGED = ("families", "machines", "prices")

_ZONE_LETTER = re.compile(r"-?[a-z]\Z")
"""What a zone of Alibaba Cloud has more than its region: `cn-beijing-h`, but `ap-southeast-1a` abroad."""


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


def of_price(document: Mapping[str, Any], machine: str, region: str, date: str, mode: str = "payg") -> dict[str, Any]:
    """The price in what `aliyun ecs DescribePrice` printed: of an hour (`--PriceUnit Hour`), or of a month.

    A month's subscription (`mode`) is kept by the hour, a month having 720. The answer does not tell its unit.
    """
    price = document.get("PriceInfo", {})
    price = price.get("Price") if isinstance(price, Mapping) else None
    amount = _number(price, "TradePrice") if isinstance(price, Mapping) else None
    if amount is None or not isinstance(price, Mapping):
        raise OverlayError("no PriceInfo.Price.TradePrice in it: is it the JSON of `aliyun ecs DescribePrice`?")
    hourly = amount / HOURS_OF_A_MONTH if mode == "subscription" else amount
    return _sheet("alicloud", mode, str(price.get("Currency", "CNY")), date, {machine: {region: round(hourly, 6)}})


def of_spot_history(document: Mapping[str, Any]) -> dict[str, Any]:
    """The mean spot price of each type and region in what `aliyun ecs DescribeSpotPriceHistory` printed."""
    listed = _listed(document, "SpotPrices", "SpotPriceType")
    if not listed:
        raise OverlayError(
            "no SpotPrices.SpotPriceType in it: is it the JSON of `aliyun ecs DescribeSpotPriceHistory`?"
        )
    found: dict[str, dict[str, list[float]]] = {}
    for one in listed:
        amount, zone = _number(one, "SpotPrice"), str(one.get("ZoneId", ""))
        if amount is not None and zone:
            region = _ZONE_LETTER.sub("", zone)
            found.setdefault(str(one.get("InstanceType", "")), {}).setdefault(region, []).append(float(amount))
    if not found:
        raise OverlayError("none of its spot prices has a zone and an amount")
    means = {
        name: {region: round(sum(all_) / len(all_), 6) for region, all_ in by.items()} for name, by in found.items()
    }
    newest = max(str(one.get("Timestamp", ""))[:10] for one in listed)
    return _sheet("alicloud", "spot", str(document.get("Currency", "CNY")), newest, means)


def of_zone_configurations(document: Mapping[str, Any], date: str, currency: str) -> dict[str, Any]:
    """Hourly prices in what `tccli cvm DescribeZoneInstanceConfigInfos` printed, by type and region.

    A type that several zones of a region have counts with its lowest price. Discounts of an account are not taken.
    """
    plain = document.get("Response", document)
    listed = plain.get("InstanceTypeQuotaSet") if isinstance(plain, Mapping) else None
    found: dict[str, dict[str, float]] = {}
    mode = None
    for one in listed if isinstance(listed, list) else ():
        charged, amount = _hourly(one) if isinstance(one, Mapping) else (None, None)
        if charged is None or amount is None or mode not in (None, charged):
            continue
        mode = charged
        region = str(one.get("Zone", "")).rsplit("-", 1)[0]
        by_region = found.setdefault(str(one.get("InstanceType", "")), {})
        by_region[region] = min(by_region.get(region, amount), amount)
    if mode is None:
        raise OverlayError("no hourly price in it: is it the JSON of `tccli cvm DescribeZoneInstanceConfigInfos`?")
    return _sheet("tencent", mode, currency, date, found, source=TENCENT_SOURCE)


def _hourly(plain: Mapping[str, Any]) -> tuple[str | None, float | None]:
    """The mode and the hourly price of one type in one zone of Tencent Cloud."""
    price = plain.get("Price")
    if not isinstance(price, Mapping) or price.get("ChargeUnit") != "HOUR":
        return None, None
    modes = {"POSTPAID_BY_HOUR": "payg", "SPOTPAID": "spot"}
    amount = _number(price, "UnitPrice")
    return modes.get(str(plain.get("InstanceChargeType"))), None if amount is None else float(amount)


def _sheet(
    provider: str, mode: str, currency: str, date: str, per_hour: Mapping[str, Any], source: str = SOURCE
) -> dict[str, Any]:
    sheet = {"provider": provider, "mode": mode, "currency": currency, "date": date, "source": source}
    return {"prices": [sheet | {"per_hour": dict(per_hour)}]}


def _listed(document: Mapping[str, Any], outer: str, inner: str) -> list[Mapping[str, Any]]:
    plain = document.get(outer, {})
    listed = plain.get(inner) if isinstance(plain, Mapping) else None
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


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
            sections[name] = (*(one for one in sections[name] if one.get("name") not in names), *added)
    return replace(catalogue, sections=sections)


def read(path: Path) -> dict[str, Any]:
    """The overlay of a file. Raises `KnowledgeError`, or `OSError` where it cannot be read."""
    with path.open("rb") as file:
        return check(file.read(1 << 20), path.name)
