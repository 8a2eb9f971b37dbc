"""Throughput over the number of GPUs."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.gpu_scaling import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def facts(text: str) -> dict[str, Value]:
    return {fact: value for (fact, _), value in values(scan(FORMAT, text)).items()}


@pytest.mark.parametrize(
    ("text", "count", "speedup"),
    [
        ("GPUs  images/sec\n1     322\n2     410\n8     561\n", 8, 561 / 322),
        ("| #GPUs | samples/s | MFU |\n|---|---|---|\n| 1 | 100 | 40% |\n| 4 | 380 | 38% |\n", 4, 3.8),
        ("num_gpus,throughput,loss\n1,50.5,2.0\n2,60.6,2.0\n", 2, 1.2),
        ("GPUs   tokens/s per GPU\n1      1000\n8       500\n", 8, 4.0),
        ("GPUs   epoch time (s)\n1      120\n4      60\n", 4, 2.0),
        ("the scaleup of training with 2 GPUs and a batch size of 2 is 1.17x", 2, 1.17),
        ("On 8 GPUs we only get a speedup of 3.1x", 8, 3.1),
    ],
    ids=["columns", "Markdown", "commas", "per GPU", "times", "stated", "stated the other way round"],
)
def test_the_speedup_on_most_gpus(text: str, count: int, speedup: float) -> None:
    found = facts(text)
    assert found["bench.scaling_gpu_count"] == count
    assert found["bench.scaling_speedup"] == pytest.approx(speedup)
    assert found["bench.scaling_efficiency_share"] == pytest.approx(speedup / count)
    assert claimed(scan(FORMAT, text)) == set()


@pytest.mark.parametrize(
    "text",
    [
        "GPUs  images/sec\n2     410\n8     561\n",
        "GPUs  power\n1     322\n2     410\n",
        "with 2 GPUs a speedup of 40x over the CPU",
        "gpus 1 2 3\n1 2 3\n",
    ],
    ids=["without one GPU", "no throughput", "against something else", "no header"],
)
def test_other_tables_say_nothing(text: str) -> None:
    assert "bench.scaling_gpu_count" not in facts(text)


@pytest.mark.parametrize(
    ("text", "speedup", "efficiency"),
    [
        ("On one node (8GPUs) we have 40 images/s, on two nodes (16GPUs) it is still 40 images/s.", 1.0, 0.5),
        ("In a single node it is 30/s/gpu, with two or three nodes it falls to 10/s/gpu.", 2 * 10 / 30, 10 / 30),
        ("On 1 GPU I get 400 img/s, on 4 GPUs 1200 img/s.", 3.0, 0.75),
    ],
    ids=["nodes and GPUs", "per GPU", "GPUs"],
)
def test_throughputs_in_a_sentence(text: str, speedup: float, efficiency: float) -> None:
    found = values(scan(FORMAT, text + "\n"))
    assert found["bench.scaling_speedup", "job:this"] == pytest.approx(speedup)
    assert found["bench.scaling_efficiency_share", "job:this"] == pytest.approx(efficiency)


@pytest.mark.parametrize(
    "text",
    [
        "On one GPU 40 images/s, on two GPUs it should be 80 images/s.",
        "A V100: 1 GPU 40 images/s; an A100: 2 GPUs 200 images/s.",
        "With 8 GPUs we reach 3200 samples/s.",
        "On 2 GPUs 30 images/s at first, later on 2 GPUs 40 images/s.",
    ],
)
def test_sentences_that_compare_no_numbers_of_gpus(text: str) -> None:
    assert scan(FORMAT, text + "\n") == []
