"""What a provider prints becomes an overlay that can be read, checked and used."""

from __future__ import annotations

from typing import Any

import pytest

from gpuwhy.kb.catalogue import Catalogue
from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.load import load
from gpuwhy.kb.offers import machines, prices
from gpuwhy.kb.overlay import (
    OverlayError,
    check,
    merged,
    of_instance_types,
    of_price,
    of_spot_history,
    of_zone_configurations,
    text,
)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load().catalogue


def answer(**changed: Any) -> dict[str, Any]:
    one = {
        "InstanceTypeId": "ecs.gn7i-c8g1.2xlarge",
        "InstanceTypeFamily": "ecs.gn7i",
        "CpuCoreCount": 8,
        "MemorySize": 32.0,
        "GPUAmount": 1,
        "GPUSpec": "NVIDIA A10",
        "InstanceBandwidthRx": 16_000_000,
    }
    return {"InstanceTypes": {"InstanceType": [one | changed, {"InstanceTypeId": "ecs.g7.large", "GPUAmount": 0}]}}


def test_a_type_that_is_known_is_replaced(catalogue: Catalogue) -> None:
    overlay = check(text(of_instance_types(answer(), catalogue), "a test").encode(), "overlay.yaml")
    found = {one.name: one for one in machines(merged(catalogue, [overlay]))}
    assert len(found) == 153
    assert found["ecs.gn7i-c8g1.2xlarge"].memory_bytes == 32 * 2**30
    assert found["ecs.gn7i-c8g1.2xlarge"].network_bytes_per_second == 2e9  # 16,000,000 kbit/s


def test_a_new_family_comes_with_its_card(catalogue: Catalogue) -> None:
    new = answer(InstanceTypeId="ecs.gn10x.large", InstanceTypeFamily="ecs.gn10x", GPUSpec="NVIDIA L40S")
    overlay = check(text(of_instance_types(new, catalogue), "a test").encode(), "overlay.yaml")
    found = {one.name: one for one in machines(merged(catalogue, [overlay]))}
    assert found["ecs.gn10x.large"].gpu_memory_bytes == 46_068 * 2**20


def test_a_newer_price_comes_last(catalogue: Catalogue) -> None:
    document = {"PriceInfo": {"Price": {"TradePrice": 8.5, "Currency": "CNY"}}}
    made = of_price(document, "ecs.gn7i-c8g1.2xlarge", "cn-beijing", "2026-11-30")
    overlay = check(text(made, "a test").encode(), "overlay.yaml")
    known = {(one.machine, one.region): one for one in prices(merged(catalogue, [overlay]))}
    assert known["ecs.gn7i-c8g1.2xlarge", "cn-beijing"].per_hour == 8.5
    assert known["ecs.gn7i-c8g1.2xlarge", "cn-shanghai"].per_hour == 9.5326


@pytest.mark.parametrize("document", [{}, {"InstanceTypes": []}, {"InstanceTypes": {"InstanceType": [1]}}])
def test_what_holds_no_machine_types_is_refused(catalogue: Catalogue, document: dict[str, Any]) -> None:
    with pytest.raises(OverlayError):
        of_instance_types(document, catalogue)


def test_a_type_without_memory_is_refused(catalogue: Catalogue) -> None:
    with pytest.raises(OverlayError, match="MemorySize"):
        of_instance_types(answer(MemorySize=None), catalogue)


def test_an_overlay_that_breaks_the_form_is_refused() -> None:
    with pytest.raises(KnowledgeError):
        check(b"machines: [{name: x}]\n", "overlay.yaml")


def test_a_month_is_kept_by_the_hour(catalogue: Catalogue) -> None:
    document = {"PriceInfo": {"Price": {"TradePrice": 3600.0, "Currency": "CNY"}}}
    made = of_price(document, "ecs.gn7i-c8g1.2xlarge", "cn-beijing", "2026-11-30", "subscription")
    overlay = check(text(made, "a test").encode(), "overlay.yaml")
    found = [one for one in prices(merged(catalogue, [overlay])) if one.mode == "subscription"]
    assert [one.per_hour for one in found] == [5.0]  # 3600 / 720


def spot(zone: str, amount: float, day: str) -> dict[str, Any]:
    return {
        "InstanceType": "ecs.gn7i-c8g1.2xlarge",
        "ZoneId": zone,
        "SpotPrice": amount,
        "Timestamp": f"{day}T00:00:00Z",
    }


def test_spot_prices_are_means_by_region(catalogue: Catalogue) -> None:
    history = [spot("cn-beijing-h", 2.0, "2026-11-28"), spot("cn-beijing-g", 4.0, "2026-11-29")]
    made = of_spot_history({"SpotPrices": {"SpotPriceType": history}, "Currency": "CNY"})
    overlay = check(text(made, "a test").encode(), "overlay.yaml")
    found = [one for one in prices(merged(catalogue, [overlay])) if one.mode == "spot"]
    assert [(one.region, one.per_hour, one.date) for one in found] == [("cn-beijing", 3.0, "2026-11-29")]


def test_zones_abroad_are_of_the_region_that_their_letter_follows() -> None:
    history = [spot("ap-southeast-1a", 2.0, "2026-11-28"), spot("us-west-1b", 3.0, "2026-11-28")]
    made = of_spot_history({"SpotPrices": {"SpotPriceType": history}, "Currency": "USD"})
    assert made["prices"][0]["per_hour"] == {"ecs.gn7i-c8g1.2xlarge": {"ap-southeast-1": 2.0, "us-west-1": 3.0}}


def test_prices_of_tencent_are_the_lowest_of_a_region(catalogue: Catalogue) -> None:
    zones = [
        {
            "Zone": f"ap-guangzhou-{zone}",
            "InstanceType": "GN7.2XLARGE32",
            "InstanceChargeType": "POSTPAID_BY_HOUR",
            "Price": {"UnitPrice": amount, "ChargeUnit": "HOUR"},
        }
        for zone, amount in ((3, 8.5), (4, 8.0))
    ]
    made = of_zone_configurations({"Response": {"InstanceTypeQuotaSet": zones}}, "2026-11-30", "CNY")
    overlay = check(text(made, "a test").encode(), "overlay.yaml")
    known = {(one.machine, one.region): one for one in prices(merged(catalogue, [overlay]))}
    assert known["GN7.2XLARGE32", "ap-guangzhou"].per_hour == 8.0


@pytest.mark.parametrize("document", [{"SpotPrices": {}}, {"SpotPrices": {"SpotPriceType": [{"SpotPrice": 1}]}}])
def test_what_holds_no_spot_prices_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(OverlayError):
        of_spot_history(document)


@pytest.mark.parametrize("document", [{"Response": {}}, {"InstanceTypeQuotaSet": [{"Price": {"UnitPrice": 1}}, 7]}])
def test_what_holds_no_prices_of_tencent_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(OverlayError):
        of_zone_configurations(document, "2026-11-30", "CNY")
