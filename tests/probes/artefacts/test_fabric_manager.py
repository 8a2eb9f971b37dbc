"""The log of Fabric Manager."""

from __future__ import annotations

import pytest

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.fabric_manager import FORMAT
from gpuwhy.probes.artefacts.read import gather
from tests.probes.artefacts.helpers import claimed, scan, values

HOST = "host:this"
HEAD = "[Mar 04 2026 11:02:{:02}] [{}] [tid 771] "
RUNNING = HEAD.format(1, "INFO") + "Fabric Manager version 550.90.07 is running with the following options"
DONE = HEAD.format(30, "INFO") + "Successfully configured all the available NVSwitches to route GPU NVLink traffic."
FATAL = HEAD.format(40, "ERROR") + (
    "detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0 physical id 2 port 17"
)
MINOR = HEAD.format(39, "ERROR") + (
    "detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0 physical id 2 port 5"
)
UNTRAINED = HEAD.format(20, "ERROR") + "NVLink 4 of GPU 00000000:18:00.0 is not trained"
ABORT = HEAD.format(50, "ERROR") + (
    "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager"
)


def test_a_start_that_went_well() -> None:
    extracts = scan(FORMAT, f"{RUNNING}\n{DONE}\n{HEAD.format(31, 'INFO')}multicast group 1 is allocated.\n")
    assert values(extracts) == {
        ("host.fabric_manager_version", HOST): "550.90.07",
        ("host.fabric_configured", HOST): True,
    }
    assert claimed(extracts) == {1, 2, 3}


def test_messages_that_go_on_in_the_next_line_are_part_of_the_log() -> None:
    text = f"{RUNNING}\n{HEAD.format(3, 'INFO')}Received an inband message:  header\nMessage payload details:Team\n"
    assert claimed(scan(FORMAT, text)) == {1, 2, 3}


def test_switch_errors_are_counted_the_first_named_and_the_fatal_one_told() -> None:
    found = values(scan(FORMAT, f"{MINOR}\n{FATAL}\n"))
    assert found["host.switch_error_count", HOST] == 2
    assert found["host.switch_error_first", HOST] == 12028
    assert found["host.switch_error_link", HOST] == 5
    assert found["host.switch_error_detail", HOST] == "non-fatal, NVSwitch 00000000:C1:00.0, port 5"
    assert found["host.switch_error_fatal", HOST] is True
    assert values(scan(FORMAT, MINOR))["host.switch_error_fatal", HOST] is False


def test_the_kernel_log_of_the_same_errors_counts_them_once() -> None:
    kernel = "nvidia-nvswitch2: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 17 LTSSM Fault Up (First)"
    facts = gather([("log", f"{kernel}\n{FATAL}\n".encode())], load().facts).facts
    assert [one.value for one in facts if one.id == "host.switch_error_count"] == [1]


@pytest.mark.parametrize(
    ("lines", "configured"),
    [([ABORT, DONE], True), ([DONE, ABORT], False), ([ABORT], False), ([RUNNING], None)],
    ids=["mended", "broken since", "never", "says nothing"],
)
def test_what_it_says_last_of_its_start_is_its_state(lines: list[str], configured: bool | None) -> None:
    assert values(scan(FORMAT, "\n".join(lines))).get(("host.fabric_configured", HOST)) is configured


def test_links_that_did_not_train_are_quoted_without_their_prefix() -> None:
    found = values(scan(FORMAT, f"{UNTRAINED}\n{UNTRAINED}\n{DONE}\n"))
    assert found["host.fabric_link_fault_count", HOST] == 2
    assert found["host.fabric_link_fault", HOST] == "NVLink 4 of GPU 00000000:18:00.0 is not trained"


@pytest.mark.parametrize(
    "line",
    [
        HEAD.format(2, "INFO") + "Access NVLink failure mode: 0",
        HEAD.format(2, "INFO") + "all NVLinks are trained, 0 failed",
        "[Mar 04 2026 11:02:05] [ERROR] [tid 1] the link to the database is down",
    ],
    ids=["option", "well", "other program"],
)
def test_other_lines_are_no_link_fault(line: str) -> None:
    assert ("host.fabric_link_fault", HOST) not in values(scan(FORMAT, line))


def concluded(*lines: str) -> dict[str, str]:
    knowledge = load()
    gathered = gather([("fabricmanager.log", "\n".join(lines).encode())], knowledge.facts)
    found = diagnose(knowledge, FactBase.of(gathered.facts, gathered.absent), ask=False)
    return {one.id: one.status.value for one in found.asserted}


def test_missing_switches_stop_fabric_manager_until_it_starts_again() -> None:
    broken = concluded(RUNNING, ABORT)
    assert broken["env.fabric-manager"] == "confirmed"
    assert broken["hardware.nvlink-fault"] == "likely"
    mended = concluded(RUNNING, ABORT, RUNNING, DONE)
    assert "env.fabric-manager" not in mended
    assert "hardware.nvlink-fault" not in mended


def test_a_fatal_switch_error_is_a_fault_of_nvlink() -> None:
    assert concluded(RUNNING, DONE, FATAL) == {"hardware.nvlink-fault": "confirmed"}
