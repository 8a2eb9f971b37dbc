"""A piece of work that looks for a machine: what it needs of one, as facts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from gpuwhy.engine.costs import token_seconds
from gpuwhy.engine.shapes import Shape
from gpuwhy.engine.sizing import OPTIMIZER_BYTES, Estimate, Serving, Training, serving, training
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, Origin, OriginKind, Value
from gpuwhy.kb.offers import Machine
from gpuwhy.kb.records import dataclass

TRAINING_TASKS = ("pretrain", "train", "finetune")
SERVING_TASKS = ("serve", "batch", "gateway")


@dataclass(frozen=True)
class Work:
    """What is to be done. None stands for what was not said; `assumed` tells each default that was taken instead.

    `sequence` is the length of a sample, or of prompt and answer; `batch` is that of one GPU, `concurrency` the
    requests at once. `token_seconds` is the time within which each token must come.
    """

    task: str
    method: str
    dtype: str
    shape: Shape
    sequence: int
    batch: int = 1
    concurrency: int = 1
    optimizer: str = "adamw"
    rank: int = 64
    checkpointing: bool = True
    sharding: str | None = None
    offload: str = "none"
    activation_bytes: float | None = None
    hours: float | None = None
    tokens: float | None = None
    interruptible: bool | None = None
    token_seconds: float | None = None
    budget_per_hour: float | None = None
    partitions: bool | None = None
    hosts: int = 1
    gpu_limit: int | None = None
    data_bytes_per_second: float | None = None
    region: str | None = None
    provider: str | None = None
    bound_by: str | None = None
    assumed: tuple[str, ...] = ()

    @property
    def serves(self) -> bool:
        """True if the model only infers."""
        return self.method == "inference"


def memory(work: Work, gpus: int) -> Estimate:
    """Memory of one GPU where so many of a machine share the work.

    Serving divides layers (tensor parallelism). Full training divides states (ZeRO-3) unless it is said otherwise; LoRA
    keeps the whole model on each GPU.
    """
    if work.serves:
        return serving(work.shape, Serving(work.dtype, "bf16", work.sequence, work.concurrency, gpus))
    sharding = work.sharding or ("zero3" if work.method in ("full", "half") and gpus * work.hosts > 1 else "none")
    plan = Training(
        work.method, work.dtype, work.optimizer, work.sequence, work.batch, work.checkpointing, rank=work.rank,
        sharding=sharding, offload=work.offload, gpus=gpus * work.hosts, activation_bytes=work.activation_bytes,
    )  # fmt: skip
    return training(work.shape, plan)


def needs(work: Work) -> list[Fact]:
    """The facts of the work alone, whatever the machine."""
    seconds = work.hours * 3600 if work.hours is not None else None
    offloaded = work.shape.parameters * (OPTIMIZER_BYTES[work.optimizer] + 4.0) if work.offload != "none" else None
    values: dict[str, Value | None] = {
        "need.task": work.task,
        "need.method": work.method,
        "need.dtype": work.dtype,
        "need.parameters": work.shape.parameters,
        "need.host_memory_bytes": offloaded,
        "need.rented_seconds": seconds,
        "need.interruptible": work.interruptible,
        "need.token_seconds": work.token_seconds,
        "need.concurrency": work.concurrency,
        "need.partitions": work.partitions,
        "need.hosts": work.hosts,
        "need.budget_per_hour": work.budget_per_hour,
        "need.gpu_limit": work.gpu_limit,
        "need.bound_by": work.bound_by,
        "need.data_bytes_per_second": work.data_bytes_per_second,
    }
    return list(_facts(values, JOB, Origin(OriginKind.PERSON, "request")))


def offered(work: Work, machine: Machine, needed_bytes: float, price_per_hour: float | None) -> list[Fact]:
    """The facts of one machine type, and what the work would need of it. What is not known is left out."""
    capability, slow = machine.compute_capability, token_seconds(work.shape, work, machine) if work.serves else None
    values: dict[str, Value | None] = {
        "offer.gpu": machine.gpu,
        "offer.family": machine.family,
        "offer.status": machine.status,
        "offer.gpus": machine.gpus,
        "offer.gpu_memory_bytes": machine.gpu_memory_bytes or None,
        "offer.host_memory_bytes": machine.memory_bytes,
        "offer.is_slice": machine.is_slice,
        "offer.compute_capability": capability,
        "offer.has_tensor_cores": machine.has_tensor_cores,
        "offer.supports_bfloat16": machine.supports_bfloat16,
        "offer.supports_tf32": machine.supports_tf32,
        "offer.supports_fp8": machine.supports_fp8,
        "offer.has_nvlink": machine.nvlink_bytes_per_second is not None if machine.gpus > 1 else None,
        "offer.has_rdma": machine.rdma,
        "offer.has_mig": machine.mig,
        "offer.token_seconds": slow,
        "offer.price_per_hour": price_per_hour,
        "offer.disk_bytes_per_second": machine.disk_bytes_per_second,
    }
    needed: dict[str, Value | None] = {
        "need.gpu_memory_bytes": needed_bytes,
        "need.exchanges": machine.gpus > 1 and work.method not in ("lora", "qlora"),
    }
    yielded = list(_facts(values, HOST, Origin(OriginKind.CATALOGUE, machine.source, None, machine.name)))
    return [*yielded, *_facts(needed, JOB, Origin(OriginKind.DERIVED, "memory model"))]


def _facts(values: dict[str, Value | None], entity: Entity, origin: Origin) -> Iterator[Fact]:
    for name, value in values.items():
        if value is not None:
            unit = _unit(name)
            yield Fact(name, value, unit, entity, origin)


@cache
def _unit(name: str) -> str | None:
    return next((unit for end, unit in _UNITS if name.endswith(end)), None)


_UNITS = (
    ("bytes_per_second", "bytes_per_second"),
    ("bytes", "bytes"),
    ("seconds", "seconds"),
    ("per_hour", "ratio"),
    ("capability", "ratio"),
    ("gpus", "count"),
    ("hosts", "count"),
    ("limit", "count"),
    ("parameters", "count"),
    ("concurrency", "count"),
)
"""The unit of a fact by the end of its name, as rules/facts/selection.yaml has them."""
