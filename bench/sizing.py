"""What the memory model predicts against what was published: each row with its source, the median and worst error."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpuwhy.engine.shapes import Shape, of_config
from gpuwhy.engine.sizing import Serving, Training, kv_cache_tokens, serving, training

QWEN = "https://github.com/QwenLM/Qwen/blob/main/README.md"
ZERO = "https://arxiv.org/abs/1910.02054"
QLORA = "https://arxiv.org/abs/2305.14314"
LITGPT = "https://github.com/Lightning-AI/lit-gpt/blob/main/tutorials/resource-tables.md"
DREAMBOOTH = "https://github.com/ShivamShrirao/diffusers/blob/main/examples/dreambooth/README.md"
VLLM = "https://github.com/vllm-project/vllm"

GIB = 2.0**30
GB = 1e9
MEDIAN_WANTED, WORST_WANTED = 0.10, 0.25


@dataclass(frozen=True)
class Row:
    """One published figure, what the model says of it, its unit and where it stands."""

    name: str
    predicted: float
    published: float
    unit: str
    source: str

    @property
    def error(self) -> float:
        """Predicted over published, less one."""
        return self.predicted / self.published - 1


def qwen(layers: int, hidden: int, heads: int, width: int) -> Shape:
    """The first Qwen, from its config.json (`intermediate_size` holds both halves of the gated part)."""
    config = {"model_type": "qwen", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
    return of_config(config | {"intermediate_size": width, "vocab_size": 151_936, "tie_word_embeddings": False})


def llama(layers: int, hidden: int, heads: int, kv_heads: int, width: int, vocabulary: int) -> Shape:
    """A Llama, from its config.json."""
    config = {"model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
    more = {"num_key_value_heads": kv_heads, "intermediate_size": width, "vocab_size": vocabulary}
    return of_config(config | more)


QWENS = {
    "1.8B": qwen(24, 2048, 16, 11_008),
    "7B": qwen(32, 4096, 32, 22_016),
    "14B": qwen(40, 5120, 40, 27_392),
    "72B": qwen(80, 8192, 64, 49_152),
}
LLAMA2_7B = llama(32, 4096, 32, 32, 11_008, 32_000)
LLAMA2_13B = llama(40, 5120, 40, 40, 13_824, 32_000)
LLAMA2_70B = llama(80, 8192, 64, 8, 28_672, 32_000)
LLAMA1_65B = llama(80, 8192, 64, 64, 22_016, 32_000)
LLAMA3_8B = llama(32, 4096, 32, 8, 14_336, 128_256)
LLAMA3_70B = llama(80, 8192, 64, 8, 28_672, 128_256)

STABLE_DIFFUSION_1 = {
    "_class_name": "UNet2DConditionModel", "sample_size": 64, "layers_per_block": 2,
    "in_channels": 4, "out_channels": 4, "block_out_channels": [320, 640, 1280, 1280], "cross_attention_dim": 768,
    "down_block_types": ["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"],
}  # fmt: skip
"""The U-Net of Stable Diffusion 1.x, from its config.json."""

SEQUENCES = (256, 512, 1024, 2048, 4096, 8192)

FINE_TUNING: tuple[tuple[str, str, Training, tuple[float, ...]], ...] = (
    ("1.8B", "LoRA", Training("lora"), (6.7, 7.4, 8.4, 11.0, 16.2, 21.8)),
    ("1.8B", "LoRA, embeddings", Training("lora", train_embeddings=True), (13.7, 14.0, 14.0, 15.1, 19.7, 27.7)),
    ("1.8B", "Q-LoRA", Training("qlora", "int4"), (5.8, 6.0, 6.6, 7.8, 10.2, 15.8)),
    ("1.8B", "full", Training(gradient_bytes=4.0, sharding="zero3"), (43.5, 43.5, 43.5, 43.5, 47.1, 48.3)),
    ("7B", "LoRA", Training("lora"), (20.1, 20.4, 21.5, 23.8, 29.7, 36.6)),
    ("7B", "LoRA, embeddings", Training("lora", train_embeddings=True), (33.7, 34.1, 35.2, 35.1, 39.2, 48.5)),
    ("7B", "Q-LoRA", Training("qlora", "int4"), (11.5, 11.5, 12.3, 13.9, 16.9, 23.5)),
    ("7B", "full, 2 GPUs", Training(gradient_bytes=4.0, sharding="zero3", gpus=2), (139.2, 148.0, 162.0)),
    ("7B", "LoRA, 2 x 2 GPUs", Training("lora", sharding="zero2", gpus=4), (74.7, 77.6, 84.9, 95.1, 121.1, 155.5)),
    ("14B", "LoRA", Training("lora"), (34.6, 35.1, 35.3, 37.4, 42.5, 55.2)),
    ("14B", "LoRA, embeddings", Training("lora", train_embeddings=True), (51.2, 51.1, 51.5, 54.1, 56.8, 67.7)),
    ("14B", "Q-LoRA", Training("qlora", "int4"), (18.7, 18.4, 18.9, 19.9, 23.0, 27.9)),
    ("72B", "LoRA, 4 GPUs", Training("lora", sharding="zero3", gpus=4), (215.4, 217.7, 222.6, 228.8, 249.0, 289.2)),
    ("72B", "Q-LoRA", Training("qlora", "int4"), (61.4, 61.4, 62.9, 64.1, 68.0, 75.6)),
)
"""GB over all GPUs, batch 1, by sequence length; DeepSpeed (ZeRO-3 for full) accumulates gradients in 32 bit."""

GENERATING = {
    "1.8B": (4.23, 3.48, 2.91),
    "7B": (16.99, 11.20, 8.21),
    "14B": (30.15, 18.81, 13.01),
    "72B": (144.69, 81.27, 48.86),
}
"""GB while generating 2,048 tokens in BF16, Int8 and Int4; 72B in BF16 and Int8 on two GPUs."""

BATCHES = {1: 16.3, 4: 24.1, 16: 31.7, 32: 48.7}
LENGTHS = {512: 15.2, 1024: 16.3, 2048: 17.6, 4096: 19.5, 8192: 23.2}

IMAGES: tuple[tuple[str, int, int, bool, str, float], ...] = (
    ("fp16", 1, 1, True, "adamw8bit", 9.92),
    ("fp32", 1, 1, True, "adamw8bit", 10.08),
    ("fp16", 2, 1, True, "adamw8bit", 10.4),
    ("fp16", 1, 1, False, "adamw8bit", 11.17),
    ("fp32", 1, 1, False, "adamw8bit", 11.17),
    ("fp16", 1, 2, True, "adamw8bit", 11.56),
    ("fp16", 2, 1, False, "adamw8bit", 13.67),
    ("fp16", 1, 2, False, "adamw8bit", 13.7),
    ("fp16", 1, 1, True, "adamw", 15.79),
    ("fp16", 1, 1, False, "adamw", 17.7),
)
"""GB of a T4 while the whole U-Net of Stable Diffusion 1.4 is trained at 512 px, text and images encoded beforehand:
format, batch, steps whose gradients are accumulated, checkpointing, optimizer."""

ZERO_TABLE: dict[float, dict[int, tuple[float, float, float]]] = {
    7.5e9: {4: (52.5, 41.3, 30.0), 16: (35.6, 21.6, 7.5), 64: (31.4, 16.6, 1.88), 256: (30.4, 15.4, 0.47)},
    128e9: {4: (896, 704, 512), 16: (608, 368, 128), 64: (536, 284, 32), 256: (518, 263, 8)},
    1e12: {4: (7000, 5500, 4000), 16: (4750, 2875, 1000), 64: (4187, 2218, 250), 256: (4046, 2054, 62.5)},
}
"""Table 1 of the ZeRO paper: GB of model states per GPU by degree of data parallelism, for stages 1, 2 and 3."""


def rows() -> Iterator[Row]:
    """All published figures with what the model predicts."""
    for group in (_fine_tuning, _generating, _zero, _adapters, _images, _blocks):
        yield from group()


def _fine_tuning() -> Iterator[Row]:
    for size, name, plan, published in FINE_TUNING:
        for sequence, figure in zip(SEQUENCES, published, strict=False):
            this = Training(**(plan.__dict__ | {"sequence": sequence}))
            predicted = training(QWENS[size], this).total_bytes / GB
            yield Row(f"Qwen {size}, {name}, {sequence} tokens", predicted, figure, "GB", QWEN)


def _generating() -> Iterator[Row]:
    for size, figures in GENERATING.items():
        for dtype, figure in zip(("bf16", "int8", "int4"), figures, strict=True):
            gpus = 2 if size == "72B" and dtype != "int4" else 1
            plan = Serving(dtype, context=2048, gpus=gpus, growing_cache=True)
            yield Row(
                f"Qwen {size}, {dtype}, generating", serving(QWENS[size], plan).total_bytes / GB, figure, "GB", QWEN
            )
    for batch, figure in BATCHES.items():
        plan = Serving(context=1024, concurrency=batch, growing_cache=True)
        yield Row(f"Qwen 7B, batch {batch}", serving(QWENS["7B"], plan).total_bytes / GB, figure, "GB", QWEN)
    for length, figure in LENGTHS.items():
        plan = Serving(context=length, growing_cache=True)
        yield Row(f"Qwen 7B, {length} tokens", serving(QWENS["7B"], plan).total_bytes / GB, figure, "GB", QWEN)


def _zero() -> Iterator[Row]:
    for parameters, degrees in ZERO_TABLE.items():
        shape = Shape(parameters, 1, 1, 1, 1, 1, 1, 0, 0.0)
        for gpus, figures in degrees.items():
            for stage, figure in zip((1, 2, 3), figures, strict=True):
                plan = Training(sharding=f"zero{stage}", gpus=gpus)
                states = sum(part.size_bytes for part in training(shape, plan).parts[:3])
                yield Row(f"ZeRO-{stage}, {parameters / 1e9:g}B on {gpus}", states / GB, figure, "GB", ZERO)


def _adapters() -> Iterator[Row]:
    plan = Training("half")
    states = sum(part.size_bytes for part in training(LLAMA1_65B, plan).parts[:3])
    yield Row("LLaMA 65B, all in 16 bit, states", states / GB, 780.0, "GB", QLORA)
    paged = training(LLAMA1_65B, Training("qlora", sequence=512)).per_gpu_bytes / GB
    yield Row("LLaMA 65B, QLoRA, fits 48 GB with paged optimizer", paged, 48.0, "GB", QLORA)
    for name, shape, method, batch, figure in (
        ("7B", LLAMA2_7B, "lora", 2, 29.07),
        ("7B", LLAMA2_7B, "qlora", 1, 13.84),
        ("13B", LLAMA2_13B, "lora", 1, 38.12),
        ("13B", LLAMA2_13B, "qlora", 1, 22.55),
    ):
        plan = Training(method, sequence=1304, batch=batch, rank=8, checkpointing=False)
        label = f"Llama 2 {name}, {method}, batch {batch}, no checkpointing"
        yield Row(label, training(shape, plan).total_bytes / GB, figure, "GB", LITGPT)


def _images() -> Iterator[Row]:
    shape = of_config(STABLE_DIFFUSION_1)
    for dtype, batch, steps, checkpointing, optimizer, figure in IMAGES:
        plan = Training("full", dtype, optimizer, batch=batch, checkpointing=checkpointing)
        label = (
            f"Stable Diffusion, {dtype}, {optimizer}, batch {batch} x {steps}{'' if checkpointing else ', all kept'}"
        )
        yield Row(label, training(shape, plan).total_bytes / GB, figure, "GB", DREAMBOOTH)


def _blocks() -> Iterator[Row]:
    """vLLM's start-up report; 70B stands as before that version reserved for NCCL what it did not use."""

    def row(
        name: str, shape: Shape, plan: Serving, card: float, published: float, address: str, share: float = 0.9
    ) -> Row:
        tokens = kv_cache_tokens(shape, plan, card * GIB, share)
        return Row(f"vLLM, {name}, KV tokens", tokens, published, "tokens", f"{VLLM}/{address}")

    many = 256
    old = Serving("fp16", context=16, concurrency=many)  # 4,096 tokens are computed at once
    yield row("Llama 2 7B, A100 80GB", LLAMA2_7B, old, 79.15, 7351 * 16, "pull/2031")
    four = Serving("fp16", context=16, concurrency=many, gpus=4)
    yield row("Llama 2 70B, 4 x A100 80GB", LLAMA2_70B, four, 79.15, 31_615 * 16, "pull/2031")
    one = Serving(context=8192, concurrency=many)
    each = 131_072  # bytes of a token: 2 x 32 layers x 8 KV heads x 128 x 2 byte
    yield row("Llama 3 8B, H100", LLAMA3_8B, one, 79.22, 53.29 * GIB / each, "pull/10511")
    quantised = Serving("int8", context=2048, concurrency=many)
    yield row("Llama 3.1 70B in INT8, H100", LLAMA3_70B, quantised, 79.22, 1381 * 16, "pull/12569", 0.98)


def table(found: list[Row], show: Callable[[str], None] = print) -> None:
    """Print all rows and the errors."""
    for row in found:
        show(f"{row.name:56}{row.predicted:12,.1f}{row.published:12,.1f} {row.unit:6}{row.error:+7.1%}")
    errors = sorted(abs(row.error) for row in found)
    show(f"{len(found)} rows, median error {statistics.median(errors):.1%}, worst {errors[-1]:.1%}")


if __name__ == "__main__":
    table(list(rows()))
