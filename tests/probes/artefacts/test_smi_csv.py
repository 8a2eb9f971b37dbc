"""`nvidia-smi --query-gpu` and `--query-compute-apps` as CSV."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.smi_csv import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024**2

LOOP = """\
timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks_event_reasons.active, pstate
2026/11/30 02:15:06.356, 0, NVIDIA L4, 0 %, 100 MiB, 30.00 W, 0x0000000000000001, P8
2026/11/30 02:15:06.361, 1, NVIDIA L4, 98 %, 22000 MiB, [N/A], 0x0000000000000004, P0
step 40, loss = 4.34
2026/11/30 02:15:16.356, 0, NVIDIA L4, 40 %, 300 MiB, 70.00 W, 0x0000000000000000, P0
2026/11/30 02:15:16.361, 1, NVIDIA L4, 96 %, 22500 MiB, [Unknown Error], 0x0000000000000044, P0
2026/11/30 02:15:26.356, 0, NVIDIA L4, 10 %, 200 MiB, 50.00 W, 0x0000000000000000, P0
2026/11/30 02:15:26.361, 1, NVIDIA L4, 97 %, 22000 MiB, [N/A], 0x0000000000000004, P0
"""


def test_a_loop_over_two_gpus_folds_each_gpu_by_itself() -> None:
    extracts = scan(FORMAT, LOOP)
    found = values(extracts)
    assert found["gpu.utilization_share", "gpu:0"] == pytest.approx(0.10)
    assert found["gpu.utilization_max_share", "gpu:0"] == pytest.approx(0.40)
    assert found["gpu.utilization_min_share", "gpu:0"] == 0.0
    assert found["gpu.utilization_share", "gpu:1"] == pytest.approx(0.97)
    assert found["gpu.memory_used_max_bytes", "gpu:1"] == 22500 * MIB
    assert found["gpu.power_watts", "gpu:0"] == 50
    assert found["gpu.sample_count", "gpu:0"] == 3
    assert found["gpu.performance_state", "gpu:0"] == 0  # of P8, P0, P0
    assert found["gpu.event_software_power_cap", "gpu:1"] is True
    assert found["gpu.event_hardware_thermal_slowdown", "gpu:1"] is False  # bit 0x40 in one sample of three
    assert found["gpu.event_hardware_thermal_slowdown_sample_share", "gpu:1"] == pytest.approx(1 / 3)
    assert {m.reason for m in extracts[0].missing if m.fact == "gpu.power_watts"} == {"N/A", "Unknown Error"}
    utilisation = next(r for r in extracts[0].readings if r.fact == "gpu.utilization_share")
    assert utilisation.window_seconds == 20
    assert claimed(extracts) == {1, 2, 3, 5, 6, 7, 8}


def test_units_may_be_missing_in_the_values() -> None:
    header = "index, memory.total [MiB], memory.used [MiB], utilization.gpu [%], clocks.current.sm [MHz]"
    text = f"{header}\n0, 15360, 1032, 7, 585\n"
    found = values(scan(FORMAT, text))
    assert found["gpu.memory_total_bytes", "gpu:0"] == 15360 * MIB
    assert found["gpu.utilization_share", "gpu:0"] == 0.07
    assert found["gpu.sm_clock_megahertz", "gpu:0"] == 585


@pytest.mark.parametrize(
    ("column", "cell", "fact", "value"),
    [
        ("pcie.link.gen.current", "1", "gpu.link_generation", 1),
        ("pcie.link.gen.gpucurrent", "4", "gpu.link_generation", 4),
        ("pcie.link.width.max", "16", "gpu.link_width_max", 16),
        ("clocks.sm [MHz]", "1410 MHz", "gpu.sm_clock_megahertz", 1410),
        ("clocks_throttle_reasons.hw_slowdown", "Active", "gpu.event_hardware_slowdown", True),
        ("clocks_throttle_reasons.active", "0x0000000000000080", "gpu.event_hardware_power_brake", True),
        ("ecc.errors.uncorrected.volatile.total", "3", "gpu.ecc_uncorrected_count", 3),
        ("ecc.errors.corrected.aggregate.total", "4", "gpu.ecc_corrected_lifetime_count", 4),
        ("enforced.power.limit [W]", "250.00 W", "gpu.power_limit_watts", 250),
        ("temperature.memory", "88", "gpu.memory_temperature_celsius", 88),
        ("fan.speed [%]", "30 %", "gpu.fan_share", 0.3),
        ("mig.mode.current", "Disabled", "gpu.mig_enabled", False),
        ("compute_mode", "Exclusive_Process", "gpu.compute_mode", "exclusive-process"),
        ("remapped_rows.pending", "1", "gpu.remap_pending", None),
    ],
)
def test_old_and_new_names_of_columns(column: str, cell: str, fact: str, value: object) -> None:
    found = values(scan(FORMAT, f"index, {column}\n2, {cell}\n"))
    assert found.get((fact, "gpu:2")) == value


def test_rows_without_index_are_told_apart_by_bus_id_or_uuid() -> None:
    text = (
        "pci.bus_id, memory.used [MiB]\n00000000:4E:00.0, 1 MiB\n00000000:4F:00.0, 2 MiB\n00000000:4E:00.0, 5 MiB\n"
        "uuid, fan.speed [%]\nGPU-aaaa, 10 %\n"
    )
    found = values(scan(FORMAT, text))
    assert found["gpu.memory_used_max_bytes", "gpu:0"] == 5 * MIB
    assert found["gpu.memory_used_bytes", "gpu:1"] == 2 * MIB


def test_rows_with_only_a_time_are_told_apart_by_their_place_in_the_tick() -> None:
    tick = "2026/11/30 02:15:0{0}.000, {1} %\n2026/11/30 02:15:0{0}.007, {2} %\n"
    text = "timestamp, utilization.gpu [%]\n" + tick.format(1, 10, 90) + tick.format(2, 20, 92) + tick.format(3, 30, 94)
    found = values(scan(FORMAT, text))
    assert found["gpu.utilization_share", "gpu:0"] == 0.2
    assert found["gpu.utilization_share", "gpu:1"] == 0.92


def test_rows_that_cannot_be_told_apart_are_not_guessed() -> None:
    stamps = ("01.000", "01.007", "02.000", "03.000", "03.007")
    rows = "".join(f"2026/11/30 02:15:{stamp}, 5 %\n" for stamp in stamps)
    extracts = scan(FORMAT, "timestamp, utilization.gpu [%]\n" + rows)
    assert extracts[0].readings == ()
    assert "told apart" in extracts[0].troubles[0].message


def test_rows_without_any_identity_are_gpus_in_order_and_that_is_said() -> None:
    extracts = scan(FORMAT, "memory.total [MiB], memory.used [MiB]\n100 MiB, 1 MiB\n100 MiB, 2 MiB\n")
    assert values(extracts)["gpu.memory_used_bytes", "gpu:1"] == 2 * MIB
    assert extracts[0].troubles


def test_compute_processes_belong_to_the_gpu_of_their_uuid() -> None:
    text = (
        "index, uuid, memory.used [MiB]\n0, GPU-aaaa, 10 MiB\n1, GPU-bbbb, 700 MiB\n"
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "GPU-bbbb, 4711, /opt/a, b/python, 500 MiB\nGPU-bbbb, 4712, python, [N/A]\n"
    )
    extracts = scan(FORMAT, text)
    found = values(extracts)
    assert found["process.gpu_memory_bytes", "gpu:1/process:4711"] == 500 * MIB
    assert found["process.name", "gpu:1/process:4711"] == "/opt/a, b/python"
    assert found["gpu.process_count", "gpu:1"] == 2
    assert ("gpu.processes_memory_bytes", "gpu:1") not in found


def test_without_a_header_the_command_names_the_columns() -> None:
    command = "$ nvidia-smi --query-gpu=index,temperature.gpu,memory.used --format=csv,noheader,nounits"
    text = f"{command}\n0, 64, 1032\n1, 65, 12\n"
    found = values(scan(FORMAT, text))
    assert found["gpu.temperature_celsius", "gpu:1"] == 65
    assert found["gpu.memory_used_bytes", "gpu:0"] == 1032 * MIB


def test_other_comma_separated_text_is_left_alone() -> None:
    text = "name, value\na, 1\nepoch,loss\n1,0.5\nindex, name\n0, x\nimport os, sys\n0, NVIDIA L4, 98 %, 100 MiB\n"
    assert scan(FORMAT, text) == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_makes_it_raise(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(LOOP)))
    stop = data.draw(st.integers(start, len(LOOP)))
    noise = data.draw(st.text(", 0123456789[%]\nx.NA/", max_size=60))
    for extract in scan(FORMAT, LOOP[:start] + noise + LOOP[stop:]):
        assert extract.claimed
