"""Kineto traces of the PyTorch profiler and Chrome traces like them: `.json`, `.json.gz`, bare lists of events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from gpuwhy.kb.facts import JOB, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Reading, Trouble
from gpuwhy.probes.artefacts.kineto_stream import EventStream, open_bytes
from gpuwhy.probes.artefacts.timeline import COPY, FILL, KERNEL, Timeline
from gpuwhy.probes.artefacts.timeline_facts import readings_of

_GPU = {
    "kernel": KERNEL,
    "gpu_memcpy": COPY,
    "memcpy": COPY,
    "gpu_memset": FILL,
    "memset": FILL,
}
_CALLS = frozenset({"cuda_runtime", "runtime", "cuda_driver", "driver", "hip_runtime", "xpu_runtime"})
_OPERATORS = frozenset({"cpu_op", "operator", "user_annotation"})
_HOST_SYNCHRONISATIONS = ("stream sync", "context sync", "event sync", "device sync")
_FETCHES = ("enumerate(DataLoader)", "dataloader_next", "_dataloader_iter.__next__", "get_train_batch")
_DEVICES_LIMIT = 64
_CATEGORIES_LIMIT = 256

_Handler = Callable[[dict[str, object], str, tuple[float, float]], None]


@dataclass
class _Collector:
    """Sorts events into a timeline. Times count from the first event, so that microseconds of an epoch stay exact."""

    timeline: Timeline = field(default_factory=Timeline)
    threads: dict[object, int] = field(default_factory=dict)
    handlers: dict[str, _Handler | None] = field(default_factory=dict)
    base: float | None = None
    odd: int = 0
    count: int = 0
    allocated_peak: float | None = None
    reserved_peak: float | None = None

    def take(self, event: dict[str, object]) -> None:
        """Takes in one event; those of no use are dropped at once."""
        self.count += 1
        phase = event.get("ph")
        if phase == "i" and event.get("name") == "[memory]":
            self._memory(_mapping(event.get("args")))
        if phase != "X":
            return
        category = str(event.get("cat", ""))
        if category not in self.handlers:
            self._learn(category)
        handler = self.handlers[category]
        if handler is None:
            return
        category = category.lower()
        start, length = _number(event.get("ts")), _number(event.get("dur"))
        if start is None or length is None or length < 0:
            self.odd += 1
            return
        self.base = start if self.base is None else self.base
        start -= self.base
        handler(event, category, (start, start + length))

    def _learn(self, category: str) -> None:
        """Notes what is done with events of a category; of endless made-up categories only so many are kept."""
        if len(self.handlers) >= _CATEGORIES_LIMIT:
            self.handlers.clear()
        lowered = category.lower()
        handler: _Handler | None = None
        if lowered in _GPU:
            handler = self._activity
        elif lowered in _CALLS:
            handler = self._call
        elif lowered in _OPERATORS:
            handler = self._operator
        elif lowered == "cuda_sync":
            handler = self._synchronisation
        self.handlers[category] = handler

    def _memory(self, args: dict[str, object]) -> None:
        if args.get("Device Type") != 1:
            return
        allocated, reserved = _number(args.get("Total Allocated")), _number(args.get("Total Reserved"))
        if allocated is not None and allocated > 0:
            self.allocated_peak = max(allocated, self.allocated_peak or 0.0)
        if reserved is not None and reserved > 0:
            self.reserved_peak = max(reserved, self.reserved_peak or 0.0)

    def _activity(self, event: dict[str, object], category: str, span: tuple[float, float]) -> None:
        args = _mapping(event.get("args"))
        device = _whole(args.get("device"), _whole(event.get("pid"), -1))
        occupancy = _number(args.get("est. achieved occupancy %"))
        self.timeline.activity.add(
            _GPU[category],
            device if -1 <= device < 1 << 20 else -1,
            span,
            self.timeline.names.number(str(event.get("name", ""))),
            _whole(args.get("correlation"), -1),
            _known(args.get("bytes")),
            _known(args.get("blocks per SM")),
            -1.0 if occupancy is None else occupancy / 100.0,
        )

    def _call(self, event: dict[str, object], _category: str, span: tuple[float, float]) -> None:
        name = self.timeline.names.number(str(event.get("name", "")))
        self.timeline.calls.add(span, name, _whole(_mapping(event.get("args")).get("correlation"), -1))

    def _synchronisation(self, event: dict[str, object], _category: str, span: tuple[float, float]) -> None:
        if str(event.get("name", "")).lower().startswith(_HOST_SYNCHRONISATIONS):
            self.timeline.waits.add(span, 0)

    def _operator(self, event: dict[str, object], category: str, span: tuple[float, float]) -> None:
        name, thread = str(event.get("name", "")), self._thread(event)
        if name.startswith("ProfilerStep"):
            self.timeline.steps.add(span, thread)
        elif any(mark in name for mark in _FETCHES):
            self.timeline.fetches.add(span, thread)
            if "ProcessDataLoaderIter" in name or "MultiProcessingDataLoaderIter" in name:
                self.timeline.in_main_process = "_SingleProcess" in name
        elif name.startswith("Optimizer.step"):
            self.timeline.optimizers.add(span, thread)
        elif category != "user_annotation":
            self.timeline.operators.add(span, thread)

    def _thread(self, event: dict[str, object]) -> int:
        key = (str(event.get("pid")), str(event.get("tid")))
        return self.threads.setdefault(key, len(self.threads))


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    """A finite number, also one written as a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _known(value: object) -> float:
    """A number of a timeline: -1 where there is none."""
    number = _number(value)
    return -1.0 if number is None else number


def _whole(value: object, missing: int) -> int:
    number = _number(value)
    return int(number) if number is not None and number == int(number) and abs(number) < 1 << 62 else missing


def accepts(start: bytes, name: str) -> bool:
    """True for the start of a Chrome trace: an object with `traceEvents` or Kineto's entries, or a bare event list."""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"{"):
        kineto = b'"schemaVersion"' in text and b'"deviceProperties"' in text
        return b'"traceEvents"' in text or kineto or ".pt.trace.json" in name
    return text.startswith(b"[") and b'"ph"' in text and b'"ts"' in text and b'"cols"' not in text


def read(source: Path | bytes, name: str) -> Extract:
    """The step facts of a trace, the GPUs it names and the memory peaks it recorded; `name` is only for display."""
    collector = _Collector()
    troubles: list[Trouble] = []
    try:
        with open_bytes(source) as plain:
            events = EventStream(plain)
            for event in events:
                collector.take(event)
    except OSError as error:
        return Extract("kineto-trace", troubles=(Trouble(None, f"cannot be read: {error}"),))
    troubles += _troubles(events, collector)
    if not collector.count:
        troubles.append(Trouble(None, f"{name} holds no trace events"))
    readings, missing = readings_of(collector.timeline)
    return Extract(
        "kineto-trace",
        (*readings, *_memory_readings(collector), *_metadata_readings(events.metadata)),
        tuple(missing),
        troubles=tuple(troubles),
    )


def _troubles(events: EventStream, collector: _Collector) -> Iterator[Trouble]:
    if events.broken:
        message = f"{events.broken} broken JSON parts, the first here; {events.repaired} of them mended"
        yield Trouble(events.first_broken_line, message)
    if events.truncated is not None:
        yield Trouble(events.line, f"{events.truncated}; {collector.count} events were read")
    if collector.odd:
        yield Trouble(None, f"{collector.odd} events without a readable time or duration were left out")


def _memory_readings(collector: _Collector) -> Iterator[Reading]:
    if collector.allocated_peak is not None:
        yield Reading("allocator.allocated_peak_bytes", collector.allocated_peak, text="[memory] events", entity=JOB)
    if collector.reserved_peak is not None:
        yield Reading("allocator.reserved_peak_bytes", collector.reserved_peak, text="[memory] events", entity=JOB)


def _metadata_readings(metadata: dict[str, object]) -> Iterator[Reading]:
    devices = metadata.get("deviceProperties")
    for device in devices[:_DEVICES_LIMIT] if isinstance(devices, list) else []:
        properties = _mapping(device)
        index, memory = _whole(properties.get("id"), -1), _number(properties.get("totalGlobalMem"))
        if index < 0:
            continue
        if isinstance(properties.get("name"), str):
            yield Reading("gpu.name", str(properties["name"])[:200], entity=gpu(index))
        if memory is not None and memory > 0:
            yield Reading("gpu.memory_total_bytes", memory, entity=gpu(index))
    ranks = _whole(_mapping(metadata.get("distributedInfo")).get("world_size"), 0)
    if ranks > 0:
        yield Reading("job.rank_count", ranks, entity=JOB)


FORMAT = FileFormat("kineto-trace", "PyTorch profiler (Kineto) trace", accepts, read)
