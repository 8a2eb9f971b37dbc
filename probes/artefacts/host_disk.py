"""File systems and disks as `df` and `iostat` print them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from gpuwhy.kb.facts import HOST, Entity
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.host_values import binary_size, host_number, host_reading, mean, percent

_DF_HEAD = re.compile(r"^\s*(?:>\s?)?Filesystem\s.*(?:Use%|Capacity|IUse%|Mounted)", re.IGNORECASE)
_DF_ROW = re.compile(
    r"^\s{0,40}(?:>\s?)?(?P<device>\S{1,200}(?: \S{1,60})?)?\s{1,80}(?:[a-z][a-z0-9.]{1,15}\s{1,80})?"
    r"(?P<sizes>(?:[0-9][0-9.,]{0,20}[KMGTP]?i?B?\s{1,80}){3})(?P<used>[0-9]{1,3}|-)%?\s{1,80}(?P<mount>/\S{0,200})\s*$"
)
_DF_CALL = re.compile(r"[$#>]\s*(?:sudo )?df\b")
_BLOCK_UNIT = re.compile(r"(?i)\b(?:([0-9]{1,4})([KMG])?-blocks|([0-9]{1,6})-blocks)\b")
_SHARED_MEMORY = "/dev/shm"

_DEVICE_HEAD = re.compile(r"^\s*Device:?\s.*(?:tps|r/s)")
_CPU_HEAD = re.compile(r"^\s*avg-cpu:\s+%user")
_CPU_FACTS = {
    "%user": "host.cpu_user_share",
    "%system": "host.cpu_system_share",
    "%iowait": "host.cpu_iowait_share",
    "%steal": "host.cpu_steal_share",
    "%idle": "host.cpu_idle_share",
    "user": "host.cpu_user_share",
    "system": "host.cpu_system_share",
    "iowait": "host.cpu_iowait_share",
    "steal": "host.cpu_steal_share",
    "idle": "host.cpu_idle_share",
}
_RATE_UNITS = {
    "rkb/s": 1024.0,
    "wkb/s": 1024.0,
    "rmb/s": 1024.0**2,
    "wmb/s": 1024.0**2,
    "rsec/s": 512.0,
    "wsec/s": 512.0,
}
_RATE_UNITS |= {"kb_read/s": 1024.0, "kb_wrtn/s": 1024.0, "mb_read/s": 1024.0**2, "mb_wrtn/s": 1024.0**2}
_READ = ("rkb/s", "rmb/s", "rsec/s", "kb_read/s", "mb_read/s")
_WRITE = ("wkb/s", "wmb/s", "wsec/s", "kb_wrtn/s", "mb_wrtn/s")
_PLAIN: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("disk.busy_share", ("%util", "util"), 0.01),
    ("disk.read_operations_per_second", ("r/s",), 1.0),
    ("disk.write_operations_per_second", ("w/s",), 1.0),
    ("disk.read_wait_seconds", ("r_await", "await"), 1e-3),
    ("disk.write_wait_seconds", ("w_await",), 1e-3),
    ("disk.queue_length", ("aqu-sz", "avgqu-sz"), 1.0),
)
_LONGEST_JSON = 2_000_000


def scan_df(text: Text) -> Iterator[Extract]:
    """One extract for all file systems that `df` lists, with or without its header."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    unit, inodes, certain = 1024.0, False, False
    for line in text.lines:
        if _DF_HEAD.match(line.text):
            unit, inodes, certain = _df_unit(line.text), "inodes" in line.text.lower(), True
            claimed.add(line.number)
            continue
        certain = certain or _DF_CALL.search(line.text) is not None
        row = _DF_ROW.match(line.text)
        if row and (certain or any(mark.isalpha() for mark in row["sizes"])):
            readings.extend(_df_row(row, line, unit, inodes))
            claimed.add(line.number)
        elif line.text.strip() and len(line.text.split()) > 1:
            certain = certain and "df" in line.text
    if readings:
        yield Extract("df", tuple(readings), claimed=frozenset(claimed))


def _df_unit(header: str) -> float:
    found = _BLOCK_UNIT.search(header)
    if found is None or found[2] is None:
        return float(found[1] or 1024) if found else 1024.0
    return float(found[1]) * 1024.0 ** "KMG".index(found[2].upper()) * 1024.0


def _df_row(row: re.Match[str], line: Line, unit: float, inodes: bool) -> Iterator[Reading]:
    mount = row["mount"]
    entity = Entity("filesystem", mount, HOST)
    share = percent(row["used"])
    if inodes:
        yield from host_reading("filesystem.inode_used_share", share, line, entity)
        return
    sizes = [binary_size(cell, unit) for cell in row["sizes"].split()]
    for name, size in zip(("total", "used", "available"), sizes, strict=True):
        yield from host_reading(f"filesystem.{name}_bytes", size, line, entity)
        if mount == _SHARED_MEMORY:
            yield from host_reading(f"loader.shared_memory_{name}_bytes", size, line)
    yield from host_reading("filesystem.used_share", share, line, entity)
    if mount == _SHARED_MEMORY:
        yield from host_reading("loader.shared_memory_used_share", share, line)


@dataclass
class _Reports:
    """What the reports of iostat say, by device and for the CPUs, each value with its line."""

    devices: dict[str, list[tuple[Line, dict[str, float]]]] = field(default_factory=dict)
    cpu: list[tuple[Line, dict[str, float]]] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)


def scan_iostat(text: Text) -> Iterator[Extract]:
    """One extract for all reports of `iostat`; the first, which is since boot, counts only where it is alone."""
    reports = _Reports()
    header: list[str] = []
    is_cpu = False
    for line in text.lines:
        if _DEVICE_HEAD.match(line.text) or _CPU_HEAD.match(line.text):
            is_cpu = "avg-cpu" in line.text
            header = line.text.lower().replace("device:", "device").replace("avg-cpu:", "").split()
            reports.claimed.add(line.number)
        elif header and line.text.strip():
            if not _iostat_row(reports, header, is_cpu, line):
                header = []
        elif header and not line.text.strip() and not is_cpu:
            header = []
    _json_reports(text, reports)
    readings = list(_iostat_readings(reports))
    if readings:
        yield Extract("iostat", tuple(readings), claimed=frozenset(reports.claimed))


def _iostat_row(reports: _Reports, header: Sequence[str], is_cpu: bool, line: Line) -> bool:
    parts = line.text.split()
    names = header if is_cpu else header[1:]
    cells = parts if is_cpu else parts[1:]
    values = [host_number(cell) for cell in cells]
    if len(values) != len(names) or any(value is None for value in values):
        return False
    row = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    if is_cpu:
        reports.cpu.append((line, row))
    else:
        reports.devices.setdefault(parts[0], []).append((line, row))
    reports.claimed.add(line.number)
    return True


def _json_reports(text: Text, reports: _Reports) -> None:
    """The reports of `iostat -o JSON`."""
    for index, line in enumerate(text.lines):
        if '"sysstat"' not in line.text:
            continue
        start = index if line.text.lstrip().startswith("{") else max(0, index - 1)
        body = "\n".join(one.text for one in text.lines[start:])[:_LONGEST_JSON]
        try:
            found, end = json.JSONDecoder().raw_decode(body.lstrip())
        except (ValueError, RecursionError):
            return
        reports.claimed |= {one.number for one in text.lines[start : start + body[:end].count("\n") + 1]}
        _take_json(found, line, reports)
        return


def _take_json(found: object, line: Line, reports: _Reports) -> None:
    hosts = _get(_get(found, "sysstat"), "hosts")
    for host in hosts if isinstance(hosts, list) else ():
        statistics = _get(host, "statistics")
        for report in statistics if isinstance(statistics, list) else ():
            cpu, disks = _get(report, "avg-cpu"), _get(report, "disk")
            if isinstance(cpu, dict):
                reports.cpu.append((line, _numbers(cpu)))
            for disk in disks if isinstance(disks, list) else ():
                if isinstance(disk, dict):
                    name = str(disk.get("disk_device", "?"))[:80]
                    reports.devices.setdefault(name, []).append((line, _numbers(disk)))


def _get(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    return {
        str(key).lower(): float(value)
        for key, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def _iostat_readings(reports: _Reports) -> Iterator[Reading]:
    cpu = reports.cpu[1:] or reports.cpu
    if cpu:
        for name, fact in _CPU_FACTS.items():
            value = mean([row.get(name) for _, row in cpu])
            yield from host_reading(fact, None if value is None else value / 100.0, cpu[-1][0])
    for device, rows in reports.devices.items():
        kept = rows[1:] or rows
        line, entity = kept[-1][0], Entity("disk", device, HOST)
        for fact, names, scale in (*_rates(kept[-1][1]), *_PLAIN):
            column = next((one for one in names if one in kept[-1][1]), None)
            if column is not None:
                value = mean([row.get(column) for _, row in kept])
                yield from host_reading(fact, None if value is None else value * scale, line, entity)


def _rates(row: Mapping[str, float]) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """The columns of this row that are rates of bytes, with the bytes of their unit."""
    for fact, names in (("disk.read_bytes_per_second", _READ), ("disk.write_bytes_per_second", _WRITE)):
        for name in names:
            if name in row:
                yield fact, (name,), _RATE_UNITS[name]
                break


FORMATS = (
    TextFormat("df", "File systems (df)", ("/dev/shm", "filesystem", "mounted on", "% /"), scan_df),
    TextFormat("iostat", "Disks (iostat)", ("avg-cpu", "device", "sysstat"), scan_iostat),
)
