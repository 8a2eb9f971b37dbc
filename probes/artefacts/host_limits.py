"""What holds a host's jobs back or waits: pressure stall information, `ulimit -a`, the run time that `time` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import HOST, JOB
from gpuwhy.probes.artefacts.contract import Extract, Line, Missing, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.host_values import host_reading
from gpuwhy.probes.artefacts.quantities import parse_number

_PRESSURE = re.compile(
    r"\b(some|full)\s+avg10=([0-9.]{1,8}) avg60=([0-9.]{1,8}) avg300=([0-9.]{1,8})(?: total=([0-9]{1,20}))?"
)
_RESOURCE = re.compile(r"(?i)\b(cpu|memory|io|irq)\b")
_LIMIT = re.compile(
    r"^\s*([a-z][a-z -]{4,40}?)\s+\((?:([a-z-]{2,16}(?: [a-z]{2,8})?), )?-([a-zA-Z])\)\s+(unlimited|[0-9]{1,20})\s*$"
)
_LIMIT_FACTS = {
    "n": ("host.open_files_limit", 1.0),
    "l": ("host.locked_memory_limit_bytes", 1024.0),
    "u": ("host.process_limit", 1.0),
    "v": ("host.address_space_limit_bytes", 1024.0),
}
_TIME = re.compile(r"^\s*(real|user|sys)\s+(?:([0-9]{1,6})m)?([0-9]{1,7}[.,][0-9]{1,3})s?\s*$")
_GNU_TIME = re.compile(
    r"^\s*([0-9]{1,9}\.[0-9]{2})user ([0-9]{1,9}\.[0-9]{2})system "
    r"(?:([0-9]{1,5}):)?([0-9]{1,3}):([0-9]{2}(?:\.[0-9]{2})?)elapsed"
)
_TIME_FACTS = {"real": "job.elapsed_seconds", "user": "job.user_cpu_seconds", "sys": "job.system_cpu_seconds"}


def scan_pressure(text: Text) -> Iterator[Extract]:
    """One extract for pressure lines whose resource stands on the line or on one above it."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    resource: str | None = None
    for line in text.lines:
        found = _PRESSURE.search(line.text)
        if found is None:
            named = _RESOURCE.search(line.text) if "pressure" in line.text or len(line.text) < 24 else None
            resource = named[1].lower() if named else resource
            continue
        own = _RESOURCE.search(line.text[: found.start()])
        kind = own[1].lower() if own else resource
        if kind is not None:
            for window, group in (("10", 2), ("60", 3), ("300", 4)):
                value = parse_number(found[group])
                fact = f"host.{kind}_pressure_{found[1]}_{window}_seconds_share"
                readings.extend(host_reading(fact, None if value is None else value / 100.0, line))
            claimed.add(line.number)
    if readings:
        yield Extract("pressure", tuple(readings), claimed=frozenset(claimed))


def scan_limits(text: Text) -> Iterator[Extract]:
    """One extract for `ulimit -a`. A limit that is not set is missing, with that reason."""
    readings: list[Reading] = []
    missing: list[Missing] = []
    claimed: set[int] = set()
    for line in text.lines:
        found = _LIMIT.match(line.text)
        if found is None:
            continue
        claimed.add(line.number)
        fact, unit = _LIMIT_FACTS.get(found[3], ("", 1.0))
        value = parse_number(found[4])
        if fact and value is None:
            missing.append(Missing(fact, "unlimited", line.number, HOST))
        elif fact and value is not None:
            readings.extend(host_reading(fact, int(value) if unit == 1.0 else value * unit, line))
    if readings or missing:
        yield Extract("ulimit", tuple(readings), tuple(missing), frozenset(claimed))


def scan_time(text: Text) -> Iterator[Extract]:
    """One extract for the run time of a command, as the shell's or GNU `time` prints it."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    for line in text.lines:
        found = _TIME.match(line.text)
        readings_here = list(_shell_time(line, found)) if found else list(_gnu_time(line))
        readings.extend(readings_here)
        if readings_here:
            claimed.add(line.number)
    if any(reading.fact == _TIME_FACTS["real"] for reading in readings) and len(readings) >= 2:
        yield Extract("time", tuple(readings), claimed=frozenset(claimed))


def _shell_time(line: Line, found: re.Match[str]) -> Iterator[Reading]:
    seconds = parse_number(found[3].replace(",", "."))
    if seconds is not None:
        yield from host_reading(_TIME_FACTS[found[1]], seconds + 60.0 * int(found[2] or 0), line, JOB)


def _gnu_time(line: Line) -> Iterator[Reading]:
    found = _GNU_TIME.match(line.text)
    if found:
        elapsed = 3600.0 * int(found[3] or 0) + 60.0 * int(found[4]) + float(found[5])
        for name, value in (("real", elapsed), ("user", float(found[1])), ("sys", float(found[2]))):
            yield from host_reading(_TIME_FACTS[name], value, line, JOB)


FORMATS = (
    TextFormat("pressure", "Pressure stall information", ("avg10=",), scan_pressure),
    TextFormat(
        "ulimit", "Limits of the shell (ulimit)", ("open files", "max locked memory", "max user processes"), scan_limits
    ),
    TextFormat("time", "Run time of a command (time)", ("real", "elapsed"), scan_time),
)
