"""What can be rented: figures a user relies on, against the provider's page; and nothing that is known to be wrong."""

from __future__ import annotations

import re

import pytest

from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.load import load
from gpuwhy.kb.offers import Machine, machines, prices


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load().catalogue


@pytest.fixture(scope="module")
def offers(catalogue: Catalogue) -> dict[str, Machine]:
    return {one.name: one for one in machines(catalogue)}


GIB = 2**30


@pytest.mark.parametrize(
    ("name", "vcpus", "memory_gib", "gpus", "gpu"),
    [
        ("ecs.gn7e-c16g1.4xlarge", 16, 125, 1, "NVIDIA A100-SXM4-80GB"),
        ("ecs.gn7e-c16g1.8xlarge", 32, 250, 2, "NVIDIA A100-SXM4-80GB"),
        ("ecs.gn7i-c16g1.4xlarge", 16, 60, 1, "NVIDIA A10"),
        ("ecs.gn6v-c8g1.2xlarge", 8, 32, 1, "Tesla V100-SXM2-16GB"),
        ("ecs.gn6i-c4g1.xlarge", 4, 15, 1, "Tesla T4"),
        ("ecs.gn7s-c8g1.2xlarge", 8, 60, 1, "NVIDIA A30"),
        ("ecs.gn8is.2xlarge", 8, 64, 1, "NVIDIA L20"),
        ("ecs.gn5-c4g1.xlarge", 4, 30, 1, "Tesla P100-PCIE-16GB"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("ecs") else "",
)
def test_a_machine_type_has_what_its_page_says(
    offers: dict[str, Machine], name: str, vcpus: int, memory_gib: int, gpus: int, gpu: str
) -> None:
    found = offers[name]
    assert (found.vcpus, found.memory_bytes, found.gpus, found.gpu) == (vcpus, memory_gib * GIB, gpus, gpu)


def test_there_are_117_types_and_none_that_nobody_offers(offers: dict[str, Machine]) -> None:
    assert len(offers) == 117
    families = {one.family for one in offers.values()}
    assert families.isdisjoint({"gn7p", "gn8i"})
    assert "ecs.gn7e-c32g1.8xlarge" not in offers


def test_memory_is_what_the_card_reports(offers: dict[str, Machine]) -> None:
    assert offers["ecs.gn7i-c8g1.2xlarge"].gpu_memory_bytes == 23_028 * 2**20
    assert offers["ecs.gn8is.2xlarge"].memory_is_nominal


def test_retired_types_are_marked(offers: dict[str, Machine]) -> None:
    assert {one.status for one in offers.values() if one.family in ("gn5", "gn5i", "vgn5i", "vgn6i-vws")} == {"retired"}


def test_only_cards_that_can_be_partitioned_say_so(offers: dict[str, Machine]) -> None:
    assert {one.family for one in offers.values() if one.mig} == {
        "gn7e",
        "ebmgn7e",
        "ebmgn7ex",
        "gn7",
        "ebmgn7",
        "gn7s",
    }


def test_formats_follow_the_chip(offers: dict[str, Machine]) -> None:
    assert offers["ecs.gn7e-c16g1.4xlarge"].supports_fp8 is False
    assert offers["ecs.gn8is.2xlarge"].supports_fp8 is True
    assert offers["ecs.gn5-c4g1.xlarge"].has_tensor_cores is False


def test_a_price_has_currency_day_and_source(catalogue: Catalogue) -> None:
    found = {(one.machine, one.region): one for one in prices(catalogue)}
    price = found["ecs.gn7i-c16g1.4xlarge", "cn-hangzhou"]
    assert (price.per_hour, price.currency, price.date) == (10.0934, "CNY", "2024-12-31")
    assert all(one.per_hour > 0 for one in found.values())


VERDICTS = {"heuristic": 65, "confirmed": 55, "wrong": 75, "contested-between-seeds": 7, "unverifiable-anecdote": 24}


def test_all_226_claims_are_accounted_for(catalogue: Catalogue) -> None:
    claims = catalogue.sections["claims"]
    assert len({one["id"] for one in claims}) == 226
    assert {verdict: sum(one["verdict"] == verdict for one in claims) for verdict in VERDICTS} == VERDICTS


WRONG = {
    ("NVIDIA A10", "gpu.expected_memory_bandwidth_bytes_per_second"): "320 GB/s",
    ("NVIDIA A10", "gpu.expected_tensor16_flops"): "62.4 TFLOPS",
    ("NVIDIA A10", "gpu.expected_integer8_flops"): "124.8 TFLOPS",
    ("NVIDIA A10", "gpu.expected_partition_count"): 7,
    ("Tesla P100-PCIE-16GB", "gpu.has_tensor_cores"): True,
    ("Tesla P100-PCIE-16GB", "gpu.expected_integer8_flops"): "47 TFLOPS",
    ("Tesla V100-SXM2-16GB", "gpu.expected_float32_flops"): "7.8 TFLOPS",
    ("NVIDIA A100-SXM4-80GB", "gpu.supports_fp8"): True,
    ("NVIDIA A100-SXM4-40GB", "gpu.supports_fp8"): True,
    ("NVIDIA A100-SXM4-40GB", "gpu.expected_memory_bandwidth_bytes_per_second"): "2000 GB/s",
    ("NVIDIA A100-SXM4-40GB", "gpu.expected_partition_count"): 0,
}
"""What claims that are called wrong say of cards."""


@pytest.mark.parametrize(("card", "fact"), WRONG, ids=lambda value: value.replace(" ", "-"))
def test_no_card_has_a_value_that_is_known_to_be_wrong(catalogue: Catalogue, card: str, fact: str) -> None:
    known = {one.fact: one.value for one in catalogue.of_gpu(card)}
    assert known
    assert known.get(fact) != WRONG[card, fact]


WRONG_FAMILIES = {
    "gn7i": "A100", "gn6v": "A10", "gn6i": "V100", "gn7s": "L40S", "gn5": "A10", "gn7e": "SXM2",
}  # fmt: skip


def test_no_family_has_the_card_that_an_article_gives_it(offers: dict[str, Machine]) -> None:
    for machine in offers.values():
        wrong = WRONG_FAMILIES.get(machine.family)
        assert wrong is None or not re.search(rf"\b{wrong}\b", machine.gpu)
