"""Lines about the PCIe bus in a kernel log: errors that it reported (AER), and links that are slower than a device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpuwhy.kb.facts import Entity
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.pci_places import ADDRESS, device_at, gpu_at, place

NAME = "kernel-log-pcie"

_LIMITED = re.compile(
    rf"pci (?P<device>{ADDRESS}): (?P<available>\d{{1,5}}\.\d{{1,3}}) Gb/s available PCIe bandwidth,?"
    rf" limited by (?P<speed>\d{{1,3}}(?:\.\d)?) GT/s(?: PCIe)? x(?P<width>\d{{1,2}}) link at (?P<at>{ADDRESS})"
    r"(?: \(capable of (?P<capable>\d{1,5}\.\d{1,3}) Gb/s)?"
)
_SEVERITY = r"Correct(?:ed|able)|Uncorrect(?:ed|able)(?: \(?(?:Non-)?Fatal\)?)?"
"""Kernels say corrected or, the recent ones, correctable."""
_ERROR = re.compile(
    rf"\b(?P<driver>[a-z][a-z0-9_-]{{1,20}}) (?P<device>{ADDRESS}): (?:AER: )?PCIe Bus Error: "
    rf"(?:severity=)?(?P<severity>{_SEVERITY})"
    r"(?:, type=(?P<layer>[A-Za-z ]{4,24}))?"
)
_REPORTED = re.compile(
    rf"\bAER: (?:Multiple )?(?P<severity>{_SEVERITY}) "
    rf"error (?:message )?received(?::| from) (?P<device>{ADDRESS})"
)
_VENDOR = re.compile(rf"\b(?P<device>{ADDRESS}):\s{{1,6}}device \[(?P<vendor>[0-9a-f]{{4}}):[0-9a-f]{{4}}\]")
_OURS = re.compile(rf"(?:NVRM: Xid \(|NVRM: GPU (?:at )?)(?:PCI:)?(?P<device>{ADDRESS})")
_FOUND = re.compile(
    rf"\bpci (?P<device>{ADDRESS}): \[(?P<vendor>[0-9a-f]{{4}}):[0-9a-f]{{4}}\] type [0-9a-f]{{2}}"
    r" class 0x(?P<class>[0-9a-f]{6})\b"
)
"""What the kernel says of each device as it finds it (drivers/pci/probe.c). Classes that begin with 03 are displays: of
NVIDIA they are GPUs, of others they may be the screen of a management controller."""
_DETAIL = re.compile(rf"\b{ADDRESS}:\s{{1,8}}(?:\[\s?\d{{1,2}}\]|device \[)|\bAER: .{{0,60}}\b(?:error|TLP Header)")
_HINTS = ("pcie bus error", "aer:", "available pcie bandwidth")
_NVIDIA = "10de"
_KINDS = {"corrected": "corrected", "correctable": "corrected"}


class _Log:
    """The bus errors of one text, by device."""

    def __init__(self) -> None:
        self.gpus: set[str] = set()
        self.others: set[str] = set()
        self.limited: dict[str, Line] = {}
        self.errors: dict[str, Counter[str]] = {}
        self.reports: dict[str, Counter[str]] = {}
        self.first: dict[str, Line] = {}
        self.layer: dict[str, str] = {}
        self.claimed: set[int] = set()

    def line(self, line: Line) -> None:
        found = _FOUND.search(line.text)
        if found:
            self._found(found)
        vendor = _VENDOR.search(line.text)
        if vendor and vendor["vendor"] == _NVIDIA:
            self._is_gpu(vendor["device"])
        ours = _OURS.search(line.text)
        if ours:
            self._is_gpu(ours["device"])
        error = _ERROR.search(line.text)
        report = None if error else _REPORTED.search(line.text)
        if error:
            self._count(self.errors, line, error["device"], error["severity"])
            if error["driver"] == "nvidia":
                self._is_gpu(error["device"])
            if error["layer"]:
                self.layer.setdefault(place(error["device"]) or "", error["layer"].strip())
        elif report:
            self._count(self.reports, line, report["device"], report["severity"])
        elif _DETAIL.search(line.text):
            self.claimed.add(line.number)

    def _is_gpu(self, printed: str) -> None:
        at = place(printed)
        if at:
            self.gpus.add(at[:-2])

    def _found(self, found: re.Match[str]) -> None:
        at = place(found["device"])
        if found["class"].startswith("03"):
            if found["vendor"] == _NVIDIA:
                self._is_gpu(found["device"])
        elif at and at.endswith(".0"):  # a further function of a GPU is its sound
            self.others.add(at[:-2])

    def _count(self, into: dict[str, Counter[str]], line: Line, printed: str, severity: str) -> None:
        at = place(printed) or printed
        lowered = severity.lower()
        kind = _KINDS.get(lowered) or ("nonfatal" if "non-fatal" in lowered else "fatal")
        into.setdefault(at, Counter())[kind] += 1
        self.first.setdefault(at, line)
        self.claimed.add(line.number)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all lines about the PCIe bus in a text."""
    log, readings, claimed = _Log(), [], set()
    for line in text.lines:
        limited = _LIMITED.search(line.text)
        if limited:
            readings += list(_limited(limited, line))
            log.limited.setdefault(limited["device"], line)
            claimed.add(line.number)
        else:
            log.line(line)
    readings += [*_kinds(log), *_errors(log)]
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(claimed | log.claimed))


def _limited(found: re.Match[str], line: Line) -> Iterator[Reading]:
    device, text = device_at(found["device"]), line.text.strip()[:200]
    yield Reading("device.link_available_gigabits", float(found["available"]), line.number, text, device)
    if found["capable"]:
        yield Reading("device.link_capable_gigabits", float(found["capable"]), line.number, text, device)
    yield Reading("device.limit_speed_gigatransfers", float(found["speed"]), line.number, text, device)
    yield Reading("device.limit_width", int(found["width"]), line.number, text, device)
    yield Reading("device.limited_at", place(found["at"]) or found["at"], line.number, text, device)


def _kinds(log: _Log) -> Iterator[Reading]:
    """Of the devices whose path is limited: whether they are GPUs, where the text tells."""
    for printed, line in log.limited.items():
        at = (place(printed) or "")[:-2]
        if at in log.gpus or at in log.others:
            yield Reading("device.is_gpu", at in log.gpus, line.number, line.text.strip()[:200], device_at(printed))


def _errors(log: _Log) -> Iterator[Reading]:
    """Errors by GPU, of each device the larger of what was described and what was announced; others summed."""
    other, other_line = 0, None
    for at in dict.fromkeys((*log.errors, *log.reports)):
        counts = log.errors.get(at, Counter()) | log.reports.get(at, Counter())
        line = log.first[at]
        if at[:-2] not in log.gpus:
            other += sum(counts.values())
            other_line = other_line or line
            continue
        device: Entity = gpu_at(at)
        for kind, count in counts.items():
            yield Reading(f"gpu.aer_{kind}_count", count, line.number, line.text.strip()[:200], device)
        if at in log.layer:
            yield Reading("gpu.aer_layer", log.layer[at], line.number, line.text.strip()[:200], device)
    if other_line is not None:
        yield Reading("host.aer_other_count", other, other_line.number, other_line.text.strip()[:200])


FORMAT = TextFormat(NAME, "kernel log (PCIe bus)", _HINTS, scan)
