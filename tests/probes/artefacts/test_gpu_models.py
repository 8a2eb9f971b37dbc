"""Names of GPU models as people write them."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.gpu_models import models, step


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("NVIDIA A100-PCIE 40G", ["A100"]),
        ("8x NVIDIA A100-SXM4-80GB", ["A100"]),
        ("Tesla V100-SXM2-16GB vs Tesla T4", ["V100", "T4"]),
        ("GeForce RTX 3090 and rtx3080ti", ["RTX-3090"]),
        ("on a 2080 Ti, on a 4090", ["RTX-2080TI", "RTX-4090"]),
        ("RTX A6000, A6000", ["RTX-A6000", "RTX-A6000"]),
        ("H100 80GB HBM3 | L40S | A10G", ["H100", "L40S", "A10G"]),
        ("RTX PRO 6000 Blackwell, RTX 6000 Ada", ["RTX-PRO-6000", "RTX-6000-ADA"]),
        ("V100S-PCIE-32GB", ["V100"]),
        ("GB200 NVL72", ["GB200"]),
        ("a2 = b2 + l4; p4", []),
        ("batch 3090.5 of 20900", []),
        ("version-A100x", []),
    ],
)
def test_models(text: str, names: list[str]) -> None:
    assert [name for _, name in models(text)] == names


def test_the_order_is_from_small_to_large() -> None:
    order = [step(name) or 0 for name in ("K80", "T4", "V100", "RTX-3090", "A100", "H100", "B200")]
    assert order == sorted(set(order))
    assert step("A9999") is None
