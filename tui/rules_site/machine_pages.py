"""Pages of machine types: what a machine has, what its GPU should do, what it costs; all with where that is from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.offers import Machine, Price, machines, prices
from gpuwhy.kb.units import show
from gpuwhy.tui.rules_site.layout import Links, Page, listed, meta, section, table


def names(kb: KnowledgeBase) -> list[str]:
    """The machine types, and the names of measured ones as they are written (`p4d.*`)."""
    listed_ones = [str(one["name"]) for one in kb.catalogue.sections.get("machines", ())]
    patterns = [name for one in kb.catalogue.sections.get("instances", ()) for name in one["names"]]
    return list(dict.fromkeys([*listed_ones, *patterns]))


def pages(kb: KnowledgeBase, links: Links) -> Iterator[Page]:
    """A page for each machine type, and for each group of types that is known by measurements alone."""
    costs: dict[str, list[Price]] = {}
    for one in prices(kb.catalogue):
        costs.setdefault(one.machine, []).append(one)
    families = {str(one["name"]): one for one in kb.catalogue.sections.get("families", ())}
    for machine in machines(kb.catalogue):
        words = f"{machine.provider} {machine.family} {machine.gpus} x {machine.gpu}"
        yield Page("machines", machine.name, machine.name, _machine(kb, machine, families, costs, links), words)
    for entry in kb.catalogue.sections.get("instances", ()):
        for name in entry["names"]:
            body = meta([("Provider", escape(str(entry.get("provider", ""))))]) + _expected(entry["values"], links)
            yield Page("machines", name, name, body, f"{entry.get('provider', '')} {', '.join(entry['names'])}")


def _machine(
    kb: KnowledgeBase, one: Machine, families: Mapping[str, Any], costs: Mapping[str, list[Price]], links: Links
) -> str:
    quantities = (
        ("Memory of one GPU", one.gpu_memory_bytes, "bytes"),
        ("Memory bandwidth", one.bandwidth_bytes_per_second, "bytes_per_second"),
        ("16-bit tensor rate", one.tensor16_flops, "flops"),
        ("32-bit rate", one.float32_flops, "flops"),
        ("NVLink", one.nvlink_bytes_per_second, "bytes_per_second"),
        ("Memory", one.memory_bytes, "bytes"),
        ("Network", one.network_bytes_per_second, "bytes_per_second"),
        ("Disk", one.disk_bytes_per_second, "bytes_per_second"),
        ("Local disk", one.local_disk_bytes, "bytes"),
    )
    pairs = [("Provider", escape(one.provider)), ("Family", escape(f"{one.family} ({one.status})"))]
    pairs += [("GPUs", f"{one.gpus} x {escape(one.gpu)}"), ("Architecture", escape(one.architecture or "not known"))]
    pairs += [("CPUs", str(one.vcpus))]
    pairs += [(name, "not known" if value is None else escape(show(value, unit))) for name, value, unit in quantities]
    pairs += [("RDMA", "yes" if one.rdma else "no"), ("From", links.to(one.source))]
    known = kb.catalogue.of_gpu(str(families[one.family]["gpu"]))
    card = ((links.to(value.fact), escape(str(value.value)), links.to(value.source)) for value in known)
    measured = kb.catalogue.of_instance(one.name)
    rows = ((links.to(value.fact), escape(str(value.value)), links.to(value.source)) for value in measured)
    rent = (
        (escape(price.region), f"{price.per_hour:g} {escape(price.currency)}", escape(price.mode), escape(price.date),
         links.to(price.source))
        for price in costs.get(one.name, ())
    )  # fmt: skip
    head = ("fact", "value", "from")
    return (
        (f"<p>{escape(one.says)}</p>" if one.says else "")
        + meta(pairs)
        + section("What its GPU should do", table(head, card))
        + section("What was measured on it", table(head, rows))
        + section("Price of an hour", table(("region", "price", "mode", "of", "from"), rent))
        + section("Other types of the family", listed(_siblings(kb, one, links)))
    )


def _siblings(kb: KnowledgeBase, one: Machine, links: Links) -> Iterable[str]:
    for other in kb.catalogue.sections.get("machines", ()):
        if other["family"] == one.family and other["name"] != one.name:
            yield links.to(str(other["name"]))


def _expected(values: Mapping[str, Any], links: Links) -> str:
    rows = ((links.to(fact), escape(str(one["value"])), links.to(str(one["source"]))) for fact, one in values.items())
    return section("What was measured on it", table(("fact", "value", "from"), rows))
