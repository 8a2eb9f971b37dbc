"""Links of the network between machines."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.network_links import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


def test_lost_carriers_count_for_the_worst_interface() -> None:
    text = (
        "Aug 17 06:18:01 n1 systemd-networkd[53]: ib6: Lost carrier\n"
        "Aug 17 06:18:06 n1 systemd-networkd[53]: ib6: Gained carrier\n"
        "Aug 17 06:18:09 n1 systemd-networkd[53]: ib6: lost carrier\n"
        "Aug 17 07:00:00 n1 kernel: eth0: Link is Down\n"
    )
    assert facts(text) == {
        "network.carrier_lost_count": 2,
        "network.carrier_interface": "ib6",
        "network.flap_span_seconds": 8,
    }
    assert claimed(scan(FORMAT, text)) == {1, 2, 3, 4}


def test_ibstat() -> None:
    found = facts(
        "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
        "CA 'mlx5_1'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 40\n"
    )
    assert (found["network.rdma_port_count"], found["network.rdma_port_active_count"]) == (2, 1)
    assert found["network.rdma_rate_bytes_per_second"] == 50e9  # 400 Gbit/s


@pytest.mark.parametrize(
    ("header", "row", "rate"),
    [
        ("#bytes  #iterations  BW peak[MB/sec]  BW average[MB/sec]", "8388608 2000 23240.68 23240.68", 23.24068e9),
        ("#bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]", "65536 5000 197.53 196.80 0.375", 24.6e9),
    ],
)  # fmt: skip
def test_rdma_bandwidth(header: str, row: str, rate: float) -> None:
    found = facts(f"                    RDMA_Write BW Test\n {header}   MsgRate[Mpps]\n {row}\n")
    assert found["network.rdma_bytes_per_second"] == pytest.approx(rate)


def test_iperf_counts_the_sum_of_its_streams() -> None:
    text = (
        "[  5]   0.00-10.00  sec  5.45 GBytes  4.68 Gbits/sec   10   sender\n"
        "[SUM]   0.00-10.00  sec  10.9 GBytes  9.36 Gbits/sec   30   sender\n"
    )
    assert facts(text)["network.tcp_bytes_per_second"] == pytest.approx(1.17e9)


def test_other_lines_are_none() -> None:
    assert scan(FORMAT, "the carrier pigeon\nState: Active\nRate: 5\nink is down\n") == []
