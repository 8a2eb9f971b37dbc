"""A device that works by itself, for training without a GPU: work is launched onto a queue, results are waited for.

The work is real PyTorch; what is imitated is only that it runs beside the thread that launches it, in order, as on a
CUDA stream. As there, launching blocks when the queue is full, and reading a result waits for all that was launched.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import torch

QUEUE_DEPTH = 4


class Stream:
    """Runs what is launched on it in a thread of its own."""

    def __init__(self) -> None:
        self._work: queue.Queue[tuple[Callable[[], torch.Tensor], DeviceScalar]] = queue.Queue(QUEUE_DEPTH)
        threading.Thread(target=self._run, name="device", daemon=True).start()

    def _run(self) -> None:
        while True:
            work, result = self._work.get()
            result.value = float(work())
            result.ready.set()

    def launch(self, work: Callable[[], torch.Tensor]) -> DeviceScalar:
        """Queues work; gives the scalar that it will be."""
        result: DeviceScalar = DeviceScalar(torch.zeros(()))
        self._work.put((work, result))
        return result


class DeviceScalar(torch.Tensor):
    """A scalar on the imitated device."""

    ready: threading.Event
    value: float

    @staticmethod
    def __new__(cls, data: torch.Tensor) -> Any:
        one = torch.Tensor._make_subclass(cls, data)
        one.ready, one.value = threading.Event(), float("nan")
        return one

    def item(self) -> float:
        """The number, as soon as all that was launched before is done."""
        self.ready.wait()
        return self.value


class OnDevice(torch.nn.Module):
    """A model whose whole step (forward, backward, optimizer) is launched at once, as a captured graph is."""

    def __init__(self, model: torch.nn.Module, kernel_seconds: float) -> None:
        super().__init__()
        self._model = [model]  # its parameters are the stream's, not this module's
        self._optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        self._kernel_seconds = kernel_seconds
        self.stream = Stream()

    def _step(self, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        self._optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self._model[0](features), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        time.sleep(self._kernel_seconds)  # a GPU's time is no CPU time of the host
        return loss.detach()

    def forward(self, features: torch.Tensor, labels: torch.Tensor) -> DeviceScalar:
        """Launches one step."""
        return self.stream.launch(lambda: self._step(features, labels))
