"""`gpuwhy catalog`: what is known of GPUs, instance types, prices, and of what articles say about them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuwhy.kb.records import dataclass
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import close, fail, kb_option, knowledge, overlay_option, rules_option, with_overlays

if TYPE_CHECKING:
    from gpuwhy.kb.model import KnowledgeBase

KINDS = ("gpus", "instances", "prices", "claims", "import")


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("query", nargs=-1)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--provider", type=click.Choice(("alicloud", "tencent")), help="Only instances and prices of this one.")
@click.option("--machine", help="With import of a price: the machine type that it is of.")
@click.option("--region", help="With import of a price: the region that it is of.")
@click.option("--date", help="With import of a price: the day that it is of, 2026-11-30.")
@click.option(
    "--mode", type=click.Choice(("payg", "subscription")), default="payg", help="With import: an hour or a month."
)
@click.option("--currency", default="CNY", show_default=True, help="With import of prices of Tencent Cloud.")
@overlay_option
@rules_option
@kb_option
def catalog(
    kind: str,
    query: tuple[str, ...],
    form: str,
    provider: str | None,
    machine: str | None,
    region: str | None,
    date: str | None,
    mode: str,
    currency: str,
    overlays: tuple[Path, ...],
    rules: Path | None,
    revision: str | None,
) -> None:
    """List GPUs, instance types, prices or judged claims; QUERY keeps those that hold all its words.

    `import FILE` prints an overlay made from what a provider's command line printed as JSON: read it, then use it with
    --overlay. It takes `aliyun ecs DescribeInstanceTypes`; `DescribePrice --PriceUnit Hour` (--machine, --region and
    --date), with --mode subscription of one month; `DescribeSpotPriceHistory`; and of Tencent Cloud `tccli cvm
    DescribeZoneInstanceConfigInfos` (--date, --currency).

    Every value has its source; `gpuwhy catalog claims a10-mig` shows what is said of MIG on the A10 and what is so.
    """
    kb = with_overlays(knowledge(rules, revision), overlays)
    if kind == "import":
        _import(kb, query, _Told(machine, region, date, mode, currency))
        return
    asked = " ".join(query)
    found = [one for one in _entries(kb, kind) if _matches(one, asked, kind)]
    found = [one for one in found if provider in (None, one.get("provider", provider))]
    found = [one for one in found if _is_named(one, asked)] or found
    if not found:
        fail(f"nothing among the {kind} matches {asked!r}" if query else f"this pack has no {kind}")
    if form == "json":
        from gpuwhy.tui.report_json import dump

        sys.stdout.write(dump(found))
        return
    lines = [line for one in found for line in _TEXTS[kind](one)]
    out("\n".join(lines) + "\n")


@dataclass(frozen=True)
class _Told:
    """What the answer of a provider does not tell."""

    machine: str | None
    region: str | None
    date: str | None
    mode: str
    currency: str


def _import(kb: KnowledgeBase, files: tuple[str, ...], told: _Told) -> None:
    from gpuwhy.kb import overlay
    from gpuwhy.kb.errors import KnowledgeError
    from gpuwhy.tui.amounts import read_json

    if len(files) != 1:
        fail("import takes one file", "the JSON that `aliyun ecs DescribeInstanceTypes` printed")
    document = read_json(Path(files[0]))
    try:
        made = overlay.text(*_overlay(kb, document, told))
        overlay.check(made.encode(), files[0])
    except overlay.OverlayError as error:
        fail(f"{files[0]}: {error}")
    except KnowledgeError as error:
        fail(f"{files[0]} gives no usable overlay: {error.problems[0]}")
    sys.stdout.write(made)


def _overlay(kb: KnowledgeBase, document: dict[str, Any], told: _Told) -> tuple[dict[str, Any], str]:
    """The overlay of an answer, and the command that printed it."""
    from gpuwhy.kb import overlay

    answer = document.get("Response", document)
    error = answer.get("Error", answer) if isinstance(answer, dict) else {}
    if isinstance(error, dict) and "Code" in error and "Message" in error:
        raise overlay.OverlayError(f"the provider refused: {error['Code']}: {error['Message']}"[:300])
    if told.date is not None:
        _is_past(told.date)
    if "PriceInfo" in document:
        if told.machine is None or told.region is None or told.date is None:
            fail("a price needs --machine, --region and --date", "the answer does not tell them")
        names = [one["name"] for one in kb.catalogue.sections.get("machines", ())]
        if told.machine not in names:
            known = close(told.machine, names) or "import its DescribeInstanceTypes first, and name that with --overlay"
            fail(f"there is no machine type {told.machine!r}", known)
        made = overlay.of_price(document, told.machine, told.region, told.date, told.mode)
        return made, "aliyun ecs DescribePrice"
    if "SpotPrices" in document:
        return overlay.of_spot_history(document), "aliyun ecs DescribeSpotPriceHistory"
    if "InstanceTypeQuotaSet" in document or "Response" in document:
        if told.date is None:
            fail("prices need --date", "the answer does not tell it")
        made = overlay.of_zone_configurations(document, told.date, told.currency)
        return made, "tccli cvm DescribeZoneInstanceConfigInfos"
    return overlay.of_instance_types(document, kb.catalogue), "aliyun ecs DescribeInstanceTypes"


def _is_past(text: str) -> None:
    """End the process where this is no day, or one that has not been."""
    from datetime import date, timedelta

    try:
        day = date.fromisoformat(text)
    except ValueError:
        fail(f"--date {text!r} is no day", "like 2026-11-30")
    if day > date.today() + timedelta(days=1):
        fail(f"--date {text} has not been yet", "the day on which the provider gave the price")


def _entries(kb: KnowledgeBase, kind: str) -> list[dict[str, Any]]:
    makers = {"gpus": _gpus, "instances": _instances, "prices": _prices, "claims": _claims}
    return makers[kind](kb)


def _is_named(entry: dict[str, Any], query: str) -> bool:
    """The entry is called exactly that: `A10` is not the A100."""
    from gpuwhy.kb.catalogue import normal

    names = [str(entry.get("id") or entry.get("name")), *entry.get("also", ())]
    return bool(query) and normal(query) in {normal(name) for name in names}


def _matches(entry: dict[str, Any], query: str, kind: str) -> bool:
    words = query.lower().split()
    told = [entry["name"], *entry["also"]] if kind == "gpus" else entry.values()
    text = " ".join(str(value) for value in told).lower()
    return all(word in text for word in words) or _only_name(entry, words)


def _only_name(entry: dict[str, Any], words: list[str]) -> bool:
    """`a10-mig` finds `s2-a10-mig`, also where its parts stand apart."""
    name = str(entry.get("id") or entry.get("name")).lower()
    return bool(words) and all(part in name.replace("-", " ").split() for word in words for part in word.split("-"))


def _gpus(kb: KnowledgeBase) -> list[dict[str, Any]]:
    found = []
    for entry in kb.catalogue.sections.get("gpus", ()):
        known = kb.catalogue.of_gpu(entry["names"][0])
        values = {one.fact: {"value": one.value, "source": one.source, "date": _date(kb, one.source)} for one in known}
        found.append({"name": entry["names"][0], "also": entry["names"][1:], "values": values})
    return found


def _instances(kb: KnowledgeBase) -> list[dict[str, Any]]:
    from gpuwhy.kb.offers import machines, prices

    regions: dict[str, set[str]] = {}
    for price in prices(kb.catalogue):
        regions.setdefault(price.machine, set()).add(price.region)
    return [
        {key: value for key, value in one.__dict__.items() if value is not None}
        | {"date": _date(kb, one.source), "priced_in": sorted(regions.get(one.name, ()))}
        for one in machines(kb.catalogue)
    ]


def _date(kb: KnowledgeBase, source: str) -> str | None:
    """The day on which a source was read; None for what a provider's command line printed."""
    known = kb.references.get(source)
    return known.accessed if known is not None else None


def _prices(kb: KnowledgeBase) -> list[dict[str, Any]]:
    from gpuwhy.kb.offers import prices

    return [{"name": one.machine, **one.__dict__} for one in prices(kb.catalogue)]


def _claims(kb: KnowledgeBase) -> list[dict[str, Any]]:
    works = {one["id"]: one for one in kb.catalogue.sections.get("works", ())}
    return [
        {key: one[key] for key in ("id", "verdict", "claim", "value")}
        | {"sources": [works[work].get("address") or works[work]["title"] for work in one["works"]]}
        for one in kb.catalogue.sections.get("claims", ())
    ]


def _gpu_text(entry: dict[str, Any]) -> list[str]:
    lines = [entry["name"], *_wrapped(", ".join(entry["also"]), "    also ")]
    for fact, one in entry["values"].items():
        name, value = fact.removeprefix("gpu.").removeprefix("expected_"), one["value"]
        shown = ("yes" if value else "no") if isinstance(value, bool) else value
        lines.append(f"    {name:37}{shown!s:14}{one['source']}"[:80])
    return lines


def _instance_text(entry: dict[str, Any]) -> list[str]:
    from gpuwhy.kb.units import show

    memory = show(entry["gpu_memory_bytes"], "bytes")
    head = f"{entry['name']:27} {entry['gpus']} x {entry['gpu']}, {memory} each"
    more = f"{entry['vcpus']} vCPU, {show(entry['memory_bytes'], 'bytes')}"
    if "network_bytes_per_second" in entry:
        more += f", {entry['network_bytes_per_second'] * 8 / 1e9:g} Gbit/s"
    more += ", RDMA" if entry["rdma"] else ""
    for key, word in (("bandwidth_bytes_per_second", "memory"), ("nvlink_bytes_per_second", "NVLink")):
        more += f", {word} {entry[key] / 1e9:,.0f} GB/s" if key in entry else ""
    more += f", disks {entry['disk_bytes_per_second'] / 1e9:g} GB/s" if "disk_bytes_per_second" in entry else ""
    more += f", {entry['provider']}"
    more += "" if entry["status"] == "listed" else f"; {entry['status']}"
    read = f", {entry['date']}" if entry["date"] else ""
    lines = [*_wrapped(head, "", "    "), *_wrapped(f"{more}  [{entry['source']}{read}]", "    ")]
    if entry["priced_in"]:
        lines += _wrapped(f"prices known of {', '.join(entry['priced_in'])}", "    ")
    return [*lines, *_wrapped(entry["says"], "    ")]


def _price_text(entry: dict[str, Any]) -> list[str]:
    price = f"{entry['per_hour']:.2f} {entry['currency']}/h"
    return [f"{entry['name']:28}{entry['region']:16}{price:>14}  {entry['mode']}, {entry['date']}"]


def _claim_text(entry: dict[str, Any]) -> list[str]:
    lines = [f"{entry['id']}  {entry['verdict'].upper()}", *_wrapped(entry["claim"], "    said     ")]
    lines += _wrapped(entry["value"], "    is so    ")
    return [*lines, *[f"    source   {source}" for source in entry["sources"]]]


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    from gpuwhy.tui.wording import wrapped

    return wrapped(text, first, " " * len(first) if rest is None else rest, 80) if text else []


_TEXTS = {"gpus": _gpu_text, "instances": _instance_text, "prices": _price_text, "claims": _claim_text}
