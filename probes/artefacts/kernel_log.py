"""Lines of the NVIDIA driver in a kernel log (dmesg, journald, syslog, kmsg): Xid codes, lost GPUs, NVSwitch errors.

One fault gives a burst of lines. Every code is kept with how often it came, and which came first: what a code means is
the catalogue's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import Entity, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.kernel_time import Stamp, stamp
from gpuwhy.probes.artefacts.pci_places import ADDRESS, gpu_at

NAME = "kernel-log-nvidia"
BURST_SILENCE_SECONDS = 180.0
"""Silence after which the next Xid of a GPU belongs to another burst, as NVIDIA's fleet intelligence has it."""

_XID = re.compile(
    rf"\bXid\s{{0,2}}(?:\((?:PCI:)?(?P<bus>{ADDRESS})\)|(?:PCI:)(?P<bare>{ADDRESS})):?\s{{0,2}}(?P<code>\d{{1,5}})\b"
    r"(?P<detail>[^\n]{0,400})"
)
_TOLD = re.compile(
    r"(?i)\bXid(?:\s(?:errors?|codes?|event))?\s{0,2}[:=#]?\s{0,2}(?P<code>\d{1,3})\b(?P<detail>[^\n]{0,200})"
)
_INDEX = re.compile(r"(?i)\bGPU[ #:-]{0,2}(?P<index>\d{1,2})\b(?!:)")
_NEGATED = re.compile(r"(?i)\bno\b|\bnot\b|\bwithout\b|\bnone\b|\bif\b|\?")
_PID = re.compile(r"\bpid=(?P<pid>\d{1,10})\b")
_PROGRAM = re.compile(r"\bname=(?P<name>[^,\n<]{1,60})")
_OFF_BUS = re.compile(
    rf"(?i)\bGPU (?:at )?(?:PCI:)?(?P<bus>{ADDRESS}):? (?:GPU )?has fallen off the bus|fallen off the bus"
)
_INIT = re.compile(
    rf"(?i)(?:\bGPU (?P<bus>{ADDRESS}): )?(?:RmInitAdapter failed|rm_init_adapter(?:\(\d{{1,3}}\))? failed)"
)
_RESET = re.compile(rf"(?i)(?:\bGPU (?P<bus>{ADDRESS}): )?[^\n]{{0,160}}?\b(?:reset required|NV_ERR_RESET_REQUIRED)\b")
_ACTIVATE = re.compile(
    r"(?i)(?:reset gpu|reload the driver|reboot(?: the system)?|reset the gpu) to (?:activate|complete)"
)
_TIMEOUT = re.compile(r"Timeout after (?P<seconds>\d{1,5})s of waiting for RPC")
_RPC = re.compile(r"Expected function (?P<function>\d{1,6})\b")
_LINK = re.compile(r"(?i)\blink (?:#\s?)?(?P<link>\d{1,3})\b")
_SWITCH = re.compile(
    rf"\bSXid\s{{0,2}}\((?:PCI:)?{ADDRESS}\):?\s{{0,2}}(?P<code>\d{{1,6}}),\s{{0,2}}(?P<detail>[^\n]{{0,300}})"
)
_PREVIOUS = re.compile(r"(?i)\bcaused by previous Xid (?P<code>\d{1,5})\b")
_HINTS = ("xid", "fallen off the bus", "rminitadapter", "rm_init_adapter", "nvrm:")


@dataclass
class _Code:
    """All lines of one code of one GPU."""

    code: int
    line: int
    text: str
    detail: str
    first: Stamp | None
    last: Stamp | None
    count: int = 0
    pids: dict[int, None] = field(default_factory=dict)
    program: str | None = None


@dataclass
class _Device:
    """All Xid lines of one GPU."""

    codes: dict[int, _Code] = field(default_factory=dict)
    pids: dict[int, None] = field(default_factory=dict)
    programs: dict[str, None] = field(default_factory=dict)
    bursts: int = 0
    first: Stamp | None = None
    last: Stamp | None = None


class _Log:
    """What the driver's lines of one text say."""

    def __init__(self) -> None:
        self.devices: dict[Entity, _Device] = {}
        self.readings: list[Reading] = []
        self.claimed: set[int] = set()
        self.lines = 0
        self.switch_errors: list[tuple[int, str, int, str]] = []

    def line(self, line: Line) -> None:
        lowered = line.text.lower()
        if "nvrm:" in lowered or "nvidia-nvswitch" in lowered:
            self.claimed.add(line.number)
        if "xid" in lowered:
            self._xid(line)
        if "fallen off the bus" in lowered:
            self._state(line, _OFF_BUS, "gpu.fallen_off_bus")
        if "reset" in lowered and "required" in lowered and "nvrm:" in lowered:
            self._state(line, _RESET, "gpu.reset_required")
        if "init" in lowered and "adapter" in lowered:
            self._state(line, _INIT, "gpu.adapter_init_failed")

    def _xid(self, line: Line) -> None:
        switch = _SWITCH.search(line.text)
        if switch:
            self.switch_errors.append((int(switch["code"]), switch["detail"], line.number, line.text.strip()[:200]))
            self.claimed.add(line.number)
            return
        found = _XID.search(line.text)
        if found:
            device = gpu_at(found["bus"] or found["bare"])
            cause = _PREVIOUS.search(found["detail"])
            if cause and int(cause["code"]) not in self.devices.get(device, _Device()).codes:
                self._note(line, device, int(cause["code"]), cause[0])
                self.lines -= 1
            self._note(line, device, int(found["code"]), found["detail"])
            return
        told = _TOLD.search(line.text)
        if told and not _NEGATED.search(line.text) and int(told["code"]) > 0:
            index = _INDEX.search(line.text)
            self._note(line, gpu(int(index["index"]) if index else 0), int(told["code"]), told["detail"])

    def _note(self, line: Line, device: Entity, code: int, detail: str) -> None:
        self.claimed.add(line.number)
        self.lines += 1
        when = stamp(line.text)
        one = self.devices.setdefault(device, _Device())
        if not one.bursts or (when and one.last and abs(_apart(one.last, when)) > BURST_SILENCE_SECONDS):
            one.bursts += 1
        one.first, one.last = one.first or when, when or one.last
        entry = one.codes.setdefault(
            code, _Code(code, line.number, line.text.strip()[:200], detail.strip(" ,:.")[:200], when, when)
        )
        entry.count += 1
        entry.last = when or entry.last
        self._process(one, entry, detail)
        if _ACTIVATE.search(detail):
            self.readings.append(Reading("gpu.remap_announced", True, line.number, line.text.strip()[:200], device))

    def _process(self, one: _Device, entry: _Code, detail: str) -> None:
        pid = _PID.search(detail)
        if pid:
            one.pids[int(pid["pid"])] = entry.pids[int(pid["pid"])] = None
        program = _PROGRAM.search(detail)
        if program:
            entry.program = entry.program or program["name"].strip()
            one.programs[program["name"].strip()] = None

    def _state(self, line: Line, pattern: re.Pattern[str], fact: str) -> None:
        found = pattern.search(line.text)
        if not found:
            return
        self.claimed.add(line.number)
        xid = _XID.search(line.text)
        bus = found["bus"] or (xid and (xid["bus"] or xid["bare"]))
        device = gpu_at(bus) if bus else gpu(0)
        if bus or not self.devices:
            self.readings.append(Reading(fact, True, line.number, line.text.strip()[:200], device))


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all lines of the NVIDIA driver in a text."""
    log = _Log()
    for line in text.lines:
        log.line(line)
    readings = [*log.readings, *_of_switches(log), *_of_devices(log)]
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(log.claimed))


def _of_switches(log: _Log) -> Iterator[Reading]:
    if not log.switch_errors:
        return
    code, detail, line, text = log.switch_errors[0]
    yield Reading("host.switch_error_count", len(log.switch_errors), line, text)
    yield Reading("host.switch_error_first", code, line, text)
    yield Reading("host.switch_error_detail", detail.strip(), line, text)
    link = _LINK.search(detail)
    if link:
        yield Reading("host.switch_error_link", int(link["link"]), line, text)
    fatal = [one for one in log.switch_errors if re.match(r"(?i)fatal\b", one[1])]
    if fatal or all(re.match(r"(?i)non-fatal\b|severity 0\b|corrected|data\b", one[1]) for one in log.switch_errors):
        yield Reading("host.switch_error_fatal", bool(fatal), *(fatal[0][2:] if fatal else (line, text)))


def _of_devices(log: _Log) -> Iterator[Reading]:
    if not log.devices:
        return
    first = min(code.line for one in log.devices.values() for code in one.codes.values())
    yield Reading("host.xid_count", log.lines, first)
    yield Reading("host.xid_gpu_count", len(log.devices), first)
    pids = {pid for one in log.devices.values() for pid in one.pids}
    if pids:
        yield Reading("host.xid_process_count", len(pids), first)
    for device, one in log.devices.items():
        yield from _of_device(device, one)


def _of_device(device: Entity, one: _Device) -> Iterator[Reading]:
    codes = list(one.codes.values())
    where = codes[0].line, codes[0].text
    printed = ", ".join(str(entry.code) for entry in codes)
    yield Reading("gpu.xid_codes", printed, *where, device)
    yield Reading("gpu.xid_first", codes[0].code, *where, device, _printed(codes[0].first))
    if one.first is not None:
        yield Reading("gpu.xid_burst_count", one.bursts, *where, device)
    if one.pids:
        yield Reading("gpu.xid_process_count", len(one.pids), *where, device)
    if one.programs:
        yield Reading("gpu.xid_program_count", len(one.programs), *where, device)
    for entry in codes:
        yield from _of_code(Entity("xid", str(entry.code), device), entry, one.first)


def _of_code(entity: Entity, entry: _Code, first: Stamp | None) -> Iterator[Reading]:
    def reading(fact: str, value: bool | int | float | str) -> Reading:
        return Reading(fact, value, entry.line, entry.text, entity, _printed(entry.first))

    yield reading("xid.code", entry.code)
    yield reading("xid.count", entry.count)
    if entry.pids:
        yield reading("xid.pid", next(iter(entry.pids)))
        yield reading("xid.process_count", len(entry.pids))
    if entry.program:
        yield reading("xid.process", entry.program)
    if entry.detail:
        yield reading("xid.detail", entry.detail)
    if first is not None and entry.first is not None and entry.first is not first and _apart(first, entry.first) >= 0:
        yield reading("xid.after_first_seconds", round(_apart(first, entry.first), 6))
    if entry.count > 1 and entry.first is not None and entry.last is not None and _apart(entry.first, entry.last) >= 0:
        yield reading("xid.span_seconds", round(_apart(entry.first, entry.last), 6))
    for pattern, group, fact in (
        (_TIMEOUT, "seconds", "xid.timeout_seconds"),
        (_RPC, "function", "xid.rpc_function"),
        (_LINK, "link", "xid.link"),
    ):
        found = pattern.search(entry.detail)
        if found:
            yield reading(fact, int(found[group]))


def _printed(when: Stamp | None) -> str | None:
    return when.printed if when is not None else None


def _apart(earlier: Stamp, later: Stamp) -> float:
    """Seconds between two stamps; -1 where their clocks differ."""
    return later.seconds - earlier.seconds if earlier.kind == later.kind else -1.0


FORMAT = TextFormat(NAME, "kernel log (NVIDIA driver)", _HINTS, scan)
