"""`nvidia-smi -q` as text: logs of several driver generations, sections alone, lines run together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.smi_query import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

MIB = 1024**2

LOG = """\

==============NVSMI LOG==============

Timestamp                                 : Mon Nov 30 02:15:06 2026
Driver Version                            : 550.90.12
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:1A:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    Product Brand                         : NVIDIA
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Enabled
        Pending                           : Disabled
    MIG Device
        Index                             : 0
        GPU Instance ID                   : 1
        Compute Instance ID               : 0
        Device Attributes
            Shared
                Multiprocessor count      : 42
                Copy Engine count         : 3
        ECC Errors
            Volatile
                SRAM Uncorrectable        : 0
        FB Memory Usage
            Total                         : 40192 MiB
            Used                          : 37 MiB
            Free                          : 40154 MiB
        BAR1 Memory Usage
            Total                         : 65535 MiB
            Used                          : 1 MiB
    GPU Virtualization Mode
        Virtualization Mode               : Pass-Through
    PCI
        Bus                               : 0x1A
        Bus Id                            : 00000000:1A:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 3
                Device Current            : 3
                Device Max                : 4
                Host Max                  : 5
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 7
        Tx Throughput                     : 1500 KB/s
        Rx Throughput                     : 250 KB/s
    Fan Speed                             : N/A
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Active
        Sync Boost                        : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                  : 2500000 us
    FB Memory Usage
        Total                             : 81920 MiB
        Reserved                          : 869 MiB
        Used                              : 40000 MiB
        Free                              : 41051 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 1 MiB
        Free                              : 131071 MiB
    Compute Mode                          : Exclusive_Process
    Utilization
        Gpu                               : 98 %
        Memory                            : 41 %
        Encoder                           : 0 %
    Ecc Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 1
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Correctable              : 5
            DRAM Uncorrectable            : 4
        Aggregate
            SRAM Correctable              : 0
            DRAM Correctable              : N/A
    Retired Pages
        Single Bit ECC                    : N/A
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 2
        Pending                           : Yes
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 639 bank(s)
            Low                           : 1 bank(s)
    Temperature
        GPU Current Temp                  : 74 C
        GPU T.Limit Temp                  : 12 C
        GPU Slowdown T.Limit Temp         : -2 C
        Memory Current Temp               : 88 C
    GPU Power Readings
        Average Power Draw                : 390.10 W
        Instantaneous Power Draw          : 399.99 W
        Current Power Limit               : 400.00 W
        Default Power Limit               : 500.00 W
    Module Power Readings
        Average Power Draw                : N/A
    Clocks
        Graphics                          : 1095 MHz
        SM                                : 1095 MHz
        Memory                            : 1593 MHz
    Applications Clocks
        Graphics                          : 1275 MHz
    Default Applications Clocks
        Graphics                          : 9999 MHz
    Max Clocks
        SM                                : 1410 MHz
    Processes
        GPU instance ID                   : 1
        Compute instance ID               : 0
        Process ID                        : 815
            Type                          : C
            Name                          : python
            Used GPU Memory               : 39000 MiB
        Process ID                        : 994
            Type                          : G
            Name                          : /usr/lib/xorg/Xorg
            Used GPU Memory               : Not available in WDDM driver model
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    Utilization
        Gpu                               : [GPU requires reset]
        Memory                            : N/A
    Processes                             : None
GPU 00000000:1C:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
"""


def test_a_log_gives_every_section_of_every_gpu() -> None:
    found = values(scan(FORMAT, LOG))
    expected: dict[str, object] = {
        "gpu.name": "NVIDIA A100-SXM4-80GB",
        "gpu.bus_id": "00000000:1A:00.0",
        "gpu.persistence_mode": True,
        "gpu.mig_enabled": True,
        "gpu.mig_pending_enabled": False,
        "gpu.partition_count": 1,
        "gpu.virtualization": "Pass-Through",
        "gpu.link_generation": 3,
        "gpu.link_generation_max": 4,
        "gpu.link_generation_device_max": 4,
        "gpu.link_generation_host_max": 5,
        "gpu.link_width": 8,
        "gpu.link_width_max": 16,
        "gpu.link_replays": 7,
        "gpu.link_transmit_bytes_per_second": 1_500_000,
        "gpu.link_receive_bytes_per_second": 250_000,
        "gpu.performance_state": 0,
        "gpu.event_idle": False,
        "gpu.event_software_power_cap": True,
        "gpu.event_hardware_slowdown": True,
        "gpu.event_hardware_thermal_slowdown": False,
        "gpu.event_hardware_power_brake": True,
        "gpu.event_software_power_cap_seconds": 2.5,
        "gpu.memory_total_bytes": 81920 * MIB,
        "gpu.memory_reserved_bytes": 869 * MIB,
        "gpu.memory_used_bytes": 40000 * MIB,
        "gpu.memory_free_bytes": 41051 * MIB,
        "gpu.bar1_total_bytes": 131072 * MIB,
        "gpu.compute_mode": "exclusive-process",
        "gpu.utilization_share": 0.98,
        "gpu.memory_utilization_share": 0.41,
        "gpu.ecc_enabled": True,
        "gpu.ecc_dram_corrected_count": 5,
        "gpu.ecc_corrected_count": 5,  # 0 + 5
        "gpu.ecc_uncorrected_count": 7,  # 1 + 2 + 4
        "gpu.remapped_rows_correctable": 1,
        "gpu.remapped_rows_uncorrectable": 2,
        "gpu.remap_pending": True,
        "gpu.remap_failed": False,
        "gpu.remap_banks_max": 639,
        "gpu.remap_banks_low": 1,
        "gpu.temperature_celsius": 74,
        "gpu.temperature_margin_celsius": 12,
        "gpu.temperature_margin_slowdown_celsius": -2,
        "gpu.memory_temperature_celsius": 88,
        "gpu.power_watts": 390.10,
        "gpu.power_limit_watts": 400,
        "gpu.power_default_limit_watts": 500,
        "gpu.sm_clock_megahertz": 1095,
        "gpu.memory_clock_megahertz": 1593,
        "gpu.application_graphics_clock_megahertz": 1275,
        "gpu.sm_clock_max_megahertz": 1410,
        "gpu.process_count": 2,
        "gpu.compute_process_count": 1,
        "gpu.sample_count": 1,
    }
    assert {fact: found[fact, "gpu:0"] for fact in expected} == expected
    assert found["gpu.count", "host:this"] == 2
    assert found["host.driver_version", "host:this"] == "550.90.12"
    assert found["process.gpu_memory_bytes", "gpu:0/process:815"] == 39000 * MIB
    assert found["partition.memory_used_bytes", "gpu:0/partition:0"] == 37 * MIB
    assert found["partition.multiprocessor_count", "gpu:0/partition:0"] == 42
    assert found["gpu.bus_id", "gpu:1"] == "00000000:1B:00.0"


def test_what_cannot_be_had_is_missing_with_its_reason() -> None:
    extracts = scan(FORMAT, LOG)
    found = values(extracts)
    reasons = {(one.fact, one.entity.path): one.reason for one in extracts[0].missing}
    assert reasons["gpu.fan_share", "gpu:0"] == "N/A"
    assert reasons["process.gpu_memory_bytes", "gpu:0/process:994"] == "Not available in WDDM driver model"
    assert reasons["gpu.processes_memory_bytes", "gpu:0"] == "Not available in WDDM driver model"
    assert reasons["gpu.utilization_share", "gpu:1"] == "GPU requires reset"
    assert found["gpu.reset_required", "gpu:1"] is True
    assert ("gpu.ecc_corrected_lifetime_count", "gpu:0") not in found  # a part of the sum cannot be had
    assert found["gpu.process_count", "gpu:1"] == 0


def test_a_log_is_claimed_from_its_header_to_its_end() -> None:
    text = f"$ nvidia-smi -q\n{LOG}$ echo done : yes\n"
    lines = text.splitlines()
    mine = {number for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("$")}
    assert claimed(scan(FORMAT, text)) == mine


@pytest.mark.parametrize(
    ("section", "fact", "value"),
    [
        ("Clocks Throttle Reasons\n    Idle : Active\n", "gpu.event_idle", True),
        (
            "    Clocks Event Reasons\n        SW Thermal Slowdown : Active\n",
            "gpu.event_software_thermal_slowdown",
            True,
        ),
        ("FB Memory Usage\n    Total : 100 MiB\n    Used : 7 MiB\n", "gpu.memory_used_bytes", 7 * MIB),
        ("FB Memory Usage\nTotal : 100 MiB\nUsed : 7 MiB\n", "gpu.memory_used_bytes", 7 * MIB),
        ("> FB Memory Usage\n>     Used : 7 MiB\n", "gpu.memory_used_bytes", 7 * MIB),
        ("ECC Errors\n    Volatile\n        Double Bit\n            Total : 3\n", "gpu.ecc_uncorrected_count", 3),
        ("Retired Pages\n    Double Bit ECC : 5\n", "gpu.retired_pages_double_bit", 5),
        ("Retired Pages\n    Pending Page Blacklist : Yes\n", "gpu.retired_pages_pending", True),
        ("Power Readings\n    Power Draw : 33.41 W\n", "gpu.power_watts", 33.41),
        ("Performance State : P8\n        Power Draw : 33.41 W\n", "gpu.power_watts", 33.41),
        ("Performance State : P8\n        Idle : Active\n", "gpu.event_idle", True),
        ("Temperature\n    GPU Current Temp : 49 C\n", "gpu.temperature_celsius", 49),
        ("HW Slowdown : Active\n", "gpu.event_hardware_slowdown", True),
        ("GPU Utilization Samples\n    Max : 42 %\n    Min : 0 %\n", "gpu.utilization_max_share", 0.42),
    ],
)
def test_a_section_alone_is_about_gpu_0(section: str, fact: str, value: object) -> None:
    assert values(scan(FORMAT, section))[fact, "gpu:0"] == value


def test_lines_run_together_are_taken_apart() -> None:
    text = (
        "Attached GPUs : 4 GPU 00000000:4F:00.0 Clocks Graphics : 1410 MHz SM : 1400 MHz Memory : 1512 MHz "
        "Video : 1275 MHz Applications Clocks Graphics : 1395 MHz Memory : 1511 MHz Max Clocks SM : 1755 MHz"
    )
    found = values(scan(FORMAT, text))
    assert found["gpu.count", "host:this"] == 4
    assert found["gpu.bus_id", "gpu:0"] == "00000000:4F:00.0"
    assert found["gpu.sm_clock_megahertz", "gpu:0"] == 1400
    assert found["gpu.memory_clock_megahertz", "gpu:0"] == 1512
    assert found["gpu.application_graphics_clock_megahertz", "gpu:0"] == 1395
    assert found["gpu.sm_clock_max_megahertz", "gpu:0"] == 1755


def test_a_table_in_the_same_text_tells_the_index_of_a_bus_id() -> None:
    row = "|   5  Tesla V100-SXM2...  On   | 00000000:1A:00.0 Off |                    0 |\n"
    found = values(scan(FORMAT, row + "GPU 0000:1a:00.0\n    Performance State : P2\n"))
    assert found["gpu.performance_state", "gpu:5"] == 2


def test_a_section_pasted_twice_is_two_moments() -> None:
    section = "Clocks\n    SM : {} MHz\n    Memory : 877 MHz\nClocks Throttle Reasons\n    SW Power Cap : {}\n"
    extracts = scan(FORMAT, "Utilization\n    Gpu : 1 %\n" + section.format(600, "Active"))
    assert values(extracts)["gpu.sm_clock_megahertz", "gpu:0"] == 600
    twice = "Max Clocks\n    SM : 1530 MHz\n" + section.format(600, "Active") + section.format(1000, "Active")
    found = values(scan(FORMAT, twice))
    assert found["gpu.sm_clock_lowest_megahertz", "gpu:0"] == 600
    assert found["gpu.sm_clock_highest_megahertz", "gpu:0"] == 1000
    assert found["gpu.event_software_power_cap_sample_share", "gpu:0"] == 1.0


def test_a_gpu_that_comes_again_keeps_its_index() -> None:
    one = "GPU 00000000:84:00.0\n    Utilization\n        Gpu : {} %\n"
    text = one.format(10) + "GPU 00000000:85:00.0\n    Performance State : P8\n\n" + one.format(30)
    found = values(scan(FORMAT, text))
    assert found["gpu.sample_count", "gpu:0"] == 2
    assert found["gpu.utilization_share", "gpu:0"] == pytest.approx(0.2)  # median of 10 % and 30 %
    assert found["gpu.bus_id", "gpu:1"] == "00000000:85:00.0"
    assert ("gpu.bus_id", "gpu:2") not in found


def test_prose_and_other_key_value_text_is_left_alone() -> None:
    text = (
        "epoch : 3\nTotal : 45\nUsed : 12\nPending : 4\nStatus : ok\nTemperature\nMemory : 16 GB\n"
        "GPU : Tesla T4\nProcesses\n- 4 workers\nName : bob\nCUDA Version : 11.8\n"
    )
    assert all(not extract.readings for extract in scan(FORMAT, text))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_damage_makes_it_raise(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(LOG)))
    stop = data.draw(st.integers(start, len(LOG)))
    noise = data.draw(st.text(" :\n\tGPUMiBClocks%0123456789ABC.-[]", max_size=80))
    for extract in scan(FORMAT, LOG[:start] + noise + LOG[stop:]):
        assert extract.format == "nvidia-smi-q"
