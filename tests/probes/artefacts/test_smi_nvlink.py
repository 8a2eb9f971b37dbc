"""`nvidia-smi nvlink`."""

from __future__ import annotations

from gpuwhy.probes.artefacts.smi_nvlink import FORMAT
from tests.probes.artefacts.helpers import scan, values

STATUS = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-11111111-2222-3333-4444-555555555555)
\t Link 0: 25 GB/s
\t Link 1: <inactive>
\t Link 2: 25 GB/s
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-21111111-2222-3333-4444-555555555555)
NVML: Unable to retrieve NVLink information as all links are inactive
"""
ERRORS = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-2222-3333-4444-555555555555)
\t Link 0: Replay Errors: 1
\t Link 0: Recovery Errors: 0
\t Link 0: CRC Errors: 40
\t Link 1: Replay Errors: 2
\t Link 1: CRC Errors: 2
"""


def test_links_that_are_down() -> None:
    found = values(scan(FORMAT, STATUS))
    assert found["gpu.nvlink_count", "gpu:0"] == 3
    assert found["gpu.nvlink_active_count", "gpu:0"] == 2
    assert found["gpu.nvlink_inactive_first", "gpu:0"] == 1
    assert found["gpu.nvlink_speed_bytes_per_second", "gpu:0"] == 25e9
    assert found["gpu.nvlink_all_inactive", "gpu:1"] is True
    assert found["host.nvlink_inactive_gpu_index", "host:this"] == 1
    assert ("gpu.nvlink_count", "gpu:1") not in found


def test_errors_are_summed_over_the_links() -> None:
    found = values(scan(FORMAT, ERRORS))
    assert found["gpu.nvlink_replays", "gpu:0"] == 3
    assert found["gpu.nvlink_recoveries", "gpu:0"] == 0
    assert found["gpu.nvlink_crc_errors", "gpu:0"] == 42
