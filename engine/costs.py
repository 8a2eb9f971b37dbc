"""How long a piece of work takes on a machine, and what it costs: estimates from sources that the constants name."""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING

from gpuwhy.engine.shapes import Shape
from gpuwhy.engine.sizing import OPTIMIZER_BYTES, adapter_parameters, kv_cache_bytes, weight_bytes
from gpuwhy.kb.offers import Machine, Price
from gpuwhy.kb.records import dataclass

if TYPE_CHECKING:
    from gpuwhy.engine.workload import Work

TRAINING_UTILISATION = 0.45
"""Share of the dense 16-bit rate that training large models reaches: 44 to 52 % on A100 (Narayanan et al. 2021, arXiv
2104.04473, table 1)."""

NVLINK_SHARE = 1 / 3
"""Share of the NVLink bandwidth (both directions added) at which GPUs exchange: about 200 of 600 GB/s on eight A100
(https://github.com/NVIDIA/nccl-tests/issues/149)."""

PCIE_BYTES_PER_SECOND = 20e9
"""Rate at which GPUs exchange over PCIe 4.0: 20 GB/s where a ring leaves NVLink
(https://github.com/NVIDIA/nccl-tests/issues/178)."""

BANDWIDTH_UTILISATION = 0.7
"""Share of the device memory bandwidth that reading weights while decoding reaches; a rule of thumb, upper side."""

HOURS_OF_A_MONTH = 720.0
CHECKPOINT_SECONDS = 120.0
INTERRUPTION_HOURS = 24.0
RESTART_SECONDS = 600.0
"""Taken where nobody says: two minutes to write a checkpoint, an interruption a day, ten minutes until it goes on."""

LEAST_CHECKPOINT_SECONDS = 10.0
DISK_BYTES_PER_SECOND = 350e6
"""What one ESSD of class PL1 reaches at most (Alibaba Cloud ECS documentation, ESSDs)."""

OLD_PRICE_DAYS = 180
"""From this age on a price is flagged: providers change list prices about yearly."""


@dataclass(frozen=True)
class Spot:
    """Work on interruptible machines: how often to write a checkpoint, and the share of time lost to all of it.

    `overhead_share`: writing, what is computed again, and coming back, over the time of the work itself.
    """

    checkpoint_every_seconds: float
    overhead_share: float
    write_seconds: float
    between_seconds: float

    @property
    def pays_below_share(self) -> float:
        """Of the price paid as one goes: what the spot price must stay below for the work to cost less."""
        return 1 / (1 + self.overhead_share)


def token_seconds(shape: Shape, work: Work, machine: Machine) -> float | None:
    """Seconds of one token: weights and cache are read once, divided among the GPUs. None without a known bandwidth.

    Decoding is bound by memory bandwidth (Pope et al. 2022, arXiv 2211.05102, section 2).
    """
    if machine.bandwidth_bytes_per_second is None:
        return None
    read = weight_bytes(shape, work.dtype) + kv_cache_bytes(shape, float(work.sequence * work.concurrency))
    return read / machine.gpus / (machine.bandwidth_bytes_per_second * BANDWIDTH_UTILISATION)


def training_hours(work: Work, machine: Machine) -> float | None:
    """Hours of training on so many tokens; None where tokens or the card's rate are not known.

    6 operations per parameter and token (Kaplan et al. 2020, arXiv 2001.08361); adapters do without the gradients of
    the frozen weights (4), and checkpointing adds one forward pass (2).
    """
    step = _step_seconds(work, machine)
    if work.tokens is None or step is None or work.serves:
        return None
    gpus = machine.gpus * work.hosts
    return work.tokens / gpus * step / (work.sequence * work.batch * scaling(work, machine)) / 3600


def _step_seconds(work: Work, machine: Machine) -> float | None:
    """Seconds in which one GPU computes a step; None where its rate is not known."""
    rate = machine.tensor16_flops or machine.float32_flops
    if rate is None:
        return None
    each = (4.0 if work.method in ("lora", "qlora") else 6.0) + (2.0 if work.checkpointing else 0.0)
    return each * work.shape.parameters * work.sequence * work.batch / (rate * TRAINING_UTILISATION)


def exchanged_bytes(work: Work, gpus: int) -> float:
    """Bytes that a GPU sends in a step: gradients once there and back, with ZeRO-3 and FSDP the weights once more.

    Rajbhandari et al. 2020 (arXiv 1910.02054, section 7): 2 and 3 times the 16-bit size of what is trained.
    """
    if gpus == 1:
        return 0.0
    if work.method in ("lora", "qlora"):
        return 2 * 4.0 * adapter_parameters(work.shape, work.rank)
    divided = work.sharding in (None, "zero3", "fsdp")
    return (3 if divided else 2) * 2.0 * work.shape.parameters


def scaling(work: Work, machine: Machine) -> float:
    """Share of linear scaling that training on all GPUs reaches, if nothing of the exchange hides behind computing.

    Exchange goes over NVLink or PCIe within a machine, and once more over the network between machines. 1.0 for one
    GPU, and where the rate of the GPU is not known; a network whose rate is not known counts for nothing.
    """
    step = _step_seconds(work, machine)
    sent = exchanged_bytes(work, machine.gpus * work.hosts)
    if step is None or work.serves or not sent:
        return 1.0
    link = machine.nvlink_bytes_per_second
    within = sent / (link * NVLINK_SHARE if link is not None else PCIE_BYTES_PER_SECOND) if machine.gpus > 1 else 0.0
    network = machine.network_bytes_per_second
    between = sent / network if work.hosts > 1 and network is not None else 0.0
    return step / (step + within + between)


def break_even_discount(hours: float) -> float | None:
    """How much cheaper a month must be than its hours, for a subscription to pay; None from a whole month on."""
    return 1 - hours / HOURS_OF_A_MONTH if hours < HOURS_OF_A_MONTH else None


def spot(
    write_seconds: float = CHECKPOINT_SECONDS,
    between_hours: float = INTERRUPTION_HOURS,
    restart_seconds: float = RESTART_SECONDS,
) -> Spot:
    """When to write checkpoints, and what interruptions cost.

    Young 1974 (doi 10.1145/361147.361115): every sqrt(2 x writing x time between interruptions). Daly 2006 (doi
    10.1016/j.future.2004.11.016) refines it where writing takes less than twice that time: times 1 + r/3 + r^2/9 with
    r = sqrt(writing / 2 / between), less the writing. Half an interval is computed again at each interruption.
    """
    between = between_hours * 3600
    young, ratio = math.sqrt(2 * write_seconds * between), math.sqrt(write_seconds / 2 / between)
    every = young * (1 + ratio / 3 + ratio**2 / 9) - write_seconds if write_seconds < 2 * between else between
    return Spot(every, write_seconds / every + (every / 2 + restart_seconds) / between, write_seconds, between)


def checkpoint_seconds(work: Work, machine: Machine) -> float:
    """Seconds to write what training goes on from: weights and states (14 bytes a parameter with Adam), or adapters.

    At what the machine reads from its disks at most, or one ESSD of PL1 where that is not known.
    """
    if work.method in ("lora", "qlora"):
        kept = adapter_parameters(work.shape, work.rank) * (4.0 + OPTIMIZER_BYTES[work.optimizer])
    else:
        kept = work.shape.parameters * (2.0 + 4.0 + OPTIMIZER_BYTES[work.optimizer])
    rate = min(machine.disk_bytes_per_second or DISK_BYTES_PER_SECOND, DISK_BYTES_PER_SECOND)
    return max(LEAST_CHECKPOINT_SECONDS, kept / rate)


def subscription_hours(month: Price, hour: Price) -> float | None:
    """Hours from which on a month's subscription costs less than paying as one goes; None for different currencies."""
    return month.per_hour * HOURS_OF_A_MONTH / hour.per_hour if month.currency == hour.currency else None


def age_days(price: Price, today: date) -> int | None:
    """How old a price is; None where its day is not one."""
    try:
        return (today - date.fromisoformat(price.date)).days
    except ValueError:
        return None
