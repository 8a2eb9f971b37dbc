"""The shape of a diffusion model's U-Net (Stable Diffusion 1, 2 and XL) from its `config.json`, and its activations.

The blocks are those of `UNet2DConditionModel` in diffusers (Rombach et al. 2022, arXiv 2112.10752, section 3): residual
blocks of two 3 x 3 convolutions, and transformer blocks over the positions of the latent image. Parameters are counted
matrix by matrix. What a block keeps for the backward pass is counted tensor by tensor as PyTorch's autograd saves it:
convolutions and matrices their input, normalisations and activations theirs (in 32 bit, as autocast computes them),
attention without a score matrix its query, key, value and output (Dao et al. 2022, arXiv 2205.14135).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuwhy.kb.records import dataclass

PIXELS_OF_A_LATENT = 8
"""The autoencoders of Stable Diffusion make one latent position of 8 x 8 pixels."""

CROSS_ATTENTION = "CrossAttn"
MOST = 16
"""Resolutions, and blocks of each, that are looked at."""


@dataclass(frozen=True)
class Images:
    """What training on images of one size keeps, in bytes of one image: mixed precision, and all in 32 bit.

    `checkpointed`: the inputs of all blocks, and the largest block once more. `adapted` is the sum of rows and columns
    of the attention matrices, to which adapters go.
    """

    pixels: int
    kept: tuple[float, float]
    checkpointed: tuple[float, float]
    adapted: int


@dataclass(frozen=True)
class _Block:
    """A block: parameters, bytes kept per image (mixed, 32 bit), values of its input per image, adapted sizes."""

    parameters: int
    kept: tuple[float, float]
    entering: float
    adapted: int = 0


def count(config: Mapping[str, Any], pixels: int | None) -> tuple[int, Images] | None:
    """Parameters of a U-Net and what its training keeps; None where the configuration does not tell its blocks.

    Without `pixels` images have the size that the configuration was made for.
    """
    channels, downs, latent = (config.get(name) for name in ("block_out_channels", "down_block_types", "sample_size"))
    if not isinstance(channels, list) or not isinstance(downs, list) or not 1 <= len(channels) == len(downs) <= MOST:
        return None
    if not all(type(one) is int and 0 < one < 1 << 16 for one in channels):
        return None
    if pixels is None:
        if not (isinstance(latent, int) and 0 < latent < 1 << 12):
            return None
        pixels = latent * PIXELS_OF_A_LATENT
    side = pixels / PIXELS_OF_A_LATENT
    blocks = list(_blocks(config, channels, [CROSS_ATTENTION in str(one) for one in downs], side))
    largest = [max(one.kept[wide] for one in blocks) for wide in (0, 1)]
    inputs = [sum(one.entering for one in blocks) * size for size in (2, 4)]
    images = Images(
        pixels,
        (sum(one.kept[0] for one in blocks), sum(one.kept[1] for one in blocks)),
        (inputs[0] + largest[0], inputs[1] + largest[1]),
        sum(one.adapted for one in blocks),
    )
    return sum(one.parameters for one in blocks) + _outside(config, channels), images


def _blocks(config: Mapping[str, Any], channels: list[int], attends: Sequence[bool], side: float) -> Iterator[_Block]:
    """All residual and transformer blocks: down, in the middle, and up with what was kept on the way down."""
    last, embedded, across = len(channels) - 1, 4 * channels[0], _whole(config, "cross_attention_dim", 1280)
    layers = min(_whole(config, "layers_per_block", 2), MOST)
    depths = _each(config.get("transformer_layers_per_block", 1), len(channels))
    current, skipped = channels[0], [channels[0]]

    def residual(level: int, entering: int) -> _Block:
        return _residual(entering, channels[level], embedded, (side / 2**level) ** 2)

    def transformer(level: int) -> _Block:
        return _transformer(channels[level], depths[level], across, (side / 2**level) ** 2)

    for level, width in enumerate(channels):
        for _ in range(layers):
            yield residual(level, current)
            current = width
            skipped.append(width)
            if attends[level]:
                yield transformer(level)
        if level < last:
            skipped.append(width)
    yield residual(last, current)
    yield transformer(last)
    yield residual(last, current)
    for level in range(last, -1, -1):
        for _ in range(layers + 1):
            yield residual(level, current + skipped.pop())
            current = channels[level]
            if attends[level]:
                yield transformer(level)


def _residual(entering: int, width: int, embedded: int, positions: float) -> _Block:
    parameters = (
        2 * entering + 9 * entering * width + width + embedded * width + width + 2 * width + 9 * width**2 + width
    )
    changes = entering != width
    parameters += (entering * width + width) if changes else 0
    sizes = entering + width  # of either convolution: what enters the normalisation, the activation, the convolution
    shortcut = entering if changes else 0
    kept = (positions * (10 * sizes + 2 * shortcut), positions * (12 * sizes + 4 * shortcut))
    return _Block(parameters, kept, positions * entering)


def _transformer(width: int, depth: int, across: int, positions: float) -> _Block:
    square = width * width
    one = 6 * width + (4 * square + width) + (2 * square + 2 * across * width + width) + 12 * square + 9 * width
    parameters = 2 * width + 2 * (square + width) + depth * one
    # around: normalisation and two projections. Within, in units of the width: three normalisations (in 32 bit) and
    # what comes of them, query, key, value, output, query and output to the text, and the gated part
    kept = (positions * width * (8 + 62 * depth), positions * width * (12 + 112 * depth))
    adapted = depth * (12 * width + 2 * (width + across))
    return _Block(parameters, kept, positions * width, adapted)


def _outside(config: Mapping[str, Any], channels: list[int]) -> int:
    """Parameters of what is no block: first and last convolution, embeddings of the time, changes of the resolution."""
    first, entering = channels[0], _whole(config, "in_channels", 4)
    embedded = 4 * first
    found = 9 * entering * first + first + first * embedded + embedded + embedded**2 + embedded
    more = _whole(config, "projection_class_embeddings_input_dim", 0)
    found += (more * embedded + embedded + embedded**2 + embedded) if more else 0
    resampled = [*channels[:-1], *channels[1:]]
    found += sum(9 * width**2 + width for width in resampled)
    leaving = _whole(config, "out_channels", 4)
    return found + 2 * first + 9 * first * leaving + leaving


def _each(told: object, number: int) -> list[int]:
    """The depth of the transformers of each resolution: one number for all, or a list."""
    if isinstance(told, list) and len(told) == number and all(type(one) is int and 0 < one < 1000 for one in told):
        return told
    return [told if type(told) is int and 0 < told < 1000 else 1] * number


def _whole(config: Mapping[str, Any], name: str, default: int) -> int:
    value = config.get(name)
    return value if type(value) is int and 0 < value < 1 << 20 else default
