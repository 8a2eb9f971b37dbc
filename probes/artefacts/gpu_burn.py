"""A run of gpu-burn: which GPUs gave the same result every time (`GPU 0: OK`), which did not (`FAULTY`).

A test that died counts as an error too, and its GPU is called FAULTY (or OK, where it died before it began): of such a
GPU the verdict says nothing, unless wrong results were counted before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import gpu
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat, Trouble

NAME = "gpu-burn"

_PROGRESS = re.compile(r"\bproc'd:[^\n]{1,4000}? errors: (?P<counts>[^\n]{1,1500}?)(?: temps:|\Z)")
_BETWEEN = re.compile(r"- ")
_COUNT = re.compile(r"\A\s{0,4}(?P<wrong>-?\d{1,10})\s{0,4}(?P<died>\(DIED!\))?")
_TESTED = re.compile(r"\bTested \d{1,3} GPUs?:")
_VERDICT = re.compile(r"\A\s*GPU (?P<index>\d{1,3}): (?P<verdict>OK|FAULTY)\b")
_AFTER = 64
"""Most GPUs of a machine, with a line each."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract of the verdicts of all runs in a text."""
    readings: list[Reading] = []
    troubles: list[Trouble] = []
    claimed: set[int] = set()
    left, ended = 0, False
    wrong: dict[int, int] = {}
    died: set[int] = set()
    for line in text.lines:
        if progress := _PROGRESS.search(line.text[-6000:]):
            if ended:
                wrong, died, ended = {}, set(), False
            _counted(progress["counts"], wrong, died)
        elif _TESTED.search(line.text[:200]):
            left, ended = _AFTER, True
            claimed.add(line.number)
        elif left and (found := _VERDICT.match(line.text[:200])):
            claimed.add(line.number)
            index, shown = int(found["index"]), line.text.strip()[:200]
            if index in died and index not in wrong:
                troubles.append(Trouble(line.number, f"the test of GPU {index} died: its verdict is none"))
                continue
            passed = found["verdict"] == "OK"
            readings.append(Reading("gpu.stress_test_passed", passed, line.number, shown, gpu(index)))
            if index in wrong:
                readings.append(Reading("gpu.stress_test_error_count", wrong[index], line.number, shown, gpu(index)))
        left = max(0, left - 1)
    if readings or troubles:
        yield Extract(NAME, tuple(readings), claimed=frozenset(claimed), troubles=tuple(troubles))


def _counted(counts: str, wrong: dict[int, int], died: set[int]) -> None:
    """Adds what a line of progress says of each GPU: results counted as wrong (most of them), and whose test died."""
    for index, part in enumerate(_BETWEEN.split(counts)[:_AFTER]):
        if found := _COUNT.match(part):
            if found["died"]:
                died.add(index)
            elif int(found["wrong"]) > 0:
                wrong[index] = max(wrong.get(index, 0), int(found["wrong"]))


FORMAT = TextFormat(NAME, "gpu-burn", ("tested ",), scan)
