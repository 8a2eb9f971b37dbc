"""Errors and warnings of PyTorch's DataLoader, and of shared memory (/dev/shm) in general."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpuwhy.kb.facts import HOST, JOB, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.flow import without_prefix
from gpuwhy.probes.artefacts.lazy_pattern import later

_HINTS = (
    "dataloader",
    "bus error",
    "shared memory",
    "too many open files",
    "</torch_",
    "/dev/shm",
    "max number of worker",
    "shm-size",
    "received 0 items of ancdata",
)


@dataclass(frozen=True)
class _Error:
    """One kind of error, the worst-named first: what the wording says of its cause."""

    kind: str
    pattern: re.Pattern[str]


_ERRORS = (
    _Error(
        "bus-error",
        later(r"\b(?:Unexpected bus error encountered in worker|is killed by signal: Bus error)", re.IGNORECASE),
    ),
    _Error(
        "shared-memory",
        later(
            r"\bunable to (?:allocate|mmap|write to|resize|open) (?:\d{1,15} bytes from )?(?:file|shared memory)"
            r"[^\n]{0,200}?(?:No space left on device|Cannot allocate memory)"
            r"|\b(?:creating shared memory segment|posix_fallocate failed)[^\n]{0,120}?No space left on device"
            r"|/dev/shm[^\n]{0,120}?No space left on device|\bunable to write to file </torch_",
            re.IGNORECASE,
        ),
    ),
    _Error(
        "too-many-files",
        later(r"\bToo many open files\b|\breceived 0 items of ancdata\b", re.IGNORECASE),
    ),
    _Error("worker-killed", later(r"\bDataLoader worker \(pid[^\n]{0,80}?\) is killed by signal: \w", re.IGNORECASE)),
    _Error("timeout", later(r"\bDataLoader timed out after \d", re.IGNORECASE)),
    _Error("worker-exited", later(r"\bDataLoader worker \(pid[^\n]{0,80}?\) exited unexpectedly", re.IGNORECASE)),
)
_PRECEDENCE = ("too-many-files", "bus-error", "shared-memory", "worker-killed", "timeout", "worker-exited")
_WORKER = later(r"\bDataLoader worker \(pid(?:\(s\))?:?\s{0,2}([0-9, ]{1,200})\)", re.IGNORECASE)
_SIGNAL = later(r"\bis killed by signal: ([A-Za-z ]{1,30})")
_TIMEOUT = later(r"\bDataLoader timed out after ([0-9.]{1,10}) sec", re.IGNORECASE)
_WILL_CREATE = later(r"\bThis DataLoader will create (\d{1,6}) worker processes", re.IGNORECASE)
_SUGGESTED = later(r"\bsuggested max number of worker in current system is (\d{1,6})", re.IGNORECASE)
_IN_MAIN = later(r"\bnum_workers\s{0,3}[=:]\s{0,3}0\b|\bsuggested max number of worker in current system is 0\b")
_NUM_WORKERS = later(r"\bnum[_-]workers[\"']?\s{0,3}[=:]\s{0,3}(\d{1,4})\b", re.IGNORECASE)
_PIN = later(r"\bpin_memory[\"']?\s{0,3}[=:]\s{0,3}(True|False)\b", re.IGNORECASE)
_SHM_SIZE = later(
    r"(?:--shm-size[= ]|\bshm_size:\s{0,3})[\"']?(\d{1,9}(?:\.\d{1,6})?)\s?([kmgt]?)i?b?\b(?![.\d])", re.IGNORECASE
)
_DIGITS = later(r"\d{1,20}")
_SCALE = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SHM_WORDS = later(r"\bshared memory\b|\bshm\b", re.IGNORECASE)


def _scan(text: Text) -> Iterable[Extract]:
    seen: dict[str, list[tuple[int, str]]] = {}
    readings: list[Reading] = []
    claimed: set[int] = set()
    for line in text.lines:
        content = without_prefix(line.text)[:2000]
        for error in _ERRORS:
            found = error.pattern.search(content)
            if found is not None and _speaks_of_loading(error.kind, content):
                seen.setdefault(error.kind, []).append((line.number, found[0][:200]))
                claimed.add(line.number)
        details = list(_details(line.number, content))
        readings.extend(details)
        if details and content.lower().startswith(("runtimeerror", "error", "warn", "userwarning")):
            claimed.add(line.number)
    readings.extend(_errors(seen))
    if readings:
        yield Extract(FORMAT.name, tuple(readings), claimed=frozenset(claimed))


def _speaks_of_loading(kind: str, content: str) -> bool:
    """Too many open files is an error of many programs; here it counts only with the words of shared tensors."""
    if kind != "too-many-files":
        return True
    return bool(_SHM_WORDS.search(content)) or "ancdata" in content or "torch" in content.lower()


def _errors(seen: dict[str, list[tuple[int, str]]]) -> Iterator[Reading]:
    for kind in _PRECEDENCE:
        if kind in seen:
            number, words = seen[kind][0]
            yield Reading("loader.error", kind, number, words, JOB)
            break
    counts: dict[str, list[int]] = {}
    for places in seen.values():
        for number, words in places:
            counts.setdefault(_DIGITS.sub("N", words)[:80], []).append(number)
    for words, numbers in counts.items():
        yield Reading("reading.count", len(numbers), numbers[0], words, Entity("measurement", f"lines: {words}", JOB))


def _details(number: int, content: str) -> Iterator[Reading]:
    worker = _WORKER.search(content)
    if worker is not None:
        pids = [int(pid) for pid in worker[1].replace(",", " ").split()[:64]]
        for pid in pids:
            place = Entity("process", str(pid), HOST)
            yield Reading("process.pid", pid, number, worker[0], place)
    signal = _SIGNAL.search(content)
    if signal is not None:
        yield Reading("loader.worker_signal", signal[1].strip(), number, signal[0], JOB)
    timeout = _TIMEOUT.search(content)
    if timeout is not None:
        yield Reading("loader.timeout_seconds", float(timeout[1].rstrip(".")), number, timeout[0], JOB)
    created, suggested = _WILL_CREATE.search(content), _SUGGESTED.search(content)
    if created is not None:
        yield Reading("loader.workers", int(created[1]), number, created[0], JOB)
    if suggested is not None:
        yield Reading("loader.suggested_workers", int(suggested[1]), number, suggested[0], JOB)
    yield from _settings(number, content)


def _settings(number: int, content: str) -> Iterator[Reading]:
    workers = _NUM_WORKERS.search(content)
    if workers is not None:
        yield Reading("loader.workers", int(workers[1]), number, workers[0], JOB)
        if int(workers[1]) == 0:
            yield Reading("loader.in_main_process", True, number, workers[0], JOB)
    pinned = _PIN.search(content)
    if pinned is not None:
        yield Reading("loader.pin_memory", pinned[1].lower() == "true", number, pinned[0], JOB)
    size = _SHM_SIZE.search(content)
    if size is not None:
        amount = float(size[1]) * _SCALE[size[2].lower()]
        yield Reading("loader.shared_memory_total_bytes", amount, number, size[0])


FORMAT = TextFormat("dataloader-errors", "DataLoader and shared-memory errors", _HINTS, _scan)
