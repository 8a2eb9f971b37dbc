"""Rows of nvidia-smi without their frame."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.bare_rows import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024 * 1024


def test_numbered_rows() -> None:
    found = scan(
        FORMAT, "nvidia-smi\n0  A100-SXM4-40GB  23511MiB / 40536MiB  98%\n1  A100-SXM4-40GB  3MiB / 40536MiB  0%\n"
    )
    assert values(found) == {
        ("gpu.memory_used_bytes", "gpu:0"): 23511 * MIB,
        ("gpu.memory_total_bytes", "gpu:0"): 40536 * MIB,
        ("gpu.utilization_share", "gpu:0"): 0.98,
        ("gpu.memory_used_bytes", "gpu:1"): 3 * MIB,
        ("gpu.memory_total_bytes", "gpu:1"): 40536 * MIB,
        ("gpu.utilization_share", "gpu:1"): 0.0,
    }
    assert claimed(found) == {2, 3}


@pytest.mark.parametrize(
    "row",
    [
        "23511MiB / 24564MiB   98%",
        "|  23511MiB / 24564MiB |     98%      Default |",
        "GPU 0: 23511 MiB / 24564 MiB, 98 %",
        "> 23511MiB/24564MiB 98%",
    ],
)
def test_one_row(row: str) -> None:
    found = values(scan(FORMAT, f"CUDA out of memory\n{row}\n"))
    assert found["gpu.memory_used_bytes", "gpu:0"] == 23511 * MIB
    assert found["gpu.utilization_share", "gpu:0"] == pytest.approx(0.98)


@pytest.mark.parametrize(
    "text",
    [
        "GPU\n23511MiB / 24564MiB 98%\n1203MiB / 24564MiB 0%\n",
        "GPU 0: 100MiB / 24564MiB 1%\nGPU 0: 200MiB / 24564MiB 2%\n",
        "GPU host RAM 23511MiB / 24564MiB 98%\n",
        "download 23511MB / 24564MB for the GPU\n",
        "GPU 0: 30000MiB / 24564MiB 98%\n",
        "23511MiB / 24564MiB 98%\n",
        "GPU copy: 500 MB / 4 s\n",
        "|   0  Tesla V100-SXM2...  On   | 00000000:00:1E.0 Off |                    0 |\n"
        "| N/A   45C    P0    71W / 300W |  15890MiB / 16160MiB |     10%      Default |\n",
    ],
    ids=["no numbers", "moments of one", "host", "download", "more than all", "of what", "no sizes", "framed"],
)
def test_other_rows_are_none(text: str) -> None:
    assert scan(FORMAT, text) == []
