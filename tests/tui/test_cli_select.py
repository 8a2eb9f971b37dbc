"""`gpuwhy select` as a person and as a script use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuwhy.tui.cli import main

LORA = (
    "--task",
    "finetune",
    "--params",
    "7B",
    "--method",
    "lora",
    "--sequence",
    "1024",
    "--hours",
    "48",
    "--interruptible",
)


def run(*words: str, expected: int = 0) -> str:
    done = CliRunner().invoke(main, ["select", *words])
    assert done.exit_code == expected, done.output
    return done.output


def test_the_report_fits_80_columns_and_has_every_part() -> None:
    text = run(*LORA)
    assert max(map(len, text.splitlines())) <= 80
    for label in ("work", "needs", "assumed", "note", "first", "cost", "change", "start", "rejected"):
        assert f"\n{label} " in f"\n{text}"


def test_json_holds_every_machine_with_its_reasons() -> None:
    document = json.loads(run(*LORA, "--format", "json"))
    assert len(document["kept"]) + len(document["rejected"]) == 153
    assert all(one["rejected"] and one["rejected"][0]["because"] for one in document["rejected"])
    assert document["kept"][0]["cost"] == pytest.approx(48 * document["kept"][0]["price_per_hour"])
    assert document["kept"][0]["price_date"] == "2024-12-31"


def test_markdown_has_the_table_and_the_rejections() -> None:
    text = run(*LORA, "--format", "md")
    assert text.startswith("# Which machine")
    assert "## Rejected" in text


def test_all_shows_every_type_that_would_do() -> None:
    assert "--all shows them" in run(*LORA)
    assert "--all shows them" not in run(*LORA, "--all")


SERVE = ("--task", "serve", "--params", "32B", "--concurrency", "8", "--context", "8192", "--p99-ms", "100")


def test_what_is_open_is_marked_and_says_what_decides() -> None:
    text = run(*SERVE)
    assert " 1?" in text
    assert "a load test decides" in " ".join(text.split())
    assert "--max-num-batched-tokens" in text


def test_the_first_is_not_called_the_cheapest_beside_cheaper_ones_that_may_do() -> None:
    # two A100 keep 100 ms with small steps; four A10 cost less (38.13, 40.37 and twice 53.23 CNY), if they do
    said = " ".join(run(*SERVE).split())
    assert "the lowest known price of 27 that do with small steps (below)" in said
    assert "of 4 that cost less it is open whether they do" in said


@pytest.mark.parametrize("name", ["ecs.gn7i-c8g1.2xlarge", "gn7i-c8g1.2xlarge", "gn7i"])
def test_why_shows_the_proof_of_a_rejection_with_its_sources(name: str) -> None:
    text = run(*SERVE, "--why-not", name)
    assert text.startswith("REJECTED  ecs.gn7i-c8g1.2xlarge  1 x NVIDIA A10")
    for part in (
        "select.memory.too-small-to-serve",
        "NEEDS",
        "COMPUTED",
        "derive.select.memory",
        "SOURCES",
        "https://",
    ):
        assert part in text


def test_why_shows_the_proof_of_what_is_kept() -> None:
    text = run("--task", "serve", "--params", "1B", "--why", "GN7.2XLARGE32", "--dtype", "fp16")
    assert text.startswith("KEPT  GN7.2XLARGE32  1 x Tesla T4, tencent")
    assert "PASSED" in text
    assert max(len(line) for line in text.splitlines() if "://" not in line) <= 80


def test_why_of_a_gpu_is_that_of_the_smallest_type_with_it() -> None:
    assert "ecs.gn7i-c8g1.2xlarge" in run("--task", "serve", "--params", "7B", "--why", "A10").splitlines()[0]


def test_why_of_a_type_that_is_not_there_is_told_and_what_is_there_instead() -> None:
    assert "there is no gn7p; A100 is gn7" in run(*SERVE, "--why", "gn7p", expected=2)
    assert "no such type" in run(*SERVE, "--why", "ecs.gn7e-c32g1.8xlarge", expected=2)
    assert "gpuwhy catalog instances" in run(*SERVE, "--why", "p5.48xlarge", expected=2)


def test_what_articles_say_of_the_chosen_card_is_set_right() -> None:
    told = " ".join(run("--task", "serve", "--params", "7B", "--context", "2048").split())
    for claim in ("s3-sum-gn7i", "s2-a10-tradeoff", "s1-a10-60pct"):
        assert claim in told
    assert "27 % of the smallest machine" in told  # 9.5326 / 34.742


def test_volta_is_told_which_wheels_have_code_for_it() -> None:
    text = run("--task", "serve", "--params", "13B", "--dtype", "fp16", "--why", "gn6e")
    assert "select.software.dropped" in text
    start = " ".join(run("--task", "serve", "--params", "11B", "--dtype", "fp16", "--provider", "tencent").split())
    assert "whl/cu126" in start


def test_the_proof_as_json_has_every_rule_and_need() -> None:
    document = json.loads(run(*SERVE, "--why", "gn7i", "--format", "json"))
    assert (document["type"], document["kept"]) == ("ecs.gn7i-c8g1.2xlarge", False)
    held = {one["rule"]: one["holds"] for one in document["rules"]}
    assert held["select.memory.too-small-to-serve"] == "true"
    assert held["select.cost.budget"] == "unknown"
    assert {"need.gpu_memory_bytes", "need.bfloat16"} <= {one["fact"] for one in document["needs"]}


def test_a_region_that_has_no_price_is_told() -> None:
    told = " ".join(run("--task", "serve", "--params", "7B", "--region", "mars").split())
    assert "no price of the region 'mars' is known" in told


UNET = {
    "_class_name": "UNet2DConditionModel", "sample_size": 64, "block_out_channels": [320, 640, 1280, 1280],
    "cross_attention_dim": 768,
    "down_block_types": ["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"],
}  # fmt: skip


def unet(path: Path, **changes: object) -> str:
    (path / "config.json").write_text(json.dumps(UNET | changes))
    return str(path / "config.json")


def test_fine_tuning_of_stable_diffusion_fits_an_a10_and_adapters_a_t4(tmp_path: Path) -> None:
    # all of it: 16 bytes x 860M are 13.8 GB; adapters: 1.7 GB of weights; both with at most a gigabyte of activations
    whole = json.loads(run("--task", "finetune", "--config", unet(tmp_path), "--dtype", "fp16", "--format", "json"))
    assert whole["kept"][0]["type"] == "ecs.gn7i-c8g1.2xlarge"
    assert "Tesla T4" not in {one["gpu"] for one in whole["kept"] if one["gpus"] == 1}
    adapters = ("--dtype", "fp16", "--method", "lora", "--batch", "4", "--resolution", "768", "--format", "json")
    small = json.loads(run("--task", "finetune", "--config", unet(tmp_path), *adapters))
    assert "Tesla T4" in {one["gpu"] for one in small["kept"] if one["gpus"] == 1}
    assert "images of 768 x 768 pixels (--resolution)" in small["assumed"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--task", "serve"), "only training is"),
        (("--task", "train", "--tokens", "1B"), "--hours does"),
        (("--task", "train", "--sequence", "77"), "--resolution does"),
    ],
    ids=["serving", "tokens", "sequence"],
)
def test_what_is_not_modelled_of_a_diffusion_model_is_told(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    assert says in run(*words, "--config", unet(tmp_path), expected=2)


def test_another_diffusion_model_says_what_to_give(tmp_path: Path) -> None:
    config = unet(tmp_path, _class_name="FluxTransformer2DModel")
    assert "--activations" in run("--task", "finetune", "--config", config, expected=2)


def test_only_the_types_of_a_provider() -> None:
    document = json.loads(run("--task", "serve", "--params", "7B", "--provider", "tencent", "--format", "json"))
    assert len(document["kept"]) + len(document["rejected"]) == 36


def test_defaults_are_told() -> None:
    text = run("--task", "serve", "--params", "7B")
    assert "--method inference" in text
    assert "one request at a time" in text


def test_nothing_that_fits_is_said_and_has_a_status_of_its_own() -> None:
    assert "no machine type of the catalogue does this" in run("--task", "train", "--params", "400B", expected=3)


def diagnosis(path: Path, name: str, status: str = "confirmed") -> str:
    path.write_text(json.dumps({"conclusions": [{"id": name, "status": status}]}))
    return str(path)


def test_a_diagnosis_of_waiting_for_data_is_heeded(tmp_path: Path) -> None:
    path = diagnosis(tmp_path / "d.json", "slow.io-wall.workers")
    told = " ".join(run("--task", "train", "--params", "25M", "--from", path).split())
    assert "a bigger GPU waits" in told
    assert "ecs.gn7i-c16g1.4xlarge has 16 vCPUs for the same GPUs instead of 8, 10.09 CNY/h" in told


def test_what_a_diagnosed_run_needed_leaves_smaller_cards_open(tmp_path: Path) -> None:
    facts = [{"id": "oom.needed_bytes", "value": 30 * 2**30}, {"id": "job.input_need_bytes_per_second", "value": 6e8}]
    document = {"conclusions": [{"id": "oom.capacity", "status": "likely"}], "facts": facts}
    (tmp_path / "d.json").write_text(json.dumps(document))
    work = ("--task", "finetune", "--params", "7B", "--method", "qlora", "--from", str(tmp_path / "d.json"))
    told = " ".join(run(*work).split())
    assert "needed at least 30.00 GiB on one GPU" in told
    assert "ESSD PL2 of 960 GiB" in told  # (600 - 120) / 0.5
    assert "a bigger card" in told
    assert "select.memory.measured-more" in run(*work, "--why", "gn7i")


def test_what_is_only_possible_is_not_heeded(tmp_path: Path) -> None:
    path = diagnosis(tmp_path / "d.json", "slow.io-wall", "possible")
    assert "the diagnosis found" not in run("--task", "train", "--params", "25M", "--from", path)


def test_a_file_that_is_no_diagnosis_is_told(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text("[]")
    assert "is no diagnosis" in run(
        "--task", "train", "--params", "25M", "--from", str(tmp_path / "d.json"), expected=2
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--task and --params"),
        (("--task", "serve"), "--params"),
        (("--task", "serve", "--params", "7B", "--method", "lora"), "does not go with"),
        (("--task", "train", "--params", "7B", "--dtype", "int4"), "not trained as a whole"),
        (("--task", "train", "--params", "7B", "--data-rate", "fast"), "is no rate"),
        (("--task", "serve", "--params", "7B", "--rate", "3"), "--rate needs --answer"),
        (("--task", "serve", "--params", "7"), "no model to size"),
        (("--task", "serve", "--params", "7B", "--answer", "9000"), "leaves no prompt"),
        (("--task", "trian", "--params", "7B"), "'train', 'finetune'"),
        (("--task", "train", "--params", "7B", "--dtype", "fp17"), "'bf16', 'fp16'"),
        (("--task", "train", "--params", "7B", "--hours", "0"), "not in the range x>0"),
        (("--task", "train", "--params", "7B", "--hours", "nan"), "is no number that can"),
        (("--task", "train", "--params", "7B", "--budget", "inf"), "is no number that can"),
        (("--task", "train", "--params", "7B", "--exchange", "USD"), "like USD=7.1"),
        (("--task", "train", "--params", "7B", "--currency", "dollars"), "like CNY or USD"),
        (("--task", "train", "--params", "7B", "--resolution", "512"), "of a diffusion model"),
    ],
    ids=[
        "nothing",
        "size",
        "method",
        "format",
        "data-rate",
        "rate",
        "unit",
        "answer",
        "task",
        "dtype",
        "hours",
        "nan",
        "infinite",
        "exchange",
        "currency",
        "resolution",
    ],
)
def test_what_is_missing_or_contradicts_itself_is_told(words: tuple[str, ...], says: str) -> None:
    assert says in run(*words, expected=2)
