"""Work that a person says runs in full precision."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.reported import FORMAT
from tests.probes.artefacts.helpers import scan, values

FACT = ("job.mixed_precision", "job:this")


@pytest.mark.parametrize(
    "text",
    [
        "We currently train in full precision on the GPU, AMP is off.",
        "Training runs in fp32 on the A100 GPU",
        "We do not use AMP for training on this GPU.",
        "Mixed precision is not used in training",
    ],
)
def test_full_precision(text: str) -> None:
    assert values(scan(FORMAT, text + "\n"))[FACT] is False


@pytest.mark.parametrize(
    "text",
    [
        "Training in fp32 and fp16 is equally fast on the GPU",
        "If AMP is off training is slower on the GPU",
        "Should I train in full precision on this GPU?",
        "Mixed precision is on in training",
        "AMP is used for training on the GPU",
    ],
)
def test_other_sentences_say_nothing(text: str) -> None:
    assert FACT not in values(scan(FORMAT, text + "\n"))
