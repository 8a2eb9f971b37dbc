"""The memory model: published measurements, arithmetic of the papers, and what must never come out."""

from __future__ import annotations

import importlib.util
import statistics
import sys
from types import ModuleType
from typing import Any

import pytest

from gpuwhy.engine.shapes import ShapeError, of_config, of_parameters
from gpuwhy.engine.sizing import (
    Serving,
    Training,
    activation_bytes,
    adapter_parameters,
    kv_cache_bytes,
    serving,
    training,
)  # fmt: skip
from tests.conftest import ROOT


def published() -> ModuleType:
    """The table of published figures, which stands among the measurements and not in the package."""
    spec = importlib.util.spec_from_file_location("published_sizes", ROOT / "bench" / "sizing.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TABLE = published()
PUBLISHED = list(TABLE.rows())


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row.name.replace(" ", "-"))
def test_a_published_measurement_is_reproduced(row: Any) -> None:
    assert abs(row.error) <= TABLE.WORST_WANTED, f"{row.predicted:.1f} for {row.published} {row.unit} of {row.source}"


def test_half_of_the_measured_rows_are_met_closely() -> None:
    measured = [abs(row.error) for row in PUBLISHED if not row.name.startswith("ZeRO")]
    assert statistics.median(measured) <= TABLE.MEDIAN_WANTED


def parts(method: str, **more: object) -> dict[str, float]:
    plan = Training(method, **more)  # type: ignore[arg-type]
    return {part.name: part.size_bytes for part in training(of_parameters(7e9), plan).parts}


def test_full_training_of_7b_takes_112_gb_of_states() -> None:
    found = parts("full")
    assert found["weights"] + found["gradients"] + found["optimizer states"] == 112e9  # 7e9 x (2 + 2 + 12)


def test_amp_does_not_halve_the_states_of_32_bit_training() -> None:
    wide = parts("full", dtype="fp32")
    assert wide["weights"] + wide["gradients"] + wide["optimizer states"] == 112e9  # 7e9 x (4 + 4 + 8)


@pytest.mark.parametrize(
    ("optimizer", "expected"), [("adamw", 12), ("adamw8bit", 6), ("momentum", 8), ("sgd", 4)]
)  # with the master copy of 4 bytes
def test_optimizer_states_follow_the_optimizer(optimizer: str, expected: int) -> None:
    assert parts("full", optimizer=optimizer)["optimizer states"] == 7e9 * expected


def test_offloading_leaves_only_what_it_does_not_take() -> None:
    assert "optimizer states" not in parts("full", offload="optimizer")
    assert parts("full", offload="optimizer")["weights"] == 14e9
    assert "weights" not in parts("full", offload="all")


def test_checkpointing_costs_less_than_keeping_everything() -> None:
    assert parts("full", checkpointing=True)["activations"] < parts("full", checkpointing=False)["activations"]


def test_attention_scores_grow_with_the_square_of_the_sequence() -> None:
    # 5 a s^2 b per layer, one layer at a time: 5 x 32 heads x 4096^2 = 2.68e9 bytes
    kept, flash = parts("full", sequence=4096, flash_attention=False), parts("full", sequence=4096)
    assert kept["activations"] - flash["activations"] == pytest.approx(5 * 32 * 4096**2)


LLAMA3_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14_336,
    "vocab_size": 128_256,
}


def test_a_config_gives_the_parameters_that_the_model_has() -> None:
    assert of_config(LLAMA3_8B).parameters == pytest.approx(8.03e9, rel=0.002)  # as Meta's model card says


def test_grouped_query_attention_divides_the_cache() -> None:
    # 2 x 32 layers x 8 heads x 128 x 2 byte = 131,072 byte a token; with a head each it is four times that
    assert kv_cache_bytes(of_config(LLAMA3_8B), 1) == 131_072
    assert kv_cache_bytes(of_config(LLAMA3_8B | {"num_key_value_heads": 32}), 1) == 524_288
    assert kv_cache_bytes(of_config({"n_layer": 10, "n_embd": 1280, "n_head": 10, "multi_query": True}), 1) == 5120


def test_experts_count_as_parameters_and_not_as_cache() -> None:
    mixture = LLAMA3_8B | {"num_local_experts": 8, "vocab_size": 32_000, "model_type": "mixtral"}
    assert of_config(mixture).parameters == pytest.approx(46.7e9, rel=0.002)  # Mixtral 8x7B
    assert kv_cache_bytes(of_config(mixture), 1) == 131_072


def unet(**changes: object) -> dict[str, object]:
    plain: dict[str, object] = TABLE.STABLE_DIFFUSION_1
    return plain | changes


XL = unet(
    sample_size=128, block_out_channels=[320, 640, 1280], transformer_layers_per_block=[1, 2, 10],
    cross_attention_dim=2048, projection_class_embeddings_input_dim=2816,
    down_block_types=["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("config", "parameters"),
    [(unet(), 859_520_964), (unet(cross_attention_dim=1024), 865_910_724), (XL, 2_567_463_684)],
    ids=["1.x", "2.x", "XL"],
)
def test_the_blocks_of_a_u_net_have_the_parameters_that_are_published(config: Any, parameters: int) -> None:
    assert of_config(config).parameters == parameters


def test_activations_of_images_grow_with_their_positions_and_the_batch() -> None:
    plan = Training("lora", batch=2, checkpointing=False)
    small, large = (activation_bytes(of_config(unet(), pixels), plan) for pixels in (512, 1024))
    assert large == 4 * small
    assert activation_bytes(of_config(unet(), 512), Training("lora", checkpointing=False)) == small / 2
    assert activation_bytes(of_config(unet(), 512), Training("lora", batch=2)) < small / 5


def test_adapters_of_a_u_net_go_to_its_attention() -> None:
    # rank 4 on the attention of Stable Diffusion 1.x: 797,184 parameters, as the file of such an adapter has
    assert adapter_parameters(of_config(unet()), 4) == 797_184


@pytest.mark.parametrize(
    "changes",
    [
        {"block_out_channels": 5},
        {"block_out_channels": [320, "640"]},
        {"block_out_channels": []},
        {"down_block_types": None},
        {"sample_size": [96, 72]},
        {"_class_name": "FluxTransformer2DModel"},
    ],
    ids=["number", "words", "empty", "no-blocks", "size", "another-model"],
)
def test_a_diffusion_model_that_is_not_told_whole_is_told(changes: dict[str, object]) -> None:
    with pytest.raises(ShapeError, match="--activations"):
        of_config(unet(**changes))


def test_a_nested_text_model_is_found() -> None:
    assert of_config({"vision_config": {}, "text_config": LLAMA3_8B}).layers == 32


@pytest.mark.parametrize("config", [{}, {"hidden_size": 4096}, {"hidden_size": "4096", "num_hidden_layers": None}])
def test_a_config_without_a_shape_is_told(config: dict[str, object]) -> None:
    with pytest.raises(ShapeError, match="hidden_size"):
        of_config(config)


def test_more_gpus_than_kv_heads_hold_a_head_each() -> None:
    shape = of_config(LLAMA3_8B)
    eight, sixteen = (serving(shape, Serving(gpus=gpus)).parts[1].size_bytes for gpus in (8, 16))
    assert eight == sixteen


def test_what_is_assumed_of_a_bare_number_is_told() -> None:
    assert len(of_parameters(7e9).assumed) == 2
    assert of_config(LLAMA3_8B).assumed == ()
