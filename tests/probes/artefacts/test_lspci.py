"""PCIe links as lspci, sysfs and nvtop show them."""

from __future__ import annotations

from gpuwhy.probes.artefacts.lspci import FORMAT
from tests.probes.artefacts.helpers import scan, values

VERBOSE = """\
64:01.0 PCI bridge: Intel Corporation Device 347a (rev 06)
\tBus: primary=64, secondary=65, subordinate=65, sec-latency=0
\t\tLnkCap:\tPort #5, Speed 8GT/s, Width x8, ASPM not supported
\t\tLnkSta:\tSpeed 8GT/s, Width x8
65:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)
66:00.0 Ethernet controller: Mellanox Technologies MT2892
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x1 (downgraded)
"""


def test_the_card_and_the_port_above_it() -> None:
    found = values(scan(FORMAT, VERBOSE))
    device = "gpu:0000:65:00.0"
    assert found["gpu.link_width", device] == 8
    assert found["gpu.link_width_max", device] == 16
    assert found["gpu.link_generation", device] == 3
    assert found["gpu.link_generation_max", device] == 4
    assert found["gpu.link_width_downgraded", device] is True
    assert found["gpu.link_upstream_width", device] == 8
    assert found["gpu.link_upstream_generation", device] == 3
    assert {path for _, path in found} == {device, "host:this"}


def test_lines_without_a_device_are_of_the_gpu_in_question() -> None:
    capable, now = (
        "LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L1",
        "LnkSta: Speed 2.5GT/s (downgraded), Width x16 (ok)",
    )
    found = values(scan(FORMAT, f"    {capable}\n    {now}"))
    assert found["gpu.link_speed_gigatransfers", "gpu:0"] == 2.5
    assert found["gpu.link_generation", "gpu:0"] == 1
    assert found["gpu.link_width_downgraded", "gpu:0"] is False
    assert found["gpu.link_speed_downgraded", "gpu:0"] is True


def test_a_list_of_devices_counts_the_gpus() -> None:
    listing = (
        "10:1c.0 3D controller [0302]: NVIDIA Corporation Device [10de:20b2] (rev a1)\n"
        "10:1d.0 3D controller [0302]: NVIDIA Corporation Device [10de:20b2] (rev a1)\n"
        "00:01.0 VGA compatible controller [0300]: Red Hat, Inc. Virtio GPU [1af4:1050] (rev 01)\n"
    )
    assert values(scan(FORMAT, listing)) == {("host.pci_gpu_count", "host:this"): 2}


def test_sysfs_and_nvtop() -> None:
    found = values(
        scan(
            FORMAT,
            "/sys/bus/pci/devices/0000:3b:00.0/current_link_speed:2.5 GT/s PCIe\n"
            "/sys/bus/pci/devices/0000:3b:00.0/max_link_width:16\n"
            "Device 1 [GeForce GTX 1080 Ti] PCIe GEN 1@16x RX: 0 KiB/s\n",
        )
    )
    assert found["gpu.link_generation", "gpu:0000:3b:00.0"] == 1
    assert found["gpu.link_width_max", "gpu:0000:3b:00.0"] == 16
    assert found["gpu.name", "gpu:1"] == "GeForce GTX 1080 Ti"
    assert found["gpu.link_width", "gpu:1"] == 16


def test_sysfs_files_under_their_names() -> None:
    found = values(
        scan(
            FORMAT,
            "==> /sys/bus/pci/devices/0000:5e:00.0/current_link_speed <==\n8.0 GT/s PCIe\n\n"
            "==> /sys/bus/pci/devices/0000:5e:00.0/current_link_width <==\n4\n\n"
            "==> /sys/bus/pci/devices/0000:5e:00.0/max_link_width <==\n16\n"
            "==> /sys/bus/pci/devices/0000:5e:00.0/numa_node <==\n1\n",
        )
    )
    assert found["gpu.link_generation", "gpu:0000:5e:00.0"] == 3
    assert found["gpu.link_width", "gpu:0000:5e:00.0"] == 4
    assert found["gpu.link_width_max", "gpu:0000:5e:00.0"] == 16


def test_lines_quoted_in_a_sentence() -> None:
    text = "lspci -vv prints LnkSta: Speed 16GT/s, Width x8 (downgraded) while LnkCap says Speed 16GT/s, Width x16.\n"
    found = values(scan(FORMAT, text))
    assert found["gpu.link_width", "gpu:0"] == 8
    assert found["gpu.link_width_max", "gpu:0"] == 16
    assert found["gpu.link_width_downgraded", "gpu:0"] is True


def test_a_link_that_a_sentence_says_is_of_something_else() -> None:
    text = (
        "My NVMe drive shows LnkSta: Speed 8GT/s, Width x2 (downgraded). The GPU shows LnkSta: Speed 16GT/s (ok), "
        "Width x16 (ok), LnkCap: Speed 16GT/s, Width x16.\n"
    )
    found = values(scan(FORMAT, text))
    assert found["gpu.link_width", "gpu:0"] == 16
    assert found["gpu.link_width_downgraded", "gpu:0"] is False
