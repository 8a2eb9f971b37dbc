"""What frameworks say of how they run: on the CPU, blocking, offloading, tensor cores idle, few workers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpuwhy.kb.facts import JOB, Entity, Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

LONGEST = 2_500
"""Longer lines are dumps."""


@dataclass(frozen=True)
class Message:
    """A wording, and the facts that it states. A group of the pattern named in `numbers` gives a fact its value."""

    pattern: re.Pattern[str]
    facts: Mapping[str, Value]
    numbers: Mapping[str, str] | None = None


def _says(pattern: str, numbers: Mapping[str, str] | None = None, /, **facts: Value) -> Message:
    return Message(
        later(pattern, re.IGNORECASE), {name.replace("__", "."): value for name, value in facts.items()}, numbers
    )


_MESSAGES = (
    # Lightning, Ultralytics, TensorFlow and hand-written scripts on the device they use.
    _says(r"\bGPU available: True\b[^\n]{0,40}\bused: False\b", job__device_is_cpu=True),
    _says(r"\bGPU available: True\b[^\n]{0,40}\bused: True\b", job__device_is_cpu=False),
    _says(r"\bUltralytics\b[^\n]{0,60}\btorch-[0-9][^\s]{0,24} CPU\b", job__device_is_cpu=True),
    _says(r"\b(?:YOLOv\d|Ultralytics)\b[^\n]{0,80}\bCUDA:[0-9]", job__device_is_cpu=False),
    _says(
        r"\b(?:using|training on|running on|current|selected) device(?: type)?(?: is)?\s?[:=]?\s?(?:torch\.)?"
        r"(?:device\()?(?:type=)?['\"]?cpu['\"]?\)?\.?\s{0,4}$|^\s{0,3}device\s?:\s?cpu\s{0,4}$",
        job__device_is_cpu=True,
    ),
    _says(
        r"^(?:\W{0,4})(?:using|training on|running on) (?:the )?cpu\b(?! (?:offload|threads?|cores?|adam))",
        job__device_is_cpu=True,
    ),
    _says(r"\bSkipping registering GPU devices\b", job__device_is_cpu=True),
    # ONNX Runtime: what a session runs on, and where it placed the nodes. What is available or wished for says neither.
    _says(
        r"\b(?:get_providers\(\)|applied providers)[`'\"*)]{0,3}\s{0,2}(?:is|are|returns?|gives|prints|shows|:|=|->)?"
        r"\s{0,2}[`'\"*]{0,3}\[\s?['\"]CPUExecutionProvider['\"]\s?\]",
        job__device_is_cpu=True,
    ),
    _says(r"\bAll nodes (?:have been )?placed on \[CPUExecutionProvider\]", job__device_is_cpu=True),
    # Settings left on.
    _says(
        r"^(?!.{0,200}consider)(?:.{0,120}?[\s\"'$%!;]|)CUDA_LAUNCH_BLOCKING['\"]?\]?\s?[=:]\s?['\"]?1\b(?!\.)",
        job__launch_blocking=True,
    ),
    _says(r"['\"]?\bcpu_offload['\"]?\s?[:=]\s?true\b|--cpu[-_]offload\b(?![ =]false)", job__offload=True),
    _says(r"\busing (?:16-?bit|bfloat16)\b[^\n]{0,24}\bautomatic mixed precision\b", job__mixed_precision=True),
    _says(
        r"^(?!\s{0,8}#)[^\n#?]{0,120}?\ballow_tf32['\"]?\s?(?:=|:|is)\s?False\b|\bset_float32_matmul_precision\(\s?['\"]highest['\"]"
        r"|\bNVIDIA_TF32_OVERRIDE\s?[=:]\s?['\"]?0\b",
        job__tf32_allowed=False,
    ),
    _says(
        r"^(?!\s{0,8}#)[^\n#?]{0,120}?\ballow_tf32['\"]?\s?(?:=|:|is)\s?True\b"
        r"|\bset_float32_matmul_precision\(\s?['\"](?:high|medium)['\"]",
        job__tf32_allowed=True,
    ),
    # Advice that frameworks give on tensor cores, on grids and on workers.
    _says(r"\bTensorFloat32 tensor cores\b[^\n]{0,80}\bavailable but not enabled\b", job__tensor_cores_offered=True),
    _says(r"\bhas Tensor Cores\. To properly utilize them\b", job__tensor_cores_offered=True),
    _says(
        r"\bGrid size \(?(?P<blocks>[0-9]{1,9})\)?(?: < 2 \* SM count \((?P<twice>[0-9]{1,6})\))?"
        r" will likely result in GPU under-?\s?utilization",
        {"blocks": "step.warned_grid_blocks", "twice": "step.warned_grid_blocks_wanted"},
    ),
    _says(
        r"\bdoes not have many workers which may be a bottleneck\b(?:[^\n]{0,160}?"
        r"(?:\(try |num_workers=)(?P<workers>[0-9]{1,4}))?",
        {"workers": "loader.suggested_workers"},
        loader__few_workers_warned=True,
    ),
)
_OFFLOAD_BLOCK = later(r"['\"]?\boffload_(?:optimizer|param)['\"]?\s?:")
_OFFLOAD_DEVICE = later(r"['\"]?device['\"]?\s?:\s?['\"]?(?P<device>cpu|nvme|none)\b")
_BLOCK_LINES = 4
_WORDS = (
    "gpu available",
    "ultralytics",
    "yolov",
    "device",
    " cpu",
    "launch_blocking",
    "offload",
    "mixed precision",
    "tensor cores",
    "grid size",
    "many workers",
    "cpuexecutionprovider",
    "tf32",
    "matmul_precision",
)


def scan(text: Text) -> Iterator[Extract]:
    """One extract for all messages; of contradicting ones (a restart on another device) the last holds."""
    found: dict[tuple[str, Entity], Reading] = {}
    claimed: set[int] = set()
    for line in text.lines:
        lowered = line.text.lower() if len(line.text) <= LONGEST else ""
        if any(word in lowered for word in _WORDS):
            for reading in _readings(line):
                found[reading.fact, reading.entity] = reading
                claimed.add(line.number)
    for reading in _offload(text.lines):
        found[reading.fact, reading.entity] = reading
        claimed.add(reading.line or 0)
    if found:
        yield Extract("framework-messages", tuple(found.values()), claimed=frozenset(claimed))


def _readings(line: Line) -> Iterator[Reading]:
    quoted = line.text.strip()[:200]
    for message in _MESSAGES:
        match = message.pattern.search(line.text)
        if match is None:
            continue
        for fact, value in message.facts.items():
            yield Reading(fact, value, line.number, quoted, JOB)
        for group, fact in (message.numbers or {}).items():
            if match[group] is not None:
                yield Reading(fact, int(match[group]), line.number, quoted, JOB)


def _offload(lines: tuple[Line, ...]) -> Iterator[Reading]:
    """DeepSpeed's configuration: the device in an `offload_optimizer` or `offload_param` block."""
    left = 0
    for line in lines:
        opens = _OFFLOAD_BLOCK.search(line.text[:LONGEST])
        left = _BLOCK_LINES if opens else left - 1
        device = _OFFLOAD_DEVICE.search(line.text, opens.end() if opens else 0) if left > 0 else None
        if device is not None:
            left = 0
            if device["device"] != "none":
                yield Reading("job.offload", True, line.number, line.text.strip()[:200], JOB)


FORMAT = TextFormat("framework-messages", "Messages of frameworks on how they run", _WORDS, scan)
