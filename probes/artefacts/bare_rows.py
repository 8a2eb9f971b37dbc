"""Rows of nvidia-smi without their frame: memory in use of all and utilisation, as people cut them out of the table.

Several rows without the number of their GPU are several GPUs or several moments: then none is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import gpu
from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts import smi_rows
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat

NAME = "nvidia-smi-bare-rows"
HINTS = ("mib /", "mib/", "mb /", "mb/")
LONGEST = 300
MEBIBYTE = 1024.0 * 1024.0
_ROW = later(
    r"^\W{0,8}(?:(?:GPU\s?#?)?(?P<index>[0-9]{1,2})(?:\s{1,8}|[:\])|,]\s{0,8}))?(?P<name>[A-Za-z][^|\n/]{0,80}?)?[\s|:,=]{0,24}"
    r"(?<![0-9.])(?P<used>[0-9]{1,6})\s?Mi?B\s{0,4}/\s{0,8}(?P<total>[0-9]{4,6})\s?Mi?B"
    r"(?:[\s|,;]{1,24}(?P<share>[0-9]{1,3})\s?%)?(?P<rest>[^\n]{0,60})$"
)
_OTHER = later(r"(?i)\b(?:RAM|host|swap|disk|download\w{0,3}|batch|epoch|cpu|it/s|B/s)\b")
_GPU = later(r"(?i)\b(?:GPUs?|nvidia-smi|CUDA|VRAM)\b|显存|显卡")


def scan(text: Text) -> Iterator[Extract]:
    """One extract of the rows whose GPU is known; nothing where a table with its frame stands in the same text."""
    rows: list[tuple[Line, re.Match[str]]] = []
    about = False
    for line in text.lines:
        cut = line.text[:LONGEST]
        about = about or _GPU.search(cut) is not None
        if smi_rows.LOAD.search(cut) or smi_rows.DEVICE.search(cut):
            return
        found = _ROW.match(cut) if "/" in cut else None
        if found and not _OTHER.search(cut) and int(found["used"]) <= int(found["total"]):
            rows.append((line, found))
    numbers = [found["index"] for _, found in rows]
    if about and rows and (numbers == [None] or (None not in numbers and len(set(numbers)) == len(numbers))):
        yield Extract(NAME, tuple(_readings(rows)), claimed=frozenset(line.number for line, _ in rows))


def _readings(rows: list[tuple[Line, re.Match[str]]]) -> Iterator[Reading]:
    for line, found in rows:
        device, said = gpu(int(found["index"] or 0)), line.text.strip()[:200]
        yield Reading("gpu.memory_used_bytes", int(found["used"]) * MEBIBYTE, line.number, said, device)
        yield Reading("gpu.memory_total_bytes", int(found["total"]) * MEBIBYTE, line.number, said, device)
        if found["share"] is not None and int(found["share"]) <= 100:
            yield Reading("gpu.utilization_share", int(found["share"]) / 100, line.number, said, device)


FORMAT = TextFormat(NAME, "Rows of nvidia-smi without their frame", HINTS, scan)
