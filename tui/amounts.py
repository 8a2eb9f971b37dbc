"""Amounts as people write them on the command line: 7B parameters, 24GiB of memory; and the file of a model."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gpuwhy.engine.shapes import Shape

_COUNT = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,6})?(?:[eE]\+?[0-9]{1,2})?)\s*([kKmMbBtT]?)\s*\Z")
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
MAX_CONFIG_BYTES = 1 << 22
MOST_TOKENS = 1 << 30
"""Longer than any context, more than any batch or load: above it somebody mistyped."""

MOST = 1e12


class Positive(click.FloatRange):
    """A number above 0 that can be reckoned with: neither infinite nor what is no number."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Raises `click.BadParameter`."""
        number: float = super().convert(value, param, ctx)
        return number if number < MOST else self.fail(f"{value!r} is no number that can be reckoned with", param, ctx)


def number(text: str) -> float:
    """A number with K, M, B or T (`7B`, `350M`). Raises `ValueError` for anything else, and for none at all."""
    found = _COUNT.match(text)
    value = float(found.group(1)) * _SCALES[found.group(2).lower()] if found else math.nan
    if not value > 0:
        raise ValueError(f"{text!r} is no number above 0, like 7B or 350M")
    return value


def count(_context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """The `number` of an option; None where it is not given."""
    try:
        return None if value is None else number(value)
    except ValueError as error:
        raise click.BadParameter(str(error), param=option) from None


def size(_context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """An amount of memory in bytes (`24GiB`, `500 MB`). Raises `click.BadParameter` for anything else."""
    if value is None:
        return None
    from gpuwhy.kb.units import parse_quantity

    found = parse_quantity(value, "bytes")
    if found is None or found < 0:
        raise click.BadParameter(f"{value!r} is no amount of memory, like 24GiB or 500MB", param=option)
    return found


def shape(parameters: float | None, config: Path | None, kv_heads: int | None, pixels: int | None = None) -> Shape:
    """The model's shape, from its config.json or its number of parameters; the number wins over the sum.

    `pixels`: the side of the images that a diffusion model is trained on.
    """
    from gpuwhy.engine.shapes import ShapeError, of_config, of_parameters

    if config is None and parameters is None:
        raise click.UsageError(
            "how large is the model? give --params 7B, or --config config.json of a Hugging Face model"
        )
    try:
        if config is None:
            assert parameters is not None
            return of_parameters(parameters, kv_heads)
        found = of_config(read_json(config), pixels)
    except ShapeError as error:
        raise click.UsageError(f"{config}: {error}" if config else str(error)) from None
    if parameters is None:
        return found
    from gpuwhy.kb.records import replace

    return replace(found, parameters=parameters)


def read_json(path: Path) -> dict[str, object]:
    """The JSON object of a file. Raises `click.UsageError` for anything else."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror}") from None
    if not content.strip():
        raise click.UsageError(f"{path} is empty")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        whole = "" if content.rstrip().endswith((b"}", b"]")) else "; it seems to be cut off"
        raise click.UsageError(f"{path} cannot be read as JSON: {error}{whole}") from None
    if not isinstance(document, dict):
        raise click.UsageError(f"{path} holds no JSON object")
    return document
