"""Machine types of clouds in a text."""

from __future__ import annotations

import pytest

from gpuwhy.engine.run import diagnose_with
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.machine_types import FORMAT
from gpuwhy.probes.artefacts.read import gather
from tests.probes.artefacts.helpers import scan, values


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("instance-type: g6e.xlarge", "g6e.xlarge"),
        ('"InstanceType": "p4d.24xlarge",', "p4d.24xlarge"),
        ("node.kubernetes.io/instance-type=ecs.gn7i-c8g1.2xlarge", "ecs.gn7i-c8g1.2xlarge"),
        ("projects/1/machineTypes/a2-highgpu-1g", "a2-highgpu-1g"),
        ('"vmSize": "Standard_NC24ads_A100_v4"', "Standard_NC24ads_A100_v4"),
        ("we run g5.2xlarge nodes, g5.2xlarge only", "g5.2xlarge"),
    ],
)
def test_a_machine_type_is_found(text: str, name: str) -> None:
    assert values(scan(FORMAT, text)) == {("host.instance_type", "host:this"): name}


@pytest.mark.parametrize("text", ["g5.xlarge and g6.xlarge", "bigger.xlarge", "img5.large", "a10-45"])
def test_several_types_or_none_say_nothing(text: str) -> None:
    assert scan(FORMAT, text) == []


def diagnosed(text: str) -> dict[str, str]:
    kb = load()
    gathered = gather([("paste", text.encode())], kb.facts)
    found = diagnose_with(kb, FactBase.of(gathered.facts, gathered.absent))
    return {one.id: one.status.value for one in found.conclusions}


LINK = (
    "index, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max,"
    " utilization.gpu [%]\n"
    "0, 4, 4, 8, 16, 97 %\n"
)


def test_eight_lanes_are_a_fault_only_where_the_machine_type_gives_more() -> None:
    assert "hardware.link-degraded" not in diagnosed("instance-type: g6e.xlarge\n" + LINK)
    assert diagnosed("instance-type: ecs.gn7i-c8g1.2xlarge\n" + LINK)["hardware.link-degraded"] == "confirmed"
    assert diagnosed(LINK)["hardware.link-degraded"] == "possible"
