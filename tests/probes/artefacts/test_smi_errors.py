"""What nvidia-smi prints instead of an answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.smi_errors import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
            "NVIDIA driver is installed and running.",
            "driver-not-loaded",
        ),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure", "library-missing"),
        ("Failed to initialize NVML: Driver/library version mismatch", "version-mismatch"),
        ("Failed to initialize NVML: Driver/library version\n  mismatch", "version-mismatch"),
        ("2026-11-30 10:00:00 worker: Failed to initialize NVML: Unknown Error", "unknown-error"),
        ("Failed to initialize NVML: Insufficient Permissions", "no-permission"),
        ("Failed to initialize NVML: GPU access blocked by the operating system", "blocked-by-os"),
        ("$ nvidia-smi\nNo devices were found", "no-devices"),
        ("bash: nvidia-smi: command not found", "not-installed"),
        ('Field "bogus" is not a valid field to query.', "unknown-field"),
        ("Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error", "gpu-unreachable"),
        ("Unable to determine the device handle for GPU0: 0000:0B:00.0: GPU requires reset", "reset-required"),
    ],
)
def test_each_failure_is_named(text: str, error: str) -> None:
    extracts = scan(FORMAT, text)
    assert values(extracts)["host.smi_error", "host:this"] == error
    assert len(text.splitlines()) in claimed(extracts)


def test_a_lost_gpu_is_named_by_its_bus_id() -> None:
    text = "Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.  Reboot the system to recover"
    found = values(scan(FORMAT, f"{text} this GPU"))
    assert found["gpu.lost", "gpu:0000:05:00.0"] is True
    assert found["gpu.bus_id", "gpu:0000:05:00.0"] == "0000:05:00.0"
    assert found["host.smi_error", "host:this"] == "gpu-lost"


def test_a_gpu_index_is_taken_from_the_message_or_from_a_table() -> None:
    named = values(scan(FORMAT, "Unable to determine the device handle for GPU3: 0000:0B:00.0: Unknown Error"))
    assert named["gpu.handle_error", "gpu:3"] == "unknown error"
    row = "|   6  Tesla V100-SXM2...  On   | 00000000:0B:00.0 Off |                    0 |\n"
    shown = values(scan(FORMAT, row + "WARNING: infoROM is corrupted at gpu 0000:0B:00.0"))
    assert shown["gpu.inforom_corrupted", "gpu:6"] is True


def test_a_version_mismatch_names_the_library() -> None:
    found = values(
        scan(FORMAT, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.261\n")
    )
    assert found["host.nvml_library_version", "host:this"] == "535.261"


def test_no_devices_means_zero_gpus_and_mentions_are_no_failures() -> None:
    assert values(scan(FORMAT, "No devices were found\n"))["gpu.count", "host:this"] == 0
    banner = "| NVIDIA-SMI 535.104.05  Driver Version: 535.104.05 |"
    assert scan(FORMAT, f"If nvidia-smi says that no devices were found, reboot.\n{banner}\n") == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["Failed to initialize NVML: ", "nvidia-smi", "GPU is lost", "\n", ": ", "0000:0B:00.0", "x"])
    )
)
def test_no_text_makes_it_raise(parts: list[str]) -> None:
    scan(FORMAT, "".join(parts))


@pytest.mark.parametrize(
    ("line", "error", "code"),
    [
        ("20211113 15:06:44 WARN: NVML: can't get power for GPU #0, error code 15", "gpu-lost", 15),
        ("hwmc GPU2: unable to get fan speed - GPU is lost (15)", "gpu-lost", 15),
        ("NVML call failed, return code: 999", "unknown-error", 999),
    ],
)
def test_return_codes_that_other_programs_print(line: str, error: str, code: int) -> None:
    found = values(scan(FORMAT, line + "\n"))
    assert found["host.nvml_error", "host:this"] == error
    assert found["host.nvml_error_code", "host:this"] == code


def test_other_numbers_are_no_return_codes() -> None:
    assert list(scan(FORMAT, "NVML status 200 OK, GPU is fine\n")) == []
