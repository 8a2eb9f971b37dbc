"""Takes a `-q` log apart again whose lines a forum has run together into one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from gpuwhy.probes.artefacts.smi_fields import keys, normalised

_DEVICE_TAIL = re.compile(r"(?:^|\s)GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]$")
_LONGEST = 6  # words of the longest label
_LEADING = frozenset(
    {"timestamp", "attached_gpus", "product_brand", "idle", "process_id", "type", "name", "serial_number"}
)
_SEGMENT_LIMIT = 400
"""Characters of a value with the labels after it; a longer one is no part of such a log."""
_LABELS = keys() | _LEADING


def unfolded(text: str, sections: Set[str]) -> Iterator[str]:
    """The lines of one text line with several `key : value` pairs, one by one, without their indents.

    Between two colons stand a value, perhaps a GPU's heading and section names, and the next key: known names are taken
    off the end. What is not known stays with the value before it.
    """
    segments = text.split(" : ")
    if any(len(segment) > _SEGMENT_LIMIT for segment in segments):
        return
    before, key = _take(segments[0].strip(), _LABELS)
    yield from _heads(before if key else "", sections)[1]
    for segment in segments[1:-1]:
        value, next_key = _take(segment.strip(), _LABELS)
        value, between = _heads(value, sections)
        if key:
            yield f"{key} : {value}"
        yield from between
        key = next_key
    if key:
        yield f"{key} : {segments[-1].strip()}"


def _take(text: str, labels: Set[str]) -> tuple[str, str]:
    """The text without the longest known label at its end, and that label (empty where none is known)."""
    words = text.split()
    for length in range(min(_LONGEST, len(words)), 0, -1):
        label = " ".join(words[-length:])
        if normalised(label) in labels:
            return " ".join(words[:-length]), label
    return text, ""


def _heads(text: str, sections: Set[str]) -> tuple[str, list[str]]:
    """The text without the section names and GPU headings at its end, and these in order."""
    found: list[str] = []
    while text:
        device = _DEVICE_TAIL.search(text)
        if device:
            found.append(device[0].strip())
            text = text[: device.start()].strip()
            continue
        text, name = _take(text, sections)
        if not name:
            break
        found.append(name)
    return text, found[::-1]
