"""`gpuwhy size`: how much GPU memory a model needs, part by part, with the formula's inputs and what was assumed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuwhy.tui import amounts

if TYPE_CHECKING:
    from gpuwhy.engine.sizing import Estimate

METHODS = ("full", "half", "lora", "qlora", "inference")
DTYPES = ("fp32", "bf16", "fp16", "fp8", "int8", "int4", "nf4")
OPTIMIZERS = ("adamw", "adamw8bit", "momentum", "sgd")
SHARDINGS = ("none", "zero1", "zero2", "zero3", "fsdp")
OFFLOADS = ("none", "optimizer", "all")


@click.command()
@click.option("--params", callback=amounts.count, metavar="N", help="Parameters of the model: 7B, 350M.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Its config.json.")
@click.option("--method", type=click.Choice(METHODS), default="full", show_default=True)
@click.option("--dtype", type=click.Choice(DTYPES), default="bf16", show_default=True)
@click.option("--optimizer", type=click.Choice(OPTIMIZERS), default="adamw", show_default=True)
@click.option(
    "--sequence",
    "--context",
    type=click.IntRange(1, amounts.MOST_TOKENS),
    help="Tokens of one sample.  [default: 2048]",
)
@click.option(
    "--batch",
    "--concurrency",
    type=click.IntRange(1, amounts.MOST_TOKENS),
    default=1,
    show_default=True,
    help="Of one GPU.",
)
@click.option("--checkpointing/--no-checkpointing", default=True, show_default=True, help="Recompute activations.")
@click.option("--flash/--no-flash", default=True, show_default=True, help="Attention that keeps no score matrix.")
@click.option("--rank", type=click.IntRange(1, amounts.MOST_TOKENS), default=64, show_default=True, help="Of LoRA.")
@click.option("--train-embeddings", is_flag=True, help="LoRA trains the embeddings too.")
@click.option("--sharding", type=click.Choice(SHARDINGS), default="none", show_default=True)
@click.option("--offload", type=click.Choice(OFFLOADS), default="none", show_default=True, help="To host memory.")
@click.option("--gpus", type=click.IntRange(1, amounts.MOST_TOKENS), default=1, show_default=True)
@click.option("--resolution", type=click.IntRange(64, 8192), help="Side of the images of a diffusion model, in pixels.")
@click.option("--kv-heads", type=click.IntRange(1, amounts.MOST_TOKENS), help="Heads of keys and values (GQA, MQA).")
@click.option("--activations", callback=amounts.size, metavar="SIZE", help="Measured ones, where it is no transformer.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def size(
    params: float | None,
    config: Path | None,
    method: str,
    dtype: str,
    optimizer: str,
    sequence: int | None,
    batch: int,
    checkpointing: bool,
    flash: bool,
    rank: int,
    train_embeddings: bool,
    sharding: str,
    offload: str,
    gpus: int,
    resolution: int | None,
    kv_heads: int | None,
    activations: float | None,
    form: str,
) -> None:
    """How much GPU memory a model needs: weights, gradients, optimizer, activations, KV cache, margins.

    full is mixed precision with a 32-bit master copy, half goes without that copy, inference serves --concurrency
    requests of --context tokens. bench/sizing.py compares the formulas with published measurements.
    """
    from gpuwhy.engine import sizing

    shape = amounts.shape(params, config, kv_heads, resolution)
    sequence = sequence or shape.patches or 2048
    try:
        if method == "inference":
            if shape.images is not None:
                raise ValueError("how images are generated is not modelled; of diffusion models only training is")
            plan = sizing.Serving(dtype, context=sequence, concurrency=batch, gpus=gpus)
            estimate = sizing.serving(shape, plan)
        else:
            _suits_training(method, dtype)
            training = sizing.Training(
                method, dtype, optimizer, sequence, batch, checkpointing, flash, rank, train_embeddings,
                sharding=sharding, offload=offload, gpus=gpus, activation_bytes=activations,
            )  # fmt: skip
            estimate = sizing.training(shape, training)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    what = f"{method}, {dtype}, {shape.parameters / 1e9:.3g}B parameters"
    if form == "json":
        from gpuwhy.tui.report_json import dump

        sys.stdout.write(dump(document(estimate, what)))
    else:
        sys.stdout.write(text(estimate, what))


def _suits_training(method: str, dtype: str) -> None:
    if method in ("full", "half") and dtype in ("fp8", "int8", "int4", "nf4"):
        raise click.UsageError(f"{dtype} weights are not trained as a whole; use --method qlora, or bf16, fp16, fp32")


def document(estimate: Estimate, what: str) -> dict[str, object]:
    """The estimate as JSON data."""
    return {
        "what": what,
        "gpus": estimate.gpus,
        "per_gpu_bytes": round(estimate.per_gpu_bytes),
        "total_bytes": round(estimate.total_bytes),
        "parts": [{"name": one.name, "bytes": round(one.size_bytes), "says": one.says} for one in estimate.parts],
        "assumed": list(estimate.assumed),
    }


def text(estimate: Estimate, what: str) -> str:
    """The estimate as a table of at most 80 columns."""
    from gpuwhy.kb.units import show
    from gpuwhy.tui.wording import wrapped

    lines = [what + (f", on each of {estimate.gpus} GPUs" if estimate.gpus > 1 else "")]
    for part in estimate.parts:
        start = f"  {part.name:20}{show(part.size_bytes, 'bytes'):>11}  "
        lines += wrapped(part.says, start, " " * len(start), 80)
    whole = f"  {'needs':20}{show(estimate.per_gpu_bytes, 'bytes'):>11}  {estimate.per_gpu_bytes / 1e9:.1f} GB"
    lines.append(whole + (f", {estimate.total_bytes / 1e9:.1f} GB on all" if estimate.gpus > 1 else ""))
    for one in estimate.assumed:
        lines += wrapped(one, "  assumed  ", "           ", 80)
    return "\n".join(lines) + "\n"
