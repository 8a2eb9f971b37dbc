"""Host memory that runs full, told in prose: only where the process is killed or the machine fails beside it."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.reported import FORMAT
from tests.probes.artefacts.helpers import scan, values

FACT = ("said.host_memory_exhausted", "job:this")


@pytest.mark.parametrize(
    "text",
    [
        "After an hour of training the process is Killed. RAM climbs steadily to 100 % while GPU memory is at 6 GB.",
        "my script gets killed by the system when loading the dataset, 64 GB RAM is full, no CUDA error",
        "The python process was killed, CPU memory usage reached 100%.",
        "With num_workers=16 the data loader fills up the host memory and then the job got killed.",
        "The training run uses all of the RAM and is killed.",
        "We run out of host memory while the script loads the dataset",
        "Pod restarts, exit code 137, memory of the container goes up to the 32Gi limit.",
        "the training job dies with exit code -9, system memory is exhausted",
        "The machine freezes in training; RAM usage goes up to 99%.",
        "Loading the model eats all 30GB of RAM and Colab says: session crashed.",
        "训练几个小时后宿主机内存打满, 进程被杀掉, 显存只用了一半。",
        "数据加载时内存爆了，程序被kill",
        "系统内存占用率达到100%，训练进程被系统杀死",
    ],
)
def test_reported(text: str) -> None:
    assert FACT in values(scan(FORMAT, text + "\n"))


@pytest.mark.parametrize(
    "text",
    [
        "I killed the training process because RAM was only at 20 % and it hung.",
        "The process is killed although RAM is never full.",
        "The training process is killed; RAM is not full, only half of it is used.",
        "GPU RAM is full and the process is killed.",
        "VRAM is full when the training process gets killed.",
        "In training RAM is at 100 %, page cache included; nothing goes wrong.",
        "Training is fine, RAM is at 98 % because of the page cache, nothing is killed.",
        "If RAM is full the training process is killed.",
        "The job was killed by me; RAM stays at 30 %.",
        "Does the script run out of host memory?",
        "The training never runs out of RAM.",
        "The container's memory limit is 32 GiB.",
        "训练时内存没有打满，进程被杀掉",
        "显存打满, 训练进程被杀掉",
        "内存占用 30%，训练进程正常",
    ],
)
def test_other_reports_are_none(text: str) -> None:
    assert FACT not in values(scan(FORMAT, text + "\n"))
