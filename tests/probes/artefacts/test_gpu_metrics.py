"""Metrics of dcgm-exporter and nvidia_gpu_exporter."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.gpu_metrics import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

LABELS = 'gpu="0",UUID="GPU-a",pci_bus_id="00000000:3B:00.0",modelName="NVIDIA A100-SXM4-80GB",Hostname="n"'
DCGM = f"""\
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{{{LABELS}}} 97
DCGM_FI_DEV_FB_USED{{{LABELS}}} 1024
DCGM_FI_DEV_XID_ERRORS{{{LABELS}}} 31
DCGM_FI_DEV_ROW_REMAP_PENDING{{{LABELS}}} 1
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{{{LABELS}}} 4
DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{gpu="1",UUID="GPU-b"}} 0
"""


def test_dcgm_exporter() -> None:
    extracts = scan(FORMAT, DCGM)
    found = values(extracts)
    assert found["gpu.utilization_share", "gpu:0"] == pytest.approx(0.97)
    assert found["gpu.memory_used_bytes", "gpu:0"] == 1024 * 1024**2
    assert found["gpu.name", "gpu:0"] == "NVIDIA A100-SXM4-80GB"
    assert found["gpu.bus_id", "gpu:0"] == "00000000:3B:00.0"
    assert found["xid.code", "gpu:0/xid:31"] == 31
    assert found["gpu.remap_pending", "gpu:0"] is True
    assert found["gpu.event_software_power_cap", "gpu:0"] is True
    assert found["gpu.event_idle", "gpu:0"] is False
    assert found["gpu.link_replays", "gpu:1"] == 0
    assert found["host.metric_gpu_count", "host:this"] == 2
    assert found["host.metric_series_count", "host:this"] == 6
    assert claimed(extracts) == set(range(1, 9))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS"),
        ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"),
        ("DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"),
        ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"),
        ("DCGM_FI_DEV_GPU_TEMP", "dcgm_gpu_temp"),
    ],
)
def test_a_metric_is_known_by_all_its_names(old: str, new: str) -> None:
    first, second = (values(scan(FORMAT, f'{name}{{gpu="0",uuid="x"}} 0.5')) for name in (old, new))
    assert first == second
    assert len(first) > 2


@pytest.mark.parametrize(
    "blank", ["2147483632", "2147483647", "9223372036854775792", "9223372036854775794", "140737488355328.0", "NaN"]
)
def test_a_blank_is_no_reading(blank: str) -> None:
    (extract,) = scan(FORMAT, f'DCGM_FI_PROF_SM_ACTIVE{{gpu="0"}} {blank}')
    assert ("gpu.sm_active_share", "gpu:0") not in values([extract])
    assert [one.fact for one in extract.missing] == ["gpu.sm_active_share"]


def test_no_xid_is_zero() -> None:
    assert ("gpu.xid_first", "gpu:0") not in values(scan(FORMAT, 'DCGM_FI_DEV_XID_ERRORS{gpu="0"} 0'))


def test_a_partition_has_its_own_activity_and_the_card_its_temperature() -> None:
    labels = 'gpu="0",GPU_I_PROFILE="1g.6gb",GPU_I_ID="3"'
    found = values(
        scan(FORMAT, f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{labels}}} 0.25\nDCGM_FI_DEV_GPU_TEMP{{{labels}}} 40\n")
    )
    assert found["partition.graphics_active_share", "gpu:0/partition:3"] == 0.25
    assert found["partition.profile", "gpu:0/partition:3"] == "1g.6gb"
    assert found["gpu.temperature_celsius", "gpu:0"] == 40
    assert found["gpu.partition_count", "gpu:0"] == 1


def test_a_violation_counter_says_something_only_between_two_scrapes() -> None:
    # 3e9 ns of 10 s: clocks were cut 30 % of the time.
    name = 'DCGM_FI_DEV_THERMAL_VIOLATION{gpu="0"}'
    one = values(scan(FORMAT, f"{name} 5000000000 1000000\n"))
    two = values(scan(FORMAT, f"{name} 5000000000 1000000\n{name} 8000000000 1010000\n"))
    assert ("gpu.thermal_violation_share", "gpu:0") not in one
    assert two["gpu.thermal_violation_share", "gpu:0"] == pytest.approx(0.3)


def test_nvidia_gpu_exporter_names_gpus_by_uuid() -> None:
    found = values(
        scan(
            FORMAT,
            'nvidia_smi_gpu_info{driver_version="595.80",index="2",name="NVIDIA L40S",uuid="u"} 1\n'
            'nvidia_smi_clocks_current_sm_clock_hz{uuid="u"} 1.98e+09\n'
            'nvidia_smi_utilization_gpu_ratio{uuid="u"} 0.09\n'
            'nvidia_smi_clocks_event_reasons_active{uuid="u"} 64\n',
        )
    )
    assert found["gpu.name", "gpu:2"] == "NVIDIA L40S"
    assert found["gpu.sm_clock_megahertz", "gpu:2"] == pytest.approx(1980)
    assert found["gpu.utilization_share", "gpu:2"] == 0.09
    assert found["gpu.event_hardware_thermal_slowdown", "gpu:2"] is True
    assert found["host.driver_version", "host:this"] == "595.80"
