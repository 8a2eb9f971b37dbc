"""A training script as people write it, in three variants: `training.py VARIANT FOLDER`.

slow-loader   every sample takes a worker long to read: the step waits for data
sync-and-log  the loss is read and logged in every step
healthy       data are at hand, and the loss is read now and then

It times itself with gpuwhy's timer, which writes FOLDER/timer.json, and ends when there is a file FOLDER/stop.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

from gpuwhy.probes.step_timer import StepTimer
from tests.probes.pid.imitated_device import OnDevice

BATCH = 8
READ_SECONDS = {"slow-loader": 0.02, "sync-and-log": 0.0, "healthy": 0.0}
WORKERS = {"slow-loader": 1, "sync-and-log": 0, "healthy": 0}
READ_LOSS_EVERY = {"slow-loader": 50, "sync-and-log": 1, "healthy": 100}
KERNEL_SECONDS = {"slow-loader": 0.02, "sync-and-log": 0.04, "healthy": 0.04}
LOG_SECONDS = 0.03
MOST_SECONDS = 300.0


class Samples(Dataset[tuple[torch.Tensor, int]]):
    """Samples on a storage that takes a while for each."""

    def __init__(self, read_seconds: float) -> None:
        self._read_seconds = read_seconds

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if self._read_seconds:
            time.sleep(self._read_seconds)
        return torch.randn(64), index % 10


class SlowHandler(logging.FileHandler):
    """A log on a storage that takes a while to accept a line."""

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        time.sleep(LOG_SECONDS)


def main(variant: str, folder: Path) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    log = logging.getLogger("training")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(SlowHandler(folder / "train.log"))
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    model = OnDevice(net, KERNEL_SECONDS[variant])
    loader = DataLoader(Samples(READ_SECONDS[variant]), batch_size=BATCH, num_workers=WORKERS[variant])
    timer = StepTimer(folder / "timer.json", write_every_seconds=0.2)
    deadline = time.monotonic() + MOST_SECONDS
    for number, (features, labels) in enumerate(timer.data(loader)):
        with timer.step():
            loss = model(features, labels)
            if number % READ_LOSS_EVERY[variant] == 0:
                with timer.sync():
                    value = loss.item()
                with timer.logging():
                    log.info("step %d loss %.4f", number, value)
        if (folder / "stop").exists() or time.monotonic() > deadline:
            break


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
