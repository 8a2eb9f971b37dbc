"""How long a piece of work takes on a machine, and what it costs: estimates from sources that the constants name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuwhy.engine.shapes import Shape
from gpuwhy.engine.sizing import kv_cache_bytes, weight_bytes
from gpuwhy.kb.offers import Machine
from gpuwhy.kb.records import dataclass

if TYPE_CHECKING:
    from gpuwhy.engine.workload import Work

TRAINING_UTILISATION = 0.45
"""Share of the dense 16-bit rate that training large models reaches: 44 to 52 % on A100 (Narayanan et al. 2021, arXiv
2104.04473, table 1)."""

PCIE_SCALING = 0.7
"""Of linear scaling over GPUs with PCIe only; a rule of thumb that depends on model and batch."""

BANDWIDTH_UTILISATION = 0.7
"""Share of the device memory bandwidth that reading weights while decoding reaches; a rule of thumb, upper side."""

HOURS_OF_A_MONTH = 720.0
CHECKPOINT_SECONDS = 120.0
INTERRUPTION_HOURS = 24.0
"""Taken where nobody says: two minutes to write a checkpoint, an interruption a day."""


@dataclass(frozen=True)
class Spot:
    """Work on interruptible machines: how often to write a checkpoint, the share of time for that and rework."""

    checkpoint_every_seconds: float
    overhead_share: float


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
    rate = machine.tensor16_flops or machine.float32_flops
    if work.tokens is None or rate is None or work.serves:
        return None
    each = (4.0 if work.method in ("lora", "qlora") else 6.0) + (2.0 if work.checkpointing else 0.0)
    scaling = PCIE_SCALING if machine.gpus > 1 and machine.nvlink_bytes_per_second is None else 1.0
    done = machine.gpus * work.hosts * rate * TRAINING_UTILISATION * scaling
    return each * work.shape.parameters * work.tokens / done / 3600


def break_even_discount(hours: float) -> float | None:
    """How much cheaper a month must be than its hours, for a subscription to pay; None from a whole month on."""
    return 1 - hours / HOURS_OF_A_MONTH if hours < HOURS_OF_A_MONTH else None


def spot(write_seconds: float = CHECKPOINT_SECONDS, between_hours: float = INTERRUPTION_HOURS) -> Spot:
    """When to write checkpoints: the square root of twice the writing time times the time between interruptions.

    Young 1974 (doi 10.1145/361147.361115); Daly 2006 refines it. The overhead is writing and, on average, half an
    interval computed again at each interruption.
    """
    between = between_hours * 3600
    every = math.sqrt(2 * write_seconds * between)
    return Spot(every, write_seconds / every + every / 2 / between)
