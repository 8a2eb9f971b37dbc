"""`gpuwhy catalog` as a person and as a script use it."""

from __future__ import annotations

import json

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


def test_nothing_found_is_an_error_that_names_the_query() -> None:
    done = CliRunner().invoke(main, ["catalog", "gpus", "zzz"])
    assert done.exit_code == 2
    assert "zzz" in done.output
