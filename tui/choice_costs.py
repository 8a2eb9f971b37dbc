"""What a machine type costs, in words: by billing mode, with the day of each price, and what hours rest on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from gpuwhy.engine.costs import (
    HOURS_OF_A_MONTH,
    INTERRUPTION_HOURS,
    OLD_PRICE_DAYS,
    age_days,
    break_even_discount,
    checkpoint_seconds,
    exchanged_bytes,
    scaling,
    spot,
    subscription_hours,
)
from gpuwhy.engine.selection import Candidate
from gpuwhy.engine.workload import Work
from gpuwhy.kb.offers import Price
from gpuwhy.kb.units import show


def cost(work: Work, first: Candidate, today: date | None = None) -> Iterator[str]:
    """What it costs by billing mode, as far as prices are known; they have a date."""
    price = first.price
    if price is not None:
        hour = f"{hourly(first, price)} paid as you go in {price.region}"
        yield f"{hour}{whole(first)}; {_origin(price, today or date.today())}"
    elif first.elsewhere is not None:
        known = first.elsewhere
        yield (
            f"no price is known here; ranked by the ratio of prices elsewhere: {known.per_hour:.2f} {known.currency} "
            f"an hour in {known.region}, {_origin(known, today or date.today())}"
        )
    else:
        yield "no price is known; ranked by the ratio of the memory it has to that needed, the closest fit first"
    yield from _scaled(work, first)
    yield from _subscription(first)
    if work.interruptible:
        yield _on_spot(work, first)


def _scaled(work: Work, first: Candidate) -> Iterator[str]:
    """How far the GPUs are from linear scaling, where hours follow from tokens."""
    gpus = first.machine.gpus * work.hosts
    if work.tokens is None or work.serves or gpus == 1:
        return
    sent = show(exchanged_bytes(work, gpus), "bytes")
    yield (
        f"these hours count {scaling(work, first.machine):.0%} of linear scaling over {gpus} GPUs: each sends {sent} a "
        f"step (batch {work.batch} x {work.sequence:,} tokens of a GPU) and computes nothing meanwhile; a larger "
        "--batch, or gradients of several steps exchanged at once, lose less"
    )


def _origin(price: Price, today: date) -> str:
    """Of what day a price is and where it is from; old ones are flagged."""
    age = age_days(price, today)
    converted = f", {price.converted} as you said" if price.converted else ""
    old = f", {age // 30} months OLD" if age is not None and age >= OLD_PRICE_DAYS else ""
    if price.source.endswith("-api"):
        return f"as the provider gave it on {price.date}{old}{converted}"
    return f"list price of {price.date}{old}, from a third party, currency inferred{converted}: look up today's"


def _subscription(first: Candidate) -> Iterator[str]:
    """Whether a month's subscription pays: from how many hours on, or at which discount."""
    month, hour, hours = first.subscription, first.price, first.hours
    if month is not None:
        even = subscription_hours(month, hour) if hour is not None else None
        text = f"a month's subscription costs {month.per_hour * HOURS_OF_A_MONTH:,.0f} {month.currency} ({month.date})"
        if even is not None:
            text += f" and pays from {even:,.0f} h a month on"
            text += "" if hours is None else f": {'subscribe' if hours >= even else 'pay as you go'} for {hours:,.0f} h"
        yield text
        return
    discount = break_even_discount(hours) if hours is not None else None
    if discount is not None:
        yield f"a month's subscription pays only where it is more than {discount:.0%} cheaper than its 720 hours"


def _on_spot(work: Work, first: Candidate) -> str:
    """How to run on spot machines: checkpoints, rework, and the price below which that pays."""
    between = work.interruption_hours or INTERRUPTION_HOURS
    plan = spot(checkpoint_seconds(work, first.machine), between)
    how = (
        f"spot: a checkpoint every {plan.checkpoint_every_seconds / 60:.0f} min (Young/Daly, one takes "
        f"{plan.write_seconds:.0f} s), {plan.overhead_share:.0%} more time for writing, rework and restarts if "
        f"interrupted every {between:g} h"
    )
    if first.spot is None:
        return f"{how}; it pays below {plan.pays_below_share:.0%} of the price, and no spot price is known"
    hourly = first.spot.per_hour * (1 + plan.overhead_share)
    told = (
        f"{how}; {first.spot.per_hour:.2f} {first.spot.currency} an hour ({first.spot.date}) are {hourly:.2f} with that"
    )
    return told + (f", {hourly * first.hours:,.0f} for the whole work" if first.hours is not None else "")


def hourly(one: Candidate, price: Price) -> str:
    """`9.53 CNY an hour`, of all machines where there are several."""
    hour = f"{price.per_hour:.2f} {price.currency} an hour"
    return hour if one.hosts == 1 else f"{one.hosts} x {hour} ({price.per_hour * one.hosts:,.2f})"


def whole(one: Candidate) -> str:
    """What the whole work costs, where its hours are known."""
    if one.cost is None or one.price is None:
        return ""
    return f", {one.cost:,.0f} {one.price.currency} for {one.hours:,.0f} h"
