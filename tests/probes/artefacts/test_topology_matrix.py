"""Matrices of paths between GPUs."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.topology_matrix import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


OLD = (
    "        GPU0    GPU1    mlx5_0  CPU Affinity\n"
    "GPU0     X      SOC     PIX     0-13\n"
    "GPU1    SOC      X      SOC     14-27\n"
    "mlx5_0  PIX     SOC      X\n"
)
NEW = (
    "\tGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV18\tNODE\tPXB\tSYS\t0-47,96-143\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNODE\tNODE\tSYS\t0-47,96-143\t0\t\tN/A\n"
    "GPU2\tNODE\tNODE\t X \tSYS\tPXB\t48-95,144-191\t1\t\tN/A\n"
    "NIC0\tPXB\tNODE\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tSYS\tPXB\tSYS\t X \n\n"
    "Legend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect\n\n"
    "NIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n"
)


def test_a_table_of_today() -> None:
    # of the pairs 01, 02, 12 one has NVLink; NODE is the longest path between GPUs, SYS leads to adapters only
    assert facts(NEW) == {
        "gpu.count": 3,
        "topology.pair_count": 3,
        "topology.nvlink_pair_count": 1,
        "topology.nvlinks_per_pair": 18,
        "topology.cross_socket_pair_count": 0,
        "topology.worst_path": "NODE",
        "topology.numa_node_count": 2,
        "topology.adapter_count": 2,
    }
    assert claimed(scan(FORMAT, NEW)) >= {1, 2, 3, 4, 5, 6, 8, 10, 11, 13, 15, 16}


def test_an_old_table_has_other_names_for_paths_and_adapters() -> None:
    found = facts(OLD)
    assert (found["gpu.count"], found["topology.adapter_count"]) == (2, 1)
    assert found["topology.worst_path"] == "SYS"
    assert found["topology.cross_socket_pair_count"] == 1
    assert "topology.numa_node_count" not in found


def test_rows_without_their_header_and_with_some_left_out() -> None:
    found = facts("GPU0   X    NV12  NV12  NV12  0-23  0\nGPU3  NV12  NV12  NV12   X    24-47  1\n")
    # pairs 01, 02, 03, 13, 23 are in the two rows
    assert (found["gpu.count"], found["topology.pair_count"], found["topology.nvlink_pair_count"]) == (4, 5, 5)
    assert found["topology.worst_path"] == "NVLINK"


def test_several_tables_are_told_each_by_itself() -> None:
    two = facts("GPU0  X  NV12\nGPU1  NV12  X\n---\nGPU0  X  PHB  0-11  N/A\nGPU1  PHB  X  0-11  N/A\n")
    assert set(two) == {"reading.count"}


@pytest.mark.parametrize(
    ("rows", "able", "unable"),
    [
        ("GPU0  X  OK  OK\nGPU1  OK  X  NS\nGPU2  OK  NS  X\n", 2, 1),
        (" \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX\n", 0, 1),
        ("GPU0  X  OK\nGPU1  OK  X\n", 1, 0),
    ],
    ids=["one pair", "chip set", "all"],
)
def test_peer_access(rows: str, able: int, unable: int) -> None:
    found = facts(rows)
    assert (found["topology.peer_pair_count"], found["topology.no_peer_pair_count"]) == (able, unable)


def test_other_lines_about_gpus_are_no_matrix() -> None:
    assert scan(FORMAT, "GPU0 is slow\nGPU0\nGPU1: 41 C, 30 W\n") == []
