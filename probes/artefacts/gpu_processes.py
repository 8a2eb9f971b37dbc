"""Processes that a tool lists on GPUs, and the sums over them that rules rest on."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwhy.kb.facts import HOST, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.gauges import Gauges

PROCESS_MEMORY = "process.gpu_memory_bytes"

_NAMELESS = frozenset({"not found", "unknown error", "no such process", "null", "?"})
"""What tools print for the name of a process that the driver lists and the system does not know (any more)."""

_KINDS = {
    "c": "compute",
    "g": "graphics",
    "c+g": "compute-and-graphics",
    "g+c": "compute-and-graphics",
    "m": "mps",
    "m+c": "mps",
    "c+m": "mps",
}


@dataclass(frozen=True)
class ListedProcess:
    """One process of a list: its memory in bytes, or the reason why the list does not say it.

    `name` is as printed, also where that says that there is none.
    """

    pid: int
    kind: str | None
    name: str | None
    memory: float | None
    reason: str | None
    line: int | None


def process_kind(letters: str) -> str | None:
    """What a type column means (`C`, `G`, `C+G`, `M`), in the words of the vocabulary; None if it is none of these."""
    return _KINDS.get(letters.strip().lower())


def is_nameless(name: str | None) -> bool:
    """True if this stands for a name that could not be found: `[Not Found]`, `Unknown Error`, `(null)`."""
    return name is not None and name.strip().strip("[]()").lower() in _NAMELESS


def put_processes(
    gauges: Gauges,
    device: Entity | None,
    listed: Sequence[ListedProcess],
    *,
    complete: bool,
    line: int | None = None,
) -> None:
    """Notes these processes of one GPU (None: it is not said which) and, for a GPU, their count and sums.

    A list that is not `complete` never says that there are none. It ends at `line`. A process listed several times (one
    row for each MIG instance) counts once and with the sum of its rows.
    """
    by_pid: dict[int, list[ListedProcess]] = {}
    for one in listed:
        by_pid.setdefault(one.pid, []).append(one)
    for pid, rows in by_pid.items():
        _put_process(gauges, Entity("process", str(pid), device or HOST), pid, rows)
    if device is None or not (listed or complete):
        return
    line = listed[-1].line if listed else line
    gauges.put("gpu.process_count", device, len(by_pid), line)
    kinds = {pid: {row.kind for row in rows} for pid, rows in by_pid.items()}
    if all(None not in found for found in kinds.values()):
        compute = sum(1 for found in kinds.values() if found & {"compute", "compute-and-graphics"})
        if compute or complete:
            gauges.put("gpu.compute_process_count", device, compute, line)
        graphics = [row for row in listed if row.kind == "graphics"]
        if graphics or complete:
            _put_sum(gauges, "gpu.graphics_processes_memory_bytes", device, graphics, line)
    _put_sum(gauges, "gpu.processes_memory_bytes", device, listed, line)
    nameless = [row for row in listed if is_nameless(row.name)]
    if nameless:
        _put_sum(gauges, "gpu.nameless_processes_memory_bytes", device, nameless, nameless[0].line)


def _put_process(gauges: Gauges, entity: Entity, pid: int, rows: Sequence[ListedProcess]) -> None:
    first = rows[0]
    gauges.put("process.pid", entity, pid, first.line)
    if is_nameless(first.name):
        gauges.lack("process.name", entity, f"shown as {first.name}", first.line)
    elif first.name:
        gauges.put("process.name", entity, first.name, first.line, first.name)
    if first.kind:
        gauges.put("process.type", entity, first.kind, first.line)
    _put_sum(gauges, PROCESS_MEMORY, entity, rows, first.line)


def _put_sum(gauges: Gauges, fact: str, entity: Entity, rows: Sequence[ListedProcess], line: int | None) -> None:
    known = [row.memory for row in rows if row.memory is not None]
    if len(known) == len(rows):
        gauges.put(fact, entity, float(sum(known)), line)
        return
    reason = next((row.reason for row in rows if row.memory is None and row.reason), None)
    gauges.lack(fact, entity, reason or "the list does not say the memory of every process", line)
