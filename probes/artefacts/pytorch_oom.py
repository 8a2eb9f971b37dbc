"""Out-of-memory messages of PyTorch: CUDA, HIP, XPU, MPS and CPU allocators, of every version since 1.0."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpuwhy.kb.facts import HOST, JOB, Entity, Value, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Missing, Reading, Text, TextFormat, once
from gpuwhy.probes.artefacts.failure_context import activity_before, goes_on, rank_of
from gpuwhy.probes.artefacts.flow import Flow, neighbourhoods
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.pytorch_oom_fields import Figure, Message, holders, messages

_HINTS = (
    "tried to allocate",
    "total capac",
    "cuda out of memory",
    "hip out of memory",
    "xpu out of memory",
    "mps backend out of memory",
    "outofmemoryerror",
    "but unallocated",
    "would exceed allowed memory",
    "cudacachingallocator",
)
_LINES_BEFORE, _LINES_AFTER = 2, 12

_FACTS = {
    "request": "oom.request_bytes",
    "capacity": "oom.capacity_bytes",
    "free": "oom.free_bytes",
    "allocated": "oom.allocated_bytes",
    "reserved": "oom.reserved_bytes",
    "unallocated": "oom.reserved_unallocated_bytes",
    "cached": "oom.reserved_unallocated_bytes",  # in versions 1.0 to 1.3 `cached` leaves out what is allocated
    "private_pools": "oom.private_pools_bytes",
    "allowed": "oom.allowed_bytes",
    "own": "oom.process_in_use_bytes",
    "other_allocations": "oom.other_allocations_bytes",
}
_DEVICE = later(r"\bGPU\s{1,3}(\d{1,4})(?:;|\s{1,3}has\s{1,3}a\s{1,3}total)|\bon\s{1,3}device\s{1,3}(\d{1,4})\b", re.I)
_RAW_DEVICE = later(r"\bGPU ([\x01-\x08\x0e-\x1f]?) ?has\s{1,3}a\s{1,3}total", re.I)
_TIP = later(r"\btry\s{1,3}setting\s{1,3}(?:PYTORCH_\w{1,30}=)?(max_split_size_mb|expandable_segments)", re.I)
_TIP_END = later(
    r"[^\n]{0,400}(?:\n[^\n]{0,200}){0,3}?(?:PYTORCH_CUDA_ALLOC_CONF|environment-variables\)|alloc-conf\)|fragmentation\.)",
    re.I,
)
_BARE = later(
    r"(?:^|(?:OutOfMemoryError|RuntimeError|AcceleratorError)\s{0,3}:\s{0,3})"
    r"(?:(CUDA|HIP|XPU|MPS)(?:\s{1,3}backend)?\s{1,3}out\s{1,3}of\s{1,3}memory|Allocation\s{1,3}on\s{1,3}device)\b"
    r"|\btorch\.(?:cuda\.)?OutOfMemoryError\b",
    re.I,
)
_HEAD = later(r"out\s{1,3}of\s{1,3}memory\b|DefaultCPUAllocator|\bon\s{1,3}device\b", re.I)
_CPU = later(
    r"DefaultCPUAllocator:\s{0,3}(?:can't|not enough|cannot)[^\n]{0,60}\btried\s{1,3}to\s{1,3}allocate\s{1,3}"
    r"\d{1,20}\s{1,3}bytes(?:\.\s{1,3}Error\s{1,3}code\s{1,3}(\d{1,4}))?"
    r"|DefaultCPUAllocator|\bCPU\s{1,3}(?:can't|cannot)\s{1,3}allocate\b",
    re.I,
)
_REPORT_FAILED = later(r"NVML_SUCCESS[^\n]{0,80}INTERNAL ASSERT FAILED[^\n]{0,300}", re.I)
_ASSERTION_LINE = later(r"CUDACachingAllocator\.cpp\"?:\s{0,2}(\d{1,6})")


@dataclass
class _Failure:
    """One failure as it will be reported; where the same message is printed again only `repeats` grows."""

    flow: Flow
    start: int
    end: int
    message: Message | None = None
    allocator: str = "pytorch"
    facts: dict[str, Value] = field(default_factory=dict)
    repeats: int = 1
    claimed: set[int] = field(default_factory=set)

    @property
    def identity(self) -> tuple[object, ...]:
        """Two failures with the same identity are one message printed twice."""
        sizes = () if self.message is None else tuple(sorted((k, f.size) for k, f in self.message.figures.items()))
        listed = () if self.message is None else tuple((one.process, one.size) for one in self.message.listed)
        return (self.allocator, sizes, listed, self.facts.get("oom.device_index"), self.facts.get("oom.rank"))


def _scan(text: Text) -> Iterable[Extract]:
    failures: list[_Failure] = []
    for lines in neighbourhoods(text.lines, _HINTS, _LINES_BEFORE, _LINES_AFTER):
        failures.extend(_failures(lines))
    failures = _without_repeats(failures)
    if not failures:
        return
    positions = {line.number: index for index, line in enumerate(text.lines)}
    readings: list[Reading] = []
    missing: list[Missing] = []
    claimed: set[int] = set()
    for number, failure in enumerate(failures, 1):
        index = failure.facts.get("oom.device_index")
        parent = gpu(index) if isinstance(index, int) else JOB
        entity = Entity("failure", str(number), parent)
        _add_context(failure, text.lines, positions)
        readings.extend(_readings(failure, entity))
        missing.extend(_missing(failure, entity))
        claimed.update(failure.claimed)
    yield Extract(FORMAT.name, tuple(readings), tuple(missing), frozenset(claimed))


def _failures(lines: Sequence[Line]) -> list[_Failure]:
    flow = Flow.of(lines)
    found = messages(flow)
    glued = Flow.of(lines, glued=True)
    if glued.text != flow.text:
        better = messages(glued)
        if sum(message.count for message in better) > sum(message.count for message in found):
            flow, found = glued, better
    ends = [0, *(message.end for message in found)]
    failures = [_with_figures(flow, message, end) for message, end in zip(found, ends, strict=False)]
    failures.extend(_without_figures(flow, failures))
    return sorted(failures, key=lambda failure: failure.start)


def _with_figures(flow: Flow, message: Message, earlier_end: int) -> _Failure:
    start = flow.starts[flow.index(message.start)]
    begun = _begin(flow, message.start, earlier_end)
    tip = _TIP.search(flow.text, message.start, message.end + 600)
    end = message.end
    failure = _Failure(flow, begun, end, message)
    if tip is not None:
        failure.facts["oom.tip"] = tip[1].lower()
        closing = _TIP_END.match(flow.text, tip.end())
        end = closing.end() if closing is not None else tip.end()
    failure.claimed.update(flow.numbers(min(start, begun), end))
    words = flow.text[begun : message.end]
    failure.allocator = _allocator(words)
    device = _DEVICE.search(words)
    if device is not None:
        failure.facts["oom.device_index"] = int(device[1] or device[2])
    else:
        raw = _RAW_DEVICE.search(words)
        if raw is not None and raw[1]:
            failure.facts["oom.device_index"] = ord(raw[1])
    _add_cpu_facts(failure, words)
    return failure


def _begin(flow: Flow, position: int, earlier_end: int) -> int:
    """Where the message begins: its own line, or the line above where that holds the head of a wrapped message."""
    index = flow.index(position)
    for back in (1, 2):
        if index - back < 0 or flow.starts[index - back] < earlier_end:
            break
        above = flow.text[flow.starts[index - back] : flow.starts[index - back + 1]]
        if _HEAD.search(above):
            return flow.starts[index - back]
    return flow.starts[index]


def _allocator(words: str) -> str:
    lowered = words.lower()
    for word, allocator in (
        ("defaultcpuallocator", "pytorch-cpu"),
        ("cpu can't allocate memory", "other"),  # OneFlow says the rest as PyTorch does
        ("mps backend", "pytorch-mps"),
        ("mps allocated", "pytorch-mps"),
        ("xpu out of memory", "pytorch-xpu"),
        ("would exceed allowed memory", "pytorch-async"),
        ("free (according to cuda)", "pytorch-async"),
        ("currently allocated", "pytorch-async"),
    ):
        if word in lowered:
            return allocator
    return "pytorch"


def _add_cpu_facts(failure: _Failure, words: str) -> None:
    cpu = _CPU.search(words)
    if cpu is None:
        return
    failure.facts["oom.host_allocation"] = True
    code = re.search(r"Error\s{1,3}code\s{1,3}(\d{1,4})", failure.flow.text[failure.end : failure.end + 80], re.I)
    if code is not None:
        failure.facts["oom.error_code"] = int(code[1])


def _without_figures(flow: Flow, known: Sequence[_Failure]) -> Iterator[_Failure]:
    taken = {number for failure in known for number in failure.claimed}
    for index, line in enumerate(flow.lines):
        near = {one.number for one in flow.lines[max(0, index - 1) : index + 4]}
        if near & taken:
            continue
        start = flow.starts[index]
        end = flow.starts[index + 1] if index + 1 < len(flow.starts) else len(flow.text)
        failure = _bare_failure(flow, start, end)
        if failure is not None:
            failure.claimed.add(line.number)
            taken.add(line.number)
            yield failure


def _bare_failure(flow: Flow, start: int, end: int) -> _Failure | None:
    words = flow.text[start:end].rstrip()
    asserted = _REPORT_FAILED.search(words)
    if asserted is not None:
        failure = _Failure(flow, start, end)
        failure.facts.update({"oom.no_figures": True, "oom.report_failed": True})
        line = _ASSERTION_LINE.search(words)
        if line is not None:
            failure.facts["oom.source_line"] = int(line[1])
        return failure
    bare = _BARE.search(words)
    if bare is None or words.lstrip().startswith(("except", "raise", "import", "from", "#", "class")):
        return None
    kind = {"mps": "pytorch-mps", "xpu": "pytorch-xpu"}.get((bare[1] or "").lower(), _allocator(words))
    return _Failure(flow, start, end, allocator=kind, facts={"oom.no_figures": True})


def _without_repeats(failures: Sequence[_Failure]) -> list[_Failure]:
    first: dict[tuple[object, ...], _Failure] = {}
    for failure in failures:
        failure.facts.update(_rank(failure))
        known = first.setdefault(failure.identity, failure)
        if known is not failure:
            known.repeats += 1
            known.claimed |= failure.claimed
    with_figures = [failure for failure in first.values() if failure.message is not None]
    return with_figures or list(first.values())


def _rank(failure: _Failure) -> dict[str, Value]:
    rank = rank_of(failure.flow.lines[failure.flow.index(failure.start)].text)
    return {} if rank is None else {"oom.rank": rank}


def _add_context(failure: _Failure, lines: Sequence[Line], positions: dict[int, int]) -> None:
    first = positions[failure.flow.number(failure.start)]
    last = positions[failure.flow.number(max(failure.start, failure.end - 1))]
    activity = activity_before(lines, first)
    if activity is not None:
        failure.facts["oom.during"] = activity
    if goes_on(lines, first, last):
        failure.facts["oom.recovered"] = True
    if failure.repeats > 1:
        failure.facts["oom.repeat_count"] = failure.repeats


def _readings(failure: _Failure, entity: Entity) -> Iterator[Reading]:
    line = failure.flow.number(failure.start)
    words = " ".join(failure.flow.text[failure.start : failure.end].split())[:200]
    yield Reading("oom.event", True, line, words, entity)
    yield Reading("oom.allocator", failure.allocator, line, words, entity)
    yield Reading("oom.message", words, line, words, entity)
    for fact, value in failure.facts.items():
        yield Reading(fact, value, line, words, entity)
    if failure.message is None:
        return
    for figure in failure.message.figures.values():
        if figure.size is not None and figure.field != "own":
            yield _reading(failure.flow, _FACTS[figure.field], figure.size, figure, entity)
    yield from _holder_readings(failure.flow, failure.message, entity)


def _reading(flow: Flow, fact: str, value: Value, figure: Figure, entity: Entity) -> Reading:
    return Reading(fact, value, flow.number(figure.start), " ".join(figure.text.split())[:200], entity)


def _holder_readings(flow: Flow, message: Message, entity: Entity) -> Iterator[Reading]:
    found = holders(message)
    own = message.figures.get("own") or next(iter(message.listed), None)
    if own is not None and found.own is not None:
        yield _reading(flow, "oom.process_in_use_bytes", found.own, own, entity)
    if not message.listed:
        return
    first = message.listed[0]
    yield _reading(flow, "oom.listed_process_count", found.count, first, entity)
    if found.listed is not None:
        yield _reading(flow, "oom.listed_processes_bytes", found.listed, first, entity)
    if found.others is not None:
        yield _reading(flow, "oom.other_processes_bytes", found.others, first, entity)
    place = entity.parent if entity.parent is not None and entity.parent.kind == "gpu" else HOST
    for listed in message.listed:
        process = Entity("process", str(listed.process), place)
        if listed.process is not None:
            yield _reading(flow, "process.pid", listed.process, listed, process)
        if listed.size is not None:
            yield _reading(flow, "process.gpu_memory_bytes", listed.size, listed, process)


def _missing(failure: _Failure, entity: Entity) -> Iterator[Missing]:
    message = failure.message
    if message is None:
        return
    for figure in message.figures.values():
        if figure.size is None:
            reason = "printed as 2^60 bytes or more, which stands for: not available"
            yield Missing(_FACTS[figure.field], reason, failure.flow.number(figure.start), entity)
    if any(listed.size is None for listed in message.listed):
        reason = "the driver gives no memory figure for at least one listed process"
        yield Missing("oom.listed_processes_bytes", reason, failure.flow.number(message.listed[0].start), entity)
    words = failure.flow.text[failure.start : failure.end]
    if "oom.device_index" not in failure.facts and _RAW_DEVICE.search(words):
        reason = "printed as a raw character that did not survive copying"
        yield Missing("oom.device_index", reason, failure.flow.number(failure.start), entity)


FORMAT = TextFormat("pytorch-oom", "PyTorch out-of-memory message", _HINTS, once(_scan))
