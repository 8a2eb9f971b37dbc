"""An audit compares GPUs with those of other hosts: what a host alone does not show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, Fact, Origin, OriginKind, gpu
from tests.tui.audit.test_audit import audit

pytest.importorskip("polars")
MEASURED = Origin(OriginKind.MEASURED, "nvml")


def write(folder: Path, host: str, clock: float, power: float = 300.0, machine: str = "p4d.24xlarge") -> None:
    """A host with two GPUs at work at this clock."""
    facts = [Fact("host.instance_type", machine, None, HOST, MEASURED)]
    for number in range(2):
        for name, value, unit in (
            ("gpu.name", "NVIDIA A100-SXM4-40GB", None),
            ("gpu.utilization_share", 0.95, "share"),
            ("gpu.sm_clock_megahertz", clock, "megahertz"),
            ("gpu.power_watts", power, "watts"),
            ("gpu.power_limit_watts", 400.0, "watts"),
        ):
            facts.append(Fact(name, value, unit, gpu(number), MEASURED))
    (folder / f"{host}.facts.json").write_text(dump(facts), "utf-8")


@pytest.mark.parametrize(
    ("clock", "power", "slow"),
    [(846, 300, True), (1200, 300, False), (846, 390, False)],
    ids=["far-below", "alike", "at-its-power-limit"],
)
def test_a_host_whose_gpus_are_all_slower_than_its_type(clock: float, power: float, slow: bool, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path, f"n{number}", 1410)
    write(tmp_path, "odd", clock, power)
    document = json.loads(audit(tmp_path, "--format", "json").output)
    found = [one for one in document["causes"] if one["id"] == "slow.straggler"]
    assert bool(found) is slow
    if slow:
        # six of the eight GPUs run at 1410
        assert found[0]["types"] == [
            {"type": "p4d.24xlarge", "hosts": [{"host": "odd", "entities": ["gpu 0", "gpu 1"]}]}
        ]
        assert "the median of its machine type is 1,410 MHz" in found[0]["example"]


def test_a_host_alone_has_no_peers(tmp_path: Path) -> None:
    write(tmp_path, "one", 846, machine="a")
    assert not json.loads(audit(tmp_path, "--format", "json").output)["causes"]


def test_where_a_type_has_too_few_gpus_the_same_cards_of_the_fleet_are_the_peers(tmp_path: Path) -> None:
    write(tmp_path, "one", 846, machine="a")
    write(tmp_path, "two", 1410, machine="b")
    (found,) = json.loads(audit(tmp_path, "--format", "json").output)["causes"]
    assert (found["id"], found["status"]) == ("slow.straggler", "likely")
    assert [host["host"] for group in found["types"] for host in group["hosts"]] == ["one"]
    # 846, 846, 1410 and 1410: the median is 1128, and 846 is 0.75 of it
    assert "the median of the fleet's is 1,128 MHz" in found["example"]
