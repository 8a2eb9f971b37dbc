"""`nvidia-smi -L`."""

from __future__ import annotations

from gpuwhy.probes.artefacts.smi_list import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

LIST = """\
$ nvidia-smi -L
GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-01234567-89ab-cdef-0123-456789abcdef)
  MIG 3g.20gb     Device  0: (UUID: MIG-11111111-89ab-cdef-0123-456789abcdef)
  MIG 3g.20gb     Device  1: (UUID: MIG-22222222-89ab-cdef-0123-456789abcdef)
GPU 1: NVIDIA A100-PCIE-40GB (UUID: GPU-76543210-89ab-cdef-0123-456789abcdef)
GPU 2: is broken
"""


def test_gpus_and_their_partitions() -> None:
    extracts = scan(FORMAT, LIST)
    found = values(extracts)
    assert found["gpu.count", "host:this"] == 2
    assert found["gpu.name", "gpu:1"] == "NVIDIA A100-PCIE-40GB"
    assert found["gpu.uuid", "gpu:0"] == "GPU-01234567-89ab-cdef-0123-456789abcdef"
    assert found["gpu.partition_count", "gpu:0"] == 2
    assert found["partition.profile", "gpu:0/partition:1"] == "3g.20gb"
    assert ("gpu.mig_enabled", "gpu:1") not in found
    assert claimed(extracts) == {2, 3, 4, 5}


def test_a_part_of_the_list_does_not_count_the_gpus() -> None:
    assert ("gpu.count", "host:this") not in values(scan(FORMAT, LIST.splitlines()[4]))
