"""What sentences say of several GPUs against few."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.gpu_scaling import FORMAT
from tests.probes.artefacts.helpers import scan, values


@pytest.mark.parametrize(
    ("text", "count", "speedup"),
    [
        ("Our DDP job scales to 1.2x on 4 GPUs only.", 4, 1.2),
        ("I only get 1.5x speedup with 4 GPUs", 4, 1.5),
        ("4 GPUs are only 1.3x faster than one GPU", 4, 1.3),
        ("8 GPUs give just 3.1 times the throughput of a single GPU", 8, 3.1),
        ("speedup of 1.7x on 8 A100 GPUs", 8, 1.7),
        ("4张卡的加速比只有1.5倍，A100 PCIe。", 4, 1.5),
        ("八卡训练速度只有单卡的2.4倍", 8, 2.4),
        ("ResNet50 单卡 300 张/秒, 8卡 只有 900 张/秒, 怎么回事？", 8, 3.0),
        ("单卡 300 张/秒, 8卡 只有 900", 8, 3.0),
        ("1 GPU does 300 images/s, 8 GPUs only 900.", 8, 3.0),
        ("单卡每秒处理 120 个样本, 双卡每秒 150 个样本", 2, 1.25),
        ("单卡一个epoch 10分钟, 双卡要 13分钟。", 2, 10 / 13),
        ("On one GPU an epoch takes 9 min, on 4 GPUs 6 min.", 4, 1.5),
        ("With 8 GPUs training takes 5 hours, with one GPU it takes 9 hours.", 8, 1.8),
        ("两台机器16卡训练, 吞吐只有单机8卡的1.1倍", 16, 1.1),
        ("单机8卡每张卡 100 张/秒，双机16卡每张卡 60 张/秒", 16, 16 * 60 / (8 * 100)),
    ],
)
def test_the_speedup_that_a_sentence_gives(text: str, count: int, speedup: float) -> None:
    found = values(scan(FORMAT, text + "\n"))
    assert found["bench.scaling_gpu_count", "job:this"] == count
    assert found["bench.scaling_speedup", "job:this"] == pytest.approx(speedup)


@pytest.mark.parametrize(
    "text",
    [
        "It should scale to 3.8x on 4 GPUs.",
        "We expect a 1.5x speedup with 4 GPUs",
        "Training scales to 3x on 4 GPUs than the CPU",
        "4 GPUs are 1.3x faster than the old card",
        "4 GPUs are 30x faster than one GPU",
        "理论上4卡加速比是4倍",
        "8卡 A100 服务器, 单卡 300 张/秒",
        "单卡每步 10 秒, 双卡每步 13 秒, 一个epoch很久",
        "On 1 GPU a step takes 1 s, on 2 GPUs 1.3 s.",
        "With one GPU and 4 nodes an epoch is long",
        "单卡只有 900 块钱, 双卡 1800",
        "a GPU has 2 cards in 10 s",
    ],
)
def test_sentences_that_compare_nothing(text: str) -> None:
    assert scan(FORMAT, text + "\n") == []


def test_a_speedup_against_more_than_one_gpu() -> None:
    found = values(scan(FORMAT, "两台机器16卡训练, 吞吐只有单机8卡的1.1倍\n"))
    assert found["bench.scaling_efficiency_share", "job:this"] == pytest.approx(1.1 * 8 / 16)
