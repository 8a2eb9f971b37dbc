"""What a finished diagnosis tells of a piece of work that looks for a machine, from its file or in the app."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from gpuwhy.kb.records import dataclass

MAX_DIAGNOSIS_BYTES = 1 << 26

BOUND_BY = (
    ("slow.io-wall", "input"),
    ("slow.gpu-starved", "input"),
    ("slow.scheduling-wall", "launches"),
    ("slow.bandwidth-wall.device-memory", "compute"),
    ("slow.bandwidth-wall", "transfer"),
    ("slow.communication", "exchange"),
    ("slow.straggler", "exchange"),
    ("slow.memory-wall", "memory"),
    ("oom.", "memory"),
    ("slow.compute-bound", "compute"),
)
"""What a confirmed or likely conclusion says the work is bound by; the first that matches counts."""

MEASURED = ("oom.needed_bytes", "oom.allocated_peak_bytes", "job.gpu_memory_peak_bytes")
READING = ("job.input_need_bytes_per_second",)
"""Facts of a diagnosis that tell what memory a run needed on one GPU, and at which rate it reads."""

TASKS = {"training": "train", "serving": "serve"}
"""The task that a kind of job stands for."""


@dataclass(frozen=True)
class Diagnosed:
    """What a diagnosis tells of the work: what holds it up, its memory, the rate at which it reads, the task."""

    bound_by: str | None = None
    measured_bytes: float | None = None
    data_bytes_per_second: float | None = None
    task: str | None = None

    def told(self) -> Iterator[str]:
        """What is taken from the diagnosis, in words."""
        from gpuwhy.kb.units import show

        if self.measured_bytes is not None:
            yield f"the diagnosed run needed at least {show(self.measured_bytes, 'bytes')} on one GPU"
        if self.data_bytes_per_second is not None:
            yield f"it reads its data at {show(self.data_bytes_per_second, 'bytes_per_second')}, as diagnosed"


def of(asserted: Iterable[str], facts: Iterable[tuple[str, Any]]) -> Diagnosed:
    """What confirmed and likely conclusions, best first, and facts tell of the work; None for the rest."""
    known = list(facts)
    bound = next((word for name in asserted for start, word in BOUND_BY if name.startswith(start)), None)
    task = next((TASKS[str(value)] for name, value in known if name == "job.kind" and str(value) in TASKS), None)
    return Diagnosed(bound, _largest(known, MEASURED), _largest(known, READING), task)


def read(path: Path) -> Diagnosed:
    """What a file tells that `diagnose --format json` wrote. Raises `click.UsageError` for any other file."""
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(MAX_DIAGNOSIS_BYTES))
        asserted = [str(one["id"]) for one in document["conclusions"] if one["status"] in ("confirmed", "likely")]
        facts = [(str(one["id"]), one["value"]) for one in document.get("facts", ())]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise click.UsageError(f"{path} is no diagnosis; write one with: gpuwhy diagnose FILES --format json") from None
    return of(asserted, facts)


def _largest(facts: list[tuple[str, Any]], wanted: tuple[str, ...]) -> float | None:
    numbers = [
        float(value) for name, value in facts if name in wanted and type(value) in (int, float) and 0 < value < 1e18
    ]
    return max(numbers, default=None)
