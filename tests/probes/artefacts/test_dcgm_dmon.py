"""`dcgmi dmon`, in the layouts of several releases."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.dcgm_dmon import FORMAT
from tests.probes.artefacts.helpers import claimed, missing, scan, values

NEW = """\
#Entity         GPUTL             POWER             TMPTR             FBUSD             SMACT             PCIRX
ID
GPU 0           90                250.500           61                1024              0.900             2000000
GPU 1           2                 60.250            35                12                0.010             N/A
GPU 0           100               260.500           63                1024              0.950             4000000
GPU 1           4                 60.250            35                12                0.030             N/A
"""


def test_rows_are_samples_of_their_gpu() -> None:
    extracts = scan(FORMAT, NEW)
    found = values(extracts)
    assert found["gpu.utilization_share", "gpu:0"] == pytest.approx(0.95)  # the middle of 90 % and 100 %
    assert found["gpu.power_watts", "gpu:0"] == 255.5
    assert found["gpu.memory_used_bytes", "gpu:0"] == 1024 * 2**20
    assert found["gpu.sm_active_share", "gpu:1"] == pytest.approx(0.02)
    assert found["gpu.link_receive_bytes_per_second", "gpu:0"] == 3e6
    assert missing(extracts)["gpu.link_receive_bytes_per_second", "gpu:1"] == "shown as N/A"
    assert claimed(extracts) == {1, 2, 3, 4, 5, 6}


def test_the_older_header_and_a_header_that_comes_again() -> None:
    header = "# Entity  GPUTL  POWER\n     Id\n"
    old = f"{header}    GPU 0   50    100.0\n{header}    GPU 0   70    120.0\n"
    assert values(scan(FORMAT, old))["gpu.power_watts", "gpu:0"] == 110


def test_times_before_rows_do_no_harm() -> None:
    stamped = "#Entity  GPUTL\nID\n2026-11-30 02:15:06 GPU 3  40\n1796040932 GPU 3  60\n"
    assert values(scan(FORMAT, stamped))["gpu.utilization_share", "gpu:3"] == 0.5


def test_what_is_no_gpu_gives_nothing_to_one() -> None:
    other = "#Entity  GPUTL\nID\nGPU-I 0  40\nSwitch 1  0\nCPU 0  3\n"
    assert values(scan(FORMAT, other)) == {}


def test_unknown_columns_are_told_once_and_the_others_read() -> None:
    extracts = scan(FORMAT, "#Entity  GPUTL  XIDER\nID\nGPU 0  40  0\n#Entity  GPUTL  XIDER\nID\nGPU 0  60  0\n")
    assert values(extracts)["gpu.utilization_share", "gpu:0"] == 0.5
    assert [one.message for one in extracts[0].troubles] == ["columns not read: XIDER"]


@pytest.mark.parametrize("row", ["GPU 0  40", "GPU 0  40  5  6", "GPU 0  170  5", "GPU 0  -3  5"])
def test_rows_that_do_not_fit_give_no_share(row: str) -> None:
    assert ("gpu.utilization_share", "gpu:0") not in values(scan(FORMAT, f"#Entity  GPUTL  POWER\nID\n{row}\n"))
