"""The machine type of a cloud, where a text names one: in metadata, in a node's labels, in a sentence.

A text that names several says nothing about the machine that the rest of it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat

NAME = "machine-type"

_TYPE = re.compile(
    r"(?<![\w.-])(?:"
    r"(?:p[2-6][a-z]{0,3}|g[3-7][a-z]{0,2}|gr6f?)\.(?:\d{0,3}xlarge|large|metal(?:-\d{1,2}xl)?)"  # AWS
    r"|ecs\.(?:e?bm|s|v)?gn\d[a-z]{0,3}-[a-z0-9-]{1,16}\.[a-z0-9]{1,10}"  # Alibaba Cloud
    r"|(?:a2-(?:high|mega|ultra)gpu|a3-(?:high|mega|edge|ultra)gpu|a4-highgpu)-\d{1,2}g(?:-nolssd)?"  # Google Cloud
    r"|g2-standard-\d{1,2}"
    r"|Standard_N[CDV]\d{1,3}[a-z]{0,4}(?:_[A-Z0-9]{2,5}){0,2}_v\d"  # Azure
    r")(?![\w-])"
)
_HINTS = ("xlarge", ".large", ".metal", "ecs.", "gpu-", "g2-standard-", "standard_n")


def scan(text: Text) -> Iterator[Extract]:
    """One extract if the text names one machine type, however often."""
    found: dict[str, Line] = {}
    claimed: set[int] = set()
    for line in text.lines:
        lowered = line.text.lower()
        if any(hint in lowered for hint in _HINTS):
            for one in _TYPE.finditer(line.text):
                found.setdefault(one[0], line)
                claimed.add(line.number)
    if len(found) == 1:
        (name, line), *_ = found.items()
        reading = Reading("host.instance_type", name, line.number, line.text.strip()[:200])
        yield Extract(NAME, (reading,), claimed=frozenset(claimed))


FORMAT = TextFormat(NAME, "Machine type of a cloud", _HINTS, scan)
