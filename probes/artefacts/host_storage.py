"""Measured speed of storage: `fio` (text and JSON), `dd`, `hdparm -t`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from gpuwhy.kb.facts import HOST, Entity, is_number
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.host_values import host_reading
from gpuwhy.probes.artefacts.quantities import parse_duration, parse_number, parse_size

_JOB = re.compile(r"^\s*(\S{1,80}): \(g(?:roupid)?=[0-9]{1,4}\)")
_DIRECTION = re.compile(r"^\s*(read|write|READ|WRITE)\s{0,3}:\s{0,4}(?=.{0,200}(?:IOPS|iops|bw|BW)\s?=)")
_IOPS = re.compile(r"(?i)\biops=\s?([0-9.]{1,16})([kMG]?)")
_BANDWIDTH = re.compile(r"(?i)\b(?:bw|aggrb)=\s?([0-9.]{1,16})\s?([KMG]?i?B)/s")
_DONE = re.compile(r"\(([0-9.]{1,16})\s?([KMG]?i?B)/([0-9]{1,12})msec\)")
_LATENCY = re.compile(
    r"^\s*([cs]?lat)\s?\((nsec|usec|msec)\)\s?:\s?min=\s?([0-9.]+)(k?), max=\s?([0-9.]+)([kM]?), avg=\s?([0-9.]+)"
)
_SAMPLES = re.compile(
    r"^\s*(bw|iops)\s{0,8}(?:\(\s{0,4}([KMG]?i?B)/s\))?\s{0,3}:"
    r"\s?min=\s?([0-9.]+), max=\s?([0-9.]+),.{0,40}avg=\s?([0-9.]+)"
)
_DD = re.compile(
    r"^\s*([0-9]{1,18}) bytes\s?(?:\([^)]{0,60}\) )?copied, "
    r"([0-9.,e+-]{1,16}) s(?:econds)?, ([0-9.,]{1,12}) ([kMGT]?i?B)/s"
)
_DD_CALL = re.compile(r"\bdd\s.{0,200}\bof=(\S{1,200})")
_HDPARM = re.compile(r"^\s*Timing (cached|buffered disk|O_DIRECT disk) reads:.{0,60}=\s*([0-9.]{1,12}) ([KMG]?B)/sec")
_THOUSANDS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_LONGEST_JSON = 4_000_000
_MOST_LINES = 20_000
_MOST_REPORTS = 50


def scan_fio(text: Text) -> Iterator[Extract]:
    """One extract for all jobs of `fio` in its text layout."""
    job, direction = "fio", ""
    readings: list[Reading] = []
    claimed: set[int] = set()
    for line in text.lines:
        named, found = _JOB.match(line.text), _DIRECTION.match(line.text)
        if named:
            job = named[1]
        elif found:
            direction = found[1].lower()
            readings.extend(_direction(line, direction))
        elif direction and (_LATENCY.match(line.text) or _SAMPLES.match(line.text)):
            readings.extend([*_latency(line, job, direction), *_samples(line, job, direction)])
        elif not re.match(r"^\s*fio-[0-9]", line.text):
            continue
        claimed.add(line.number)
    if any(reading.fact.startswith("storage.") for reading in readings):
        yield Extract("fio", tuple(readings), claimed=frozenset(claimed))


def _direction(line: Line, direction: str) -> Iterator[Reading]:
    iops, bandwidth, done = _IOPS.search(line.text), _BANDWIDTH.search(line.text), _DONE.search(line.text)
    if iops:
        value = parse_number(iops[1])
        scaled = None if value is None else value * _THOUSANDS[iops[2]]
        yield from host_reading(f"storage.{direction}_operations_per_second", scaled, line)
    if bandwidth:
        rate = parse_size(f"{bandwidth[1]} {bandwidth[2]}")
        yield from host_reading(f"storage.{direction}_bytes_per_second", rate, line)
    if done:
        size, duration = parse_size(f"{done[1]} {done[2]}"), parse_duration(f"{done[3]} ms")
        yield from host_reading("reading.bytes", size, line, Entity("measurement", f"fio {direction} total", HOST))
        yield from host_reading(
            "reading.seconds", duration, line, Entity("measurement", f"fio {direction} run time", HOST)
        )


def _latency(line: Line, job: str, direction: str) -> Iterator[Reading]:
    found = _LATENCY.match(line.text)
    if not found:
        return
    for label, number, factor in (("least", 3, found[4]), ("most", 5, found[6]), ("mean", 7, "")):
        value = parse_duration(f"{found[number]} {found[2][0]}s")
        if value is None:
            continue
        value *= _THOUSANDS[factor]
        if label == "mean" and found[1] in ("lat", "clat"):
            yield from host_reading(f"storage.{direction}_latency_seconds", value, line)
        entity = Entity("measurement", f"{job} {direction} {found[1]} {label}", HOST)
        yield from host_reading("reading.seconds", value, line, entity)


def _samples(line: Line, job: str, direction: str) -> Iterator[Reading]:
    found = _SAMPLES.match(line.text)
    if not found:
        return
    for label, text in (("least", found[3]), ("most", found[4]), ("mean", found[5])):
        entity = Entity("measurement", f"{job} {direction} {found[1]} {label}", HOST)
        value = parse_size(f"{text} {found[2]}") if found[2] else parse_number(text)
        yield from host_reading("reading.bytes" if found[2] else "reading.value", value, line, entity)


def scan_fio_json(text: Text) -> Iterator[Extract]:
    """One extract per `fio --output-format=json` report."""
    found = (index for index, line in enumerate(text.lines) if '"fio version"' in line.text)
    for index in islice(found, _MOST_REPORTS):
        line = text.lines[index]
        start = index if line.text.lstrip().startswith("{") else max(0, index - 1)
        body = "\n".join(one.text for one in text.lines[start : start + _MOST_LINES])[:_LONGEST_JSON].lstrip()
        try:
            report, end = json.JSONDecoder().raw_decode(body)
        except (ValueError, RecursionError):
            continue
        readings = list(_json_jobs(report, line))
        if readings:
            lines = text.lines[start : start + body[:end].count("\n") + 1]
            yield Extract("fio-json", tuple(readings), claimed=frozenset(one.number for one in lines))


def _json_jobs(report: object, line: Line) -> Iterator[Reading]:
    jobs = report.get("jobs") if isinstance(report, dict) else None
    for job in jobs if isinstance(jobs, list) else ():
        if not isinstance(job, dict):
            continue
        name = str(job.get("jobname", "fio"))[:80]
        for direction in ("read", "write"):
            part = job.get(direction)
            if isinstance(part, dict) and _number(part.get("total_ios")):
                yield from _json_direction(part, name, direction, line, single=len(jobs or ()) == 1)


def _json_direction(
    part: dict[str, object], name: str, direction: str, line: Line, *, single: bool
) -> Iterator[Reading]:
    rate = _number(part.get("bw_bytes"))
    kibibytes = _number(part.get("bw"))
    if rate is None and kibibytes is not None:
        rate = kibibytes * 1024.0
    latency = part.get("lat_ns")
    mean = _number(latency.get("mean")) if isinstance(latency, dict) else None
    for fact, quantity, value in (
        ("bytes_per_second", "reading.value", rate),
        ("operations_per_second", "reading.value", _number(part.get("iops"))),
        ("latency_seconds", "reading.seconds", None if mean is None else mean * 1e-9),
    ):
        if single:
            yield from host_reading(f"storage.{direction}_{fact}", value, line)
        else:
            yield from host_reading(quantity, value, line, Entity("measurement", f"{name} {direction} {fact}", HOST))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and is_number(value) and value >= 0 else None


def scan_copies(text: Text) -> Iterator[Extract]:
    """One extract for results of `dd` and `hdparm -t`. `dd` to /dev/null reads; without its command it is a copy."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    target = ""
    for line in text.lines:
        call, done, disk = _DD_CALL.search(line.text), _DD.match(line.text), _HDPARM.match(line.text)
        if call:
            target = call[1]
        elif done:
            readings.extend(_dd(line, done, target))
            claimed.add(line.number)
        elif disk:
            rate = parse_size(f"{disk[2]} {disk[3]}")
            entity = Entity("measurement", f"{disk[1]} reads per second", HOST)
            fact = "reading.bytes" if disk[1] == "cached" else "storage.read_bytes_per_second"
            yields = host_reading(fact, rate, line, entity if fact == "reading.bytes" else HOST)
            readings.extend(yields)
            claimed.add(line.number)
        elif re.match(r"^\s*[0-9]{1,12}\+[0-9]{1,12} records (?:in|out)\s*$", line.text):
            claimed.add(line.number)
    if readings:
        yield Extract("dd", tuple(readings), claimed=frozenset(claimed))


def _dd(line: Line, done: re.Match[str], target: str) -> Iterator[Reading]:
    size, seconds = parse_number(done[1]), parse_number(done[2].replace(",", "."))
    printed = parse_size(f"{done[3].replace(',', '.')} {done[4]}", decimal=True)
    rate = size / seconds if size and seconds else printed
    entity = Entity("measurement", "dd", HOST)
    yield from host_reading("reading.bytes", size, line, entity)
    yield from host_reading("reading.seconds", seconds, line, entity)
    if target:
        direction = "read" if target == "/dev/null" else "write"
        yield from host_reading(f"storage.{direction}_bytes_per_second", rate, line)
    else:
        yield from host_reading("reading.value", rate, line, Entity("measurement", "dd bytes per second", HOST))


FORMATS = (
    TextFormat("fio", "Storage benchmark (fio)", ("iops=", "bw="), scan_fio),
    TextFormat("fio-json", "Storage benchmark (fio, JSON)", ('"fio version"',), scan_fio_json),
    TextFormat("dd", "Storage measurement (dd, hdparm)", ("copied, ", "timing "), scan_copies),
)
