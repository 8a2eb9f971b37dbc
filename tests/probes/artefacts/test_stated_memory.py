"""Memory that a person says a card should have."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.stated_memory import FORMAT
from tests.probes.artefacts.helpers import scan, values


@pytest.mark.parametrize(
    "text",
    [
        "The data sheet of the A10 says 24 GB but nvidia-smi shows 22.5 GiB of memory",
        "nvidia-smi reports 23028MiB instead of 24GB",
        "The card should have 24 GB of VRAM",
        "It is advertised with 24GB memory",
        "24 GB on paper, but I see less memory",
    ],
)
def test_what_it_should_have(text: str) -> None:
    assert values(scan(FORMAT, text))["job.stated_gpu_memory_bytes", "job:this"] == 24 * 2**30


@pytest.mark.parametrize(
    "text",
    [
        "GPU 0 has a total capacity of 24 GiB of which 2 GiB is free",
        "The model needs 24 GB of memory",
        "CUDA out of memory. Tried to allocate 24 GiB. Of the allocated memory 17 GiB is allocated by PyTorch",
        "| 24 GB | spec |",
    ],
)
def test_other_sizes_are_none(text: str) -> None:
    assert scan(FORMAT, text) == []
