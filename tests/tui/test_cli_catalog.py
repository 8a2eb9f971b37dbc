"""`gpuwhy catalog` as a person and as a script use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuwhy.tui.cli import main


def run(*words: str) -> str:
    done = CliRunner().invoke(main, ["catalog", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_claim_is_found_by_a_part_of_its_id() -> None:
    text = run("claims", "a10-mig")
    assert text.startswith("s2-a10-mig  WRONG")
    assert "it has no MIG" in text


def test_claims_as_json_have_the_documented_keys() -> None:
    found = json.loads(run("claims", "--format", "json"))
    assert len(found) == 226
    assert {tuple(one) for one in found} == {("id", "verdict", "claim", "value", "sources")}
    assert all(one["sources"] for one in found)


def test_a_card_called_a10_is_not_the_a100() -> None:
    assert [one["name"] for one in json.loads(run("gpus", "A10", "--format", "json"))] == ["NVIDIA A10"]


def test_an_instance_is_told_with_its_provider_links_source_and_date() -> None:
    told = " ".join(run("instances", "GT4.8XLARGE192").split())
    assert "2 x NVIDIA A100-SXM4-40GB" in told
    assert "memory 1,555 GB/s, NVLink 600 GB/s, tencent" in told
    assert "[tencent-gpu-instances, 2026-11-30]" in told
    assert {one["provider"] for one in json.loads(run("instances", "--provider", "tencent", "--format", "json"))} == {
        "tencent"
    }


def test_several_words_must_all_match() -> None:
    assert len(run("prices", "gn7e-c16g1.4xlarge", "beijing").splitlines()) == 1


@pytest.mark.parametrize("kind", ["gpus", "instances", "prices", "claims"])
def test_lines_fit_a_terminal(kind: str) -> None:
    lines = [line for line in run(kind).splitlines() if "://" not in line]
    assert max(map(len, lines)) <= 80


PRICE = {"PriceInfo": {"Price": {"TradePrice": 9.1, "Currency": "CNY"}}}
OF = ("--machine", "ecs.gn7i-c8g1.2xlarge", "--region", "cn-beijing", "--date")


@pytest.mark.parametrize(
    ("content", "words", "says"),
    [
        ("", (), "is empty"),
        ('{"InstanceTypes": {"Inst', (), "cut off"),
        ("[]", (), "holds no JSON object"),
        ('{"Regions": {"Region": []}}', (), "is it the JSON of `aliyun ecs DescribeInstanceTypes`"),
        ('{"Code": "Forbidden.RAM", "Message": "Not authorized."}', (), "refused: Forbidden.RAM: Not authorized"),
        ('{"Response": {"Error": {"Code": "AuthFailure", "Message": "no"}}}', (), "refused: AuthFailure: no"),
        ('{"InstanceTypes": {"InstanceType": []}}', (), "none of its machine types has a GPU"),
        (json.dumps(PRICE), (), "needs --machine, --region and --date"),
        ('{"PriceInfo": {}}', (*OF, "2026-11-30"), "is it the JSON of `aliyun ecs DescribePrice`"),
        (json.dumps(PRICE), (*OF, "yesterday"), "is no day"),
        (json.dumps(PRICE), (*OF, "2999-01-01"), "has not been yet"),
        (json.dumps(PRICE), ("--machine", "ecs.gn7i-c8g1.2xlrge", *OF[2:], "2026-11-30"), "ecs.gn7i-c8g1.2xlarge"),
    ],
    ids=[
        "empty", "half", "list", "other", "refused", "refused-tencent", "no-gpu", "untold", "no-price", "day", "future",
        "type",
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_imported_is_told(
    tmp_path: Path, content: str, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "a.json").write_text(content)
    done = CliRunner().invoke(main, ["catalog", "import", str(tmp_path / "a.json"), *words])
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


def test_a_price_goes_from_the_answer_of_the_provider_into_the_choice(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(PRICE))
    (tmp_path / "a.yaml").write_text(run("import", str(tmp_path / "a.json"), *OF, "2026-11-30"))
    words = ("--task", "finetune", "--params", "7B", "--method", "qlora", "--sequence", "1024", "--format", "json")
    done = CliRunner().invoke(main, ["select", *words, "--overlay", str(tmp_path / "a.yaml")])
    first = json.loads(done.output)["kept"][0]
    assert (first["price_per_hour"], first["price_date"]) == (9.1, "2026-11-30")


def test_an_answer_is_no_overlay_and_what_makes_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(PRICE))
    done = CliRunner().invoke(
        main, ["select", "--task", "train", "--params", "1B", "--overlay", str(tmp_path / "a.json")]
    )
    assert done.exit_code == 2
    assert "gpuwhy catalog import" in done.output


def test_nothing_found_is_an_error_that_names_the_query() -> None:
    done = CliRunner().invoke(main, ["catalog", "gpus", "zzz"])
    assert done.exit_code == 2
    assert "zzz" in done.output
