"""What the estimate of latency says against what was published: the low and the high side, and the measured times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.sizing import LLAMA2_7B, LLAMA2_13B, LLAMA2_70B, LLAMA3_8B, LLAMA3_70B, llama
from gpuwhy.engine.latency import latency
from gpuwhy.engine.shapes import Shape
from gpuwhy.engine.workload import Work
from gpuwhy.kb.offers import Machine

LMDEPLOY = "https://github.com/InternLM/lmdeploy/blob/3e391df/docs/en/benchmark/a100_fp16.md"
VLLM_H200 = "https://buildkite.com/vllm/performance-benchmark/builds/9515"
VLLM_A100 = "https://github.com/vllm-project/vllm/issues/16300"

QWQ_32B = llama(64, 5120, 40, 8, 27_648, 152_064)

CARDS = {"A100": (2039e9, 312e12, 600e9), "H200": (4800e9, 989e12, 900e9)}
"""Bandwidth, dense 16-bit rate and NVLink, by the data sheets."""


@dataclass(frozen=True)
class Row:
    """One published time of tokens: the estimate's sides, the median (or mean), the 99th percentile, all in seconds."""

    name: str
    least: float
    most: float
    median: float
    rare: float | None
    source: str


def machine(card: str, gpus: int) -> Machine:
    """So many of a card in one machine."""
    bandwidth, rate, link = CARDS[card]
    return Machine(
        name="x", provider="x", family="x", status="listed", gpu=card, gpus=gpus, gpu_memory_bytes=80e9,
        memory_is_nominal=False, is_slice=False, architecture=None, compute_capability=9.0,
        bandwidth_bytes_per_second=bandwidth, tensor16_flops=rate, float32_flops=None, has_tensor_cores=True,
        supports_bfloat16=True, supports_tf32=True, supports_fp8=False,
        nvlink_bytes_per_second=link if gpus > 1 else None, rdma=False, mig=None, vcpus=16, memory_bytes=1e11,
        network_bytes_per_second=None, disk_bytes_per_second=None, local_disk_bytes=None, says="", source="x",
    )  # fmt: skip


A100_TABLE: dict[str, tuple[Shape, int, tuple[tuple[int, int, int, float, float], ...]]] = {
    "Llama 2 7B": (
        LLAMA2_7B, 1,
        (
            (1, 1, 128, 9, 11), (1, 128, 128, 10, 10), (1, 128, 2048, 10, 10), (1, 2048, 128, 10, 11),
            (1, 2048, 2048, 11, 11), (16, 1, 128, 10, 13), (16, 128, 128, 11, 14), (16, 128, 2048, 15, 21),
            (16, 2048, 128, 20, 25), (16, 2048, 2048, 25, 31), (32, 1, 128, 11, 21), (32, 128, 128, 12, 35),
            (32, 128, 2048, 21, 33), (32, 2048, 128, 31, 161), (32, 2048, 2048, 40, 53), (64, 1, 128, 12, 41),
            (64, 128, 128, 14, 158), (64, 128, 2048, 30, 53), (64, 2048, 128, 46, 767), (64, 2048, 2048, 47, 207),
        ),
    ),
    "Llama 2 13B": (
        LLAMA2_13B, 1,
        (
            (1, 1, 128, 17, 17), (1, 128, 128, 17, 18), (1, 128, 2048, 18, 19), (1, 2048, 128, 19, 19),
            (1, 2048, 2048, 19, 20), (16, 1, 128, 18, 20), (16, 128, 128, 19, 21), (16, 128, 2048, 26, 34),
            (16, 2048, 128, 33, 35), (16, 2048, 2048, 40, 47), (32, 1, 128, 19, 23), (32, 128, 128, 21, 25),
            (32, 128, 2048, 34, 48), (32, 2048, 128, 46, 510), (64, 1, 128, 20, 29), (64, 128, 128, 24, 32),
        ),
    ),
    "Llama 2 70B": (
        LLAMA2_70B, 4,
        (
            (1, 1, 128, 29, 30), (1, 128, 128, 29, 30), (1, 128, 2048, 31, 31), (1, 2048, 128, 31, 51),
            (1, 2048, 2048, 31, 31), (16, 1, 128, 30, 251), (16, 128, 128, 30, 207), (16, 128, 2048, 33, 36),
            (16, 2048, 128, 35, 37), (16, 2048, 2048, 36, 41), (32, 1, 128, 32, 178), (32, 128, 128, 32, 438),
            (32, 128, 2048, 36, 158), (32, 2048, 128, 40, 248), (32, 2048, 2048, 43, 179), (64, 1, 128, 37, 329),
            (64, 128, 128, 37, 378), (64, 128, 2048, 43, 251), (64, 2048, 128, 50, 345), (64, 2048, 2048, 55, 299),
        ),
    ),
}  # fmt: skip
"""LMDeploy on A100s of 80 GB: requests at once, tokens of prompt and answer, median and 99th percentile in ms."""


def rows() -> Iterator[Row]:
    """All published times with what the estimate says."""
    for name, (shape, gpus, times) in A100_TABLE.items():
        for batch, prompt, answer, median, rare in times:
            label = f"{name}, {gpus} x A100, {batch} x {prompt}+{answer}"
            yield _row(label, shape, "A100", gpus, (batch, prompt, answer), median, rare, LMDEPLOY)
    # whole answers of 128 tokens after 32, 8 at once, and of 200 after 1: the mean over their tokens
    for size, shape, gpus, whole in (("8B", LLAMA3_8B, 1, 833.421), ("70B", LLAMA3_70B, 4, 2077.53)):
        yield _row(f"Llama 3 {size}, {gpus} x H200", shape, "H200", gpus, (8, 32, 128), whole / 128, None, VLLM_H200)
    for batch, gpus, rate in ((1, 2, 36.2), (1, 4, 50.0), (1, 8, 63.0), (16, 2, 528.0), (16, 4, 660.0), (16, 8, 760.0)):
        label = f"QwQ 32B, {gpus} x A100, {batch} x 1+200"
        yield _row(label, QWQ_32B, "A100", gpus, (batch, 1, 200), 1000 * batch / rate, None, VLLM_A100)


def _row(
    name: str,
    shape: Shape,
    card: str,
    gpus: int,
    load: tuple[int, int, int],
    median: float,
    rare: float | None,
    at: str,
) -> Row:
    batch, prompt, answer = load
    work = Work("serve", "inference", "fp16", shape, prompt + answer, concurrency=batch, answer_tokens=answer)
    found = latency(work, machine(card, gpus))
    assert found.token_least is not None
    assert found.token_most is not None
    return Row(name, found.token_least, found.token_most, median / 1e3, None if rare is None else rare / 1e3, at)


def main() -> None:
    """Print all rows."""
    found = list(rows())
    for row in found:
        rare = f"{row.rare * 1e3:8.1f}" if row.rare is not None else f"{'':8}"
        sides = f"{row.least * 1e3:8.1f} to {row.most * 1e3:7.1f}"
        inside = "" if row.least <= row.median <= row.most else "  median outside"
        above = "" if row.rare is None or row.rare <= row.most else "  99th above"
        print(f"{row.name:44}{sides} ms, median {row.median * 1e3:6.1f}, 99th {rare}{inside}{above}")
    between = sum(row.least <= row.median <= row.most for row in found)
    rare_rows = [row for row in found if row.rare is not None]
    below = sum(row.rare is not None and row.rare <= row.most for row in rare_rows)
    print(
        f"medians between the sides: {between} of {len(found)}; 99th below the high side: {below} of {len(rare_rows)}"
    )


if __name__ == "__main__":
    main()
