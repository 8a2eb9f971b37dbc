"""Tables of PyTorch's profilers: layouts of several versions, parts of tables, and what the rows tell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.torch_profiler_rows import header_columns
from gpuwhy.probes.artefacts.torch_profiler_table import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

RULE = "-" * 50 + "  ------------  ------------  ------------  ------------  ------------  ------------  "
CPU_TABLE = f"""profile of the run
{RULE}
                                              Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls
{RULE}
                                     ProfilerStep*        10.00%        1.000s       100.00%       10.000s        1.000s            10
enumerate(DataLoader)#_MultiProcessingDataLoaderIt...        39.90%        3.990s        40.00%        4.000s     400.000ms            10
                          Optimizer.step#Adam.step         5.00%     500.000ms        20.00%        2.000s     200.000ms            10
                                          aten::to         2.00%     200.000ms         3.00%     300.000ms       3.000us        100000
                                          aten::mm        10.00%        1.000s        10.00%        1.000s     100.000us         10000
{RULE}
Self CPU time total: 10.000s

done
"""  # noqa: E501


def job(text: str) -> dict[str, Value]:
    """Values of the job's facts by id."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, text)).items() if path == "job:this"}


def entry(text: str, name: str) -> dict[str, Value]:
    """Values of one row by fact id."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, text)).items() if path.endswith(f"entry:{name}")}


def test_cpu_table() -> None:
    """Ten steps of 1 s with 0.4 s of waiting for data each; 110,000 operator calls with 1.2 s of their own."""
    found = job(CPU_TABLE)
    assert found["step.count"] == 10
    assert found["step.time_seconds"] == 1.0
    assert found["step.data_wait_share"] == pytest.approx(0.4)
    assert found["step.data_wait_seconds"] == pytest.approx(0.4)
    assert found["step.optimizer_share"] == pytest.approx(0.2)
    assert found["step.outside_operator_share"] == pytest.approx(0.1)
    assert found["step.operator_count"] == 110_000
    assert found["step.operator_mean_seconds"] == pytest.approx(1.2 / 110_000)
    assert found["step.host_cpu_seconds"] == 10.0
    assert found["step.no_device_time"] is True
    assert found["loader.in_main_process"] is False
    assert entry(CPU_TABLE, "aten::to") == {
        "profile.self_share": pytest.approx(0.02),
        "profile.self_seconds": pytest.approx(0.2),
        "profile.share": pytest.approx(0.03),
        "profile.total_seconds": pytest.approx(0.3),
        "profile.mean_seconds": pytest.approx(3e-6),
        "profile.calls": 100_000,
    }
    assert claimed(scan(FORMAT, CPU_TABLE)) == set(range(2, 12))


CUDA_TABLE = """
[rank0]:   Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  Self CUDA  Self CUDA %  CUDA total  CUDA time avg  CPU Mem  Self CPU Mem  CUDA Mem  Self CUDA Mem  # of Calls
aten::item  0.10%  1.000ms  60.00%  600.000ms  6.000ms  0.000us  0.00%  200.000us  2.000us  0 b  0 b  0 b  0 b  100
aten::_local_scalar_dense  0.10%  1.000ms  59.90%  599.000ms  5.990ms  200.000us  0.02%  200.000us  2.000us  0 b  0 b  0 b  0 b  100
cudaStreamSynchronize  58.00%  580.000ms  58.00%  580.000ms  5.800ms  0.000us  0.00%  0.000us  0.000us  0 b  0 b  0 b  0 b  100
cudaLaunchKernel  10.00%  100.000ms  10.00%  100.000ms  10.000us  0.000us  0.00%  0.000us  0.000us  0 b  0 b  0 b  0 b  10000
aten::mm  5.00%  50.000ms  7.00%  70.000ms  7.000us  700.000ms  70.00%  700.000ms  70.000us  0 b  0 b  19.53 Mb  -2.50 Mb  10000
ampere_sgemm_128x64_nn  0.00%  0.000us  0.00%  0.000us  0.000us  700.000ms  70.00%  700.000ms  70.000us  0 b  0 b  0 b  0 b  10000
cudaDeviceSynchronize  3.00%  30.000ms  3.00%  30.000ms  30.000ms  0.000us  0.00%  0.000us  0.000us  0 b  0 b  0 b  0 b  1
Self CPU time total: 1.000s
Self CUDA time total: 1.000s
"""  # noqa: E501


def test_device_table_with_memory_columns() -> None:
    """A loop that waits in .item() for 600 of 1000 ms; launches of 10 us; kernels of 70 us."""
    found = job(CUDA_TABLE)
    assert found["step.sync_share"] == pytest.approx(0.6)
    assert found["step.sync_count"] == 100
    assert found["step.launch_count"] == 10_000
    assert found["step.launch_mean_seconds"] == pytest.approx(10e-6)
    assert found["step.kernel_count"] == 10_000
    assert found["step.kernel_mean_seconds"] == pytest.approx(70e-6)
    assert found["step.float32_matmul_share"] == 1.0
    assert found["step.device_seconds"] == 1.0
    assert found["step.no_device_time"] is False
    assert found["step.wait_booked_as_work"] is True
    assert found["step.waiting_call_host_seconds"] == pytest.approx(5.8e-3)
    memory = [value for (fact, path), value in values(scan(FORMAT, CUDA_TABLE)).items() if fact == "reading.bytes"]
    assert memory == [pytest.approx(19.53 * 1024**2), pytest.approx(-2.5 * 1024**2)]


def test_selected_columns_and_totals_from_shares() -> None:
    """Without a footer the totals are a row's time over its share: 2 s at 50 % makes 4 s."""
    text = (
        "Name   CPU total %   CPU total   CPU time avg   CUDA total   # of Calls\n"
        "aten::zero_   50.00%   2.000s   2.500ms   1.6ms   800\n"
    )
    found = job(text)
    assert found["step.host_cpu_seconds"] == pytest.approx(4.0)
    assert "step.wait_booked_as_work" not in found  # the GPU's total is not known


def test_wait_over_two_tables() -> None:
    """2.5 ms of host time for 2 us of GPU work in one table, more GPU time (4.4 s) than host time (4 s) in all."""
    text = (
        "Name   CPU total %   CPU total   CPU time avg   CUDA total   # of Calls\n"
        "aten::zero_   50.00%   2.000s   2.500ms   1.6ms   800\n\n"
        "void k(float*)   0.00%   0.000us   0.00%   0.000us   0.000us   2.200s   50.00%   2.200s   5.500ms   400\n"
    )
    found = job(text)
    assert found["step.device_seconds"] == pytest.approx(4.4)
    assert found["step.wait_booked_as_work"] is True
    assert found["step.waiting_call_device_seconds"] == pytest.approx(2e-6)


def test_collectives_are_not_counted_twice() -> None:
    """An operator and its kernel show the same 6 s: 60 % of 10 s, not 120 %."""
    row = "0.00%  1.000ms  0.00%  1.000ms  1.000us  6.000s  60.00%  6.000s  6.000ms  1000"
    kernel = "0.00%  0.000us  0.00%  0.000us  0.000us  6.000s  60.00%  6.000s  6.000ms  1000"
    text = f"c10d::allreduce_  {row}\nncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDev...  {kernel}\n"
    assert job(text)["step.communication_activity_share"] == pytest.approx(0.6)


def test_rows_without_header() -> None:
    """Six values of share, time, share, time, time, count can only be the CPU columns."""
    text = "see:\n   aten::conv2d   1.00%   10.000ms   50.00%   500.000ms   5.000ms   100\nprose 12 13\n"
    assert entry(text, "aten::conv2d")["profile.total_seconds"] == pytest.approx(0.5)
    assert claimed(scan(FORMAT, text)) == {2}


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (
            "Name  Self CPU total %  Self CPU total  CPU total %  CPU total  CPU time avg  CUDA total %  CUDA total  "
            "CUDA time avg  Number of Calls",
            ("cpu.self_share", "cpu.self", "cpu.share", "cpu.total", "cpu.mean", "device.share", "device.total",
             "device.mean", "calls"),
        ),
        ("Name  CPU time  CUDA time  Calls  CPU total  CUDA total",
         ("cpu.mean", "device.mean", "calls", "cpu.total", "device.total")),
        ("Name Self CPU % Self CPU CPU total % CPU total CPU time avg # of Calls",
         ("cpu.self_share", "cpu.self", "cpu.share", "cpu.total", "cpu.mean", "calls")),
        ("| Name | Self XPU | Self XPU % | XPU total | XPU time avg | # of Calls | Input Shapes |",
         ("device.self", "device.self_share", "device.total", "device.mean", "calls")),
    ],
)  # fmt: skip
def test_headers_of_all_versions(header: str, columns: tuple[str, ...]) -> None:
    """Old names, other devices, collapsed spaces, Markdown tables."""
    assert header_columns(header) == columns


def test_prose_is_no_header() -> None:
    """A sentence with such words is none."""
    assert header_columns("Name the CPU and the CUDA device") is None
    assert header_columns("GPU Name CPU") is None


def test_shapes_and_names_with_spaces() -> None:
    """Text columns on the right, and names with spaces and digits, leave the values where they belong."""
    text = (
        "Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  # of Calls  Input Shapes\n"
        "autograd::engine::evaluate_function: AddmmBackward0  1.00%  1.000ms  2.00%  2.000ms  20.000us  100  [[3]]\n"
        "Memcpy HtoD (Pageable -> Device)  0.00%  0.000us  0.00%  0.000us  0.000us  7  []\n"
    )
    assert entry(text, "autograd::engine::evaluate_function: AddmmBackward0")["profile.calls"] == 100
    assert entry(text, "Memcpy HtoD (Pageable -> Device)")["profile.calls"] == 7


def test_cut_row_gives_what_is_there() -> None:
    """The last row of a pasted table often breaks off."""
    text = "\n".join(CPU_TABLE.splitlines()[:3]) + "\n   aten::mm   10.00%   1.000s   11.00%"
    assert entry(text, "aten::mm") == {
        "profile.self_share": pytest.approx(0.1),
        "profile.self_seconds": 1.0,
        "profile.share": pytest.approx(0.11),
    }


def test_two_tables_keep_both_rows() -> None:
    """Before and after: the same operator twice."""
    text = CPU_TABLE + CPU_TABLE.replace("200.000ms         3.00%", "150.000ms         3.00%")
    assert entry(text, "aten::to (table 2)")["profile.self_seconds"] == pytest.approx(0.15)


def test_footer_alone() -> None:
    """The totals are often all that is quoted."""
    found = job("Self CPU time total: 2.500ms\nSelf CUDA time total: 9.000ms\n")
    assert found["step.host_cpu_seconds"] == pytest.approx(0.0025)
    assert found["step.device_seconds"] == pytest.approx(0.009)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(CUDA_TABLE)), st.integers(0, len(CUDA_TABLE)), st.text(max_size=30))
def test_damage_never_raises(start: int, end: int, junk: str) -> None:
    """Cut, spliced and spoilt tables."""
    scan(FORMAT, CPU_TABLE[:start] + junk + CUDA_TABLE[end:] + CPU_TABLE)
