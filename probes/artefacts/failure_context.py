"""What stands around a failure message: the rank that printed it, what the program was doing, whether it goes on."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from gpuwhy.probes.artefacts.contract import Line
from gpuwhy.probes.artefacts.lazy_pattern import later

_LINES_BEFORE = 80
_LINES_AFTER = 3

_RANK = later(
    r"(?:\[\s?rank\s?:?\s?(\d{1,6})\s?\]|^\s{0,40}rank\s?[:=]?\s?(\d{1,6})\b|\brank[=:]\s?(\d{1,6})\b"
    r"|\[(?:default)?(\d{1,4})\]:)",
    re.IGNORECASE,
)

# What a phase calls itself stands anywhere in the stack; within it the nearest of the plainer steps counts.
_PHASES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "graph-capture",
        later(
            r"\b(?:capture_model|capture_graph|capture_begin|capture_end|_?capture_cuda_?graphs?)\b|\bcuda\.graph\(",
            re.I,
        ),
    ),
    (
        "profiling",
        later(r"\b(?:profile_run|profile_num_\w{1,30}|determine_(?:num_)?available_\w{1,20}|_dummy_run)\b"),
    ),
    (
        "key-value-cache",
        later(r"\b(?:_?init\w{0,12}_kv_caches?|_?allocate_kv_cache\w{0,12}|_?init_cache_engine)\b"),
    ),
    ("handle-creation", later(r"\b(?:cublas(?:Lt)?Create\w{0,6}|cudnnCreate\w{0,6}|cusolverDnCreate)\b")),
    (
        "evaluation",
        later(r"\b_?(?:validation|evaluation|eval|test)_(?:step|loop|epoch)\b|\b(?:evaluate|validate)\("),
    ),
    (
        "load",
        later(
            r"\b(?:load_model|load_weights|from_pretrained|_?load_(?:from_)?state_dict|load_checkpoint|load_tensors)\b"
            r"|\b_load_pretrained_model\b|\btorch\.load\(|\b(?:model|net)\w{0,20}\.cuda\(|\bin _apply\b"
        ),
    ),
    ("backward", later(r"\.backward\(|\brun_backward\b|\bautograd\.grad\(|\bin backward\b")),
)
_STEPS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("optimizer", later(r"\boptim\w{0,20}\.step\(|/optim/\w{1,30}\.py\b", re.IGNORECASE)),
    ("transfer", later(r"\.to\([^)\n]{0,60}(?:device|cuda|non_blocking)|\.cuda\(|\b(?:batch|send)_to_device\b")),
    ("forward", later(r"\bin forward\b|\bforward\(|\b_call_impl\b|\bin generate\b|\.generate\(")),
)
_SIGNS = ("_", "(", "/", "Create", "in backward", "in forward", "in generate")
"""What a line holds that tells a phase or a step."""
_RECOVERS = later(
    r"not a failure|skipping (?:this )?batch|attempting to recover|will (?:retry|try again)|retry(?:ing)? with"
    r"|recovered from|trying (?:again|smaller)|falling back|clearing cache and",
    re.IGNORECASE,
)


def rank_of(line: str) -> int | None:
    """The distributed rank in the prefix of a line (`[rank3]:`, `rank=3`), or None."""
    found = _RANK.search(line[:200])
    if found is None:
        return None
    return next(int(group) for group in found.groups() if group is not None)


def activity_before(lines: Sequence[Line], index: int) -> str | None:
    """What the program was doing, by the names of the stack frames above the message at `index`; None if none tells.

    The result is a choice of the fact `oom.during`.
    """
    frames = [frame for frame in _frames_before(lines, index) if any(sign in frame for sign in _SIGNS)]
    for name, pattern in _PHASES:
        if any(pattern.search(frame) for frame in frames):
            return name
    for frame in frames:
        for name, pattern in _STEPS:
            if pattern.search(frame):
                return name
    return None


def _frames_before(lines: Sequence[Line], index: int) -> list[str]:
    """Lines above the message back to the start of its traceback or to an empty line, the nearest first."""
    frames: list[str] = []
    for line in reversed(lines[max(0, index - _LINES_BEFORE) : index + 1]):
        text = line.text[:400]
        if not text.strip() and frames:
            break
        frames.append(text)
        if "Traceback (most recent call last)" in text:
            break
    return frames


def goes_on(lines: Sequence[Line], first: int, last: int, others: Container[int] = ()) -> bool:
    """True if the message itself, or the lines right after it, say that the program goes on without the memory.

    Lines with the numbers `others` belong to other messages and do not count.
    """
    near = lines[first : last + 1 + _LINES_AFTER]
    return any(_RECOVERS.search(line.text[:600]) for line in near if line.number not in others)
