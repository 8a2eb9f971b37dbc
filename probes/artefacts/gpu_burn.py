"""The end of a run of gpu-burn: which GPUs gave the same result every time (`GPU 0: OK`), which did not (`FAULTY`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import gpu
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat

NAME = "gpu-burn"

_TESTED = re.compile(r"\bTested \d{1,3} GPUs?:")
_VERDICT = re.compile(r"\A\s*GPU (?P<index>\d{1,3}): (?P<verdict>OK|FAULTY)\b")
_AFTER = 64
"""Most GPUs of a machine, with a line each."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract of the verdicts of all runs in a text."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    left = 0
    for line in text.lines:
        if _TESTED.search(line.text[:200]):
            left = _AFTER
            claimed.add(line.number)
        elif left and (found := _VERDICT.match(line.text[:200])):
            claimed.add(line.number)
            passed = found["verdict"] == "OK"
            device = gpu(int(found["index"]))
            readings.append(Reading("gpu.stress_test_passed", passed, line.number, line.text.strip()[:200], device))
        left = max(0, left - 1)
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(claimed))


FORMAT = TextFormat(NAME, "gpu-burn", ("tested ",), scan)
