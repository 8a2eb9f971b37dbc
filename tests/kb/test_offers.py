"""What can be rented: figures a user relies on, against the provider's page; and nothing that is known to be wrong."""

from __future__ import annotations

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
        ("GT4.41XLARGE948", 164, 948, 8, "NVIDIA A100-SXM4-40GB"),
        ("GN10Xp.2XLARGE40", 10, 40, 1, "Tesla V100-SXM2-32GB"),
        ("PNV4.28XLARGE466", 112, 466, 4, "NVIDIA A10"),
        ("GN7.2XLARGE32", 8, 32, 1, "Tesla T4"),
        ("GN8.LARGE56", 6, 56, 1, "Tesla P40"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)
def test_a_machine_type_has_what_its_page_says(
    offers: dict[str, Machine], name: str, vcpus: int, memory_gib: int, gpus: int, gpu: str
) -> None:
    found = offers[name]
    assert (found.vcpus, found.memory_bytes, found.gpus, found.gpu) == (vcpus, memory_gib * GIB, gpus, gpu)


def test_there_are_117_types_of_alibaba_and_36_of_tencent_and_none_that_nobody_offers(
    offers: dict[str, Machine],
) -> None:
    assert sum(one.provider == "alicloud" for one in offers.values()) == 117
    assert sum(one.provider == "tencent" for one in offers.values()) == 36
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
