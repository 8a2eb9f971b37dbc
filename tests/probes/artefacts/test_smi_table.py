"""The summary table of nvidia-smi, in the layouts of its drivers and in the states people paste it in."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.smi_table import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024**2

OLD = """\
$ nvidia-smi
Tue Mar  3 10:00:00 2020
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 440.33.01    Driver Version: 440.33.01    CUDA Version: 10.2     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla P100-PCIE...  On   | 00000000:3B:00.0 Off |                    2 |
| N/A   71C    P0   180W / 250W |  15000MiB / 16280MiB |     97%   E. Process |
+-------------------------------+----------------------+----------------------+
|   1  GeForce GTX 108...  Off  | 00000000:5E:00.0  On |                  N/A |
| 23%   30C    P8     9W /  N/A |     10MiB / 11178MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0     12345      C   python train.py                            14000MiB |
|    0       999      G   /usr/lib/xorg/Xorg                            40MiB |
+-----------------------------------------------------------------------------+
"""

NEW_MIG = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA A100-SXM4-40GB          On  | 00000000:07:00.0 Off |                   On |
| N/A   36C    P0              66W / 400W |     87MiB / 40960MiB |     N/A      Default |
|                                         |                      |              Enabled |
+-----------------------------------------+----------------------+----------------------+

+---------------------------------------------------------------------------------------+
| MIG devices:                                                                          |
+------------------+--------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                   Memory-Usage |        Vol|      Shared           |
|      ID  ID  Dev |                     BAR1-Usage | SM     Unc| CE ENC DEC OFA JPG    |
|                  |                                |        ECC|                       |
|==================+================================+===========+=======================|
|  0    1   0   0  |              37MiB / 20096MiB  | 42      0 |  3   0    2    0    0 |
|                  |               0MiB / 32767MiB  |           |                       |
+------------------+--------------------------------+-----------+-----------------------+
|  0    2   0   1  |              50MiB / 20096MiB  | 42      1 |  3   0    2    0    0 |
|                  |               1MiB / 32767MiB  |           |                       |
+------------------+--------------------------------+-----------+-----------------------+

+---------------------------------------------------------------------------------------+
| Processes:                                                                            |
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|        ID   ID                                                             Usage      |
|=======================================================================================|
|    0    1    0      45678      C   python                                      12MiB |
+---------------------------------------------------------------------------------------+
"""

NEWEST = """\
Mon Nov 30 02:15:06 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 595.71.01              Driver Version: 596.36         CUDA Version: 13.2     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 4090        On  |   00000000:01:00.0  On |                  Off |
|  0%   41C    P8             12W /  450W |    1529MiB /  24564MiB |      3%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A              23      G   /Xwayland                             N/A      |
+-----------------------------------------------------------------------------------------+
"""

IDLE_CONTAINER = """\
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   45C    P8              4W /  N/A  | Not Supported          |      0%      Default |
|                                         |                        |             Disabled*|
+-----------------------------------------------------------------------------------------+
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+
"""


def test_old_layout_gives_gauges_ecc_and_processes() -> None:
    found = values(scan(FORMAT, OLD))
    assert found["host.driver_version", "host:this"] == "440.33.01"
    assert found["host.cuda_version", "host:this"] == "10.2"
    assert found["gpu.count", "host:this"] == 2
    assert found["gpu.name", "gpu:0"] == "Tesla P100-PCIE..."
    assert found["gpu.bus_id", "gpu:0"] == "00000000:3B:00.0"
    assert found["gpu.ecc_uncorrected_count", "gpu:0"] == 2
    assert found["gpu.ecc_enabled", "gpu:0"] is True
    assert found["gpu.memory_used_bytes", "gpu:0"] == 15000 * MIB
    assert found["gpu.memory_total_bytes", "gpu:0"] == 16280 * MIB
    assert found["gpu.utilization_share", "gpu:0"] == 0.97
    assert found["gpu.power_watts", "gpu:0"] == 180
    assert found["gpu.power_limit_watts", "gpu:0"] == 250
    assert found["gpu.temperature_celsius", "gpu:0"] == 71
    assert found["gpu.performance_state", "gpu:0"] == 0
    assert found["gpu.compute_mode", "gpu:0"] == "exclusive-process"
    assert found["gpu.persistence_mode", "gpu:0"] is True
    assert found["gpu.display_active", "gpu:1"] is True
    assert found["gpu.fan_share", "gpu:1"] == 0.23
    assert ("gpu.power_limit_watts", "gpu:1") not in found
    assert found["process.gpu_memory_bytes", "gpu:0/process:12345"] == 14000 * MIB
    assert found["process.name", "gpu:0/process:12345"] == "python train.py"
    assert found["process.type", "gpu:0/process:999"] == "graphics"
    assert found["gpu.process_count", "gpu:0"] == 2
    assert found["gpu.compute_process_count", "gpu:0"] == 1
    assert found["gpu.processes_memory_bytes", "gpu:0"] == 14040 * MIB
    assert found["gpu.graphics_processes_memory_bytes", "gpu:0"] == 40 * MIB
    assert found["gpu.process_count", "gpu:1"] == 0
    assert found["gpu.sample_count", "gpu:0"] == 1
    assert ("gpu.utilization_max_share", "gpu:0") not in found


def test_every_line_of_a_table_is_claimed_and_nothing_else() -> None:
    text = f"training is slow\n{OLD}\nepoch 3: loss 0.2\n"
    blank = {number for number, line in enumerate(text.splitlines(), 1) if not line.strip()}
    mine = set(range(3, len(text.splitlines()))) - blank
    assert claimed(scan(FORMAT, text)) == mine


def test_not_available_cells_are_missing_with_their_reason() -> None:
    reasons = {(one.fact, one.entity.path): one.reason for one in scan(FORMAT, OLD)[0].missing}
    assert reasons["gpu.power_limit_watts", "gpu:1"] == "N/A"
    assert reasons["gpu.ecc_uncorrected_count", "gpu:1"] == "N/A"
    assert reasons["gpu.fan_share", "gpu:0"] == "N/A"


def test_mig_partitions_and_the_on_in_the_ecc_cell() -> None:
    found = values(scan(FORMAT, NEW_MIG))
    assert found["gpu.mig_enabled", "gpu:0"] is True
    assert ("gpu.ecc_uncorrected_count", "gpu:0") not in found
    assert ("gpu.utilization_share", "gpu:0") not in found
    assert found["gpu.partition_count", "gpu:0"] == 2
    assert found["partition.memory_used_bytes", "gpu:0/partition:1"] == 50 * MIB
    assert found["partition.memory_total_bytes", "gpu:0/partition:0"] == 20096 * MIB
    assert found["partition.bar1_used_bytes", "gpu:0/partition:1"] == MIB
    assert found["partition.multiprocessor_count", "gpu:0/partition:0"] == 42
    assert found["partition.ecc_uncorrected_count", "gpu:0/partition:1"] == 1
    assert found["partition.copy_engine_count", "gpu:0/partition:0"] == 3
    assert found["partition.gpu_instance", "gpu:0/partition:1"] == 2
    assert found["gpu.memory_used_bytes", "gpu:0"] == 87 * MIB
    assert found["process.gpu_memory_bytes", "gpu:0/process:45678"] == 12 * MIB


def test_newest_layout_under_wsl_shows_two_versions_and_no_process_memory() -> None:
    extracts = scan(FORMAT, NEWEST)
    found = values(extracts)
    assert found["host.smi_version", "host:this"] == "595.71.01"
    assert found["host.driver_version", "host:this"] == "596.36"
    assert found["gpu.ecc_enabled", "gpu:0"] is False
    assert found["gpu.memory_total_bytes", "gpu:0"] == 24564 * MIB
    assert found["gpu.process_count", "gpu:0"] == 1
    assert ("gpu.processes_memory_bytes", "gpu:0") not in found
    assert ("process.gpu_memory_bytes", "gpu:0/process:23") not in found
    assert any(m.fact == "process.gpu_memory_bytes" and m.reason == "N/A" for m in extracts[0].missing)
    utilisation = next(r for r in extracts[0].readings if r.fact == "gpu.utilization_share")
    assert (utilisation.line, utilisation.observed_at) == (10, "Nov 30 02:15:06 2026")


def test_rows_without_a_header_memory_not_supported_and_pending_mig() -> None:
    extracts = scan(FORMAT, IDLE_CONTAINER)
    found = values(extracts)
    assert found["gpu.name", "gpu:0"] == "NVIDIA GB10"
    assert ("gpu.memory_used_bytes", "gpu:0") not in found
    assert found["gpu.process_count", "gpu:0"] == 0
    assert found["gpu.compute_process_count", "gpu:0"] == 0
    assert found["gpu.mig_enabled", "gpu:0"] is False
    assert found["gpu.mig_pending_enabled", "gpu:0"] is True
    reasons = {one.fact: one.reason for one in extracts[0].missing}
    assert reasons["gpu.memory_used_bytes"] == reasons["gpu.memory_total_bytes"] == "Not Supported"


def test_windows_header_gives_the_driver_model() -> None:
    row = "|   0  NVIDIA RTX A2000   WDDM  | 00000000:01:00.0  On |                  Off |"
    found = values(scan(FORMAT, row))
    assert found["gpu.driver_model", "gpu:0"] == "wddm"
    assert ("gpu.persistence_mode", "gpu:0") not in found


def test_error_cells_are_missing_and_a_lost_gpu_is_lost() -> None:
    text = (
        "|   3  ERR!                Off  | 00000000:8A:00.0 Off |                 ERR! |\n"
        "| ERR!  ERR! ERR!    ERR! / ERR! |  1000MiB / 16160MiB |    ERR!      Default |\n"
    )
    extracts = scan(FORMAT, text)
    assert {one.reason for one in extracts[0].missing} == {"ERR!"}
    assert ("gpu.power_watts", "gpu:3") not in values(extracts)
    assert values(extracts)["gpu.memory_used_bytes", "gpu:3"] == 1000 * MIB


def test_several_tables_fold_into_a_median_with_its_extremes() -> None:
    tables = "\n".join(OLD.replace("     97%", share).replace("15000MiB", used) for share, used in (
        ("     97%", "15000MiB"), ("      0%", "  900MiB"), ("     90%", "14000MiB"),
    ))  # fmt: skip
    found = values(scan(FORMAT, tables))
    assert found["gpu.sample_count", "gpu:0"] == 3
    assert found["gpu.utilization_share", "gpu:0"] == 0.90
    assert found["gpu.utilization_min_share", "gpu:0"] == 0.0
    assert found["gpu.utilization_max_share", "gpu:0"] == 0.97
    assert found["gpu.memory_used_bytes", "gpu:0"] == 14000 * MIB
    assert found["gpu.memory_used_max_bytes", "gpu:0"] == 15000 * MIB
    assert found["gpu.memory_used_min_bytes", "gpu:0"] == 900 * MIB
    assert found["gpu.memory_total_bytes", "gpu:0"] == 16280 * MIB
    assert found["gpu.count", "host:this"] == 2


def test_quoted_indented_and_prefixed_rows_are_read() -> None:
    for prefix in ("> ", "      ", "[rank0]: ", "2026-11-30 10:00:00,123 INFO "):
        text = "".join(prefix + line + "\n" for line in OLD.splitlines())
        found = values(scan(FORMAT, text))
        assert found["gpu.memory_used_bytes", "gpu:0"] == 15000 * MIB, prefix
        assert found["process.gpu_memory_bytes", "gpu:0/process:12345"] == 14000 * MIB, prefix


def test_a_load_row_whose_first_row_is_cut_off_belongs_to_the_gpu_before_the_next_one() -> None:
    cut = "\n".join(OLD.splitlines()[9:])
    extracts = scan(FORMAT, cut)
    found = values(extracts)
    assert found["gpu.utilization_share", "gpu:0"] == 0.97
    assert found["gpu.utilization_share", "gpu:1"] == 0.0
    assert "cut off" in extracts[0].troubles[0].message


def test_a_table_cut_at_its_tail_gives_what_is_there() -> None:
    found = values(scan(FORMAT, "\n".join(OLD.splitlines()[:12])))
    assert found["gpu.utilization_share", "gpu:0"] == 0.97
    assert found["gpu.name", "gpu:1"] == "GeForce GTX 108..."
    assert ("gpu.utilization_share", "gpu:1") not in found
    assert ("gpu.process_count", "gpu:0") not in found


def test_process_rows_alone_do_not_say_that_there_are_no_compute_processes() -> None:
    rows = (
        "|    0   N/A  N/A      1047      G   /usr/lib/xorg/Xorg                168MiB |\n"
        "|    0   N/A  N/A      5637      G   /usr/bin/gnome-shell              161MiB |\n"
    )
    found = values(scan(FORMAT, rows))
    assert found["process.gpu_memory_bytes", "gpu:0/process:1047"] == 168 * MIB
    assert found["gpu.graphics_processes_memory_bytes", "gpu:0"] == 329 * MIB  # 168 + 161
    assert ("gpu.compute_process_count", "gpu:0") not in found


def test_tables_of_other_tools_are_left_alone() -> None:
    other = (
        "+------------------+------+\n| Repository Agent | Path |\n+------------------+------+\n"
        "|---|---|\n| Option | ms |\n|    0 | 100 | 20 MiB |\n"
    )
    assert scan(FORMAT, other) == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_makes_it_raise(data: st.DataObject) -> None:
    whole = OLD + NEW_MIG + NEWEST + IDLE_CONTAINER
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    noise = data.draw(st.text("|+-=/ 0123456789MiBN/A%WCP\n", max_size=60))
    for extract in scan(FORMAT, whole[:start] + noise + whole[stop:]):
        assert all(one.value is not None for one in extract.readings)


def test_a_list_that_ends_without_a_row_says_that_no_process_is_listed() -> None:
    table = (
        "| NVIDIA-SMI 410.48                 Driver Version: 410.48                    |\n"
        "|   0  Tesla P100-SXM2...  Off  | 00000000:05:00.0 Off |                    0 |\n"
        "| N/A   36C    P0    41W / 300W |  12799MiB / 16280MiB |      0%      Default |\n"
        "+-------------------------------+----------------------+----------------------+\n"
        "+-----------------------------------------------------------------------------+\n"
        "| Processes:                                                       GPU Memory |\n"
        "|  GPU       PID   Type   Process name                             Usage      |\n"
        "|=============================================================================|\n"
    )
    assert ("gpu.process_count", "gpu:0") not in values(scan(FORMAT, table))  # more rows may follow
    whole = table + "+-----------------------------------------------------------------------------+\n"
    assert values(scan(FORMAT, whole))["gpu.process_count", "gpu:0"] == 0
