"""The log of Fabric Manager (`/var/log/fabricmanager.log`): its version, whether it set up the fabric, NVSwitch errors.

The log grows over months and restarts. What it says of itself last is its state; what it says of links and switches
stays a fact of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import HOST, Value
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.kernel_time import stamp

NAME = "fabric-manager-log"
HINTS = ("nvswitch", "fabric manager", "fabricmanager", "multicast team", "multicast group")

_HEAD = re.compile(
    r"\[(?P<when>\w{3} \d{1,2} \d{4} \d\d:\d\d:\d\d)\]\s{0,4}\[(?P<level>[A-Z]{4,8})\](?:\s{0,4}\[tid \d{1,10}\])?"
)
_DAEMON = re.compile(r"\bnv-fabricmanager\[\d{1,10}\]:")
_OURS = re.compile(r"(?i)nv-?switch|fabric ?manager|multicast (?:team|group)|\bNVLink\b")
_VERSION = re.compile(r"(?i)\bfabric ?manager version(?: is)?\s{0,3}:?\s{0,3}(?P<version>\d{3}\.\d{1,3}(?:\.\d{1,3})?)")
_SWITCH = re.compile(
    r"(?i)\bdetected NVSwitch (?P<kind>non-fatal|fatal) error (?P<code>\d{1,6})\b"
    r"(?:[^\n]{0,80}?\bbus id (?P<bus>[0-9a-f:.]{7,16}))?(?:[^\n]{0,80}?\bport (?P<port>\d{1,3}))?"
)
_CONFIGURED = re.compile(r"(?i)\bsuccessfully configured all the available\b")
_ABORTED = re.compile(r"(?i)\baborting fabric ?manager\b|\bfailed to configure all the available\b")
_SWITCHES_DIFFER = re.compile(r"(?i)\bnumber of NVSwitches don.{0,3}t match with any supported system topology\b")
_NO_GPU = re.compile(r"(?i)\bfailed to find the GPU handle \d{1,24} in the multicast team\b")
_LINK = re.compile(r"(?i)\bNV-?Links?\b")
_FAULT = re.compile(
    r"(?i)\bfail(?:ed|ure|ures|s)?\b|\bnot (?:been )?(?:trained|active)\b|\binactive\b|\bdegraded?\b|\bdown\b"
)
_NO_FAULT = re.compile(r"(?i)\bfailure mode\b|\bno (?:failed|failures?)\b|\b0 (?:failed|failures?)\b|\bif\b")
_GRAVE = ("WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "ALERT")
_QUOTED = 200


class _Log:
    """What the lines of one text say, the first line of each kind quoted."""

    def __init__(self) -> None:
        self.claimed: set[int] = set()
        self.ours = False
        self.kernel_speaks = False
        self.version: tuple[str, Line] | None = None
        self.state: tuple[bool, Line] | None = None
        self.switch_errors: list[tuple[re.Match[str], Line]] = []
        self.links: list[Line] = []
        self.no_gpu: list[Line] = []
        self.switches_differ: Line | None = None

    def line(self, line: Line) -> None:
        """Reads one line."""
        text = line.text[:1000]
        head = _HEAD.search(text)
        if head or _DAEMON.search(text):
            self.claimed.add(line.number)
            self.ours = self.ours or bool(_OURS.search(text))
        elif text.startswith("Message payload details:"):
            self.claimed.add(line.number)
        if "SXid (" in text:
            self.kernel_speaks = True
        version = _VERSION.search(text)
        if version:
            self.version = version["version"], line
            self.claimed.add(line.number)
        switch = _SWITCH.search(text)
        if switch:
            self.switch_errors.append((switch, line))
            self.claimed.add(line.number)
        else:
            self._state(text, line)
            self._links(text, line, head["level"] if head else None)

    def _state(self, text: str, line: Line) -> None:
        if _CONFIGURED.search(text):
            self._set(True, line)
        elif _SWITCHES_DIFFER.search(text):
            self.switches_differ = self.switches_differ or line
            self._set(False, line)
        elif _ABORTED.search(text):
            self._set(False, line)

    def _set(self, configured: bool, line: Line) -> None:
        self.state = configured, line
        self.claimed.add(line.number)

    def _links(self, text: str, line: Line, level: str | None) -> None:
        if _NO_GPU.search(text):
            self.no_gpu.append(line)
            self.claimed.add(line.number)
        elif level in _GRAVE and _LINK.search(text) and _FAULT.search(text) and not _NO_FAULT.search(text):
            self.links.append(line)

    def readings(self) -> Iterator[Reading]:
        """Facts of the machine."""
        if self.version:
            yield _reading("host.fabric_manager_version", *self.version)
        if self.state:
            yield _reading("host.fabric_configured", *self.state)
        if self.switches_differ:
            yield _reading("host.fabric_switches_differ", True, self.switches_differ)
        if self.no_gpu:
            yield _reading("host.fabric_gpu_unknown_count", len(self.no_gpu), self.no_gpu[0])
        if self.ours and self.links:
            yield _reading("host.fabric_link_fault_count", len(self.links), self.links[0])
            yield _reading("host.fabric_link_fault", _message(self.links[0].text), self.links[0])
        if self.switch_errors and not self.kernel_speaks:
            yield from _of_switches(self.switch_errors)


def _of_switches(found: list[tuple[re.Match[str], Line]]) -> Iterator[Reading]:
    """The same facts that the kernel log gives of NVSwitch errors (SXid)."""
    first, line = found[0]
    yield _reading("host.switch_error_count", len(found), line)
    yield _reading("host.switch_error_first", int(first["code"]), line)
    yield _reading("host.switch_error_detail", _place(first), line)
    if first["port"]:
        yield _reading("host.switch_error_link", int(first["port"]), line)
    fatal = next((where for one, where in found if one["kind"].lower() == "fatal"), None)
    yield _reading("host.switch_error_fatal", fatal is not None, fatal or line)


def _place(found: re.Match[str]) -> str:
    named = (("NVSwitch", found["bus"]), ("port", found["port"]))
    return ", ".join([found["kind"].lower(), *(f"{what} {where}" for what, where in named if where)])


def _message(text: str) -> str:
    """A line of the log without its time, level and thread."""
    head = _HEAD.search(text)
    return (text[head.end() :] if head else text).strip(" .")[:_QUOTED]


def _reading(fact: str, value: Value, line: Line) -> Reading:
    when = stamp(line.text)
    head = _HEAD.search(line.text[:1000])
    printed = head["when"] if head else when.printed if when else None
    return Reading(fact, value, line.number, line.text.strip()[:_QUOTED], HOST, printed)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all lines of Fabric Manager in a text."""
    log = _Log()
    for line in text.lines:
        log.line(line)
    readings = tuple(log.readings())
    if readings or log.ours:
        yield Extract(NAME, readings, claimed=frozenset(log.claimed))


FORMAT = TextFormat(NAME, "Fabric Manager log", HINTS, scan)
