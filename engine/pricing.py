"""Prices by which machine types are ranked: of one region and in one currency, as far as they are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from gpuwhy.engine.workload import Work
from gpuwhy.kb.offers import Price
from gpuwhy.kb.records import dataclass, replace

DEFAULT_REGION = "cn-beijing"
"""Where most types have a known price."""

DEFAULT_CURRENCY = "CNY"
KNOWN_HERE, KNOWN_ELSEWHERE, NOT_COMPARED = range(3)
"""How a machine type stands among the others: by its price, by that of another region, by none."""


@dataclass(frozen=True)
class Prices:
    """Newest prices of one region by machine type and mode, and of any other region where it has none.

    `currency` is that in which they are compared, `regions` are those that any price is of, by machine type.
    """

    here: Mapping[tuple[str, str], Price]
    elsewhere: Mapping[str, Price]
    currency: str
    regions: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(known: Iterable[Price], work: Work) -> Prices:
        """Prices in the order of their days, converted where a rate is told; elsewhere `DEFAULT_REGION` comes first.

        Unless the work tells a currency, it is the one that most prices of the region are in.
        """
        here: dict[tuple[str, str], Price] = {}
        elsewhere: dict[str, Price] = {}
        regions: dict[str, dict[str, None]] = {}
        region = work.region or DEFAULT_REGION
        for one in known:
            regions.setdefault(one.machine, {})[one.region] = None
            if one.region == region:
                here[one.machine, one.mode] = one
            elif one.mode == "payg" and (one.region == DEFAULT_REGION or one.machine not in elsewhere):
                elsewhere[one.machine] = one
        common = Counter(one.currency for one in (here or elsewhere).values()).most_common(1)
        currency = work.currency or (common[0][0] if common else DEFAULT_CURRENCY)
        rates = dict(work.exchange)
        return Prices(
            {name: _converted(one, currency, rates) for name, one in here.items()},
            {name: _converted(one, currency, rates) for name, one in elsewhere.items()},
            currency,
            {name: tuple(sorted(found, key=_of_china_first)) for name, found in regions.items()},
        )

    def standing(self, here: Price | None, elsewhere: Price | None, hours: float | None) -> tuple[int, float]:
        """How the price is known by which a type is ranked, and the money: of all hours where they are known."""
        for known, price in ((KNOWN_HERE, here), (KNOWN_ELSEWHERE, elsewhere)):
            compared = self.compared(price)
            if compared is not None:
                return known, compared.per_hour * (hours or 1.0)
        return NOT_COMPARED, 0.0

    def compared(self, price: Price | None) -> Price | None:
        """The price, if it is in the currency in which prices are compared."""
        return price if price is not None and price.currency == self.currency else None


def _of_china_first(region: str) -> tuple[bool, str]:
    return not region.startswith("cn-"), region


def _converted(price: Price, currency: str, rates: Mapping[str, float]) -> Price:
    """The price in a currency, by the rate that was told for its own; as it is where none was."""
    rate = rates.get(price.currency)
    if price.currency == currency or rate is None:
        return price
    given = f"{price.per_hour:.2f} {price.currency} at {rate:g}"
    return replace(price, per_hour=price.per_hour * rate, currency=currency, converted=given)
