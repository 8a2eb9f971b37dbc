"""Figures in people's sentences, and sentences that state none."""

from __future__ import annotations

import pytest

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.stated_figures import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def facts(content: str) -> dict[str, Value]:
    """Facts about the job."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, content)).items() if path == "job:this"}


STATED: list[tuple[str, str, Value]] = [
    ("The GPU utilisation is only ~5 %.", "said.utilization_share", 0.05),
    ("gpu util stays at 30-40% most of the time", "said.utilization_share", 0.4),
    ("gpu util stays at 30-40% most of the time", "said.utilization_least_share", 0.3),
    ("I get only 12% GPU utilization with this.", "said.utilization_share", 0.12),
    ("nvidia-smi shows 4 GPUs with about 20% utilization each", "said.utilization_share", 0.2),
    ("GPU usage is between 10% and 20% here", "said.utilization_share", 0.2),
    ("训练时GPU利用率只有5%左右", "said.utilization_share", 0.05),
    ("I have num_workers = 8 in my loader.", "loader.workers", 8),
    ("num_workers is set to 0", "loader.in_main_process", True),
    ("started with --workers 4 on this box", "loader.workers", 4),
    ("It uses 16 dataloader workers.", "loader.workers", 16),
    ("num_workers设为8", "loader.workers", 8),
    ("with batch size 16 it runs", "job.batch_size", 16),
    ("I train with batch_size=32", "job.batch_size", 32),
    ("Using a batch of 4 it runs.", "job.batch_size", 4),
    ("Each step takes 1.2 s.", "step.time_seconds", 1.2),
    ("it takes about 350 ms per iteration", "step.time_seconds", 0.35),
    ("The step time is 2 min now.", "step.time_seconds", 120),
    ("每个step要1.2s", "step.time_seconds", 1.2),
    ("nvidia-smi shows 23 GB of 24 GB used", "said.memory_used_bytes", 23 * 2**30),
    ("nvidia-smi shows 23 GB of 24 GB used", "said.memory_total_bytes", 24 * 2**30),
    ("60% of training time is consumed by DataLoader", "step.data_wait_share", 0.6),
    ("Data loading takes about 45 % of the time.", "step.data_wait_share", 0.45),
    ("数据加载占了70%的时间", "step.data_wait_share", 0.7),
    ("Each step takes 1.8 s, of which data loading takes 1.3 s.", "step.data_wait_seconds", 1.3),
    ("The iteration time is 900 ms, and loading the data alone 650 ms.", "step.data_wait_seconds", 0.65),
    ("每个 step 大约 1.8s，其中 data loading 1.3s。", "step.data_wait_seconds", 1.3),
    ("每个step要2秒，其中数据加载1.5秒", "step.data_wait_seconds", 1.5),
    ("The GPU util is 96% here. Can it be faster?", "said.utilization_share", 0.96),
    ("显存占用 10G/24G", "said.memory_used_bytes", 10 * 2**30),
]


@pytest.mark.parametrize(("sentence", "fact", "value"), STATED)
def test_what_a_sentence_states(sentence: str, fact: str, value: Value) -> None:
    extracts = scan(FORMAT, sentence + "\n")
    assert facts(sentence + "\n")[fact] == pytest.approx(value)
    assert all(reading.said for extract in extracts for reading in extract.readings)


def test_a_sentence_is_understood_and_a_row_of_a_comparison_left_to_others() -> None:
    assert claimed(scan(FORMAT, "On my machine I train with num_workers = 8.\n")) == {1}
    assert claimed(scan(FORMAT, "num_workers=0: average time: 5.4\n")) == set()


@pytest.mark.parametrize(
    "sentence",
    [
        "GPU utilization should be at least 90%.",
        "Would num_workers=8 help?",
        "If I set batch size 16, does it fit?",
        "How do I get GPU utilisation to 95 %",
        "GPU memory usage is 90%",
        "|   0  Tesla V100  | GPU-Util 44%  batch size 4 |",
        "CUDA out of memory. Tried to allocate 2 GB, GPU has 23 GB of 24 GB used",
        "I do not use num_workers=4",
        "The default batch size is 32.",
        "GPU utilization 250%",
        "The python process CPU usage is 100%",
        "CPU usage goes up to 1600%",
        "Epoch 3: loss: 0.31 batch size 16 ETA 10:20",
    ],
)
def test_what_states_nothing(sentence: str) -> None:
    assert scan(FORMAT, sentence + "\n") == []


def test_several_different_figures_are_no_reading_of_the_job() -> None:
    extracts = scan(FORMAT, "I tried num_workers=0 and num_workers=8, no difference.\nbatch size 4\n")
    found = values(extracts)
    assert facts("I tried num_workers=0 and num_workers=8, no difference.\nbatch size 4\n") == {"job.batch_size": 4}
    assert sorted(value for (fact, _), value in found.items() if fact == "reading.count") == [0, 8]


@pytest.mark.parametrize(
    "sentence",
    [
        "The CPU (2 CPUs with 32 physical cores total) usage is 100% at then.",
        "All 16 CPU cores are at 100 %.",
        "CPU占用率基本100%",
        "While it trains all 8 CPU cores are maxed out.",
        "The CPU is constantly saturated while it trains.",
        "训练时CPU 8 核全部跑满，GPU很闲",
    ],
)
def test_what_the_processors_do_belongs_to_the_machine(sentence: str) -> None:
    assert values(scan(FORMAT, sentence + "\n"))[("host.cpu_busy_share", "host:this")] == 1


def test_the_same_figure_twice_is_one() -> None:
    assert facts("num_workers=8 here.\nAs I said, num_workers = 8.\n")["loader.workers"] == 8
