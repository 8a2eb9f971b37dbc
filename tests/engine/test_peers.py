"""GPUs against their peers: medians and ratios by hand, and none where there are too few to compare."""

from __future__ import annotations

from typing import Any

import pytest

from gpuwhy.engine.peers import AT_WORK, Member, Peers
from gpuwhy.kb.facts import gpu

A100, H100 = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"


def member(host: str, number: int, clock: float, name: str = A100, machine: str = "p4d", busy: float = 0.9) -> Member:
    readings = {"gpu.sm_clock_megahertz": clock, "gpu.utilization_share": busy}
    return Member(host, gpu(number), machine, name, readings)


def told(fleet: list[Member], one: Member) -> dict[str, Any]:
    facts, absent = Peers(fleet).of(one)
    return {fact.id: fact.value for fact in facts} | {lacking.id: lacking.reason for lacking in absent}


def test_medians_and_ratios_of_host_type_and_fleet() -> None:
    slow = member("a", 0, 700)
    fleet = [slow, member("a", 1, 1400), member("b", 0, 1400), member("b", 1, 1300), member("c", 0, 1000, machine="x")]
    found = told(fleet, slow)
    assert found["gpu.sm_clock_host_median_megahertz"] == 1050  # of 700 and 1400
    assert found["gpu.sm_clock_host_ratio"] == pytest.approx(700 / 1050)
    assert found["gpu.sm_clock_type_median_megahertz"] == 1350  # of 700, 1300, 1400, 1400
    assert found["gpu.sm_clock_type_ratio"] == pytest.approx(700 / 1350)
    assert found["gpu.sm_clock_fleet_median_megahertz"] == 1300  # of 700, 1000, 1300, 1400, 1400
    assert found["gpu.sm_clock_fleet_ratio"] == pytest.approx(700 / 1300)


@pytest.mark.parametrize(
    ("count", "known"),
    [(1, set()), (2, {"host"}), (3, {"host", "type", "fleet"})],
    ids=["alone", "two", "three"],
)
def test_a_median_needs_two_on_a_host_and_three_beyond(count: int, known: set[str]) -> None:
    fleet = [member("a", number, 1400) for number in range(count)]
    found = told(fleet, fleet[0])
    assert {group for group in ("host", "type", "fleet") if found[f"gpu.sm_clock_{group}_ratio"] == 1.0} == known
    for group in {"host", "type", "fleet"} - known:
        least = 2 if group == "host" else 3
        assert found[f"gpu.sm_clock_{group}_ratio"] == f"{count} GPUs of this name at work, {least} are needed"


def test_only_cards_of_one_name_at_work_are_peers() -> None:
    at_rest = [member("b", number, 200, busy=AT_WORK - 0.01) for number in range(5)]
    others = [member("c", number, 1900, name=H100) for number in range(5)]
    fleet = [member("a", number, 1400, busy=AT_WORK) for number in range(3)] + at_rest + others
    assert told(fleet, fleet[0])["gpu.sm_clock_fleet_median_megahertz"] == 1400
    assert told(fleet, at_rest[0]) == {}


def test_without_a_machine_type_there_are_no_peers_of_the_type() -> None:
    fleet = [member("a", number, 1400, machine="") for number in range(3)]
    assert not any("_type_" in name for name in told(fleet, fleet[0]))
    assert "gpu.power_host_ratio" not in told(fleet, fleet[0])  # nobody read the power


def test_a_median_of_nothing_has_no_ratio() -> None:
    fleet = [member("a", number, 0) for number in range(3)]
    found = told(fleet, fleet[0])
    assert found["gpu.sm_clock_host_median_megahertz"] == 0
    assert found["gpu.sm_clock_host_ratio"] == "the median of its peers is 0"
