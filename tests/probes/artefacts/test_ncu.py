"""Nsight Compute: CSV, the details page as text, lists of metrics, the raw page."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.ncu import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

CSV = """==PROF== Connected to process 7 (/bin/app)
"ID","Process ID","Process Name","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"
"0","7","app","gemm(int, int)","GPU Speed Of Light Throughput","SM Frequency","hz","1,200,000,000.00",
"0","7","app","gemm(int, int)","GPU Speed Of Light Throughput","Memory Throughput","%","20.50",
"0","7","app","gemm(int, int)","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","30.25",
"0","7","app","gemm(int, int)","GPU Speed Of Light Throughput","Duration","ns","400000",
"0","7","app","gemm(int, int)","SpeedOfLight","","","","SOLBottleneck","OPT","This workload exhibits low compute throughput and memory bandwidth utilization relative to the peak."
"1","7","app","copy(int)","GPU Speed Of Light Throughput","DRAM Throughput","%","91.00",
==PROF== Disconnected from process 7
"""  # noqa: E501
TEXT = """[1234] python3.10@127.0.0.1
  void axpy(float*, int) (9, 32, 1)x(384, 1, 1), Context 1, Stream 7, Device 0, CC 8.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ------------- ------------
    Metric Name               Metric Unit Metric Value
    ----------------------- ------------- ------------
    DRAM Frequency          cycle/nsecond         1.51
    SM Frequency            cycle/nsecond         1.09
    Memory Throughput                   %        85.70
    DRAM Throughput                     %        84.10
    Duration                      usecond        12.50
    Compute (SM) Throughput             %        12.30
    ----------------------- ------------- ------------
    INF   This workload is using greater than 80.0% of the memory throughput of this device.

    Section: Occupancy
    Theoretical Occupancy                     %           50
    Achieved Occupancy                        %        43.21
"""


def kernel(text: str, name: str) -> dict[str, Value]:
    """Values of one kernel by fact id."""
    return {
        fact: value for (fact, path), value in values(scan(FORMAT, text)).items() if path.endswith(f"kernel:{name}")
    }


def test_csv() -> None:
    """Each profiled kernel has its own figures; the rule of the tool is kept."""
    assert kernel(CSV, "gemm(int, int)") == {
        "kernel.sm_clock_megahertz": pytest.approx(1200.0),
        "kernel.memory_throughput_share": pytest.approx(0.205),
        "kernel.compute_throughput_share": pytest.approx(0.3025),
        "kernel.duration_seconds": pytest.approx(400e-6),
        "kernel.latency_bound_rule": True,
    }
    assert kernel(CSV, "copy(int)") == {"kernel.dram_throughput_share": pytest.approx(0.91)}
    assert claimed(scan(FORMAT, CSV)) == set(range(2, 9))


def test_details_page() -> None:
    """The text that `ncu` prints without `--csv`."""
    assert kernel(TEXT, "void axpy(float*, int)") == {
        "kernel.memory_clock_megahertz": pytest.approx(1510.0),
        "kernel.sm_clock_megahertz": pytest.approx(1090.0),
        "kernel.memory_throughput_share": pytest.approx(0.857),
        "kernel.dram_throughput_share": pytest.approx(0.841),
        "kernel.duration_seconds": pytest.approx(12.5e-6),
        "kernel.compute_throughput_share": pytest.approx(0.123),
        "kernel.theoretical_occupancy_share": pytest.approx(0.5),
        "kernel.achieved_occupancy_share": pytest.approx(0.4321),
    }


def test_metrics_by_their_names() -> None:
    """`--metrics` prints the raw names."""
    text = (
        "    sm__throughput.avg.pct_of_peak_sustained_elapsed            %        55.00\n"
        "    gpu__time_duration.sum    usecond    3.00\n"
    )
    assert kernel(text, "kernel") == {
        "kernel.compute_throughput_share": pytest.approx(0.55),
        "kernel.duration_seconds": pytest.approx(3e-6),
    }


def test_comma_separated_list() -> None:
    """Section, metric, unit, value as people cut them out of the CSV."""
    text = (
        "GPU Speed Of Light Throughput, Compute (SM) Throughput, %, 40.00\n"
        "GPU Speed Of Light Throughput, Duration, ns, 1000\n"
    )
    assert kernel(text, "kernel") == {
        "kernel.compute_throughput_share": pytest.approx(0.4),
        "kernel.duration_seconds": pytest.approx(1e-6),
    }


def test_raw_page() -> None:
    """One column for each metric, the units in the row below the header."""
    text = (
        '"ID","Kernel Name","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"\n'
        '"","","nsecond","%"\n'
        '"0","a(int)","2000","70.0"\n'
        '"1","a(int)","4000","80.0"\n'
    )
    assert kernel(text, "a(int)")["kernel.duration_seconds"] == pytest.approx(2e-6)
    assert kernel(text, "a(int) #2")["kernel.compute_throughput_share"] == pytest.approx(0.8)


def test_other_tables_are_left_alone() -> None:
    """Words such as Duration in other texts are no metrics."""
    assert not scan(FORMAT, "Duration  s  12\nOPT   something\nGPU Speed of Light is fast\n")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(CSV)), st.integers(0, len(TEXT)), st.text(max_size=30))
def test_damage_never_raises(start: int, end: int, junk: str) -> None:
    """Cut, spliced and spoilt reports."""
    scan(FORMAT, CSV[:start] + junk + TEXT[end:] + junk + CSV)
