"""Output of the NCCL tests."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.nccl_tests import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


RUN = (
    "# nThread 1 nGpus 4 minBytes 1048576 maxBytes 67108864 step: 8(factor)\n"
    "#\n"
    "# Using devices\n"
    + "".join(f"#  Rank  {n} Group  0 Pid  71 on node1 device  {n} [0x1{n}] NVIDIA A100-SXM4-80GB\n" for n in range(4))
    + "#\n"
    "#     size      count    type  redop   root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    "   1048576     262144   float    sum     -1    52.43   20.00   30.00      0    52.00   20.10   30.15      0\n"
    "  67108864   16777216   float    sum     -1    500.0  134.20  201.30      0    498.0  134.80  202.20      0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 115.912 \n"
    "#\n"
)


def test_a_run() -> None:
    found = facts(RUN)
    assert found["comm.message_max_bytes"] == 67108864
    assert found["comm.bus_bandwidth_bytes_per_second"] == 202.2e9
    assert found["comm.bus_bandwidth_out_of_place_bytes_per_second"] == 201.3e9
    assert found["comm.bus_bandwidth_average_bytes_per_second"] == 115.912e9
    assert found["comm.wrong_value_count"] == 0
    assert (found["job.rank_count"], found["comm.node_count"]) == (4, 1)
    assert found["comm.bench_operation"] == "all-reduce"
    assert values(scan(FORMAT, RUN))["gpu.name", "gpu:3"] == "NVIDIA A100-SXM4-80GB"
    assert claimed(scan(FORMAT, RUN)) == set(range(1, 16))


def test_a_list_of_ranks_tells_the_machines_before_any_run_has_ended() -> None:
    listed = [line for line in RUN.splitlines() if "Rank" in line]
    assert facts("\n".join([*listed, "node1:71:71 [0] NCCL INFO Using network Socket"]))["comm.node_count"] == 1
    assert facts("\n".join(listed)) == {}  # cut within the list: other machines may have been named below


@pytest.mark.parametrize(
    ("row", "ranks", "operation"),
    [
        ("8589934592 2147483648 float sum -1 63896 134.44 235.27 N/A 63959 134.30 235.03 N/A", 8, "all-reduce"),
        ("8589934592  134217728  float  none  -1   42713  201.11  188.54  N/A", 16, None),
        (
            "2147483648  536870912  float  sum  -1  5784.75  371.23  696.06  0  5728.40  374.88  702.91  0",
            16,
            "all-reduce",
        ),
        ("134217728  16777216  float  3298.6  20.34  20.34  0e+00  3070.3  21.86  21.86  0e+00", None, None),
    ],
    ids=["all-reduce of 8", "all-gather of 16", "all-reduce of 16", "old layout, ratio 1"],
)
def test_operation_and_ranks_follow_from_bus_over_algorithm_bandwidth(
    row: str, ranks: int | None, operation: str | None
) -> None:
    # 235.27/134.44 = 1.75 = 2*7/8; 188.54/201.11 = 0.9375 = 15/16; 702.91/374.88 = 1.875 = 2*15/16
    found = facts(row)
    assert found.get("job.rank_count") == ranks
    assert found.get("comm.bench_operation") == operation


def test_only_the_last_lines() -> None:
    assert facts("# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 6.13 \n") == {
        "comm.wrong_value_count": 3,
        "comm.bus_bandwidth_average_bytes_per_second": 6.13e9,
    }


def test_several_runs_are_told_each_by_itself() -> None:
    found = values(scan(FORMAT, RUN + RUN))
    assert not any(fact.startswith("comm.bus") for fact, _ in found)
    assert found["reading.value", "job:this/measurement:bus bandwidth of run 2 (GB/s)"] == 202.2


def test_other_tables_with_floats_are_no_run() -> None:
    assert scan(FORMAT, "float 1.0 2.0\n10 20 30 float\nepoch 1 loss 2.0 float\n") == []


def test_ranks_and_wrong_values_are_told_without_a_summary() -> None:
    ranks = "".join(
        f"#  Rank  {rank} Group  0 Pid  8210{rank} on    node1 device  {rank} [0x42] NVIDIA H100 80GB HBM3\n"
        for rank in range(4)
    )
    assert (
        values(scan(FORMAT, "# Using devices\n" + ranks + "node1:1:1 [0] NCCL INFO Bootstrap\n"))[
            "job.rank_count", "job:this"
        ]
        == 4
    )
    row = "  {size}  {count}  float  sum  -1  240.7  2.18  4.08  {wrong}  125.7  4.17  7.82  1\n"
    rows = "".join(row.format(size=4 * n, count=n, wrong=n % 3) for n in (131072, 262144))
    # 131072 % 3 = 2 and 262144 % 3 = 1, and one in place in each of the two rows: 5
    assert values(scan(FORMAT, rows + "#  Avg bus bandwidth    : 6.0\n"))["comm.wrong_value_count", "job:this"] == 5
