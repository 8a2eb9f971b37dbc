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
