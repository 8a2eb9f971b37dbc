"""Output of nvbandwidth."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from gpuwhy.probes.artefacts.contract import FileFormat, TextFormat
from gpuwhy.probes.artefacts.nvbandwidth import FORMATS
from tests.probes.artefacts.helpers import claimed, scan, values

TEXT, FILE = FORMATS
assert isinstance(TEXT, TextFormat)
assert isinstance(FILE, FileFormat)

OUTPUT = (
    "nvbandwidth Version: v0.6\nBuilt from Git version: v0.6\n\n"
    "CUDA Runtime Version: 12040\nCUDA Driver Version: 12040\nDriver Version: 550.54.15\n\n"
    "Device 0: NVIDIA A100-SXM4-40GB (00000000:07:00)\nDevice 1: NVIDIA A100-SXM4-40GB (00000000:0A:00)\n\n"
    "Running host_to_device_memcpy_ce.\n"
    "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     24.50     24.60\n\n"
    "SUM host_to_device_memcpy_ce 49.10\n\n"
    "Running device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n"
    " 0       N/A    267.00\n 1    266.50       N/A\n\n"
    "SUM device_to_device_memcpy_read_ce 533.50\n"
)


def test_text() -> None:
    found = values(scan(TEXT, OUTPUT))
    assert found["gpu.host_to_device_bytes_per_second", "gpu:1"] == 24.6e9
    assert found["topology.peer_copy_min_bytes_per_second", "host:this"] == 266.5e9
    assert found["topology.peer_copy_max_bytes_per_second", "host:this"] == 267e9
    assert found["gpu.count", "host:this"] == 2
    assert {11, 12, 13, 14, 16, 18, 19, 20, 21, 22, 24} <= claimed(scan(TEXT, OUTPUT))


@pytest.mark.parametrize(
    "text",
    [
        "memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)\n  0  1\n 0  52.77  52.78\n",
        "Running device_to_host_memcpy_sm.\nmemcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)\n0  1\n0 52.77 52.78\n",
        "device_to_host_memcpy_sm  52.77 52.78\n",
        "device_to_host_memcpy_sm: 52.77, 52.78\n",
    ],
    ids=["without a name", "indented otherwise", "one line", "one line with commas"],
)
def test_pieces(text: str) -> None:
    assert values(scan(TEXT, text))["gpu.device_to_host_kernel_bytes_per_second", "gpu:1"] == 52.78e9


def told(matrix: object) -> bytes:
    case = {"name": "host_to_device_memcpy_ce", "bandwidth_matrix": matrix, "status": "Passed"}
    return json.dumps({"nvbandwidth": {"Driver Version": "550.54.15", "testcases": [case]}}).encode()


def test_json(tmp_path: Path) -> None:
    assert FILE.accepts(told([["12.3", "N/A"]]), "x")
    found = values([FILE.read(told([["12.3", "N/A"], ["12.4", 12.5]]), "x")])
    assert found["gpu.host_to_device_bytes_per_second", "gpu:0"] == 12.4e9
    assert found["gpu.host_to_device_bytes_per_second", "gpu:1"] == 12.5e9
    assert found["host.driver_version", "host:this"] == "550.54.15"
    packed = tmp_path / "x.json.gz"
    packed.write_bytes(gzip.compress(told([["12.3"]])))
    assert values([FILE.read(packed, "x")])["gpu.host_to_device_bytes_per_second", "gpu:0"] == 12.3e9


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", told(None), told([[None, {}, "x"]]), told({"a": 1})])
def test_damaged_json_gives_no_figures(content: bytes) -> None:
    assert not [one for one in FILE.read(content, "x").readings if one.fact.startswith("gpu.")]


def test_an_error_instead_of_results_is_left_to_the_readers_of_text() -> None:
    assert not FILE.accepts(b'{"nvbandwidth": {"error": "[CUDA_ERROR_SYSTEM_NOT_READY] system not yet"}}', "x")
