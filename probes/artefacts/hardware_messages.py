"""Messages with which CUDA and the driver's tools tell a program that the GPU itself failed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import JOB
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat

_ECC = re.compile(
    r"(?i)uncorrectable ECC error|cudaErrorECCUncorrectable|CUDA_ERROR_ECC_UNCORRECTABLE|ECC uncorrectable"
)
_NEGATED = re.compile(r"(?i)\b(?:no|without|0|zero|for|if)\s{1,3}(?:any\s)?(?:uncorrectable ECC|ECC uncorrectable)")
_HINTS = ("uncorrectable ecc", "eccuncorrectable", "ecc_uncorrectable", "ecc uncorrectable")


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all such messages in a text."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    for line in text.lines:
        lowered = line.text.lower()
        if any(hint in lowered for hint in _HINTS) and _ECC.search(line.text) and not _NEGATED.search(line.text):
            claimed.add(line.number)
            if not readings:
                readings.append(Reading("job.ecc_error", True, line.number, line.text.strip()[:200], JOB))
    if readings:
        yield Extract("hardware-messages", tuple(readings), claimed=frozenset(claimed))


FORMAT = TextFormat("hardware-messages", "Messages of CUDA on failed hardware", _HINTS, scan)
