"""Captures of real machines: none of the healthy ones is called faulty, every injected fault is found.

The captures are not part of the repository (their licences differ); `GPUWHY_CAPTURES` names the folder that holds them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuwhy.engine.model import Conclusion
from gpuwhy.engine.run import diagnose_with
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.read import gather

FOLDER = Path(os.environ.get("GPUWHY_CAPTURES", "no-captures"))
HEALTHY = sorted(FOLDER.glob("sc-smi-*.xml")) + sorted(FOLDER.glob("smi-xml-hw-*.xml"))
INJECTED = {
    "smi-xml-mock-qx-gb200-ecc-injected.xml": "hardware.memory-errors",
    "smi-xml-mock-qx-gb200-lost.xml": "hardware.gpu-lost",
    "smi-xml-mock-qx-gb200-fabric-degraded.xml": "hardware.nvlink-fault",
    "smi-xml-mock-qx-gb200-throttle-counters.xml": "hardware.power-cap-normal",
    "dmesg-gpud-xid-119.log": "hardware.internal-fault",
    "azure-bad_nvlink_status.txt": "hardware.nvlink-fault",
    "smi-table-azure-8gpu-bad.txt": "hardware.memory-errors",
}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="GPUWHY_CAPTURES names no folder")


def asserted(path: Path) -> list[Conclusion]:
    kb = load()
    gathered = gather([(path.name, path)], kb.facts)
    found = diagnose_with(kb, FactBase.of(gathered.facts, gathered.absent))
    return [one for one in found.conclusions if one.status.asserted]


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.name)
def test_a_healthy_machine_has_no_hardware_cause(path: Path) -> None:
    causes = [one.id for one in asserted(path) if one.id.startswith("hardware.") and one.spec.kind == "cause"]
    assert causes == []


@pytest.mark.parametrize(("name", "fault"), INJECTED.items(), ids=list(INJECTED))
def test_an_injected_fault_is_found(name: str, fault: str) -> None:
    assert fault in [one.id for one in asserted(FOLDER / name)]
