"""nvprof summaries: layouts old and new, CSV, and launches that wait on a full queue."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.nvprof import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

NEW = """$ nvprof python train.py
==1234== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   60.00%  6.00000s      1000  6.0000ms  1.0000ms  9.0000ms  void my_kernel<float, 4>(int, float*)
                   30.00%  3.00000s       100  30.000ms  1.0000us  90.000ms  [CUDA memcpy HtoD]
                   10.00%  1.00000s      1000  1.0000ms  1.0000us  2.0000ms  volta_sgemm_32x32_sliced1x4_nn
      API calls:   80.00%  8.00000s      2000  4.0000ms  5.0000us  9.0000ms  cudaLaunchKernel
                   15.00%  1.50000s        10  150.00ms  1.0000ms  1.00000s  cudaDeviceSynchronize
                    5.00%  500.00ms      9000  55.555us     200ns  3.0000ms  cudaFree
"""
OLD = """==99== Profiling result:
Time(%)      Time     Calls       Avg       Min       Max  Name
 75.00%  30.000ms      3000  10.000us  9.0000us  12.000us  add_kernel(float*)
 25.00%  10.000ms       100  100.00us  90.000us  120.00us  [CUDA memcpy DtoH]

==99== API calls:
Time(%)      Time     Calls       Avg       Min       Max  Name
 90.00%  900.00ms      3000  300.00us  290.00us  400.00us  cudaLaunch
 10.00%  100.00ms       100  1.0000ms  500.00us  2.0000ms  cudaMemcpy
"""


def job(text: str) -> dict[str, Value]:
    """Values of the job's facts by id."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, text)).items() if path == "job:this"}


def test_new_layout() -> None:
    """2000 kernels in 7 s; launches of 4 ms that took 5 us at best, while the GPU worked for 10 s: they waited."""
    found = job(NEW)
    assert found["step.kernel_count"] == 2000
    assert found["step.kernel_total_seconds"] == pytest.approx(7.0)
    assert found["step.kernel_mean_seconds"] == pytest.approx(3.5e-3)
    assert found["step.kernel_longest_seconds"] == pytest.approx(9e-3)
    assert found["step.copy_activity_share"] == pytest.approx(0.3)
    assert found["step.launch_count"] == 2000
    assert found["step.launch_mean_seconds"] == pytest.approx(4e-3)
    assert found["step.launch_call_share"] == pytest.approx(0.8)
    assert found["step.sync_call_share"] == pytest.approx(0.15)
    assert found["step.sync_count"] == 10
    assert found["step.wait_booked_as_work"] is True
    assert claimed(scan(FORMAT, NEW)) == set(range(2, 10))


def test_old_layout_and_launches_that_are_slow_themselves() -> None:
    """40 ms of GPU work against 900 ms of launches, all about as long as the shortest: the host is slow."""
    found = job(OLD)
    assert found["step.kernel_count"] == 3000
    assert found["step.launch_count"] == 3000
    assert found["step.launch_call_share"] == pytest.approx(0.9)
    assert found["step.wait_booked_as_work"] is False


def test_rows_as_a_profile() -> None:
    """Rows keep their figures under their names, also in a quoted text."""
    quoted = "\n".join(f"> {line}" for line in NEW.splitlines())
    found = values(scan(FORMAT, quoted))
    row = "job:this/entry:void my_kernel<float, 4>(int, float*)"
    assert found["profile.device_total_seconds", row] == 6.0
    assert found["profile.device_share", row] == pytest.approx(0.6)
    assert found["profile.calls", row] == 1000


def test_rows_cut_off_from_their_labels() -> None:
    """Without the section's label the name decides."""
    found = job(" 90.00%  900.00ms  3000  300.00us  290.00us  400.00us  cudaLaunchKernel\n")
    assert found["step.launch_count"] == 3000


def test_csv() -> None:
    """The CSV form has a row of units."""
    text = (
        '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n'
        ",%,ms,,us,us,us,\n"
        '"GPU activities",100.0,5.0,10,500.0,400.0,600.0,"k(int, float)"\n'
        '"API calls",100.0,1.0,10,100.0,90.0,200.0,"cudaLaunchKernel"\n'
    )
    found = job(text)
    assert found["step.kernel_total_seconds"] == pytest.approx(5e-3)
    assert found["step.launch_mean_seconds"] == pytest.approx(100e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(NEW)), st.integers(0, len(OLD)), st.text(max_size=30))
def test_damage_never_raises(start: int, end: int, junk: str) -> None:
    """Cut, spliced and spoilt summaries."""
    scan(FORMAT, NEW[:start] + junk + OLD[end:] + '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n' + junk)


def test_copies_within_the_device_are_launched_like_kernels() -> None:
    text = """==7== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   99.00%  2.00000s   1000000  2.0000us  1.0000us  9.0000us  [CUDA memcpy DtoD]
                    1.00%  20.000ms      1000  20.000us  9.0000us  30.000us  add_kernel(float*)
"""
    facts = job(text)
    assert facts["step.kernel_count"] == 1_001_000
    assert facts["step.kernel_mean_seconds"] == pytest.approx(2.02 / 1_001_000)
    assert "step.copy_total_seconds" not in facts  # nothing crossed the link
