"""`nvidia-smi -q` as text: a whole log, a section of it, or lines that a forum ran together.

Read by key and section names of all driver generations, never by column. Where no GPU heads the lines they are about
GPU 0; where a key comes again without a GPU in between, another moment begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.gauges import Gauges, instant
from gpuwhy.probes.artefacts.smi_fields import field_of, keys, lone_path, normalised, sections
from gpuwhy.probes.artefacts.smi_log import DeviceLog
from gpuwhy.probes.artefacts.smi_rows import indices_by_bus
from gpuwhy.probes.artefacts.smi_unfold import unfolded
from gpuwhy.probes.artefacts.smi_values import absence

NAME = "nvidia-smi-q"

_HEADER = re.compile(r"={6,}\s{0,2}NVSMI LOG\s{0,2}={6,}")
_DEVICE = re.compile(r"\s{0,40}GPU (?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s{0,40}$")
_QUOTE = re.compile(r"(?:\s{0,8}>){1,3}\s?")
_LEAF = re.compile(
    r"(?P<indent>\s{0,60})(?P<key>[A-Za-z][A-Za-z0-9 .()/&_-]{0,60}?)\s{0,60}(?<=\s):(?:\s(?P<value>.{0,300})|$)"
)
_SECTION = re.compile(r"(?P<indent>\s{0,60})(?P<name>[A-Z][A-Za-z0-9 .()/&_-]{1,60}?)\s{0,40}:?$")
_ELISION = re.compile(r"\s{0,40}(?:\[?\.{3}\]?|…|-{2,})\s{0,4}$")

# Sections that hold nothing of the vocabulary, but keys that elsewhere do.
_OTHER_SECTIONS = frozenset(
    {
        "processes",
        "mig_device",
        "device_attributes",
        "shared",
        "max_customer_boost_clocks",
        "default_applications_clocks",
        "deferred_clocks",
        "supported_clocks",
        "temperature",
        "clock_policy",
        "voltage",
        "fabric",
        "ecc_errors",
        "hw_slowdown",
        "gpu_link_info",
        "gpu_reset_status",
        "gpu_virtualization_mode",
        "cc_protected_memory_usage",
        "gpu_memory_power_readings",
        "memory_utilization_samples",
        "enc_utilization_samples",
        "dec_utilization_samples",
        "duty_cycle_sampling",
        "sm_clock_samples",
        "memory_clock_samples",
        "encoder_stats",
        "fbc_stats",
        "inforom_version",
        "accounted_processes",
    }
)
_SECTIONS = sections() | _OTHER_SECTIONS
# Keys that need their section to mean something, and those that prose uses too.
_VAGUE = frozenset({"count", "cuda_version", "uuid", "gpu_uuid", "compute_mode", "fan_speed", "compute_cap"})
_LISTED = frozenset({"processes/process_id", "processes/gpu_instance_id", "mig_device/index"})
_BARE_KEYS = frozenset(key for key in keys() if field_of([key]) is not None) - _VAGUE


def scan(text: Text) -> Iterator[Extract]:
    """One extract of everything in this text that `nvidia-smi -q` printed."""
    reader = _Reader(Gauges(), indices_by_bus(text))
    for line in text.lines:
        reader.take(line)
    extract = reader.extract()
    if extract.claimed:
        yield extract


class _Reader:
    def __init__(self, gauges: Gauges, indices: dict[str, int]) -> None:
        self._gauges = gauges
        self._log = DeviceLog(gauges, indices)
        self._stack: list[_Level] = []
        self._inside = False
        self._headed = False
        self._whole_log = False
        self._pending: list[int] = []
        self._seen: set[tuple[str, ...]] = set()
        self._claimed: set[int] = set()
        self._troubles: list[Trouble] = []

    def take(self, line: Line) -> None:
        text = _QUOTE.sub("", line.text, count=1).expandtabs(4) if ">" in line.text[:12] else line.text.expandtabs(4)
        if _HEADER.search(text):
            self._restart(line)
            return
        if not text.strip():
            return
        folded = text.count(" : ") > 1
        for part in unfolded(text, _SECTIONS) if folded else (text,):
            if self._take_part(part, line.number):
                self._claimed.add(line.number)

    def extract(self) -> Extract:
        self._log.close(complete=False)
        readings, missing = self._gauges.fold()
        troubles = (*self._log.troubles, *self._troubles)
        return Extract(NAME, readings, missing, frozenset(self._claimed), troubles)

    def _restart(self, line: Line) -> None:
        self._log.restart()
        self._stack, self._seen = [], set()
        self._inside = self._whole_log = True
        self._headed = False
        self._claimed.add(line.number)

    def _take_part(self, text: str, number: int) -> bool:
        device = _DEVICE.match(text)
        if device:
            return self._open(device["bus"], text, number)
        leaf = _LEAF.match(text)
        if leaf and leaf["value"] is not None and leaf["value"].strip():
            return self._leaf(leaf["indent"], leaf["key"], leaf["value"].strip(), number)
        section = _SECTION.match(text)
        if section:
            return self._section(section["indent"], section["name"], number)
        if _ELISION.match(text) and self._inside:
            return True
        self._leave()
        return False

    def _open(self, bus: str, text: str, number: int) -> bool:
        if not self._headed and not self._whole_log:
            self._log.restart(self._gauges.observed_at)
        self._log.open(bus, number)
        self._stack = [_Level(_indent(text), None, False)]
        self._inside = self._headed = True
        self._seen = set()
        return True

    def _section(self, indent: str, name: str, number: int) -> bool:
        known = normalised(name)
        if known not in _SECTIONS and (not self._inside or not indent):
            self._leave()
            return False
        self._pop(len(indent), is_section=True)
        self._stack.append(_Level(len(indent), known, True))
        if not self._inside:
            self._pending.append(number)
        if known == "processes" and self._headed:
            self._log.begin_processes()
        return self._inside

    def _leaf(self, indent: str, key: str, value: str, number: int) -> bool:
        name = normalised(key)
        self._pop(len(indent), is_section=False)
        path = self._path(name, value)
        dated = name == "timestamp" and instant(value) is not None
        if not self._inside:
            if not dated and not self._begins(path, value):
                return False
            self._claimed.update(self._pending)
        self._inside, self._pending = True, []
        self._stack.append(_Level(len(indent), name, False))
        if dated:
            self._gauges.begin(value)
            return True
        self._note_repeat(path, number)
        return self._log.leaf(path, value, number) or bool(indent and (len(path) > 1 or self._headed))

    def _path(self, name: str, value: str) -> tuple[str, ...]:
        path = (*(level.name for level in self._stack if level.name is not None), name)
        if field_of(path) is None and not any(level.is_section for level in self._stack):
            lone = lone_path(name)
            found = None if lone is None else field_of(lone)
            if lone and found and (absence(value) or found[0].convert(value) is not None):
                return lone
        return path

    def _begins(self, path: tuple[str, ...], value: str) -> bool:
        """True if a leaf that stands in no log so far is surely of one: its name and its value say so."""
        if len(path) > 1 and f"{path[-2]}/{path[-1]}" in _LISTED:
            return True
        found = field_of(path)
        if found is None or (len(path) == 1 and path[0] not in _BARE_KEYS):
            return False
        return absence(value) is not None or found[0].convert(value) is not None

    def _note_repeat(self, path: tuple[str, ...], number: int) -> None:
        if self._headed or field_of(path) is None:
            return
        if path in self._seen:
            if not self._troubles:
                self._troubles.append(Trouble(number, "keys come again below no GPU: read as a later moment of GPU 0"))
            self._log.restart(self._gauges.observed_at)
            self._seen = set()
        self._seen.add(path)

    def _leave(self) -> None:
        self._inside = False
        self._pending = []
        if not self._whole_log:
            self._stack = []

    def _pop(self, indent: int, *, is_section: bool) -> None:
        """Takes off the levels that a line with this indent does not belong to.

        A section whose keys are not indented below it (an excerpt stripped of its indents) goes on until the next one.
        """
        while self._stack:
            top = self._stack[-1]
            if top.indent < indent or (top.indent == indent and self._keeps(top, is_section)):
                break
            self._stack.pop()
        if self._stack and self._stack[-1].indent < indent:
            self._stack[-1].has_deeper = True

    def _keeps(self, top: _Level, is_section: bool) -> bool:
        return top.name is None or (top.is_section and not top.has_deeper and not is_section)


class _Level:
    __slots__ = ("has_deeper", "indent", "is_section", "name")

    def __init__(self, indent: int, name: str | None, is_section: bool) -> None:
        self.indent = indent
        self.name = name
        self.is_section = is_section
        self.has_deeper = False


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


FORMAT = TextFormat(
    NAME,
    "nvidia-smi -q (text)",
    (
        "nvsmi log",
        "attached gpus",
        "event reasons",
        "throttle reasons",
        "memory usage",
        "ecc errors",
        "retired pages",
        "remapped rows",
        "power readings",
        "link width",
        "pcie generation",
        "utilization samples",
        "current temp",
        "slowdown temp",
        "t.limit temp",
        "max clocks",
        "applications clocks",
        "sw power cap",
        "hw slowdown",
        "hw thermal slowdown",
        "hw power brake slowdown",
        "sw thermal slowdown",
        "remapping failure occurred",
        "pending page blacklist",
        "replays since reset",
        "used gpu memory",
        "mig mode",
        "performance state",
        "power draw",
        "utilization",
        "clocks",
        "mig device",
        "process id",
        "power limit",
        "dram ",
        "bit ecc",
        "virtualization mode",
        "reset required",
        "recovery action",
    ),
    scan,
)
