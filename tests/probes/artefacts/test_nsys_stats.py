"""Reports of `nsys stats`: text of old and new versions, and CSV."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.nsys_stats import FORMAT
from tests.probes.artefacts.helpers import scan, values

NEW = """ ** CUDA API Summary (cuda_api_sum):

 Time (%)  Total Time (ns)  Num Calls   Avg (ns)   Med (ns)   Min (ns)  Max (ns)   StdDev (ns)            Name
 --------  ---------------  ---------  ----------  ---------  --------  ---------  -----------  ---------------------
     70.0        7,000,000      1,000     7,000.0    6,500.0     4,000     90,000        200.0  cudaLaunchKernel
     30.0        3,000,000         10   300,000.0  290,000.0   100,000    500,000        300.0  cudaStreamSynchronize

 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

 Time (%)  Total Time (ns)  Instances  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)          Name
 --------  ---------------  ---------  --------  --------  --------  --------  -----------  ----------------------
    100.0          2000000       1000    2000.0    1900.0      1500      9000        100.0  void k<float>(int, int)

 ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):

 Time (%)  Total Time (ns)  Count  Avg (ns)   Med (ns)  Min (ns)  Max (ns)  StdDev (ns)           Operation
 --------  ---------------  -----  ---------  --------  --------  --------  -----------  ----------------------------
    100.0          6000000     20   300000.0  290000.0    200000    400000       1000.0  [CUDA memcpy Host-to-Device]

 ** CUDA GPU MemOps Summary (by Size) (cuda_gpu_mem_size_sum):

 Total (MB)  Count  Avg (MB)  Med (MB)  Min (MB)  Max (MB)  StdDev (MB)           Operation
 ----------  -----  --------  --------  --------  --------  -----------  ----------------------------
     40.000     20     2.000     2.000     1.000     3.000        0.500  [CUDA memcpy Host-to-Device]

 ** OS Runtime Summary (osrt_sum):

 Time (%)  Total Time (ns)  Num Calls   Avg (ns)    Med (ns)   Min (ns)  Max (ns)  StdDev (ns)   Name
 --------  ---------------  ---------  ----------  ----------  --------  --------  -----------  ------
     90.0        500000000         50  10000000.0  10000000.0      1000  20000000       1000.0  poll
"""


def job(text: str) -> dict[str, Value]:
    """Values of the job's facts by id."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, text)).items() if path == "job:this"}


def test_new_reports() -> None:
    """1000 kernels of 2 us under 1000 launches of 7 us, 6 of 8 ms GPU time in copies; the OS calls are no launches."""
    found = job(NEW)
    assert found["step.kernel_count"] == 1000
    assert found["step.kernel_mean_seconds"] == pytest.approx(2e-6)
    assert found["step.launch_count"] == 1000
    assert found["step.launch_mean_seconds"] == pytest.approx(7e-6)
    assert found["step.launch_call_share"] == pytest.approx(0.7)
    assert found["step.sync_call_share"] == pytest.approx(0.3)
    assert found["step.sync_count"] == 10
    assert found["step.copy_activity_share"] == pytest.approx(0.75)
    assert found["step.copy_count"] == 20
    rows = values(scan(FORMAT, NEW))
    assert rows["profile.total_seconds", "job:this/entry:poll"] == pytest.approx(0.5)
    assert rows["reading.bytes", "job:this/measurement:[CUDA memcpy Host-to-Device]: total"] == pytest.approx(40e6)


def test_old_report() -> None:
    """Versions of 2019 print `Time(%)`, `Average` without a unit and no title in parentheses."""
    text = (
        "CUDA Kernel Statistics (nanoseconds)\n\n"
        "Time(%)      Total Time   Instances         Average         Minimum         Maximum  Name\n"
        "-------  --------------  ----------  --------------  --------------  --------------  ----\n"
        "  100.0         5000000         100         50000.0           40000           60000  my_kernel(float*)\n"
    )
    found = job(text.replace("Total Time ", "Total Time (ns) "))
    assert found["step.kernel_total_seconds"] == pytest.approx(5e-3)
    assert found["step.kernel_mean_seconds"] == pytest.approx(50e-6)


def test_csv() -> None:
    """`--format csv`."""
    text = (
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
        '60.0,600,6,100.0,100.0,90,120,1.0,"void k<float, 4>(int)"\n'
        "40.0,400,4,100.0,100.0,90,110,1.0,ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)\n"
    )
    found = job(text)
    assert found["step.kernel_count"] == 10
    assert found["step.kernel_total_seconds"] == pytest.approx(1e-6)
    assert found["step.communication_activity_share"] == pytest.approx(0.4)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(NEW)), st.integers(0, len(NEW)), st.text(max_size=30))
def test_damage_never_raises(start: int, end: int, junk: str) -> None:
    """Cut, spliced and spoilt reports."""
    scan(FORMAT, NEW[:start] + junk + NEW[end:])


def test_a_report_set_as_a_table_between_bars_with_the_name_in_front() -> None:
    content = """#### CUDA API usage
| API Function                | Time (%) | Total Time (ns)  | Num Calls | Avg Time (ns)  |
|-----------------------------|----------|------------------|-----------|----------------|
| `cudaStreamSynchronize`     | 80.0%    | 8,000,000,000    | 400       | 20,000,000.0   |
| `cudaLaunchKernel`          | 20.0%    | 2,000,000,000    | 200,000   | 10,000.0       |
"""
    facts = values(scan(FORMAT, content))
    assert facts["step.sync_call_share", "job:this"] == pytest.approx(0.8)
    assert facts["step.launch_count", "job:this"] == 200_000
    assert facts["step.launch_mean_seconds", "job:this"] == pytest.approx(10e-6)
    assert facts["profile.calls", "job:this/entry:cudaStreamSynchronize"] == 400
