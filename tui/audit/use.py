"""How GPUs are used and what that costs: by machine type, those that did nothing and those that did little.

Only GPUs with several samples over time are judged: one look says nothing about use. What is idle or hardly used is
what the derivations `derive.fleet.*` say; prices are list prices of the catalogue, and absent where it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gpuwhy.engine.fleet_table import REGION
from gpuwhy.kb.facts import HOST, FactBase
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass

if TYPE_CHECKING:
    from gpuwhy.engine.fleet_table import Judged
    from gpuwhy.kb.offers import Price

IDLE, SMALL = "gpu.idle_over_samples", "gpu.small_load"
MACHINE, DEVICE_NAME = "host.instance_type", "gpu.name"
Type = tuple[str, str, str]
"""Machine type, GPU and region; empty where not known."""


@dataclass
class Count:
    """GPUs of one type: how many there are, how many of them were judged, and how many were idle or hardly used."""

    gpus: int = 0
    judged: int = 0
    idle: int = 0
    small: int = 0

    def add(self, other: Count) -> None:
        """Counts the GPUs of another too."""
        self.gpus += other.gpus
        self.judged += other.judged
        self.idle += other.idle
        self.small += other.small


@dataclass(frozen=True)
class Cost:
    """What some GPUs cost an hour by list price. `low` and `high` differ where the region is not known."""

    low: float
    high: float
    currency: str
    date: str
    provider: str


@dataclass(frozen=True)
class Use:
    """The GPUs of one machine type in one region; `idle_cost` and `small_cost` are None where no price is known."""

    machine: str
    gpu_name: str
    region: str
    count: Count
    idle_cost: Cost | None
    small_cost: Cost | None


def of_base(kb: KnowledgeBase, base: FactBase) -> Iterator[tuple[Type, Count]]:
    """The GPUs of one host."""
    from gpuwhy.engine.derive import derive
    from gpuwhy.engine.view import World

    devices = base.entities("gpu")
    if not devices:
        return
    world = World(kb.facts, base)
    derive(kb.derivations.about(IDLE, SMALL), world)
    machine, region = _text(base, MACHINE, HOST), _text(base, REGION, HOST)
    for device in devices:
        idle, small = (world.base.get(name, device) for name in (IDLE, SMALL))
        known = base.get("gpu.sample_count", device)
        judged = idle is not None and known is not None and int(known.value) > 1
        count = Count(1, int(judged), int(_true(idle) and judged), int(_true(small) and judged))
        yield (machine, _text(base, DEVICE_NAME, device), region), count


def _true(fact: Any) -> bool:
    return fact is not None and fact.value is True


def _text(base: FactBase, name: str, entity: Any) -> str:
    found = base.get(name, entity)
    return "" if found is None else str(found.value)


def of_portion(judged: Judged) -> Iterator[tuple[Type, Count]]:
    """The GPUs of a portion of a table."""
    import polars

    columns = {name: judged.column(name, str) for name in (MACHINE, DEVICE_NAME, REGION)}
    columns |= {name: judged.column(name, bool) for name in (IDLE, SMALL)}
    samples = judged.column("gpu.sample_count", float)
    frame = polars.DataFrame({**columns, "several": samples > 1})
    several = polars.col("several") & polars.col(IDLE).is_not_null()
    found = frame.group_by(MACHINE, DEVICE_NAME, REGION).agg(
        polars.len(), several.sum().alias("judged"), *((polars.col(one) & several).sum() for one in (IDLE, SMALL))
    )
    for machine, name, region, *numbers in found.iter_rows():
        yield (machine or "", name or "", region or ""), Count(*map(int, numbers))


def summed(counts: Iterable[tuple[Type, Count]], into: dict[Type, Count]) -> None:
    """Adds these counts to those of their types."""
    for kind, count in counts:
        into.setdefault(kind, Count()).add(count)


def uses(kb: KnowledgeBase, counts: dict[Type, Count]) -> tuple[Use, ...]:
    """The use of every type, what costs most first, then by the number of GPUs idle and hardly used."""
    offers = _Offers(kb)
    found = [
        Use(machine, name, region, count, offers.cost(machine, region, count.idle),
            offers.cost(machine, region, count.small))
        for (machine, name, region), count in counts.items()
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: (-_most(one), -one.count.idle, -one.count.small, one.machine)))


def _most(one: Use) -> float:
    return max((cost.high for cost in (one.idle_cost, one.small_cost) if cost is not None), default=0.0)


class _Offers:
    """List prices of machine types, by the hour."""

    def __init__(self, kb: KnowledgeBase) -> None:
        from gpuwhy.kb.offers import machines, prices

        self._machines = {one.name: one for one in machines(kb.catalogue)}
        self._prices: dict[str, dict[str, Price]] = {}
        for one in prices(kb.catalogue):
            if one.mode == "payg":
                self._prices.setdefault(one.machine, {})[one.region] = one

    def cost(self, machine: str, region: str, gpus: int) -> Cost | None:
        """What this many GPUs cost an hour, each as its part of the machine; None without a price or GPUs."""
        kind, known = self._machines.get(machine), self._prices.get(machine, {})
        offered = [known[region]] if region in known else [] if region else list(known.values())
        if kind is None or not offered or not kind.gpus or not gpus:
            return None
        if len({(one.currency, one.date) for one in offered}) > 1:
            return None
        amounts = [one.per_hour * gpus / kind.gpus for one in offered]
        return Cost(min(amounts), max(amounts), offered[0].currency, offered[0].date, kind.provider)


def told(one: Use) -> str:
    """A line about one type: how many GPUs were idle or hardly used, and what they cost."""
    name = one.machine or one.gpu_name or "type not known"
    count = one.count
    parts = [f"{count.idle:,} of {count.judged:,} idle{_at(one.idle_cost)}"]
    if count.small:
        parts.append(f"{count.small:,} with little to do{_at(one.small_cost)}")
    if (count.idle or count.small) and one.idle_cost is None and one.small_cost is None:
        parts.append("price not known")
    return f"{name}{f' in {one.region}' if one.region else ''}: {', '.join(parts)}"


def _at(cost: Cost | None) -> str:
    if cost is None:
        return ""
    amount = f"{cost.low:,.2f}" if cost.low == cost.high else f"{cost.low:,.2f} to {cost.high:,.2f}"
    return f" ({amount} {cost.currency} an hour)"


def prices_told(found: Iterable[Use]) -> str:
    """What the prices are: of which day, by whom."""
    costs = [cost for one in found for cost in (one.idle_cost, one.small_cost) if cost is not None]
    sheets = sorted({(cost.provider, cost.date) for cost in costs})
    return "; ".join(f"list prices of {provider} as of {date}, paid by the hour" for provider, date in sheets)
