"""A piece of work that looks for a machine: what it needs of one, as facts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from gpuwhy.engine.latency import latency, read_bytes
from gpuwhy.engine.shapes import Shape
from gpuwhy.engine.sizing import OPTIMIZER_BYTES, Estimate, Serving, Training, serving, training
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, Origin, OriginKind, Value
from gpuwhy.kb.offers import Machine
from gpuwhy.kb.records import dataclass

A100_FLOPS = 312e12
"""Dense 16-bit rate of an A100 (NVIDIA A100 Tensor Core GPU Architecture, whitepaper, table 1)."""

TRAINING_TASKS = ("pretrain", "train", "finetune")
SERVING_TASKS = ("serve", "batch", "gateway")


@dataclass(frozen=True)
class Work:
    """What is to be done. None stands for what was not said; `assumed` tells each default that was taken instead.

    `exchange` tells what one unit of a currency costs in `currency`, the one in which prices are compared.
    `sequence` is the length of a sample, or of prompt and answer; `batch` is that of one GPU, `concurrency` the
    requests at once. `token_seconds` is the time within which 99 of 100 tokens must come, `first_token_seconds` that of
    the first of an answer. `answer_tokens` are part of `sequence`; 0 for a model that generates nothing.
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
    interruption_hours: float | None = None
    token_seconds: float | None = None
    first_token_seconds: float | None = None
    requests_per_second: float | None = None
    answer_tokens: int | None = None
    budget_per_hour: float | None = None
    partitions: bool | None = None
    hosts: int = 1
    gpu_limit: int | None = None
    data_bytes_per_second: float | None = None
    scratch_bytes: float | None = None
    region: str | None = None
    provider: str | None = None
    currency: str | None = None
    exchange: tuple[tuple[str, float], ...] = ()
    bound_by: str | None = None
    measured_bytes: float | None = None
    assumed: tuple[str, ...] = ()

    @property
    def serves(self) -> bool:
        """True if the model only infers."""
        return self.method == "inference"

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt: what is not known to be answer."""
        return max(1, self.sequence - (self.answer_tokens or 0))


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
        "work.task": work.task,
        "work.method": work.method,
        "work.dtype": work.dtype,
        "work.parameters": work.shape.parameters,
        "need.host_memory_bytes": offloaded,
        "work.rented_seconds": seconds,
        "work.interruptible": work.interruptible,
        "work.token_seconds": work.token_seconds,
        "work.first_token_seconds": work.first_token_seconds,
        "work.requests_per_second": work.requests_per_second,
        "work.has_known_rate": work.requests_per_second is not None if work.serves else None,
        "work.concurrency": work.concurrency,
        "work.partitions": work.partitions,
        "work.hosts": work.hosts,
        "work.budget_per_hour": work.budget_per_hour,
        "work.gpu_limit": work.gpu_limit,
        "work.bound_by": work.bound_by,
        "work.measured_bytes": work.measured_bytes,
        "work.data_bytes_per_second": work.data_bytes_per_second,
        "work.scratch_bytes": work.scratch_bytes,
    }
    return list(_facts(values, JOB, Origin(OriginKind.PERSON, "request")))


def parts(work: Work, gpus: int, estimate: Estimate) -> list[Fact]:
    """What one GPU needs, part by part, where so many of a machine share the work."""
    named = {"weights": 0.0, "gradients": 0.0, "optimizer": 0.0, "activations": 0.0, "cache": 0.0, "overhead": 0.0}
    for part in estimate.parts:
        named[_PARTS.get(part.name, "overhead")] += part.size_bytes
    values: dict[str, Value | None] = {f"need.{name}_bytes": size for name, size in named.items()}
    values["need.read_bytes"] = read_bytes(work) / gpus if work.serves and work.answer_tokens != 0 else None
    return list(_facts(values, JOB, Origin(OriginKind.DERIVED, "memory model")))


_PARTS = {
    "weights": "weights", "gradients": "gradients", "optimizer states": "optimizer", "activations": "activations",
    "KV cache": "cache",
}  # fmt: skip


def offered(
    work: Work, machine: Machine, price_per_hour: float | None, price_share_of_a100: float | None = None
) -> list[Fact]:
    """The facts of one machine type, and how fast it would do the work. What is not known is left out."""
    times = latency(work, machine)
    rate = machine.tensor16_flops or machine.float32_flops
    known: dict[str, Value | None] = {
        "offer.gpu": machine.gpu,
        "offer.family": machine.family,
        "offer.provider": machine.provider,
        "offer.status": machine.status,
        "offer.gpus": machine.gpus,
        "offer.gpu_memory_bytes": machine.gpu_memory_bytes or None,
        "offer.host_memory_bytes": machine.memory_bytes,
        "offer.bandwidth_bytes_per_second": machine.bandwidth_bytes_per_second,
        "offer.has_known_bandwidth": machine.bandwidth_bytes_per_second is not None and not machine.is_slice,
        "offer.is_slice": machine.is_slice,
        "offer.compute_capability": machine.compute_capability,
        "offer.has_tensor_cores": machine.has_tensor_cores,
        "offer.supports_bfloat16": machine.supports_bfloat16,
        "offer.supports_tf32": machine.supports_tf32,
        "offer.supports_fp8": machine.supports_fp8,
        "offer.has_nvlink": machine.nvlink_bytes_per_second is not None if machine.gpus > 1 else None,
        "offer.has_rdma": machine.rdma,
        "offer.has_mig": machine.mig,
        "offer.price_per_hour": price_per_hour,
        "offer.price_share_of_a100": price_share_of_a100,
        "offer.rate_share_of_a100": machine.gpus * rate / A100_FLOPS if rate else None,
        "offer.disk_bytes_per_second": machine.disk_bytes_per_second,
        "offer.local_disk_bytes": machine.local_disk_bytes,
    }
    estimated: dict[str, Value | None] = {
        "offer.token_seconds_least": times.token_least,
        "offer.token_seconds_most": times.token_most,
        "offer.first_token_seconds_least": times.first_least,
        "offer.first_token_seconds_most": times.first_most,
        "offer.load_share_least": times.load_least,
        "offer.load_share_most": times.load_most,
    }
    yielded = list(_facts(known, HOST, Origin(OriginKind.CATALOGUE, machine.source, None, machine.name)))
    return [*yielded, *_facts(estimated, HOST, Origin(OriginKind.DERIVED, "latency model"))]


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
    ("requests_per_second", "per_second"),
    ("bytes", "bytes"),
    ("seconds", "seconds"),
    ("seconds_least", "seconds"),
    ("seconds_most", "seconds"),
    ("share_least", "share"),
    ("share_most", "share"),
    ("per_hour", "ratio"),
    ("share_of_a100", "share"),
    ("capability", "ratio"),
    ("gpus", "count"),
    ("hosts", "count"),
    ("limit", "count"),
    ("parameters", "count"),
    ("concurrency", "count"),
)
"""The unit of a fact by the end of its name, as rules/facts/selection.yaml has them."""
