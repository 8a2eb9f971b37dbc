"""The same work in several precisions."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.framework_messages import FORMAT as MESSAGES
from gpuwhy.probes.artefacts.precision_table import FORMAT
from tests.probes.artefacts.helpers import scan, values


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


@pytest.mark.parametrize(
    ("text", "gain"),
    [
        ("precision  images/s\nfp32       212\nfp16       265\n", 265 / 212),
        ("| precision | time per step |\n|---|---|\n| fp32 | 412 ms |\n| amp fp16 | 206 ms |\n", 2.0),
        ("| dtype | latency (ms) |\n|---|---|\n| FP32 | 40 |\n| BF16 | 16 |\n| FP16 | 20 |\n", 2.5),
        ("| | fp32 | fp16 | bf16 |\n|---|---|---|---|\n| images/s | 200 | 300 | 250 |\n", 1.5),
        ("fp32: 410 ms/step, fp16: 205 ms/step on a T4", 2.0),
        ("float32 takes 1.2 s/it\nmixed precision takes 0.6 s/it\n", 2.0),
        ("FP32 = 5.0 it/s\nAMP = 4.0 it/s\n", 0.8),
    ],
    ids=["columns", "Markdown", "unit in the heading, the best counts", "a column each", "sentence", "lines", "slower"],
)
def test_gain_of_half_precision(text: str, gain: float) -> None:
    assert facts(text)["bench.half_speedup_ratio"] == pytest.approx(gain)


def test_gain_of_tf32() -> None:
    found = facts("A100 matmul:\n| dtype | TFLOPS |\n|---|---|\n| fp32 | 18.0 |\n| tf32 | 108 |\n| bf16 | 252 |\n")
    assert found["bench.tf32_speedup_ratio"] == pytest.approx(6.0)
    assert found["bench.half_speedup_ratio"] == pytest.approx(14.0)
    assert "said.gpu_without_faster_half" not in found


# CUDA C Programming Guide, 16-bit against 32-bit results a cycle: none at 3.7, 5.2; 2 of 128 at 6.1; 128 of 64 at 6.0
@pytest.mark.parametrize(
    ("card", "named"),
    [("Tesla P40", "P40"), ("GTX 1080 Ti", "GTX-1080TI"), ("Tesla K80", "K80"), ("Tesla P100", None), ("T4", None),
     ("GTX 1660", None)],
)  # fmt: skip
def test_a_card_that_computes_in_half_precision_no_faster(card: str, named: str | None) -> None:
    assert facts(f"{card}\nfp32 4.0 it/s\nfp16 4.1 it/s\n").get("said.gpu_without_faster_half") == named


@pytest.mark.parametrize(
    "text",
    [
        "| dtype | memory |\n| fp32 | 24 GB |\n| fp16 | 12 GB |\n",
        "A100 data sheet: FP32 19.5 TFLOPS, FP16 312 TFLOPS",
        "fp32 on a V100: 400 ms, fp16 on a T4: 390 ms",
        "fp32: 400 ms, fp16: 3 it/s",
        "fp32 400 ms\nfp32 200 ms\nfp16 100 ms\n",
        "fp32 loss 0.31, fp16 loss 0.32",
        "fp16: 180 ms/step",
        "| dtype | accuracy |\n| fp32 | 76.1 |\n| fp16 | 76.0 |\n",
        "fp32 should be 400 ms, fp16 200 ms",
    ],
    ids=["memory", "on paper", "two cards", "other units", "two sizes", "losses", "one only", "accuracy", "wished"],
)
def test_what_compares_no_precisions(text: str) -> None:
    assert facts(text) == {}


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("torch.backends.cuda.matmul.allow_tf32 = False", False),
        ("torch.backends.cuda.matmul.allow_tf32 = True", True),
        ("torch.set_float32_matmul_precision('high')", True),
        ('torch.set_float32_matmul_precision("highest")', False),
        ("export NVIDIA_TF32_OVERRIDE=0", False),
    ],
)
def test_setting_of_tf32(line: str, allowed: bool) -> None:
    assert values(scan(MESSAGES, line))["job.tf32_allowed", "job:this"] is allowed


@pytest.mark.parametrize("line", ["# torch.backends.cuda.matmul.allow_tf32 = False", "Is allow_tf32 good?"])
def test_no_setting_of_tf32(line: str) -> None:
    assert scan(MESSAGES, line) == []
