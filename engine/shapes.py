"""The shape of a transformer: from the `config.json` of a Hugging Face model, or from its parameter count alone.

Where only the count is known, layers and width are those of the nearest common model, and every assumption is told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gpuwhy.engine.unets import Images, count
from gpuwhy.kb.records import dataclass

COMMON_SHAPES = (
    (0.11e9, 12, 768, 30_522),
    (0.34e9, 24, 1024, 30_522),
    (0.5e9, 24, 896, 152_000),
    (1.8e9, 24, 2048, 152_000),
    (3.1e9, 36, 2048, 152_000),
    (7.7e9, 32, 4096, 152_000),
    (14e9, 40, 5120, 152_000),
    (32.5e9, 64, 5120, 152_000),
    (72e9, 80, 8192, 152_000),
    (405e9, 126, 16_384, 152_000),
)
"""Parameters, layers, width and vocabulary of BERT base and large, Qwen 0.5B to 72B and Llama 3 405B."""

UNTIED_FROM = 4e9
"""Models from this size on have an output matrix of their own; smaller ones share that of the input."""

GROUPED_FROM = 30e9
"""Models from this size on are assumed to share keys and values among heads (GQA, 8 of them); smaller ones not."""

HEAD_SIZE = 128
LEAST_PARAMETERS, MOST_PARAMETERS = 1000, 1e15
"""Fewer, or more, are a slip of the unit (`--params 7`)."""

WITHOUT_ATTENTION = ("mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv5", "rwkv6", "rwkv7")
"""Models of other kinds (`model_type`), whose configurations look like those of transformers."""


OTHERWISE = (
    "Of another model give --params 25M and --activations SIZE, as torch.cuda.max_memory_allocated() measured them"
)


class ShapeError(ValueError):
    """A model configuration that does not tell the shape."""


@dataclass(frozen=True)
class Shape:
    """What sizing needs to know of a transformer. `embeddings`: parameters of the input and output matrices.

    `active_parameters`: those that one token uses, where experts are chosen; None where all of them are used. `images`:
    of a diffusion model, what training on images keeps; its other figures are 0. `patches`: tokens of an image, where
    the model tells its size.
    """

    parameters: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    embeddings: float
    assumed: tuple[str, ...] = ()
    active_parameters: float | None = None
    images: Images | None = None
    patches: int | None = None

    @property
    def kv_values_per_token(self) -> int:
        """Numbers that the KV cache holds of one token, over all layers: 2 layers x KV heads x head size.

        Shazeer 2019 (arXiv 1911.02150) for MQA, Ainslie et al. 2023 (arXiv 2305.13245) for GQA.
        """
        return 2 * self.layers * self.kv_heads * self.head_size


def of_parameters(parameters: float, kv_heads: int | None = None) -> Shape:
    """A shape for a parameter count, as the nearest common model has it; all of it is told as assumed."""
    if not (math.isfinite(parameters) and parameters > 0):
        raise ShapeError("the number of parameters must be above 0")
    if not LEAST_PARAMETERS <= parameters <= MOST_PARAMETERS:
        raise ShapeError(f"{parameters:g} parameters are no model to size; 350M and 7B stand for millions and billions")
    _, layers, hidden, vocabulary = min(COMMON_SHAPES, key=lambda one: abs(math.log(one[0] / parameters)))
    heads = max(1, hidden // HEAD_SIZE)
    groups = kv_heads or (min(8, heads) if parameters >= GROUPED_FROM else heads)
    embeddings = min(vocabulary * hidden * (2 if parameters >= UNTIED_FROM else 1), 0.5 * parameters)
    attention = 2 * hidden * (heads + groups) * HEAD_SIZE
    feed_forward = max(hidden, round(((parameters - embeddings) / layers - attention) / (3 * hidden)))
    assumed = [f"{layers} layers of width {hidden}, vocabulary {vocabulary:,}, as the nearest common model"]
    if kv_heads is None:
        shared = "8 KV heads (GQA)" if groups < heads else "keys and values of every head (no GQA)"
        assumed.append(f"{shared}; --kv-heads tells another number")
    return Shape(
        parameters, layers, hidden, heads, groups, HEAD_SIZE, feed_forward, vocabulary, embeddings, tuple(assumed)
    )


def of_config(config: Mapping[str, Any], pixels: int | None = None) -> Shape:
    """The shape that a Hugging Face `config.json` tells. Raises `ShapeError` where layers or width are missing.

    `pixels`: the side of the images that a diffusion model is trained on.

    The parameter count is the sum of the matrices: embeddings, attention projections, feed-forward of every expert.
    """
    text = config.get("text_config")
    if isinstance(text, Mapping):
        return of_config(text)
    hidden = _whole(config, "hidden_size", "n_embd", "d_model", "dim")
    layers = _whole(config, "num_hidden_layers", "n_layer", "num_layers", "n_layers")
    if hidden is None and "_class_name" in config:
        return _of_diffusion(config, pixels)
    if hidden is None or layers is None:
        raise ShapeError(
            f"no hidden_size or num_hidden_layers in it: is it the config.json of a transformer? {OTHERWISE}"
        )
    if config.get("model_type") in WITHOUT_ATTENTION:
        raise ShapeError(f"{config['model_type']} is no transformer, and only those are modelled. {OTHERWISE}")
    heads = _whole(config, "num_attention_heads", "n_head", "n_heads", "num_heads")
    told = () if heads else (f"heads of {HEAD_SIZE}, which the configuration does not tell: is it a transformer?",)
    heads = heads or max(1, hidden // HEAD_SIZE)
    kv_heads = _whole(config, "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
    if kv_heads is None:
        kv_heads = 1 if config.get("multi_query") is True else heads
    head_size = _whole(config, "head_dim", "kv_channels") or max(1, hidden // heads)
    vocabulary = _whole(config, "vocab_size", "padded_vocab_size") or 0
    feed_forward, matrices = _feed_forward(config, hidden)
    tied = config.get("tie_word_embeddings", config.get("model_type") in ("gpt2", "gemma", "gemma2", "bert")) is True
    embeddings = vocabulary * hidden * (1 if tied else 2)
    experts = _whole(config, "num_experts", "num_local_experts", "n_routed_experts") or 1
    width = _whole(config, "moe_intermediate_size") if experts > 1 else None
    attention = 2 * hidden * (heads + kv_heads) * head_size
    one_layer = attention + experts * matrices * hidden * (width or feed_forward)
    chosen = _whole(config, "num_experts_per_tok", "num_experts_per_token", "moe_topk")
    active = None
    if experts > 1 and chosen is not None:
        active = float(
            embeddings + layers * (attention + min(chosen, experts) * matrices * hidden * (width or feed_forward))
        )
    return Shape(
        float(embeddings + layers * one_layer), layers, hidden, heads, kv_heads, head_size, feed_forward, vocabulary,
        float(embeddings), told, active_parameters=active, patches=_patches(config),
    )  # fmt: skip


def _patches(config: Mapping[str, Any]) -> int | None:
    """Tokens of an image: one for each patch, and one for the class (Dosovitskiy et al. 2020, arXiv 2010.11929)."""
    side, patch = _whole(config, "image_size"), _whole(config, "patch_size")
    return (side // patch) ** 2 + 1 if side and patch and patch <= side < 1 << 14 else None


def _of_diffusion(config: Mapping[str, Any], pixels: int | None) -> Shape:
    """The shape of a U-Net. Raises `ShapeError` for any other diffusion model."""
    name = str(config["_class_name"])[:60]
    found = count(config, pixels) if name == "UNet2DConditionModel" else None
    if found is None:
        raise ShapeError(
            f"it is that of a diffusion model ({name}), and only a whole one of a UNet2DConditionModel is modelled: "
            "give --params 860M and --activations SIZE, as torch.cuda.max_memory_allocated() measured them"
        )
    parameters, images = found
    assumed = (
        f"images of {images.pixels} x {images.pixels} pixels (--resolution)",
        "text encoder and autoencoder are not on the GPU: their outputs are cached beforehand",
    )
    return Shape(float(parameters), 0, 0, 0, 0, 0, 0, 0, 0.0, assumed, images=images)


def _feed_forward(config: Mapping[str, Any], hidden: int) -> tuple[int, int]:
    """Width of the feed-forward part, and how many matrices it has: three where it is gated."""
    width = _whole(config, "intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", "d_ff")
    kind = str(config.get("model_type", ""))
    if kind == "qwen" and width is not None:
        width //= 2  # the first Qwen gives both halves of the gated part as one
    plain = kind in ("gpt2", "gpt_neox", "gpt_bigcode", "opt", "bloom", "falcon", "bert", "roberta", "phi")
    return (width or 4 * hidden), (2 if plain or width is None else 3)


def _whole(config: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40:
            return value
    return None
