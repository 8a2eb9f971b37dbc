"""The NVIDIA driver's lines in a kernel log."""

from __future__ import annotations

import pytest

from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts import kernel_pcie
from gpuwhy.probes.artefacts.kernel_log import FORMAT
from gpuwhy.probes.artefacts.kernel_time import stamp
from gpuwhy.probes.artefacts.read import gather
from tests.probes.artefacts.helpers import claimed, scan, values

BURST = """\
[  100.000000] NVRM: GPU at PCI:0000:0a:00: GPU-01234567
[  100.500000] NVRM: Xid (PCI:0000:0a:00): 31, pid=777, name=train, Ch 00000010, intr 00000000. MMU Fault
[  142.250000] NVRM: Xid (PCI:0000:0a:00): 62, pid='<unknown>', name=<unknown>, 2023b230 20238a3a
[  142.500000] NVRM: Xid (PCI:0000:0a:00): 45, pid='<unknown>', name=<unknown>, Ch 00000008
[  143.500000] NVRM: Xid (PCI:0000:0a:00): 45, pid='<unknown>', name=<unknown>, Ch 00000009
"""
GPU = "gpu:0000:0a:00.0"


def test_a_burst_is_kept_code_by_code_with_its_order_and_times() -> None:
    extracts = scan(FORMAT, BURST)
    found = values(extracts)
    assert found["gpu.xid_codes", GPU] == "31, 62, 45"
    assert found["gpu.xid_first", GPU] == 31
    assert found["gpu.xid_burst_count", GPU] == 1
    assert found["xid.count", f"{GPU}/xid:45"] == 2
    assert found["xid.pid", f"{GPU}/xid:31"] == 777
    assert found["xid.process", f"{GPU}/xid:31"] == "train"
    assert found["xid.after_first_seconds", f"{GPU}/xid:62"] == 41.75
    assert found["xid.span_seconds", f"{GPU}/xid:45"] == 1.0
    assert found["host.xid_count", "host:this"] == 4
    assert ("xid.pid", f"{GPU}/xid:62") not in found
    assert claimed(extracts) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("line", "bus"),
    [
        (
            "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            "0000:05:00.0",
        ),
        ("Xid (0000:03:00): 79, Channel 00000001", "0000:03:00.0"),
        ("4,1227,437812449932,c;NVRM: Xid PCI:0000:01:00: 79, pid=1, name=a, Ch 00000018", "0000:01:00.0"),
        ("Jul 23 13:42:46 host kernel: [ 4015.437442] NVRM: Xid (PCI:0000:01:00): 79, pid=7034", "0000:01:00.0"),
        ("2025-02-23T16:24:18,123456+00:00 node kernel: NVRM: Xid (PCI:00000000:9B:00.0): 79, x", "0000:9b:00.0"),
    ],
    ids=["current", "ancient", "kmsg", "syslog", "iso"],
)
def test_every_shape_of_the_line(line: str, bus: str) -> None:
    assert values(scan(FORMAT, line))["gpu.xid_first", f"gpu:{bus}"] == 79


@pytest.mark.parametrize("line", ["is there an Xid 79?", "no Xid 79 in the log", "Xid errors: none", "xid: 0"])
def test_a_sentence_about_xids_is_no_xid(line: str) -> None:
    assert scan(FORMAT, line) == []


def test_an_xid_in_prose_is_of_the_gpu_that_it_names() -> None:
    assert values(scan(FORMAT, "health check: XID 48 detected on GPU 3"))["gpu.xid_first", "gpu:3"] == 48


def test_the_xid_that_is_named_as_the_cause_comes_first() -> None:
    found = values(
        scan(
            FORMAT,
            "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 00000001 caused by previous Xid 149\n",
        )
    )
    device = "gpu:0000:dc:00.0"
    assert found[("gpu.xid_codes", device)] == "149, 45"
    assert found[("gpu.xid_first", device)] == 149
    assert found[("host.xid_count", "host:this")] == 1


def test_a_driver_that_requires_a_reset() -> None:
    line = "[373871.3] NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x62)\n"
    assert values(scan(FORMAT, line))["gpu.reset_required", "gpu:0"] is True
    assert scan(FORMAT, "NVRM: GPU reset is not required\n") == []


def test_more_than_three_minutes_of_silence_begin_another_burst() -> None:
    # 16:20:00 to 16:23:00 are 180 s: still one burst; 16:26:01 is 181 s later.
    log = "\n".join(
        f"[Sun Feb 23 {clock} 2025] NVRM: Xid (PCI:0000:9b:00): 43, pid={pid}, Ch 8"
        for clock, pid in (("16:20:00", 1), ("16:23:00", 2), ("16:26:01", 3))
    )
    found = values(scan(FORMAT, log))
    assert found["gpu.xid_burst_count", "gpu:0000:9b:00.0"] == 2
    assert found["gpu.xid_process_count", "gpu:0000:9b:00.0"] == 3


def test_a_gpu_that_fell_off_without_a_code_and_an_adapter_that_failed() -> None:
    found = values(
        scan(
            FORMAT,
            "NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.\n"
            "NVRM: GPU 0000:18:00.0: RmInitAdapter failed! (0x25:0x40:1238)\n"
            "NVRM: GPU 0000:18:00.0: rm_init_adapter failed, device minor number 0\n",
        )
    )
    assert found["gpu.fallen_off_bus", "gpu:0000:18:00.0"] is True
    assert found["gpu.adapter_init_failed", "gpu:0000:18:00.0"] is True


def test_the_processor_that_does_not_answer_and_the_link_that_failed() -> None:
    found = values(
        scan(
            FORMAT,
            "NVRM: Xid (PCI:0000:9b:00): 119, pid=20, name=smi, Timeout after 6s of waiting for RPC response from GPU4"
            " GSP! Expected function 103 (GSP_RM_ALLOC)\n"
            "NVRM: Xid (PCI:0000:1b:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error on link 6(0x1)\n",
        )
    )
    assert found["xid.timeout_seconds", "gpu:0000:9b:00.0/xid:119"] == 6
    assert found["xid.rpc_function", "gpu:0000:9b:00.0/xid:119"] == 103
    assert found["xid.link", "gpu:0000:1b:00.0/xid:74"] == 6


def test_errors_of_a_switch() -> None:
    found = values(
        scan(
            FORMAT,
            "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 44 egress PRIV error (First)\n"
            "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n",
        )
    )
    assert found["host.switch_error_count", "host:this"] == 2
    assert found["host.switch_error_first", "host:this"] == 12028
    assert found["host.switch_error_link", "host:this"] == 44
    assert found["host.switch_error_fatal", "host:this"] is True


def test_a_row_that_waits_for_a_reset_is_announced() -> None:
    line = (
        "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate."
    )
    assert values(scan(FORMAT, line))["gpu.remap_announced", "gpu:0000:10:1c.0"] is True


TABLE = """\
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:0A:00.0 Off |                    0 |
| N/A   49C    P0             114W /  400W |       0MiB /  40960MiB |     98%      Default |
|   1  NVIDIA A100-SXM4-40GB          On  |   00000000:0B:00.0 Off |                    0 |
| N/A   49C    P0             114W /  400W |       0MiB /  40960MiB |     98%      Default |
"""


def test_the_log_and_the_table_speak_of_one_gpu() -> None:
    gathered = gather([("dmesg", BURST.encode()), ("smi", TABLE.encode())], load().facts)
    owners = {fact.id: fact.entity.path for fact in gathered.facts if fact.id == "gpu.xid_first"}
    assert owners == {"gpu.xid_first": "gpu:0"}
    assert {fact.entity.path for fact in gathered.facts if fact.id == "xid.count"} == {
        "gpu:0/xid:31",
        "gpu:0/xid:62",
        "gpu:0/xid:45",
    }


AER = """\
[ 8124.551002] pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0
[ 8124.551019] nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
[ 8124.551025] nvidia 0000:41:00.0:   device [10de:2204] error status/mask=00000001/0000a000
[ 8124.551031] nvidia 0000:41:00.0:    [ 0] RxErr
[ 8131.220131] nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)
[ 8140.000000] nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
"""


def test_bus_errors_of_a_gpu_are_told_from_those_of_others() -> None:
    found = values(scan(kernel_pcie.FORMAT, AER))
    assert found["gpu.aer_corrected_count", "gpu:0000:41:00.0"] == 2
    assert found["gpu.aer_layer", "gpu:0000:41:00.0"] == "Physical Layer"
    assert found["host.aer_other_count", "host:this"] == 1


def test_an_error_that_is_only_announced_counts_and_a_graver_one_is_told_apart() -> None:
    found = values(
        scan(
            kernel_pcie.FORMAT,
            "NVRM: GPU at PCI:0000:41:00: GPU-1\n"
            "pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received: 0000:41:00.0\n"
            "nvidia 0000:41:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer\n",
        )
    )
    assert found["gpu.aer_fatal_count", "gpu:0000:41:00.0"] == 1
    assert found["gpu.aer_nonfatal_count", "gpu:0000:41:00.0"] == 1


def test_the_words_of_recent_kernels() -> None:
    found = values(
        scan(
            kernel_pcie.FORMAT,
            "pcieport 0000:40:01.1: AER: Correctable error message received from 0000:40:01.1\n"
            "pcieport 0000:40:01.1: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)\n"
            "pcieport 0000:40:01.1: AER: Uncorrectable (Non-Fatal) error received from 0000:41:00.0\n"
            "nvidia 0000:41:00.0: PCIe Bus Error: Uncorrectable (Non-Fatal), type=Transaction Layer\n",
        )
    )
    assert found["gpu.aer_nonfatal_count", "gpu:0000:41:00.0"] == 1
    assert found["host.aer_other_count", "host:this"] == 1


def test_a_link_that_limits_a_device() -> None:
    found = values(
        scan(
            kernel_pcie.FORMAT,
            "[   10.7] pci 0000:04:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at"
            " 0000:01:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)",
        )
    )
    device = "device:0000:04:00.0"
    assert found["device.link_available_gigabits", device] == 252.048
    assert found["device.link_capable_gigabits", device] == 504.112
    assert found["device.limit_width", device] == 16
    assert found["device.limited_at", device] == "0000:01:00.0"


@pytest.mark.parametrize(
    ("kind", "is_gpu"),
    [
        pytest.param("[10de:2330] type 00 class 0x030200 PCIe Endpoint", True, id="a GPU"),
        pytest.param("[15b3:1021] type 00 class 0x020700 PCIe Endpoint", False, id="a network adapter"),
        pytest.param("[10de:22a3] type 00 class 0x068000", False, id="an NVSwitch"),
        pytest.param("[1a03:2000] type 00 class 0x030000", None, id="the screen of a management controller"),
    ],
)
def test_whether_a_limited_device_is_a_gpu_is_told_by_its_class(kind: str, is_gpu: bool | None) -> None:
    text = (
        f"[    3.1] pci 0000:04:00.0: {kind}\n"
        "[    3.2] pci 0000:04:00.1: [10de:22ba] type 00 class 0x040300\n"
        "[   10.7] pci 0000:04:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at"
        " 0000:01:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)\n"
    )
    assert values(scan(kernel_pcie.FORMAT, text)).get(("device.is_gpu", "device:0000:04:00.0")) is is_gpu


@pytest.mark.parametrize("line", ["", "kernel: usb 1-1", "[99 Feb] x", "Foo 99 25:61:61 host"])
def test_a_line_without_a_time_has_none(line: str) -> None:
    assert stamp(line) is None
