"""`nvidia-smi dmon` and `pmon`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.smi_dmon import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024**2

DMON = """\
# gpu   pwr  gtemp  mtemp    sm   mem   enc   dec   mclk   pclk  pviol  tviol  fb  bar1  sbecc  dbecc  pci  rxpci  txpci
# Idx     W     C     C     %     %     %     %   MHz   MHz     %   bool    MB    MB   errs   errs   errs   MB/s   MB/s
    0   294    81     -    98    57     0     0   9501   1897    10     0   3945     2     -     1     3   1732   535
    1    40    35     -     0     0     0     0   405   210     0     0   100     2     -     0     0     0     0
    0   100    70     -    20    10     0     0   9501   1500    30     1   3950     2     -     1     3    10     5
step 40, loss = 4.34
# gpu   pwr  gtemp  mtemp    sm   mem   enc   dec   mclk   pclk  pviol  tviol  fb  bar1  sbecc  dbecc  pci  rxpci  txpci
# Idx     W     C     C     %     %     %     %   MHz   MHz     %   bool    MB    MB   errs   errs   errs   MB/s   MB/s
    0   290    80     -    96    55     0     0   9501   1890    20     0   3945     2     -     1     3   1700   500
"""

PMON = """\
# gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   ccpm    command
# Idx           #    C/G      %      %      %      %      %      %     MB     MB    name
    0       22010     C      98     56      -      -      -      -   7669      0    python3 train:x
    0       22010     C      90     50      -      -      -      -   7700      0    python3 train:x
    0        1644     G       -      -      -      -      -      -     12      0    gnome-shell
    1           -     -       -      -      -      -      -      -      -      -    -
"""


def test_rows_of_a_gpu_fold_into_median_and_extremes() -> None:
    extracts = scan(FORMAT, DMON)
    found = values(extracts)
    assert found["gpu.utilization_share", "gpu:0"] == 0.96  # of 98, 20, 96
    assert found["gpu.utilization_min_share", "gpu:0"] == 0.20
    assert found["gpu.utilization_max_share", "gpu:0"] == 0.98
    assert found["gpu.utilization_p10_share", "gpu:0"] == pytest.approx(0.352)  # 0.2 of the way from 20 to 96
    assert found["gpu.utilization_p90_share", "gpu:0"] == pytest.approx(0.976)  # 0.8 of the way from 96 to 98
    assert found["gpu.power_watts", "gpu:0"] == 290
    assert found["gpu.power_min_watts", "gpu:0"] == 100
    assert found["gpu.sm_clock_megahertz", "gpu:0"] == 1890
    assert found["gpu.memory_clock_megahertz", "gpu:0"] == 9501
    assert found["gpu.memory_used_bytes", "gpu:0"] == 3945 * MIB
    assert found["gpu.memory_used_max_bytes", "gpu:0"] == 3950 * MIB
    assert found["gpu.power_violation_share", "gpu:0"] == pytest.approx(0.20)  # mean of 10, 30, 20 %
    assert found["gpu.thermal_violation_share", "gpu:0"] == pytest.approx(1 / 3)
    assert found["gpu.ecc_uncorrected_lifetime_count", "gpu:0"] == 1
    assert found["gpu.link_replays", "gpu:0"] == 3
    assert found["gpu.link_receive_max_bytes_per_second", "gpu:0"] == 1_732_000_000
    assert found["gpu.sample_count", "gpu:0"] == 3
    assert found["gpu.utilization_share", "gpu:1"] == 0.0
    assert ("gpu.utilization_max_share", "gpu:1") not in found
    assert ("gpu.memory_temperature_celsius", "gpu:0") not in found
    assert {m.fact for m in extracts[0].missing} == {
        "gpu.memory_temperature_celsius",
        "gpu.ecc_corrected_lifetime_count",
    }
    assert claimed(extracts) == {1, 2, 3, 4, 5, 7, 8, 9}


@pytest.mark.parametrize(
    "text",
    [
        "#Date     Time      gpu  sm  pwr\n#YYYYMMDD HH:MM:SS  Idx   %    W\n 20261130 10:00:01    2  50  200\n",
        "#Time        gpu    pwr   sm\n#HH:MM:SS    Idx      W    %\n 10:00:01      2    200   50\n",
        "# gpu, pwr, sm\n# Idx, W, %\n2, 200, 50\n",
        "> # gpu pwr sm\n> # Idx W %\n>     2  200  50\n",
        "12:00 host[1]: # gpu pwr sm\n12:00 host[1]: # Idx W %\n12:00 host[1]:     2  200  50\n",
    ],
)
def test_columns_are_read_by_name_with_times_commas_and_prefixes(text: str) -> None:
    extracts = scan(FORMAT, text)
    found = values(extracts)
    assert (found["gpu.utilization_share", "gpu:2"], found["gpu.power_watts", "gpu:2"]) == (0.5, 200)
    assert claimed(extracts) == {1, 2, 3}


def test_times_give_the_window() -> None:
    head = "#Date       Time        gpu    sm   pwr\n#YYYYMMDD   HH:MM:SS    Idx     %     W\n"
    rows = " 20261130   23:59:50      0    50   200\n 20261201   00:00:20      0    50   200\n"
    reading = next(r for r in scan(FORMAT, head + rows)[0].readings if r.fact == "gpu.utilization_share")
    assert (reading.observed_at, reading.window_seconds) == ("20261201 00:00:20", 30)


def test_processes_of_pmon_and_an_idle_gpu() -> None:
    found = values(scan(FORMAT, PMON))
    assert found["process.sm_share", "gpu:0/process:22010"] == pytest.approx(0.94)
    assert found["process.sm_max_share", "gpu:0/process:22010"] == 0.98
    assert found["process.gpu_memory_max_bytes", "gpu:0/process:22010"] == 7700 * MIB
    assert found["process.name", "gpu:0/process:22010"] == "python3 train:x"
    assert found["process.type", "gpu:0/process:1644"] == "graphics"
    assert ("process.sm_share", "gpu:0/process:1644") not in found
    assert found["gpu.process_count", "gpu:0"] == 2
    assert found["gpu.compute_process_count", "gpu:0"] == 1
    assert found["gpu.process_count", "gpu:1"] == 0


def test_a_share_that_cannot_be_is_missing() -> None:
    text = "# gpu pid type sm mem enc dec command\n# Idx # C/G % % % % name\n 0 9 C 4294967 3 - - python\n"
    extracts = scan(FORMAT, text)
    assert ("process.sm_share", "gpu:0/process:9") not in values(extracts)
    assert any(m.fact == "process.sm_share" for m in extracts[0].missing)


def test_an_unknown_column_is_told_and_the_rest_is_read() -> None:
    extracts = scan(FORMAT, "# gpu pwr sm zap\n# Idx W % %\n 0 200 50 7\n")
    assert values(extracts)["gpu.power_watts", "gpu:0"] == 200
    assert "zap" in extracts[0].troubles[0].message


def test_other_text_is_left_alone() -> None:
    assert scan(FORMAT, "INFO engine.py:275] # GPU blocks: 0, # CPU blocks: 256\n1 2 3 4 5 6 7\n") == []
    vmstat = "# gpu pwr sm mem\n# Idx W % %\n 0 200 50 1\nr b us sy\n 1 200 5000 1\n"
    assert claimed(scan(FORMAT, vmstat)) == {1, 2, 3}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_makes_it_raise(data: st.DataObject) -> None:
    whole = DMON + PMON
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    noise = data.draw(st.text("# 0123456789-,gpuIdx\n%", max_size=60))
    scan(FORMAT, whole[:start] + noise + whole[stop:])
