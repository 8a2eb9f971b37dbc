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
    from gpuwhy.engine.downsizing import Offers, Smaller
    from gpuwhy.engine.fleet_table import Judged

MEMORY, BUSY = "gpu.memory_used_max_bytes", "gpu.utilization_share"
SAMPLES = "gpu.sample_count"
IDLE, SMALL = "gpu.idle_over_samples", "gpu.small_load"
MACHINE, DEVICE_NAME = "host.instance_type", "gpu.name"
Type = tuple[str, str, str]
"""Machine type, GPU and region; empty where not known."""


@dataclass
class Count:
    """GPUs of one type: how many there are, how many of them were judged, and how many were idle or hardly used.

    Of those hardly used: the most memory that one used, and the largest share of time that one computed.
    """

    gpus: int = 0
    judged: int = 0
    idle: int = 0
    small: int = 0
    small_memory_bytes: float = 0.0
    small_busy_share: float = 0.0

    def add(self, other: Count) -> None:
        """Counts the GPUs of another too."""
        self.gpus += other.gpus
        self.judged += other.judged
        self.idle += other.idle
        self.small += other.small
        self.small_memory_bytes = max(self.small_memory_bytes, other.small_memory_bytes)
        self.small_busy_share = max(self.small_busy_share, other.small_busy_share)


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
    """The GPUs of one machine type in one region; `idle_cost` and `small_cost` are None where no price is known.

    `smaller`: a machine type that would hold what each of those hardly used does.
    """

    machine: str
    gpu_name: str
    region: str
    count: Count
    idle_cost: Cost | None
    small_cost: Cost | None
    smaller: Smaller | None = None


def of_base(kb: KnowledgeBase, base: FactBase) -> Iterator[tuple[Type, Count]]:
    """The GPUs of one host."""
    from gpuwhy.engine.derive import derive
    from gpuwhy.engine.view import World

    devices = base.entities("gpu")
    if not devices:
        return
    machine, region = _text(base, MACHINE, HOST), _text(base, REGION, HOST)
    sampled = {
        device for device in devices if (known := base.get(SAMPLES, device)) is not None and int(known.value) > 1
    }
    if not sampled:
        yield from (((machine, _text(base, DEVICE_NAME, device), region), Count(1)) for device in devices)
        return
    world = World(kb.facts, base)
    derive(kb.derivations.about(IDLE, SMALL), world)
    for device in devices:
        idle, small = (world.own(name, device) for name in (IDLE, SMALL))
        judged = idle is not None and device in sampled
        count = Count(1, int(judged), int(_true(idle) and judged), int(_true(small) and judged))
        if count.small:
            count.small_memory_bytes, count.small_busy_share = (
                0.0 if (found := base.get(name, device)) is None else float(found.value) for name in (MEMORY, BUSY)
            )
        yield (machine, _text(base, DEVICE_NAME, device), region), count


def _true(fact: Any) -> bool:
    return fact is not None and fact.value is True


def _text(base: FactBase, name: str, entity: Any) -> str:
    found = base.get(name, entity)
    return "" if found is None else str(found.value)


def of_portion(judged: Judged) -> Iterator[tuple[Type, Count]]:
    """The GPUs of a portion of a table."""
    import polars

    kinds = (MACHINE, DEVICE_NAME, REGION)
    there = judged.column(SAMPLES, float) > 1
    there = there & judged.column(IDLE, bool).is_not_null()
    by_host = [] if there.any() else [one for name in kinds if (one := judged.by_host(name)) is not None]
    if len(by_host) == len(kinds):  # nothing was judged, and the GPUs of each host are of one kind: hosts are counted
        hosts = polars.DataFrame(
            [*(one.alias(name) for one, name in zip(by_host, kinds, strict=True)), judged.groups.sizes.alias("gpus")]
        )
        for machine, name, region, gpus in hosts.group_by(kinds).sum().iter_rows():
            yield (machine or "", name or "", region or ""), Count(int(gpus))
        return
    rows = polars.DataFrame(
        {name: judged.column(name, str) for name in kinds}
        | {name: judged.column(name, bool) & there for name in (IDLE, SMALL)}
        | {name: judged.column(name, float) for name in (MEMORY, BUSY)}
        | {"judged": there}
    )
    most = [polars.col(name).filter(SMALL).max().fill_null(0.0) for name in (MEMORY, BUSY)]
    numbers = (polars.col(name).sum() for name in ("judged", IDLE, SMALL))
    for machine, name, region, *found in rows.group_by(kinds).agg(polars.len(), *numbers, *most).iter_rows():
        yield (machine or "", name or "", region or ""), Count(*found)


def summed(counts: Iterable[tuple[Type, Count]], into: dict[Type, Count]) -> None:
    """Adds these counts to those of their types."""
    for kind, count in counts:
        into.setdefault(kind, Count()).add(count)


def uses(kb: KnowledgeBase, counts: dict[Type, Count]) -> tuple[Use, ...]:
    """The use of every type, what costs most first, then by the number of GPUs idle and hardly used."""
    from gpuwhy.engine.downsizing import Offers

    offers = Offers(kb.catalogue)
    found = []
    for (machine, name, region), count in counts.items():
        idle, small = (_cost(offers, machine, region, gpus) for gpus in (count.idle, count.small))
        memory, busy = count.small_memory_bytes, count.small_busy_share
        smaller = offers.smaller(machine, region, memory, busy) if count.small else None
        found.append(Use(machine, name, region, count, idle, small, smaller))
    return tuple(sorted(found, key=_rank))


def _rank(one: Use) -> tuple[float, int, int, str, str, str]:
    return -_most(one), -one.count.idle, -one.count.small, one.machine, one.gpu_name, one.region


def _most(one: Use) -> float:
    return max((cost.high for cost in (one.idle_cost, one.small_cost) if cost is not None), default=0.0)


def _cost(offers: Offers, machine: str, region: str, gpus: int) -> Cost | None:
    """What this many GPUs cost an hour, each as its part of the machine; None without a price or GPUs."""
    kind, offered = offers.machines.get(machine), offers.prices(machine, region)
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
    if one.smaller is not None:
        parts.append(_smaller_told(one.smaller, count))
    return f"{name}{f' in {one.region}' if one.region else ''}: {', '.join(parts)}"


def _smaller_told(one: Smaller, used: Count) -> str:
    """The type, its GPU, what it was held against, and its price against that of one GPU of the present type."""
    says = f"{one.machine} ({one.gpu}) would hold each of these: at most {used.small_memory_bytes / 1e9:.1f} GB used"
    says += f", {used.small_busy_share:.0%} busy in half of the samples"
    if one.price_low is not None and one.price_high is not None:
        low, high = f"{one.price_low:.2f}", f"{one.price_high:.2f}"
        says += f"; {low if low == high else f'{low} to {high}'} times the price"
    else:
        says += "; its price is not known"
    return says + (f"; it has no {' and no '.join(one.lacks)}" if one.lacks else "")


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
