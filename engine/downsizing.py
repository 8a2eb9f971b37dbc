"""The smallest machine type that would hold what a GPU with little to do is used for.

Of the same provider, with one whole GPU, offered now. It is held against what was used: the GPU memory, and the time
that kernels ran, which on the smaller GPU grows by the ratio of the tensor rates or of the memory bandwidths, whichever
is worse. A GPU of which either is not known is not proposed. Main memory and CPUs are not weighed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.offers import Machine, Price, machines, prices
from gpuwhy.kb.records import dataclass

OFFERED = "listed"


@dataclass(frozen=True)
class Smaller:
    """A machine type, with its price as a share of that of one GPU of the present one, from region to region.

    `price_low` and `price_high` are None where the prices of both are known in no region. `lacks`: number formats that
    the present GPU computes in and this one does not.
    """

    machine: str
    gpu: str
    gpu_memory_bytes: float
    price_low: float | None
    price_high: float | None
    lacks: tuple[str, ...]


class Offers:
    """What the catalogue offers: machine types, and prices paid by the hour."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.machines: Mapping[str, Machine] = {one.name: one for one in machines(catalogue)}
        self._prices: dict[str, dict[str, Price]] = {}
        for one in prices(catalogue):
            if one.mode == "payg":
                self._prices.setdefault(one.machine, {})[one.region] = one

    def prices(self, machine: str, region: str) -> list[Price]:
        """The prices of a machine type: in a region, or in all where that is empty."""
        known = self._prices.get(machine, {})
        return [known[region]] if region in known else [] if region else list(known.values())

    def smaller(self, machine: str, region: str, memory_bytes: float, busy_share: float) -> Smaller | None:
        """The cheapest smaller type, the smallest where no price is known; None where there is none."""
        now = self.machines.get(machine)
        if now is None or not now.gpus or now.is_slice:
            return None
        holding = [one for one in self.machines.values() if _holds(one, now, memory_bytes, busy_share)]
        found = [self._compared(one, now, region) for one in holding]
        cheaper = [one for one in found if one.price_high is not None and one.price_high < 1]
        if cheaper:
            return min(cheaper, key=lambda one: (one.price_high or 0.0, *self._size(one)))
        unpriced = [one for one in found if one.price_high is None and one.gpu_memory_bytes < now.gpu_memory_bytes]
        return min(unpriced, key=self._size, default=None)

    def _size(self, one: Smaller) -> tuple[float, float, int, float, str]:
        found = self.machines[one.machine]
        return found.gpu_memory_bytes, found.tensor16_flops or 0.0, found.vcpus, found.memory_bytes, one.machine

    def _compared(self, one: Machine, now: Machine, region: str) -> Smaller:
        mine = {price.region: price for price in self.prices(one.name, region)}
        ratios = [
            mine[price.region].per_hour / one.gpus / (price.per_hour / now.gpus)
            for price in self.prices(now.name, region)
            if price.region in mine and mine[price.region].currency == price.currency and price.per_hour > 0
        ]
        lacks = tuple(_lacking(one, now))
        return Smaller(
            one.name, one.gpu, one.gpu_memory_bytes, min(ratios, default=None), max(ratios, default=None), lacks
        )


def _holds(one: Machine, now: Machine, memory_bytes: float, busy_share: float) -> bool:
    """True for a type with one GPU that is no better than the present one, and enough."""
    if one.provider != now.provider or one.status != OFFERED or one.gpus != 1 or one.is_slice or one.gpu == now.gpu:
        return False
    if not memory_bytes <= one.gpu_memory_bytes <= now.gpu_memory_bytes:
        return False
    rates = (
        (now.tensor16_flops, one.tensor16_flops),
        (now.bandwidth_bytes_per_second, one.bandwidth_bytes_per_second),
    )
    return all(had and has and has <= had and busy_share * had <= has for had, has in rates)


def _lacking(one: Machine, now: Machine) -> Iterable[str]:
    formats = (
        ("BF16", now.supports_bfloat16, one.supports_bfloat16),
        ("TF32", now.supports_tf32, one.supports_tf32),
        ("FP8", now.supports_fp8, one.supports_fp8),
    )
    return (name for name, had, has in formats if had and not has)
