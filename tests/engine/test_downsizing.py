"""The smaller machine type for a GPU with little to do: enough memory, enough speed, cheaper where that is known."""

from __future__ import annotations

import pytest

from gpuwhy.engine.downsizing import Offers
from gpuwhy.kb.load import load

A100 = "ecs.gn7-c12g1.3xlarge"


@pytest.fixture(scope="module")
def offers() -> Offers:
    return Offers(load().catalogue)


@pytest.mark.parametrize(
    ("memory", "busy", "gpu"),
    [
        # of an A100's 312 Tflop/s and 1555 GB/s an A10 has 125 and 600, a V100 125 and 900; a T4 costs more than an A10
        (8e9, 0.15, "NVIDIA A10"),
        (8e9, 0.38, "NVIDIA A10"),
        (8e9, 0.39, "Tesla V100-SXM2-32GB"),  # 1555 / 600 * 0.39 is more than 1
        (30e9, 0.15, "Tesla V100-SXM2-32GB"),
        (8e9, 0.41, None),  # 312 / 125 * 0.41 is more than 1
        (41e9, 0.1, None),
    ],
)
def test_it_holds_the_memory_and_the_work(offers: Offers, memory: float, busy: float, gpu: str | None) -> None:
    found = offers.smaller(A100, "", memory, busy)
    assert (None if found is None else found.gpu) == gpu


@pytest.mark.parametrize("name", ["no-such-type", "p4d.24xlarge", "ecs.sgn7i-vws-m8.4xlarge", "GN7.2XLARGE32"])
def test_none_for_a_type_that_is_not_known_a_slice_and_the_smallest(offers: Offers, name: str) -> None:
    assert offers.smaller(name, "", 1e9, 0.01) is None
