"""What the job's own PyTorch says and does: a child process in the job's Python, with limits of time and memory.

A hung driver hangs the child only. What the child told before it was ended is kept, and the rest is absent with the
reason.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuwhy.kb.facts import HOST, JOB, Entity, Value, gpu
from gpuwhy.probes.gathering import Readings

SOURCE = "torch"
CHILD = Path(__file__).resolve().parent / "torch_child.py"
START_SECONDS = 90.0
"""How long the import of torch and the first use of the driver may take: cold disks and many GPUs are slow."""

_READ_LIMIT = 1 << 20
_TICK_SECONDS = 0.2


@dataclass
class TorchLook:
    """What the child told. `messages` are errors and warnings in its words; `ended` says why it did not finish."""

    readings: Readings = field(default_factory=lambda: Readings(SOURCE))
    messages: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    measured: dict[tuple[str, Entity], str] = field(default_factory=dict)
    ended: str | None = None
    interrupted: bool = False


def find_python(environment: Mapping[str, str] | None = None) -> str | None:
    """The Python that a job started here would run: of the active virtual environment, else the first on the path."""
    environment = os.environ if environment is None else environment
    active = environment.get("VIRTUAL_ENV")
    if active:
        inside = Path(active) / "bin" / "python3"
        if inside.exists():
            return str(inside)
    return shutil.which("python3", path=environment.get("PATH")) or shutil.which("python", path=environment.get("PATH"))


def look(
    python: str,
    *,
    measure: bool,
    seconds: float = 10.0,
    memory_share: float = 0.1,
    devices: Mapping[str, Entity] | None = None,
    progress: Callable[[str], None] | None = None,
    start_seconds: float = START_SECONDS,
) -> TorchLook:
    """What PyTorch of this Python says; with `measure` also how fast its GPUs are, `seconds` for each of them.

    `devices` are GPUs by UUID, so that facts are about the same GPU as those of the driver. No exception escapes but
    `KeyboardInterrupt` before the child runs.
    """
    found = TorchLook()
    options = json.dumps({"measure": measure, "seconds": seconds, "memory_share": memory_share})
    try:
        child = subprocess.Popen(
            [python, str(CHILD), options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        found.ended = f"{python} cannot be run: {error.strerror}"
        return found
    reader = threading.Thread(target=_read, args=(child, found, dict(devices or {}), progress), daemon=True)
    reader.start()
    count = max(1, len(devices or {}))
    limit = start_seconds + (seconds * 1.5 * count if measure else 0.0)
    try:
        _wait(reader, child, limit, found)
    except KeyboardInterrupt:
        found.interrupted, found.ended = True, "interrupted"
    finally:
        _end(child)
        reader.join(timeout=2.0)
        if child.stdout is not None and not reader.is_alive():
            child.stdout.close()
    return found


def _wait(reader: threading.Thread, child: subprocess.Popen[bytes], limit: float, found: TorchLook) -> None:
    import time

    ends = time.monotonic() + limit
    while reader.is_alive():
        if time.monotonic() > ends:
            found.ended = f"no answer within {limit:.0f} s: the driver or the disk hangs"
            return
        reader.join(timeout=_TICK_SECONDS)
    status = child.wait(timeout=5.0)
    if status < 0:
        found.ended = f"PyTorch was ended by signal {-status}"
    elif status:
        found.ended = f"PyTorch ended with status {status}"


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except OSError:
            child.kill()
    try:
        child.wait(timeout=5.0)
    except subprocess.TimeoutExpired:
        return  # it hangs in the driver and cannot be ended; it is left behind


def _read(
    child: subprocess.Popen[bytes],
    found: TorchLook,
    devices: dict[str, Entity],
    progress: Callable[[str], None] | None,
) -> None:
    entities: dict[int, Entity] = {}
    assert child.stdout is not None
    for line in child.stdout:
        answer = _parsed(line)
        if answer is not None:
            _take(answer, found, devices, entities)
            if progress is not None:
                progress(str(answer.get("fact") or answer.get("said") or ""))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        answer = json.loads(line[:_READ_LIMIT])
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _take(answer: dict[str, Any], found: TorchLook, devices: Mapping[str, Entity], entities: dict[int, Entity]) -> None:
    index = answer.get("device")
    if "uuid" in answer and isinstance(index, int):
        entities[index] = _entity(answer["uuid"], index, devices)
        return
    entity = entities.get(index, gpu(index)) if isinstance(index, int) else None
    if "said" in answer:
        found.messages.append(str(answer.get("message", ""))[:600])
    elif "lack" in answer:
        found.readings.lack(str(answer["lack"]), _of(str(answer["lack"]), entity), str(answer.get("reason", "")))
    elif isinstance(answer.get("value"), (bool, int, float, str)):
        name, text = str(answer.get("fact", "")), answer.get("text")
        of = _of(name, entity)
        found.readings.put(name, of, answer["value"], text if isinstance(text, str) else None)
        found.values[name] = answer["value"]
        if isinstance(text, str):
            found.measured[name, of] = text


def _of(name: str, entity: Entity | None) -> Entity:
    if name.startswith("gpu.") and entity is not None:
        return entity
    return HOST if name.startswith("host.") else JOB


def _entity(uuid: Any, index: int, devices: Mapping[str, Entity]) -> Entity:
    """The GPU that the driver calls by this UUID; else the CUDA index, which can be another order than the driver's."""
    plain = str(uuid or "").removeprefix("GPU-").lower()
    for known, entity in devices.items():
        if plain and known.removeprefix("GPU-").lower() == plain:
            return entity
    return gpu(index)
