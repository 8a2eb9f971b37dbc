"""GPUs that a person says cannot reach each other directly."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.reported import FORMAT
from tests.probes.artefacts.helpers import scan, values

FACT = ("said.no_peer_access", "job:this")


@pytest.mark.parametrize(
    "text",
    [
        "nccl-tests busbw is 1.2 GB/s on 4x RTX 4090, p2p is disabled on these cards",
        "P2P access between the GPUs is not supported on this board",
        "The RTX 4090 does not support P2P",
        "Two cards without peer-to-peer support, so NCCL is slow",
    ],
)
def test_reported(text: str) -> None:
    assert FACT in values(scan(FORMAT, text + "\n"))


@pytest.mark.parametrize(
    "text",
    [
        "P2P is not disabled between the GPUs",
        "P2P between the GPUs is supported",
        "If P2P is disabled NCCL is slow on these GPUs",
        "NCCL works fine with NCCL_P2P_DISABLE=1 on these GPUs",
        "Is P2P disabled on RTX cards?",
        "Should P2P be disabled for the GPUs?",
    ],
)
def test_other_sentences_are_none(text: str) -> None:
    assert FACT not in values(scan(FORMAT, text + "\n"))
