"""Lanes of a PCIe link that a person states."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.stated_link import FORMAT
from tests.probes.artefacts.helpers import scan, values


@pytest.mark.parametrize(
    ("text", "now", "most"),
    [
        ("The card runs at x8 instead of x16 although it is in the first slot", 8, 16),
        ("The GPU runs at PCIe x8 instead of x16.", 8, 16),
        ("nvidia-smi shows the GPU's PCIe link at x4 rather than x16", 4, 16),
        ("GPU 0 uses only 4 lanes instead of 16 of the slot", 4, 16),
        ("only 8 of the 16 PCIe lanes of the A5000 are in use", 8, 16),
        ("the link of my RTX 3090 is x1 but should be x16", 1, 16),
        ("显卡 PCIe x4 而不是 x16", 4, 16),
    ],
)
def test_lanes_in_use(text: str, now: int, most: int) -> None:
    found = scan(FORMAT, text)
    assert values(found) == {("gpu.link_width", "gpu:0"): now, ("gpu.link_width_max", "gpu:0"): most}
    assert all(reading.said for reading in found[0].readings)


@pytest.mark.parametrize(
    "text",
    [
        "The GPU has PCIe x16",
        "Would the GPU run at x8 instead of x16 in the second slot?",
        "If the card runs at x8 instead of x16 it hardly matters on PCIe 4.0",
        "The NVMe drive runs at x2 instead of x4; the GPU's link is fine",
        "The GPU link was at x4 instead of x16, reseating mended it",
        "matrix of 8 x8 instead of x16 tiles",
        "batch x8 instead of x16 on the GPU",
        "GPU 0 is at PCIe x8 instead of x16, GPU 1 at x4 instead of x16",
        "x16 instead of x8 lanes on the GPU",
    ],
)
def test_other_sentences_are_none(text: str) -> None:
    assert scan(FORMAT, text) == []
