"""Bus bandwidth of collectives that a person states."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.reported import FORMAT
from tests.probes.artefacts.helpers import scan, values

FACT = ("comm.bus_bandwidth_bytes_per_second", "job:this")


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("all_reduce_perf shows only 3 GB/s busbw between two nodes", 3e9),
        ("all_reduce_perf gives 230 GB/s busbw on our 8x A100 box", 230e9),
        ("nccl-tests all_reduce busbw is about 1.2 GB/s on 4x RTX 4090", 1.2e9),
        ("With NCCL the bus bandwidth of the largest message is only 4.5 GB/s", 4.5e9),
        ("nccl-tests 显示 busbw 只有 1.5 GB/s, 两台机器 8 卡", 1.5e9),
        ("busbw = 24 Gbps between the nodes with nccl-tests", 3e9),  # 24 Gbit/s over 8
    ],
)
def test_stated(text: str, rate: float) -> None:
    assert values(scan(FORMAT, text + "\n"))[FACT] == pytest.approx(rate)


@pytest.mark.parametrize(
    "text",
    [
        "all_reduce_perf should give 230 GB/s busbw on 8 GPUs",
        "The expected bus bandwidth of NCCL is 370 GB/s",
        "all_reduce_perf busbw is 480 GB/s in a node, and across nodes busbw is 3 GB/s",
        "The average bus bandwidth is 12 GB/s over all sizes",
        "busbw is not 3 GB/s with NCCL",
        "nccl busbw 应该有 100 GB/s",
        "nccl 理论总线带宽是 100 GB/s",
        "The GPU has a memory bus bandwidth of 900 GB/s",
        "The GPU has a bus bandwidth of 900 GB/s in its data sheet",
        "NCCL is fine, the memory bus bandwidth of 900 GB/s of the GPU too",
        "The GPU's PCIe bandwidth is 12 GB/s",
    ],
)
def test_other_sentences_state_none(text: str) -> None:
    assert FACT not in values(scan(FORMAT, text + "\n"))


@pytest.mark.parametrize(
    ("text", "count"),
    [("2 nodes, all_reduce with NCCL is slow", 2), ("NCCL all_reduce (4 nodes)", 4), ("NCCL on two nodes", 2)],
)
def test_number_of_machines(text: str, count: int) -> None:
    assert values(scan(FORMAT, text + "\n"))["comm.node_count", "job:this"] == count


@pytest.mark.parametrize("text", ["NCCL 测试: 两台机器之间很慢", "跨节点通信慢, nccl"])
def test_machines_in_chinese(text: str) -> None:
    assert ("said.spans_machines", "job:this") in values(scan(FORMAT, text + "\n"))
