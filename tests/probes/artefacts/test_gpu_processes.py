"""Processes that the driver lists and the system has no name for: their memory is held, and by whom is not known."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts import smi_csv, smi_query, smi_table
from gpuwhy.probes.artefacts.gpu_processes import is_nameless
from tests.probes.artefacts.helpers import missing, scan, values

MIB = 1024**2
TABLE = """\
+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
|    0   N/A  N/A     31794      C   {name:24}         5371MiB |
|    0   N/A  N/A     13386      C   python                           1205MiB |
+-----------------------------------------------------------------------------+
"""
APPS = """\
gpu_uuid, pid, process_name, used_gpu_memory [MiB]
GPU-aaaaaaaa-1111-2222-3333-444444444444, 4711, {name}, 21000 MiB
GPU-aaaaaaaa-1111-2222-3333-444444444444, 4712, /opt/python, 900 MiB
"""
LOG = """\
==============NVSMI LOG==============

Attached GPUs                             : 1
GPU 00000000:00:07.0
    Processes
        Process ID                        : 4711
            Type                          : C
            Name                          : {name}
            Used GPU Memory               : 21000 MiB
"""
NAMES = ["[Not Found]", "Not Found", "Unknown Error", "[Unknown Error]", "No Such Process"]


@pytest.mark.parametrize("name", NAMES)
def test_in_a_table(name: str) -> None:
    extracts = scan(smi_table.FORMAT, TABLE.format(name=name))
    found = values(extracts)
    assert found["gpu.nameless_processes_memory_bytes", "gpu:0"] == 5371 * MIB
    assert found["gpu.processes_memory_bytes", "gpu:0"] == 6576 * MIB  # 5371 + 1205
    assert found["process.gpu_memory_bytes", "gpu:0/process:31794"] == 5371 * MIB
    assert ("process.name", "gpu:0/process:31794") not in found
    assert missing(extracts)["process.name", "gpu:0/process:31794"] == f"shown as {name}"
    assert found["process.name", "gpu:0/process:13386"] == "python"


@pytest.mark.parametrize("name", NAMES)
def test_in_a_list_of_compute_processes(name: str) -> None:
    found = values(scan(smi_csv.FORMAT, APPS.format(name=name)))
    assert found["gpu.nameless_processes_memory_bytes", "gpu:0"] == 21000 * MIB
    assert ("process.name", "gpu:0/process:4711") not in found
    assert found["process.name", "gpu:0/process:4712"] == "/opt/python"


@pytest.mark.parametrize("name", NAMES)
def test_in_the_long_form(name: str) -> None:
    found = values(scan(smi_query.FORMAT, LOG.format(name=name)))
    assert found["gpu.nameless_processes_memory_bytes", "gpu:0"] == 21000 * MIB


@pytest.mark.parametrize(
    "name", ["python", "N/A", "[N/A]", "-", "[Insufficient Permissions]", "/opt/Not Found/run", "", None]
)
def test_what_is_a_name_or_hides_one_is_nothing_else(name: str | None) -> None:
    assert not is_nameless(name)


def test_where_every_process_has_a_name_nothing_is_said() -> None:
    found = values(scan(smi_table.FORMAT, TABLE.format(name="/opt/train")))
    assert ("gpu.nameless_processes_memory_bytes", "gpu:0") not in found


def test_memory_that_is_not_told_is_no_sum() -> None:
    table = TABLE.format(name="[Not Found]").replace("5371MiB", "N/A    ")
    extracts = scan(smi_table.FORMAT, table)
    assert ("gpu.nameless_processes_memory_bytes", "gpu:0") not in values(extracts)
    assert missing(extracts)["gpu.nameless_processes_memory_bytes", "gpu:0"] == "N/A"
