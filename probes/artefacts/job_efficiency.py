"""What a batch job used of what it was given: jobstats, seff, and tables of jobs with GPU utilisation and memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from gpuwhy.kb.facts import JOB, Entity, Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import SIZE, parse_duration, parse_number, parse_size

NAME = "job-efficiency"
LONGEST = 400
MOST_JOBS = 200
MOST_HEAD = 200

_BAR = later(
    r"^\s*(?P<what>CPU utilization|CPU memory usage|GPU utilization|GPU memory "
    r"usage)\s{0,4}\[[|\s]{0,80}?(?P<share>[0-9]{1,3}(?:\.[0-9])?)%\]"
)
_OF_GPU = later(
    rf"^\s*(?P<node>[\w<>.-]{{1,60}}) \(GPU (?P<index>[0-9]{{1,2}})\): (?:(?P<used>{SIZE})\s?/\s?(?P<total>{SIZE}) )?"
    r"\(?(?P<share>[0-9]{1,3}(?:\.[0-9]{1,2})?)%\)?"
)
_PER_NODE = later(r"^\s*(?:CPU|GPU) (?:utilization|memory usage) per node\b[^\n]{0,60}$")
_PLAIN = later(
    r"^\s*(?P<what>CPU utilization|GPU utilization|GPU memory usage):?\s{1,8}"
    rf"(?:(?P<used>{SIZE})\s?/\s?(?P<total>{SIZE})\s?)?\(?(?P<share>[0-9]{{1,3}}(?:\.[0-9]{{1,2}})?)%\)?\s*$"
)
"""A line of a summary without bars: `GPU memory usage: 3.1GB/80.0GB (3.9%)`; only where a text names a job."""
_JOB_ID = later(r"(?i)\bjob ?-?id\b|\byour job\b|\bSLURM_JOB_ID\b")
_SEFF = later(r"^\s*(?P<what>CPU|GPU|Memory|GPU Memory) Efficiency:\s{1,8}(?P<share>[0-9]{1,3}(?:\.[0-9]{1,2})?)% of\b")
_NUMBER_OF = later(r"(?i)\b(?:number of gpus|total gpus|gpus allocated|gpus)\s{0,4}[:=]\s{0,8}(?P<count>[0-9]{1,4})\b")
_COLUMN_UTILIZATION = later(r"(?i)^gpu[-_ ]?(?:util\w{0,7}|eff\w{0,9}|usage)(?:[-_ ]?\(?%\)?)?$")
_COLUMN_MEMORY = later(r"(?i)^gpu[-_ ]?mem(?:ory)?(?:[-_ ]?used)?(?:[-_ ]?max)?$")
_COLUMN_HOURS = later(r"(?i)^(?:gpu[-_ ]?)?hours$")
_COLUMN_GPUS = later(r"(?i)^(?:num[-_ ]?)?gpus$")
_JOB = later(r"^(?:[0-9]{4,12}(?:_[0-9]{1,6})?\+?|\w{1,20})$")
_UNIT = later(r"(?i)\s(?=(?:[KMGT]i?B)\b)")
_BARS = {
    "CPU utilization": "job.cpu_utilization_share",
    "CPU": "job.cpu_utilization_share",
    "CPU memory usage": "job.cpu_memory_share",
    "Memory": "job.cpu_memory_share",
    "GPU utilization": "job.gpu_utilization_share",
    "GPU": "job.gpu_utilization_share",
    "GPU memory usage": "job.gpu_memory_share",
    "GPU Memory": "job.gpu_memory_share",
}


@dataclass
class _Jobs:
    facts: dict[str, tuple[Value, Line]] = field(default_factory=dict)
    each: list[tuple[str, str, Value, Line]] = field(default_factory=list)
    shares: list[tuple[float, Line]] = field(default_factory=list)
    peaks: list[tuple[float, float, Line]] = field(default_factory=list)
    rows: list[tuple[float | None, float | None, Line]] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all jobs that a text tells of; job-level facts are those of the busiest and largest of them."""
    jobs = _Jobs()
    columns: Mapping[str, int] = {}
    of_a_job = any(_JOB_ID.search(line.text[:LONGEST]) for line in text.lines[:MOST_HEAD])
    for line in text.lines:
        cut = line.text[:LONGEST]
        found = _columns(cut)
        if found:
            columns = found
            jobs.claimed.add(line.number)
        elif (
            _take_bar(jobs, cut, line)
            or (of_a_job and _take_plain(jobs, cut, line))
            or (columns and _take_row(jobs, columns, cut, line))
        ):
            jobs.claimed.add(line.number)
    _finish(jobs)
    if jobs.facts:
        job = [Reading(fact, value, one.number, _said(one), JOB) for fact, (value, one) in jobs.facts.items()]
        each = [
            Reading(fact, value, one.number, _said(one), Entity("measurement", name, JOB))
            for name, fact, value, one in jobs.each
        ]
        yield Extract(NAME, (*job, *each), claimed=frozenset(jobs.claimed))


def _said(line: Line) -> str:
    return line.text.strip()[:200]


def _take_bar(jobs: _Jobs, text: str, line: Line) -> bool:
    bar = _BAR.match(text) or _SEFF.match(text)
    if bar:
        jobs.facts[_BARS[bar["what"]]] = (float(bar["share"]) / 100.0, line)
        return True
    if gpu := _OF_GPU.match(text):
        share = float(gpu["share"]) / 100.0
        name = f"{gpu['node']} GPU {gpu['index']}"
        used, total = parse_size(gpu["used"] or ""), parse_size(gpu["total"] or "")
        if used is not None and total:
            jobs.peaks.append((used, total, line))
            jobs.each += [
                (f"{name} memory used", "reading.bytes", used, line),
                (f"{name} memory", "reading.bytes", total, line),
            ]
        else:
            jobs.shares.append((share, line))
        kind = "memory share" if used is not None else "utilisation"
        jobs.each.append((f"{name} {kind}", "reading.share", share, line))
        return True
    if count := _NUMBER_OF.search(text):
        jobs.facts["job.allocated_gpu_count"] = (int(count["count"]), line)
        return False
    return bool(_PER_NODE.match(text)) and bool(jobs.facts or jobs.shares)


def _take_plain(jobs: _Jobs, text: str, line: Line) -> bool:
    plain = _PLAIN.match(text)
    if plain is None:
        return False
    jobs.facts.setdefault(_BARS[plain["what"]], (float(plain["share"]) / 100.0, line))
    used, total = parse_size(plain["used"] or ""), parse_size(plain["total"] or "")
    if plain["what"] == "GPU memory usage" and used is not None and total:
        jobs.peaks.append((used, total, line))
    return True


def _columns(text: str) -> Mapping[str, int]:
    """Where the columns of a table of jobs are, counted from the left; nothing where it is no such header."""
    cells = re.split(r"\s{2,}|\s(?=[A-Z])|\s*\|\s*|,\s*", text.strip().strip("|").strip())
    kinds = (
        ("share", _COLUMN_UTILIZATION),
        ("memory", _COLUMN_MEMORY),
        ("hours", _COLUMN_HOURS),
        ("gpus", _COLUMN_GPUS),
    )
    found = {kind: index for kind, pattern in kinds for index, cell in enumerate(cells) if pattern.match(cell)}
    return {**found, "width": len(cells)} if {"share", "memory"} <= set(found) else {}


def _take_row(jobs: _Jobs, columns: Mapping[str, int], text: str, line: Line) -> bool:
    cells = re.split(r"\s*\|\s*|,\s*|\s+", _UNIT.sub("", text.strip().strip("|").strip()))
    if len(cells) != columns["width"] or not _JOB.match(cells[0]) or len(jobs.rows) >= MOST_JOBS:
        return False
    share = parse_number(cells[columns["share"]].rstrip("%"))
    memory = parse_size(cells[columns["memory"]])
    if share is None or not 0 <= share <= 100:
        return False
    jobs.rows.append((share / 100.0, memory, line))
    jobs.each.append((f"job {cells[0]} GPU utilisation", "reading.share", share / 100.0, line))
    if memory is not None:
        jobs.each.append((f"job {cells[0]} GPU memory", "reading.bytes", memory, line))
    hours = _hours(cells, columns)
    if hours is not None:
        jobs.each.append((f"job {cells[0]} (hours)", "reading.value", hours, line))
    return True


def _hours(cells: Sequence[str], columns: Mapping[str, int]) -> float | None:
    if "hours" not in columns:
        return None
    cell = cells[columns["hours"]]
    seconds = parse_duration(cell) if ":" in cell else None
    return parse_number(cell) if seconds is None else seconds / 3600.0


def _finish(jobs: _Jobs) -> None:
    """Job-level facts: of several jobs or GPUs the one that uses most, so that nothing is called too large wrongly."""
    if jobs.rows:
        busiest = max(jobs.rows, key=lambda row: row[0] or 0.0)
        jobs.facts["job.gpu_utilization_share"] = (busiest[0] or 0.0, busiest[2])
        sizes = [(memory, line) for _, memory, line in jobs.rows if memory is not None]
        if sizes and len(sizes) == len(jobs.rows):
            largest = max(sizes, key=lambda one: one[0])
            jobs.facts["job.gpu_memory_peak_bytes"] = largest
    if jobs.peaks:
        used, total, line = max(jobs.peaks, key=lambda one: one[0])
        jobs.facts["job.gpu_memory_peak_bytes"] = (used, line)
        jobs.facts.setdefault("job.gpu_memory_share", (used / total, line))
    if jobs.shares:
        mean = fmean(share for share, _ in jobs.shares)
        idle = [line for share, line in jobs.shares if share == 0]
        jobs.facts.setdefault("job.gpu_utilization_share", (mean, jobs.shares[0][1]))
        jobs.facts.setdefault("job.allocated_gpu_count", (len(jobs.shares), jobs.shares[-1][1]))
        jobs.facts["job.idle_gpu_count"] = (len(idle), idle[0] if idle else jobs.shares[0][1])
    elif set(jobs.facts) <= {"job.allocated_gpu_count"}:
        jobs.facts.clear()


FORMAT = TextFormat(
    NAME,
    "What a batch job used of what it was given",
    ("gpu utilization", "gpu memory usage", "efficiency:", "gpu-util", "gpu-mem", "gpu_util", "gpu_mem", "(gpu "),
    scan,
)
