"""Models that reports name by their size, and what their weights take."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.stated_model import FORMAT
from tests.probes.artefacts.helpers import scan, values

GB = 1e9


def weights(content: str) -> object:
    """The bytes of the weights; None where nothing is said of them."""
    return values(scan(FORMAT, content + "\n")).get(("said.weights_bytes", "job:this"))


@pytest.mark.parametrize(
    ("report", "bytes_"),
    [
        ("vLLM with Qwen2.5-32B on a single A10 fails", 64 * GB),  # 32 billion of two bytes
        ("Loading meta-llama/Llama-2-13b-chat-hf on my RTX 3090", 26 * GB),
        ("I want to run a 7B model on one GPU", 14 * GB),
        ("a 6.7B parameter model on a T4", 13.4 * GB),
        ("Qwen2.5-72B-Instruct-AWQ on one A100", 36 * GB),  # half a byte
        ("Llama-3-8B in fp8 on an L4", 8 * GB),
        ("在单卡A10上部署Qwen-14B模型", 28 * GB),
        ("Qwen-14B on a V100. Qwen-14B needs much memory.", 28 * GB),
    ],
)
def test_weights_of_the_named_model(report: str, bytes_: float) -> None:
    assert weights(report) == pytest.approx(bytes_)


@pytest.mark.parametrize(
    "report",
    [
        "Qwen2.5-32B on 4x A10",
        "Qwen2.5-32B on a single node with 8 GPUs, one A100 fails",
        "Qwen2.5-32B with tensor parallel on one A10 box",
        "Llama-2-13b on my RTX 3090 with device_map=auto",
        "Qwen2.5-32B fails",  # how many cards there are is not said
        "Llama-2-13b and Llama-2-7b on a single A10",  # which of the two fails is not said
        "Mixtral-8x7B on a single A100",
        "it wants 24 GB on a single A10",
        "read 512 B of a model on one GPU",
    ],
)
def test_reports_that_do_not_say_it(report: str) -> None:
    assert weights(report) is None
