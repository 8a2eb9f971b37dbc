"""Results of SuperBench, one node or many, and what its diagnosis writes."""

from __future__ import annotations

import gzip
import json

import pytest

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase, Value
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.read import Gathered, gather

HOST, JOB = "host:this", "job:this"


def read(*nodes: dict[str, object]) -> Gathered:
    lines = "".join(json.dumps(one) + "\n" for one in nodes)
    return gather([("results-summary.jsonl", lines.encode())], load().facts)


def values(found: Gathered) -> dict[tuple[str, str], Value]:
    return {(one.id, one.entity.path): one.value for one in found.facts}


NODE: dict[str, object] = {
    "node": "vm-07",
    "kernel-launch/return_code": 0,
    "kernel-launch/event_time:0": 0.0055,
    "kernel-launch/event_time:1": 0.1,
    "mem-bw/return_code": 0,
    "mem-bw/h2d_bw:0": 25.5,
    "mem-bw/H2D_Mem_BW:1": 12.5,
    "mem-bw/d2h_bw:0": 26.0,
    "mem-bw/d2h_bw:1": 13.0,
    "gemm-flops/fp16_tc_flops:0": 280000,
    "gemm-flops/FP16_TC:1": 140000.0,
    "gemm-flops/fp32_flops:0": 18000,
    "nccl-bw:nvlink/allreduce_8388608_busbw:0": 100.0,
    "nccl-bw:nvlink/allreduce_8589934592_busbw:0": 230.5,
    "nccl-bw:nvlink/allreduce_8589934592_algbw:0": 131.7,
    "nccl-bw:ib-only/allreduce_17179869184_busbw:0": 90.0,
    "nccl-bw/allgather_34359738368_busbw:0": 300.0,
    "ib-loopback/IB_write_8388608_Avg_0:0": 23900.0,
    "disk-benchmark/nvme0n1_seq_read_bs": 131072,
    "disk-benchmark/nvme0n1_seq_read_read_iops": 20000,
    "disk-benchmark/nvme0n1_rand_read_read_iops": 500000,
    "disk-benchmark/nvme1n1_rand_read_read_iops": 90000,
    "monitor/gpu_uncorrected_ecc:0": 0,
    "monitor/gpu_uncorrected_ecc:1": 3,
    "monitor/gpu_power_limit:0": 400,
}


def test_metrics_become_the_facts_that_other_tools_give() -> None:
    found = values(read(NODE))
    assert found["gpu.launch_seconds", "gpu:0"] == pytest.approx(5.5e-6)
    assert found["gpu.host_to_device_bytes_per_second", "gpu:1"] == 12.5e9
    assert found["gpu.device_to_host_bytes_per_second", "gpu:0"] == 26e9
    assert found["gpu.matmul_float16_flops", "gpu:0"] == 280e12
    assert found["gpu.matmul_float16_flops", "gpu:1"] == 140e12
    assert found["gpu.matmul_float32_flops", "gpu:0"] == 18e12
    assert found["network.rdma_bytes_per_second", HOST] == 23.9e9
    assert found["storage.read_bytes_per_second", HOST] == 131072 * 20000
    assert found["gpu.power_limit_watts", "gpu:0"] == 400
    assert found["gpu.count", HOST] == 2
    assert found["host.benchmark_failed_count", HOST] == 0


def test_the_largest_all_reduce_over_the_best_path_is_the_bus_bandwidth() -> None:
    found = values(read(NODE))
    assert found["comm.bus_bandwidth_bytes_per_second", JOB] == 230.5e9
    assert found["comm.algorithm_bandwidth_bytes_per_second", JOB] == pytest.approx(131.7e9)
    assert found["comm.message_max_bytes", JOB] == 8589934592
    assert found["comm.bench_operation", JOB] == "allreduce"


def test_of_several_disks_the_slowest_counts() -> None:
    assert values(read(NODE))["storage.read_operations_per_second", HOST] == 90000


def test_a_counter_of_the_monitor_that_may_just_not_be_readable_is_no_zero() -> None:
    found = values(read(NODE))
    assert found["gpu.ecc_uncorrected_count", "gpu:1"] == 3
    assert ("gpu.ecc_uncorrected_count", "gpu:0") not in found


def test_copies_by_direction_engine_and_pair() -> None:
    found = values(
        read(
            {
                "node": "n",
                "gpu-copy-bw:correctness/cpu_to_gpu0_by_dma_under_numa0_bw": 20.0,
                "gpu-copy-bw:correctness/cpu_to_gpu0_by_dma_under_numa1_bw": 24.0,
                "gpu-copy-bw/gpu1_to_cpu_by_sm_under_numa0_bw": 3.0,
                "gpu-copy-bw/gpu0_to_gpu0_by_dma_bw": 600.0,
                "gpu-copy-bw/gpu0_to_gpu1_read_by_sm_bw": 250.0,
                "nvbandwidth/device_to_device_memcpy_read_ce_gpu1_gpu0_bw": 270.0,
                "nvbandwidth/device_to_host_memcpy_ce_cpu0_gpu1_bw": 25.0,
                "nvbandwidth/device_to_host_memcpy_ce_sum_bw": 50.0,
            }
        )
    )
    assert found["gpu.host_to_device_bytes_per_second", "gpu:0"] == 24e9  # of two NUMA nodes the near one
    assert found["gpu.device_to_host_kernel_bytes_per_second", "gpu:1"] == 3e9
    assert found["gpu.device_copy_bytes_per_second", "gpu:0"] == 600e9
    assert found["topology.peer_copy_min_bytes_per_second", HOST] == 250e9
    assert found["topology.peer_copy_max_bytes_per_second", HOST] == 270e9
    assert found["gpu.device_to_host_bytes_per_second", "gpu:1"] == 25e9


def test_a_benchmark_that_failed_is_named() -> None:
    found = values(read({"node": "n", "gpu-burn/return_code": 0, "gpu-burn/gpu_2_pass": 0, "nccl-bw/return_code": 3}))
    assert found["host.benchmark_failed_count", HOST] == 1
    assert found["host.benchmark_failed", HOST] == "nccl-bw"
    assert found["gpu.stress_test_passed", "gpu:2"] is False


def test_of_several_nodes_the_first_is_read_and_the_others_are_told() -> None:
    gathered = read(NODE, {**NODE, "node": "vm-08"})
    assert values(gathered)["gpu.power_limit_watts", "gpu:0"] == 400
    told = [one.reason for one in gathered.not_understood]
    assert told == ["1 more node(s) in it: only vm-07 was read; `gpuwhy audit` reads each"]


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        ("gpu-copy-bw:perf/cpu_to_gpu0_by_dma_under_numa0_bw", "copies"),
        ("gpu-copy-bw:perf/gpu0_to_gpu1_read_by_sm_bw", "other"),
        ("mem-bw/d2d_bw:0", "other"),
    ],
)
def test_only_copies_over_the_link_of_the_host_speak_of_it(metric: str, kind: str) -> None:
    issue = {"index": "n", "Issue Details": f"{metric}(B/L: 25.0000 VAL: 12.5000)", "mem-bw/h2d_bw:0": 25.0}
    assert values(read(issue))["host.benchmark_issue_kind", HOST] == kind


def test_a_line_that_was_cut_is_told_and_the_whole_ones_are_read() -> None:
    content = json.dumps({"node": "a", "mem-bw/h2d_bw:0": 25.0}) + "\n" + json.dumps(NODE)[:100]
    for raw in (content.encode(), gzip.compress(content.encode())):
        gathered = gather([("r", raw)], load().facts)
        assert values(gathered)["gpu.host_to_device_bytes_per_second", "gpu:0"] == 25e9
        assert [(one.first, one.reason) for one in gathered.not_understood] == [
            (2, "not a whole JSON object: cut short?")
        ]


REJECTED = {
    "index": "vm-07",
    "diagnosis/accept": False,
    "diagnosis/issue_num": 2,
    "diagnosis/category": "HostLink",
    "diagnosis/issue_details": "mem-bw/h2d_bw:1(B/L: 25.0000 VAL: 12.5000 VAR: -50.00% Rule:lambda x:x<-0.05),"
    "kernel-launch/event_time:1(B/L: 0.0060 VAL: 0.1000 VAR: 1566.67% Rule:lambda x:x>0.05)",
    "mem-bw/h2d_bw:0": 25.0,
}


@pytest.mark.parametrize("raw", [json.dumps([REJECTED], indent=4), json.dumps(REJECTED)], ids=["json", "jsonl"])
def test_the_suites_own_verdict(raw: str) -> None:
    found = values(gather([("diagnosis_summary.json", raw.encode())], load().facts))
    assert found["host.benchmark_accepted", HOST] is False
    assert found["host.benchmark_issue_kind", HOST] == "copies"
    assert str(found["host.benchmark_issue", HOST]).startswith("mem-bw/h2d_bw:1(B/L: 25.0000")
    assert found["gpu.host_to_device_bytes_per_second", "gpu:0"] == 25e9


def test_an_older_verdict_names_its_columns_otherwise() -> None:
    older = {"index": "n", "Issue Details": "kernel-launch/wall_overhead:0(B/L: 1)", "mem-bw/h2d_bw:0": 25.0}
    assert values(read(older))["host.benchmark_issue_kind", HOST] == "launch"


def test_a_gpu_that_is_half_as_fast_and_half_as_well_connected_is_found() -> None:
    gathered = read({**NODE, "mem-bw/h2d_bw:2": 25.5, "mem-bw/d2h_bw:2": 26.0, "gemm-flops/fp16_tc_flops:2": 280000})
    found = diagnose(load(), FactBase.of(gathered.facts, gathered.absent), ask=False)
    statuses = {one.id: one.status.value for one in found.asserted}
    assert statuses["slow.straggler"] == "confirmed"
    assert statuses["hardware.link-degraded"] == "likely"
