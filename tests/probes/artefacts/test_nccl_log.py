"""Logs of NCCL: networks, paths, plans, errors."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.nccl_log import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

FROM = "node1:100:200 [0] NCCL INFO "


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


def test_a_report_says_that_sockets_are_used_instead() -> None:
    said = facts("All-reduce is slow because NCCL falls back to sockets instead of RoCE between our nodes.")
    assert said == {"comm.network": "socket", "comm.rdma_wanted": True}
    assert facts("NCCL is using TCP sockets rather than InfiniBand here")["comm.rdma_wanted"] is True
    assert facts("NCCL would fall back to sockets instead of InfiniBand without the plugin") == {}
    assert facts("If the plugin is missing, NCCL falls back to sockets") == {}


@pytest.mark.parametrize(
    ("line", "fact", "value"),
    [
        (FROM + "NET/IB : No device found.", "comm.rdma_device_count", 0),
        (FROM + "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>", "comm.rdma_device_count", 2),
        (FROM + "NET/IB : Using [0]rocep1s0f0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", "comm.rdma_device_count", 1),
        (FROM + "NET/Socket : Using [0]ens3:172.16.0.1<0>", "comm.socket_interface", "ens3"),
        (FROM + "Using network Socket", "comm.network", "socket"),
        (FROM + "Using network IB", "comm.network", "rdma"),
        (FROM + "Using network IBext_v8", "comm.network", "rdma"),
        (FROM + "Using network AWS Libfabric", "comm.network", "plugin"),
        (FROM + "NET/Plugin : No plugin found (libnccl-net.so).", "comm.plugin_found", False),
        (FROM + "NET/Plugin: Could not find: libnccl-net.so", "comm.plugin_found", False),
        (FROM + "NET/Plugin: Loaded net plugin AWS Libfabric (v5)", "comm.plugin_found", True),
        ("NCCL version 2.19.3+cuda12.3", "comm.nccl_version", "2.19.3+cuda12.3"),
        (FROM + "NCCL_IB_DISABLE set by environment to 0.", "comm.rdma_wanted", True),
        (FROM + "NCCL_IB_DISABLE set by environment to 1.", "comm.rdma_disabled", True),
        ("# NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO ./all_reduce_perf -g 2", "comm.peer_disabled_by_setting", True),
        ("me@node1:~$ NCCL_P2P_DISABLE=1 python train.py", "comm.peer_disabled_by_setting", True),
        (FROM + "NCCL_P2P_LEVEL set by environment to LOC", "comm.peer_disabled_by_setting", True),
        ("export NCCL_P2P_DISABLE=1", "comm.peer_disabled_by_setting", True),
        ("    os.environ['NCCL_IB_DISABLE'] = '1'", "comm.rdma_disabled", True),
        ('os.environ.setdefault("NCCL_P2P_DISABLE", "1")', "comm.peer_disabled_by_setting", True),
        ('  "NCCL_IB_DISABLE": "1",', "comm.rdma_disabled", True),
        ("      NCCL_P2P_DISABLE: 1", "comm.peer_disabled_by_setting", True),
        ("mpirun -x NCCL_TOPO_FILE=/opt/ndv5.xml ./all_reduce_perf", "comm.topology_file", True),
        (FROM + "comm 0x5 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0", "job.rank_count", 16),
        (FROM + "comm 0x5 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0", "comm.node_count", 2),
        (FROM + "24 coll channels, 16 nvls channels, 32 p2p channels", "comm.channel_count", 24),
        (FROM + "=== System : maxBw 12.0 totalBw 24.0 ===", "comm.system_bandwidth_bytes_per_second", 12e9),
        (FROM + "P2P is disabled between connected GPUs 1 and 0.", "comm.peer_disabled_count", 1),
        (FROM + "Mismatched NCCL version detected : rank 3 version 22703", "comm.version_mismatch", True),
        ("ncclRemoteError: A call failed possibly due to a network error", "comm.error", "remote-error"),
        ("RuntimeError: NCCL error in: X.cpp:1, unhandled system error", "comm.error", "system-error"),
    ],
)  # fmt: skip
def test_each_line_gives_its_fact(line: str, fact: str, value: Value) -> None:
    assert facts(line)[fact] == value


def test_connections_are_counted_by_kind_and_kinds_not_seen_are_none() -> None:
    found = facts(
        FROM + "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read\n"
        + FROM + "Channel 01 : 0[1000] -> 1[2000] via P2P/direct pointer\n"
        + FROM + "Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0\n"
    )  # fmt: skip
    assert found["comm.peer_channel_count"] == 2
    assert found["comm.network_channel_count"] == found["comm.socket_channel_count"] == 1
    assert found["comm.shared_memory_channel_count"] == 0


def test_machines_are_counted_by_name_or_known_to_be_one_where_nothing_leaves_it() -> None:
    assert (
        facts(FROM + "NET/IB : No device found.\nnode2:1:2 [0] NCCL INFO NET/IB : No device found.")["comm.node_count"]
        == 2
    )
    assert facts(FROM + "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct")["comm.node_count"] == 1
    assert "comm.node_count" not in facts(FROM + "NET/IB : No device found.")


def test_a_plan_and_what_was_assumed_for_it() -> None:
    found = facts(
        FROM + "Topology detection : could not read /sys/devices/pci0000:03/../max_link_speed, ignoring\n"
        + FROM + "Topology detection : could not read /sys/devices/pci0000:03/../max_link_width, ignoring\n"
        + FROM + "KV Convert to int : could not find value of '' in dictionary, falling back to 60\n"
        + FROM + "Pattern 4, crossNic 0, nChannels 2, bw 12.000000/6.000000, type LOC/PHB, sameChannels 1\n"
    )  # fmt: skip
    assert found["comm.unreadable_topology_count"] == 2
    assert found["comm.assumed_link_speed"] == 60
    assert found["comm.graph_channels"] == 2
    assert found["comm.graph_bandwidth_bytes_per_second"] == 6e9  # the slower of the two directions of the plan
    assert found["comm.graph_path"] == "LOC/PHB"


def test_prose_that_names_a_setting_is_not_the_setting() -> None:
    assert "comm.peer_disabled_by_setting" not in facts("I tried to set NCCL_P2P_DISABLE=1 and nothing changed")


def test_lines_of_nccl_are_claimed_and_others_are_not() -> None:
    extracts = scan(FORMAT, FROM + "Connected all rings\nepoch 1 loss 2.0 via hope\n")
    assert claimed(extracts) == {1}
