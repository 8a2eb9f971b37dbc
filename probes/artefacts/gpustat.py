"""`gpustat`: one line per GPU with its gauges and, after them, who uses how much of its memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import HOST, Entity, gpu
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts import smi_values as v
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.gauges import Gauges
from gpuwhy.probes.artefacts.gpu_processes import ListedProcess, is_nameless, put_processes

NAME = "gpustat"

_LINE = re.compile(
    r"(?:^|\s|>)\[(?P<index>\d{1,3})\]\s{1,4}(?P<name>[^|\n]{2,80}?)\s{0,30}\|\s{0,4}(?P<gauges>[^|\n]{3,160}?)\s{0,4}\|"
    r"\s{0,8}(?P<used>\d{1,9}|\?{1,3})\s{0,4}/\s{0,8}(?P<total>\d{1,9}|\?{1,3})\s{0,4}MB\s{0,4}(?:\|(?P<processes>.{0,4000}))?"
)
_HEADER = re.compile(
    r"\S{1,100}\s{1,60}[A-Z][a-z]{2} (?P<when>[A-Z][a-z]{2}\s{1,2}\d{1,2} \d{2}:\d{2}:\d{2} \d{4})"
    r"(?:\s{1,8}(?P<driver>\d{3}[0-9.]{1,16}))?\s{0,8}$"
)
_TEMPERATURE = re.compile(r"(\d{1,3})\s?[°'’]\s?C")
_PERCENT = re.compile(r"(\d{1,3}|\?{1,2})\s{0,2}%")
_CODECS = re.compile(r"E:\s{0,4}(\d{1,3}|\?{1,2})\s{0,2}%\s{0,4}D:\s{0,4}(\d{1,3}|\?{1,2})\s{0,2}%")
_POWER = re.compile(r"(\d{1,5}|\?{1,3})\s{0,4}/\s{0,6}(\d{1,5}|\?{1,3})\s{0,2}W")
_PROCESS = re.compile(
    r"(?P<user>[^\s:/()]{1,60})(?::(?P<command>[^\s/()]{1,120}))?(?:/(?P<pid>\d{1,10}))?\((?P<memory>\d{1,9}M|\?M?|N/A)\)"
)


@dataclass(frozen=True)
class _Use:
    """One entry after the gauges: the process id where shown, and its memory in bytes where known."""

    pid: int | None
    command: str | None
    memory: float | None


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all gpustat lines in a text, gauges folded where a GPU comes several times."""
    gauges = Gauges(monitor=False)
    claimed: set[int] = set()
    seen: set[int] = set()
    before: Line | None = None
    for line in text.lines:
        found = _LINE.search(line.text) if "|" in line.text and "[" in line.text else None
        if found:
            index = int(found["index"])
            header = _HEADER.match(before.text.strip()) if before is not None else None
            if header and before is not None:
                claimed.add(before.number)
            if index in seen or header or not seen:
                gauges.begin(header["when"] if header else None)
                seen = set()
            if header and header["driver"]:
                gauges.put("host.driver_version", HOST, header["driver"], line.number, header["driver"])
            seen.add(index)
            claimed.add(line.number)
            _put(gauges, gpu(index), found, line.number)
        before = line
    if claimed:
        readings, missing = gauges.fold()
        yield Extract(NAME, readings, missing, frozenset(claimed), tuple(gauges.set_aside))


def _put(gauges: Gauges, device: Entity, found: re.Match[str], line: int) -> None:
    gauges.put("gpu.name", device, found["name"], line, found["name"])
    cells = found["gauges"]
    codecs = _CODECS.search(cells)
    if codecs:
        cells = cells[: codecs.start()] + cells[codecs.end() :]
        _share(gauges, "gpu.encoder_share", device, codecs[1], line)
        _share(gauges, "gpu.decoder_share", device, codecs[2], line)
    temperature = _TEMPERATURE.search(cells)
    if temperature:
        gauges.put("gpu.temperature_celsius", device, float(temperature[1]), line, temperature[0])
    percents = _PERCENT.findall(cells)
    if percents:
        _share(gauges, "gpu.utilization_share", device, percents[-1], line)
    if len(percents) > 1:
        _share(gauges, "gpu.fan_share", device, percents[0], line)
    power = _POWER.search(cells)
    for fact, number in zip(
        ("gpu.power_watts", "gpu.power_limit_watts"), power.groups() if power else (), strict=False
    ):
        _number(gauges, fact, device, number, 1.0, line)
    _number(gauges, "gpu.memory_used_bytes", device, found["used"], v.MEBIBYTE, line)
    _number(gauges, "gpu.memory_total_bytes", device, found["total"], v.MEBIBYTE, line)
    if found["processes"] is not None:
        _put_uses(gauges, device, _uses(found["processes"]), line, found["processes"])


def _share(gauges: Gauges, fact: str, device: Entity, printed: str, line: int) -> None:
    _number(gauges, fact, device, printed, 0.01, line)


def _number(gauges: Gauges, fact: str, device: Entity, printed: str, scale: float, line: int) -> None:
    if printed.isdigit():
        value = int(printed) / 100.0 if scale == 0.01 else int(printed) * scale
        gauges.put(fact, device, value, line, printed)
    else:
        gauges.lack(fact, device, f"shown as {printed}", line)


def _uses(text: str) -> list[_Use]:
    return [
        _Use(
            int(one["pid"]) if one["pid"] else None,
            one["command"],
            v.size(one["memory"].rstrip("M")) if one["memory"][0].isdigit() else None,
        )
        for one in _PROCESS.finditer(text)
    ]


def _put_uses(gauges: Gauges, device: Entity, uses: Sequence[_Use], line: int, printed: str) -> None:
    if uses and all(use.pid is not None for use in uses):
        listed = [
            ListedProcess(use.pid, None, use.command, use.memory, None, line) for use in uses if use.pid is not None
        ]
        put_processes(gauges, device, listed, complete=False)
    elif uses or not printed.strip():
        gauges.put("gpu.process_count", device, len(uses), line, printed)
        known = [use.memory for use in uses if use.memory is not None]
        if len(known) == len(uses):
            gauges.put("gpu.processes_memory_bytes", device, float(sum(known)), line, printed)
    else:
        gauges.lack("gpu.process_count", device, f"shown as {printed.strip()[:40]}", line)
        if is_nameless(printed):
            gauges.put("gpu.process_list_unreadable", device, True, line, printed)


FORMAT = TextFormat(NAME, "gpustat", ("mb |", "mb|", " mb"), scan)
