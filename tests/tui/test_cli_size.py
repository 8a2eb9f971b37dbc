"""`gpuwhy size` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuwhy.tui.cli import main


def run(*words: str) -> str:
    done = CliRunner().invoke(main, ["size", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_parts_stand_one_below_the_other_within_80_columns() -> None:
    text = run("--params", "7B", "--method", "full", "--sharding", "zero3", "--gpus", "8")
    assert all(len(line) <= 80 for line in text.splitlines())
    for part in ("weights", "gradients", "optimizer states", "gathered parameters", "activations", "fragmentation"):
        assert f"\n  {part}" in text


def test_json_adds_up() -> None:
    document = json.loads(run("--params", "1.5B", "--method", "lora", "--format", "json"))
    assert abs(sum(part["bytes"] for part in document["parts"]) - document["per_gpu_bytes"]) < 10
    assert document["assumed"]


def test_a_config_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "vocab_size": 1000}')
    assert "assumed" not in run("--config", str(path), "--method", "inference")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "how large is the model?"),
        (("--params", "seven"), "is no number above 0"),
        (("--params", "0"), "is no number above 0"),
        (("--params", "7"), "no model to size"),
        (("--params", "900000000T"), "no model to size"),
        (("--params", "7B", "--gpus", "0"), "not in the range"),
        (("--params", "7B", "--context", "9" * 23), "not in the range"),
        (("--params", "7B", "--dtype", "int4"), "not trained as a whole"),
        (("--params", "7B", "--activations", "much"), "is no amount of memory"),
    ],
    ids=["nothing", "word", "zero", "unit", "absurd", "gpus", "context", "int4", "activations"],
)
def test_what_is_missing_or_wrong_is_told(words: tuple[str, ...], says: str) -> None:
    done = CliRunner().invoke(main, ["size", *words])
    assert done.exit_code == 2
    assert says in done.output


@pytest.mark.parametrize("words", ["7B", "7b", "7e9", "7000000000", "7000M"])
def test_a_number_of_parameters_is_read_as_people_write_it(words: str) -> None:
    assert "7B parameters" in run("--params", words)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ('{"hidden_size": 10', "cut off"),
        ("[]", "holds no JSON object"),
        ('{"model_type": "mamba", "d_model": 2560, "n_layer": 64}', "mamba is no transformer"),
        ('{"model_type": "resnet", "hidden_sizes": [256]}', "--activations"),
    ],
    ids=["empty", "half", "list", "mamba", "resnet"],
)
def test_a_configuration_that_cannot_be_sized_is_told_with_what_could(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "config.json").write_text(content)
    done = CliRunner().invoke(main, ["size", "--config", str(tmp_path / "config.json")])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


def test_a_vision_transformer_has_a_token_for_each_patch(tmp_path: Path) -> None:
    config = {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
    (tmp_path / "config.json").write_text(json.dumps(config | {"image_size": 224, "patch_size": 16}))
    assert "batch 1 x 197" in run("--config", str(tmp_path / "config.json"))  # 14 x 14 and one for the class


def test_a_config_that_is_no_json_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("[" * 100_000)
    done = CliRunner().invoke(main, ["size", "--config", str(path)])
    assert done.exit_code == 2
    assert "cannot be read as JSON" in done.output
