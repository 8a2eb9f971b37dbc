"""What DCGM says in its tables, broken over rows, and in JSON."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.dcgm_messages import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

WARNING = (
    "GPU 2 Thermal violations totaling 1.5 seconds started at 12.0 seconds into the test for GPU 2 Verify that the"
    " cooling on this machine is functional."
)
ROWS = [WARNING[at : at + 45] for at in range(0, len(WARNING), 45)]
DIAGNOSIS = "\n".join(
    f"| {left:<25} | {right:<45}  |"
    for left, right in (
        ("GPU Memory", "Pass - GPUs: 0, 1, 3"),
        ("", "Fail - GPU: 2"),
        *zip(["Warning", *[""] * len(ROWS)], ROWS, strict=False),
    )
)
HEALTH = """\
| -> 2                      | Failure                                                  |
|                           | -> Errors                                                |
|                           |       -> Failure                                         |
|                           |          Detected 42 PCIe replays per minute for GPU 2   |
"""


def test_a_warning_that_the_table_breaks_over_rows() -> None:
    extracts = scan(FORMAT, DIAGNOSIS)
    found = values(extracts)
    assert found["gpu.thermal_violation_seconds", "gpu:2"] == 1.5
    assert found["gpu.dcgm_violation_start_seconds", "gpu:2"] == 12.0
    assert found["gpu.dcgm_failed_test", "gpu:2"] == "GPU Memory"
    assert found["host.dcgm_passed_gpu_count", "host:this"] == 3
    assert found["host.dcgm_failed_gpu_index", "host:this"] == 2
    assert claimed(extracts) == set(range(1, 3 + len(ROWS)))


def test_replays_per_minute_become_replays_per_second() -> None:
    # 42 a minute are 0.7 a second.
    assert values(scan(FORMAT, HEALTH))["gpu.link_replays_per_second", "gpu:2"] == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("GPU 3 had uncorrectable memory errors and row remapping failed. dcgm", "gpu.remap_failed", True),
        ("dcgm: GPU 3 had uncorrectable memory errors and has a pending row remapping", "gpu.remap_pending", True),
        ("dcgm: Detected 2 volatile double-bit ECC errors in GPU 3", "gpu.ecc_uncorrected_count", 2),
        ("dcgm: GPU 3's NvLink link 5 is currently down", "gpu.nvlink_inactive_first", 5),
        ("dcgm: GPU 3 is lost", "gpu.lost", True),
        ('"gpu_id": "3", "warning": "Thermal violations totaling 4 seconds"', "gpu.thermal_violation_seconds", 4.0),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("gpu.") else "",
)
def test_every_wording(text: str, fact: str, value: object) -> None:
    assert values(scan(FORMAT, text))[fact, "gpu:3"] == value


def test_a_text_that_only_names_dcgm_says_nothing() -> None:
    assert scan(FORMAT, "dcgm-exporter started\nnvidia-dcgm.service active") == []
