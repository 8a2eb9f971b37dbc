"""Lanes of a PCIe link that a person states: how many are in use of how many (`x8 instead of x16`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import gpu
from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.reported_sentences import observed, sentence_of

NAME = "stated-link"
HINTS = ("x16", "x 16", "16 lanes", "x8 ", "8 lanes", "lanes instead", "×16")
LONGEST = 1_000
_INSTEAD = r"(?:instead of|rather than|out of|of|not|而不是|,? ?(?:but )?should be|,? ?although it (?:is|supports))"
_LANES = (
    later(
        rf"(?i)(?<![\w.])[x×] ?(?P<now>[1248])(?: lanes?| link| width| speed| mode)?,? {_INSTEAD} (?:the )?"
        r"(?:expected |full |usual |possible )?[x×] ?(?P<most>4|8|16)(?!\w|\.\d)"
    ),
    later(
        rf"(?i)(?<![\w.])(?P<now>[1248])(?: PCIe?)? lanes? {_INSTEAD} (?:the )?(?:expected |full )?"
        r"(?P<most>4|8|16)(?!\w|\.\d)"
    ),
    later(r"(?i)(?<![\w.])(?P<now>[1248]) (?:out )?of (?:the |its )?(?P<most>4|8|16) (?:PCIe? )?lanes?\b"),
)
_ABOUT = later(r"(?i)\b(?:PCI|PCIe|PCI-E|lanes?|link|slot|lspci|LnkSta)\b")
_GPU = later(r"(?i)\b(?:GPUs?|graphics|cards?|RTX|GTX|A100|H100|A10G?|L4|L40S?|T4|V100|A[456]000|nvidia\S{0,8})\b|显卡")
_OTHER = later(
    r"(?i)\b(?:nvme|ssd|m\.2|nic|ethernet|infiniband|connectx|mellanox|hca|raid|hba|drive|network card|usb)\b"
)
_PAST = later(r"(?i)\b(?:was|were|had|used to|previously|before)\b[^,;]{0,60}\Z")


def scan(text: Text) -> Iterator[Extract]:
    """One extract with the lanes of the GPU's link, where a text tells of one pair only; it claims no line."""
    whole = "\n".join(line.text[:LONGEST] for line in text.lines)
    if not (_GPU.search(whole) and _ABOUT.search(whole)):
        return
    told: set[tuple[str, str]] = set()
    readings: list[Reading] = []
    for line in text.lines:
        for pattern in _LANES:
            for found in pattern.finditer(line.text[:LONGEST]):
                told.add((found["now"], found["most"]))
                readings = list(_readings(line, found)) or readings
    if len(told) == 1 and readings:
        yield Extract(NAME, tuple(readings))


def _readings(line: Line, found: re.Match[str]) -> Iterator[Reading]:
    cut = line.text[:LONGEST]
    before = cut[max(0, found.start() - 120) : found.start()]
    now, most = int(found["now"]), int(found["most"])
    if now >= most or not observed(found, cut.lower(), negative=True) or _OTHER.search(before) or _PAST.search(before):
        return
    for fact, value in (("gpu.link_width", now), ("gpu.link_width_max", most)):
        yield Reading(fact, value, line.number, sentence_of(cut, found), gpu(0), said=True)


FORMAT = TextFormat(NAME, "Lanes of a PCIe link, as a sentence gives them", HINTS, scan)
