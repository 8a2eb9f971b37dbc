"""How much GPU memory a model needs, part by part: for training and fine-tuning, and for serving.

All sizes are bytes of one GPU. The formulas are those of the papers that the functions name; `bench/sizing.py` holds
what they predict against published measurements. What a caller does not know has a default, and that is told.
"""

from __future__ import annotations

import math

from gpuwhy.engine.shapes import Shape
from gpuwhy.kb.records import dataclass

METHODS = ("full", "half", "lora", "qlora")
"""full: mixed precision with a 32-bit master copy (all in 32 bit with dtype fp32); half: no master copy."""

SHARDINGS = ("none", "zero1", "zero2", "zero3", "fsdp")
OFFLOADS = ("none", "optimizer", "all")

OPTIMIZER_BYTES = {"adamw": 8.0, "adamw8bit": 2.0, "momentum": 4.0, "sgd": 0.0}
"""Bytes of state per trained parameter. Adam: two 32-bit moments; 8-bit: Dettmers et al. 2021 (arXiv 2110.02861)."""

WEIGHT_BYTES = {
    "fp32": 4.0,
    "tf32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.02,
    "int4": 0.52,
    "nf4": 0.516,
}
"""Bytes per parameter of a matrix. int4: groups of 128 with a 16-bit scale and a 4-bit zero point (4.16 bit), as GPTQ
and AWQ store them; nf4: 4 bit and 0.127 bit of constants (QLoRA, arXiv 2305.14314, section 3)."""

QUANTISED = ("int8", "int4", "nf4")
"""Formats in which the embedding and output matrices stay in 16 bit."""

CONTEXT_BYTES = 0.5e9
"""CUDA context, loaded kernels and library handles of one process."""

TRAINING_WORKSPACE_BYTES = 1.0e9
"""cuBLAS workspaces and the buckets in which gradients are exchanged (DeepSpeed's default: 5e8 numbers of 2 byte)."""

ZERO3_LIVE_PARAMETERS = 1e9
"""Parameters that ZeRO-3 keeps gathered at a time (DeepSpeed's `stage3_max_live_parameters`)."""

LOGITS_BYTES = 10.0
"""Per entry of the output of a training step: in the training format, in 32 bit for the loss, its 32-bit gradient."""

FRAGMENTATION_SHARE = 0.05
"""What a caching allocator needs beyond what is in use at the peak of training."""

GROWING_CACHE_COPIES = 1.5
"""A KV cache that grows by concatenation holds old and new copies at times: between one and two of it."""

BATCHED_TOKENS = 8192
"""Tokens that a server with chunked prefill computes at once at most (vLLM's default on large cards)."""


@dataclass(frozen=True)
class Training:
    """How a model is trained. `gradient_bytes`: 2, or 4 where gradients are accumulated in 32 bit (DeepSpeed, bf16).

    `batch` is that of one GPU; `activation_bytes` replaces the estimate for what is no transformer.
    """

    method: str = "full"
    dtype: str = "bf16"
    optimizer: str = "adamw"
    sequence: int = 2048
    batch: int = 1
    checkpointing: bool = True
    flash_attention: bool = True
    rank: int = 64
    train_embeddings: bool = False
    gradient_bytes: float = 2.0
    sharding: str = "none"
    offload: str = "none"
    gpus: int = 1
    activation_bytes: float | None = None


@dataclass(frozen=True)
class Serving:
    """How a model is served. `concurrency` requests of `context` tokens (prompt and answer) are held at once.

    `growing_cache`: the cache is concatenated token by token (plain Transformers) rather than paged.
    """

    dtype: str = "bf16"
    cache_dtype: str = "bf16"
    context: int = 4096
    concurrency: int = 1
    gpus: int = 1
    growing_cache: bool = False


@dataclass(frozen=True)
class Part:
    """One part of the memory, in bytes of one GPU, and in words where it comes from."""

    name: str
    size_bytes: float
    says: str


@dataclass(frozen=True)
class Estimate:
    """The parts of the memory of one GPU, how many GPUs share the work, and what was assumed."""

    parts: tuple[Part, ...]
    gpus: int
    assumed: tuple[str, ...] = ()

    @property
    def per_gpu_bytes(self) -> float:
        """Memory that one GPU needs."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def total_bytes(self) -> float:
        """Memory that all GPUs need together."""
        return self.per_gpu_bytes * self.gpus


def weight_bytes(shape: Shape, dtype: str) -> float:
    """Bytes of the weights in a format; quantised models keep embeddings and output in 16 bit."""
    each = WEIGHT_BYTES[dtype]
    outside = shape.embeddings if dtype in QUANTISED else 0.0
    return (shape.parameters - outside) * each + outside * 2.0


def adapter_parameters(shape: Shape, rank: int) -> float:
    """Parameters of LoRA matrices on the attention projections and two feed-forward matrices of each layer.

    Of a diffusion model, on all attention projections. Hu et al. 2021 (arXiv 2106.09685): a matrix of m x n gets rank x
    (m + n).
    """
    if shape.images is not None:
        return float(rank * shape.images.adapted)
    query = shape.hidden + shape.heads * shape.head_size
    key_value = shape.hidden + shape.kv_heads * shape.head_size
    return shape.layers * rank * (2 * query + 2 * key_value + 2 * (shape.hidden + shape.feed_forward))


def kv_cache_bytes(shape: Shape, tokens: float, dtype: str = "bf16") -> float:
    """Bytes of keys and values of so many tokens, on all GPUs together."""
    return tokens * shape.kv_values_per_token * WEIGHT_BYTES[dtype]


def activation_bytes(shape: Shape, plan: Training) -> float:
    """Bytes that the forward pass keeps for the backward pass, and the output with its loss.

    Korthikanti et al. 2022 (arXiv 2205.05198), 16-bit: a layer keeps s b h (34 + 5 a s / h) bytes; FlashAttention does
    without the second term (Dao et al. 2022, arXiv 2205.14135). With checkpointing each layer keeps its input, 2 s b h,
    and one layer at a time is computed again. `plan.activation_bytes` replaces the layers where it is given. Those of a
    diffusion model are counted in `unets`.
    """
    tokens = plan.sequence * plan.batch
    wide = 2.0 if plan.dtype in ("fp32", "tf32") else 1.0
    if plan.activation_bytes is not None:
        return plan.activation_bytes
    if shape.images is not None:
        kept_of_one = shape.images.checkpointed if plan.checkpointing else shape.images.kept
        return plan.batch * kept_of_one[1 if wide > 1 else 0]
    layer = tokens * shape.hidden * 34.0
    if not plan.flash_attention:
        layer += 5.0 * shape.heads * plan.sequence * tokens
    kept = shape.layers * tokens * shape.hidden * 2.0 + layer if plan.checkpointing else shape.layers * layer
    return kept * wide + tokens * shape.vocabulary * LOGITS_BYTES


def training(shape: Shape, plan: Training) -> Estimate:
    """Memory of one GPU while training.

    Mixed-precision Adam keeps 16 bytes per trained parameter: 2 of weights, 2 of gradients, 12 of master copy and
    moments (Rajbhandari et al. 2020, ZeRO, arXiv 1910.02054, section 3.1). ZeRO-1 divides the 12 by the number of GPUs,
    ZeRO-2 the gradients too, ZeRO-3 and FSDP the weights too (section 5). Offloading keeps optimizer states, or all
    states, in host memory (ZeRO-Offload, arXiv 2101.06840).
    """
    weights, gradients, states = _states(shape, plan)
    parts = [
        Part("weights", _divided(weights, plan, "zero3"), _weights_say(plan)),
        Part("gradients", _divided(gradients, plan, "zero2"), "of the trained parameters"),
        Part("optimizer states", _divided(states, plan, "zero1"), f"{plan.optimizer}{_master_says(plan)}"),
    ]
    if plan.sharding in ("zero3", "fsdp"):
        live = min(shape.parameters, ZERO3_LIVE_PARAMETERS) * 2.0
        parts.append(Part("gathered parameters", live, "layers that are whole while they are computed"))
    kept = "recomputed in the backward pass" if plan.checkpointing else "all kept for the backward pass"
    size = plan.sequence if shape.images is None else f"{shape.images.pixels} px"
    parts.append(Part("activations", activation_bytes(shape, plan), f"batch {plan.batch} x {size}, {kept}"))
    parts.append(Part("workspace", TRAINING_WORKSPACE_BYTES, "matrix libraries, gradient exchange"))
    return _with_margins(parts, plan.gpus, shape.assumed, FRAGMENTATION_SHARE)


def _states(shape: Shape, plan: Training) -> tuple[float, float, float]:
    """Bytes of weights, gradients and optimizer states before any division."""
    if plan.method in ("lora", "qlora"):
        base = weight_bytes(shape, "nf4" if plan.method == "qlora" and plan.dtype not in QUANTISED else plan.dtype)
        adapters = adapter_parameters(shape, plan.rank)  # kept in 32 bit by PEFT, with a 16-bit copy to compute with
        copies = shape.embeddings if plan.train_embeddings else 0.0  # PEFT's modules_to_save, in the model's format
        moments = OPTIMIZER_BYTES[plan.optimizer] * (adapters + copies)
        return base + 6.0 * adapters + 2.0 * copies, 4.0 * adapters + 2.0 * copies, moments
    wide = plan.dtype in ("fp32", "tf32")
    master = 0.0 if wide or plan.method == "half" else 4.0
    each = OPTIMIZER_BYTES[plan.optimizer] + master
    gradients = 4.0 if wide else plan.gradient_bytes
    return shape.parameters * (4.0 if wide else 2.0), shape.parameters * gradients, shape.parameters * each


def _divided(size: float, plan: Training, least: str) -> float:
    """What one GPU holds of it: `least` is the first stage that divides it."""
    if plan.offload == "all" or (plan.offload == "optimizer" and least != "zero3"):
        return 0.0
    stage = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}[plan.sharding]
    return size / plan.gpus if stage >= int(least[-1]) else size


def _weights_say(plan: Training) -> str:
    if plan.method == "qlora":
        return "frozen, 4 bit (embeddings 16 bit), and the adapters"
    return f"frozen, {plan.dtype}, and the adapters" if plan.method == "lora" else plan.dtype


def _master_says(plan: Training) -> str:
    if plan.method != "full" or plan.dtype in ("fp32", "tf32"):
        return ""
    return " and the 32-bit master copy"


def serving(shape: Shape, plan: Serving) -> Estimate:
    """Memory of one GPU while serving: weights and KV cache divided by tensor parallelism, activations, context.

    Keys and values of a head stay whole: with more GPUs than KV heads each GPU holds one head.
    """
    weights = weight_bytes(shape, plan.dtype) / plan.gpus
    shared = shape.kv_heads / min(plan.gpus, shape.kv_heads) / shape.kv_heads
    tokens = float(plan.context * plan.concurrency)
    cache = kv_cache_bytes(shape, tokens, plan.cache_dtype) * shared
    if plan.growing_cache:
        cache *= GROWING_CACHE_COPIES
    parts = [
        Part("weights", weights, plan.dtype),
        Part("KV cache", cache, f"{plan.concurrency} x {plan.context} tokens in {plan.cache_dtype}"),
    ]
    if not plan.growing_cache:
        parts.append(Part("activations", serving_activation_bytes(shape, plan), "of one prefill batch"))
    return _with_margins(parts, plan.gpus, shape.assumed, 0.0)


def serving_activation_bytes(shape: Shape, plan: Serving) -> float:
    """Bytes of the largest prefill batch: gated feed-forward (two halves, product), input, residual, attention.

    In 16 bit, and the logits of 256 sequences in 32 bit with a copy, which is what vLLM computes to measure its peak.
    """
    tokens = min(BATCHED_TOKENS, plan.context * plan.concurrency)
    return (
        tokens * (6.0 * shape.feed_forward / plan.gpus + 6.0 * shape.hidden)
        + min(256, plan.concurrency) * shape.vocabulary * 8.0
    )


def kv_cache_tokens(shape: Shape, plan: Serving, card_bytes: float, used_share: float = 0.9) -> float:
    """Tokens whose keys and values fit into what a server leaves itself on each GPU (vLLM: 0.9 of the card)."""
    one = Serving(plan.dtype, plan.cache_dtype, 1, 1, plan.gpus)
    each = serving(shape, one).parts[1].size_bytes
    room = card_bytes * used_share - weight_bytes(shape, plan.dtype) / plan.gpus - CONTEXT_BYTES
    return max(0.0, (room - serving_activation_bytes(shape, plan)) / each)


def _with_margins(parts: list[Part], gpus: int, assumed: tuple[str, ...], share: float) -> Estimate:
    parts = [*parts, Part("CUDA context", CONTEXT_BYTES, "of one process")]
    if share:
        used = sum(part.size_bytes for part in parts)
        parts.append(Part("fragmentation", used * share, f"{share:.0%} that the allocator needs on top"))
    if not all(math.isfinite(part.size_bytes) for part in parts):
        raise ValueError("the sizes are too large to be computed")
    return Estimate(tuple(part for part in parts if part.size_bytes > 0), gpus, assumed)
