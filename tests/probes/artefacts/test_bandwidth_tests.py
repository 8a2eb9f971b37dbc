"""bandwidthTest, p2pBandwidthLatencyTest, simpleP2P and gpu_copy."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.bandwidth_tests import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

SAMPLE = (
    "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: Tesla T4\n Quick Mode\n\n"
    " Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
    "   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t6.3\n\n"
    " Device to Host Bandwidth, 1 Device(s)\n PAGEABLE Memory Transfers\n"
    "   Transfer Size (Bytes)\tBandwidth(MB/s)\n   33554432\t\t\t4321.5\n\n"
    " Device to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
    "   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t239.0\n\nResult = PASS\n"
)
PAIRS = (
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    "Device: 0, NVIDIA GeForce RTX 4090, pciBusID: 1, pciDeviceID: 0, pciDomainID:0\n"
    "Device: 1, NVIDIA GeForce RTX 4090, pciBusID: 41, pciDeviceID: 0, pciDomainID:0\n"
    "Device=0 CANNOT Access Peer Device=1\nDevice=1 CANNOT Access Peer Device=0\n\n"
    "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     0\n     1\t     0     1\n"
    "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n"
    "     0 909.49  21.50 \n     1  21.70 921.00 \n"
    "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1 \n"
    "     0 909.49  11.00 \n     1  12.00 922.92 \n"
    "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1 \n     0   1.36  10.58 \n     1  10.69   1.39 \n"
)


def facts(text: str) -> dict[tuple[str, str], Value]:
    return values(scan(FORMAT, text))


def test_the_bandwidth_sample() -> None:
    found = facts(SAMPLE)
    assert found["gpu.name", "gpu:0"] == "Tesla T4"
    assert found["gpu.host_to_device_bytes_per_second", "gpu:0"] == 6.3e9
    assert found["gpu.device_to_host_pageable_bytes_per_second", "gpu:0"] == pytest.approx(4.3215e9)
    assert found["gpu.device_copy_bytes_per_second", "gpu:0"] == 239e9
    assert len(claimed(scan(FORMAT, SAMPLE))) == sum(1 for line in SAMPLE.splitlines() if line.strip())


def test_a_sweep_over_sizes_counts_by_its_fastest() -> None:
    line = "bandwidthTest-H2D-Pinned, Bandwidth = {} GB/s, Time = 0.00242 s, Size = {} bytes, NumDevsUsed = 1\n"
    found = facts(line.format(0.4, 1000) + line.format(12.4, 30000000) + line.format(10.5, 32000000))
    assert found["gpu.host_to_device_bytes_per_second", "gpu:0"] == 12.4e9
    assert found["reading.value", "job:this/measurement:H2D pinned 32000000 bytes (GB/s)"] == 10.5


def test_the_peer_sample() -> None:
    found = facts(PAIRS)
    assert found["topology.no_peer_pair_count", "host:this"] == 1
    assert found["topology.peer_pair_count", "host:this"] == 0
    assert found["topology.staged_copy_min_bytes_per_second", "host:this"] == 21.5e9
    assert found["topology.peer_copy_min_bytes_per_second", "host:this"] == 11e9
    assert found["topology.peer_copy_max_bytes_per_second", "host:this"] == 12e9
    assert found["gpu.device_copy_bytes_per_second", "gpu:1"] == 921e9
    assert found["gpu.count", "host:this"] == 2


@pytest.mark.parametrize(
    ("line", "unable"),
    [
        ("> Peer access from NVIDIA A10 (GPU0) -> NVIDIA A10 (GPU1) : No", 1),
        ("> Peer-to-Peer (P2P) access from Tesla K80 (GPU0) -> Tesla K80 (GPU1) : Yes", 0),
        ("torch.cuda.can_device_access_peer(0, 1) = False", 1),
        ("Device=0 CAN Access Peer Device=1", 0),
    ],
)
def test_peer_access_in_other_words(line: str, unable: int) -> None:
    assert facts(line)["topology.no_peer_pair_count", "host:this"] == unable


def test_gpu_copy() -> None:
    found = facts(
        "cpu_to_gpu0_by_dma_under_numa0 26.2387\ncpu_to_gpu0_by_dma_under_numa1 13.1\n"
        "gpu0_to_cpu_by_sm_under_numa0 5.67\n"
        "gpu0_to_gpu0_by_dma 657.3\ngpu0_to_gpu1_write_by_dma 279.287\ngpu1_to_gpu0_read_by_dma 275.8\n"
    )
    assert found["gpu.host_to_device_bytes_per_second", "gpu:0"] == 26.2387e9
    assert found["gpu.device_to_host_kernel_bytes_per_second", "gpu:0"] == 5.67e9
    assert found["topology.peer_copy_min_bytes_per_second", "host:this"] == 275.8e9


def test_a_list_of_devices_alone_is_no_test() -> None:
    assert scan(FORMAT, "Device 0: NVIDIA A10\nbandwidthTest is deprecated\n") == []


def test_the_fastest_copies_of_each_gpu() -> None:
    text = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1      2\n"
    text += "     0 900.00  25.00   4.00\n     1  26.00 900.00   4.10\n     2   4.00   4.20 900.00\n"
    found = values(scan(FORMAT, text))
    best = {path: value for (fact, path), value in found.items() if fact == "gpu.peer_copy_best_bytes_per_second"}
    assert best == {"gpu:0": 26e9, "gpu:1": 26e9, "gpu:2": 4.2e9}
