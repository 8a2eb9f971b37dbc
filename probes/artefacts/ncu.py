"""Nsight Compute reports: CSV, the text of the details page, lists of metrics; an entity for each profiled kernel."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import parse_number

_METRICS: dict[str, str] = {
    "compute (sm) throughput": "kernel.compute_throughput_share",
    "sol sm": "kernel.compute_throughput_share",
    "sm throughput": "kernel.compute_throughput_share",
    "compute throughput": "kernel.compute_throughput_share",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "kernel.compute_throughput_share",
    "memory throughput": "kernel.memory_throughput_share",
    "sol memory": "kernel.memory_throughput_share",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "kernel.memory_throughput_share",
    "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed": "kernel.memory_throughput_share",
    "dram throughput": "kernel.dram_throughput_share",
    "sol dram": "kernel.dram_throughput_share",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "kernel.dram_throughput_share",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "kernel.dram_throughput_share",
    "l1/tex cache throughput": "kernel.l1_throughput_share",
    "l2 cache throughput": "kernel.l2_throughput_share",
    "duration": "kernel.duration_seconds",
    "gpu__time_duration.sum": "kernel.duration_seconds",
    "gpu__time_duration.avg": "kernel.duration_seconds",
    "sm frequency": "kernel.sm_clock_megahertz",
    "dram frequency": "kernel.memory_clock_megahertz",
    "theoretical occupancy": "kernel.theoretical_occupancy_share",
    "achieved occupancy": "kernel.achieved_occupancy_share",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "kernel.achieved_occupancy_share",
    "sm busy": "kernel.sm_busy_share",
    "issue slots busy": "kernel.issue_slots_busy_share",
    "no eligible": "kernel.no_eligible_warp_share",
    "one or more eligible": "kernel.eligible_warp_share",
    "max bandwidth": "kernel.max_bandwidth_share",
    "mem busy": "kernel.memory_busy_share",
    "waves per sm": "kernel.waves_per_sm",
    "grid size": "kernel.grid_blocks",
    "block size": "kernel.block_threads",
    "# sms": "kernel.sm_count",
    "registers per thread": "kernel.registers_per_thread",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active": "kernel.tensor_pipe_share",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": "kernel.tensor_pipe_share",
}
_RATE = dict.fromkeys(("memory throughput", "dram__bytes.sum.per_second"), "kernel.memory_bytes_per_second")
_WHOLE = frozenset({"kernel.grid_blocks", "kernel.block_threads", "kernel.sm_count", "kernel.registers_per_thread"})
_UNITS: dict[str, float] = {
    "": 1.0, "%": 0.01, "ns": 1e-9, "nsecond": 1e-9, "nsec": 1e-9, "us": 1e-6, "usecond": 1e-6, "usec": 1e-6,
    "ms": 1e-3, "msecond": 1e-3, "msec": 1e-3, "s": 1.0, "second": 1.0, "hz": 1e-6, "cycle/second": 1e-6, "khz": 1e-3,
    "cycle/usecond": 1.0, "mhz": 1.0, "ghz": 1e3, "cycle/nsecond": 1e3, "byte/second": 1.0, "byte/s": 1.0,
    "kbyte/second": 1e3, "kbyte/s": 1e3, "mbyte/second": 1e6, "mbyte/s": 1e6, "gbyte/second": 1e9, "gbyte/s": 1e9,
    "tbyte/second": 1e12, "tbyte/s": 1e12, "sm": 1.0, "register/thread": 1.0, "thread": 1.0, "block": 1.0,
}  # fmt: skip
_UNIT = (
    r"(?:%|[knum]?sec(?:ond)?|[num]?s|[KkMG]?[Hh]z|cycle/[num]?second|[KMGT]?byte/s(?:econd)?"
    r"|register/thread|SM|block|thread)"
)
_NUMBER = r"-?[0-9][0-9,]{0,30}(?:\.[0-9]{0,12})?(?:e[-+]?[0-9]{1,3})?"
_METRIC_LINE = re.compile(
    rf"^[\s>]{{0,40}}(?P<name>[#A-Za-z][A-Za-z0-9 /#()._]{{1,80}}?)(?:\s{{2,80}}|\s\[?)(?P<unit>{_UNIT})?\]?\s{{1,80}}"
    rf"(?P<value>{_NUMBER})\s{{0,40}}$"
)
_LISTED = re.compile(
    rf"^[\s>\"]{{0,40}}(?P<section>[A-Za-z][A-Za-z &/-]{{2,60}})\"?\s{{0,4}},\s{{0,4}}"
    rf"\"?(?P<name>[#A-Za-z][A-Za-z0-9 /#()._]{{1,80}})\"?"
    rf"\s{{0,4}},\s{{0,4}}\"?(?P<unit>{_UNIT})?\"?\s{{0,4}},\s{{0,4}}\"?(?P<value>{_NUMBER})\"?,?\s{{0,10}}$"
)
_SECTION = re.compile(r"^[\s>]{0,40}Section:\s{0,8}(\S[^\n]{0,100})$")
_KERNEL = re.compile(
    r"^[\s>]{0,20}(?P<name>\S[^\n]{0,3000}?)(?: \([0-9, ]{3,40}\)x\([0-9, ]{3,40}\))?"
    r", Context [0-9]{1,6}, Stream [0-9]{1,9}"
)
_RULE = re.compile(
    r"^[\s>]{0,40}(?:[A-Za-z]{3,60}\s{0,4},?\s{0,4})?(?P<type>OPT|WRN|INF)\b[\s:]{1,10}(?P<text>\S[^\n]{0,800})$"
)
_LATENCY = re.compile(
    r"low compute throughput and memory bandwidth utilization|typically indicate latency issues"
    r"|grid is too small to fill",
    re.IGNORECASE,
)
_HEADER_NAMES = {"Metric Name", "Metric Value"}


@dataclass
class _Kernel:
    """One profiled kernel and what was read of it."""

    name: str
    readings: dict[str, Reading] = field(default_factory=dict)


@dataclass
class _Report:
    kernels: list[_Kernel] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)
    by_key: dict[str, _Kernel] = field(default_factory=dict)
    in_section: bool = False

    def of(self, key: str, name: str) -> _Kernel:
        """The kernel with this key, new where it is not known."""
        if key not in self.by_key:
            self.by_key[key] = _Kernel(name or "kernel")
            self.kernels.append(self.by_key[key])
        return self.by_key[key]

    @property
    def current(self) -> _Kernel:
        """The kernel that lines of a text report belong to."""
        return self.kernels[-1] if self.kernels else self.of("", "")


def scan(text: Text) -> Iterable[Extract]:
    """One extract for all Nsight Compute output of a text; each profiled kernel is an entity of its own."""
    report = _Report()
    lines = iter(text.lines)
    for line in lines:
        columns = _csv_header(line.text)
        if columns is not None:
            report.claimed.add(line.number)
            for row in lines:
                if not _take_csv(row, columns, report):
                    _take_text(row, report)
                    break
        else:
            _take_text(line, report)
    readings = list(_named(report.kernels))
    if any(reading.fact.startswith("kernel.") for reading in readings):
        yield Extract("nsight-compute", tuple(readings), claimed=frozenset(report.claimed))


def _named(kernels: list[_Kernel]) -> Iterator[Reading]:
    seen: dict[str, int] = {}
    for kernel in kernels:
        short = kernel.name[:200]
        seen[short] = seen.get(short, 0) + 1
        entity = Entity("kernel", short if seen[short] == 1 else f"{short} #{seen[short]}", JOB)
        for reading in kernel.readings.values():
            yield Reading(reading.fact, reading.value, reading.line, reading.text, entity)


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text[:20000]]), [])
    except csv.Error:
        return []


def _csv_header(text: str) -> list[str] | None:
    if "Kernel Name" not in text or "," not in text:
        return None
    cells = [cell.strip() for cell in _cells(text)]
    wide = any(cell.lower() in _METRICS for cell in cells)
    return cells if "Kernel Name" in cells and (set(cells) >= _HEADER_NAMES or wide) else None


def _take_csv(line: Line, columns: list[str], report: _Report) -> bool:
    cells = _cells(line.text)
    if len(cells) < columns.index("Kernel Name") + 2 or len(cells) < 3:
        return False
    record = dict(zip(columns, cells, strict=False))
    report.claimed.add(line.number)
    if "Metric Name" not in record:
        return _take_wide(line, record, report)
    kernel = report.of(record.get("ID", record["Kernel Name"]), record["Kernel Name"].strip())
    if record.get("Rule Type"):
        _take_rule(line, record["Rule Type"], record.get("Rule Description", ""), kernel)
    _take_metric(line, record["Metric Name"], record.get("Metric Unit", ""), record.get("Metric Value", ""), kernel)
    return True


def _take_wide(line: Line, record: dict[str, str], report: _Report) -> bool:
    """A row of the raw page: one column for each metric; the row below the header holds the units."""
    name = record.get("Kernel Name", "").strip()
    if not name:
        report.by_key["units"] = _Kernel("units")
        for metric, unit in record.items():
            report.by_key["units"].readings[metric] = Reading("unit", unit)
        return True
    units = report.by_key.get("units", _Kernel("")).readings
    kernel = report.of(f"{record.get('ID', '')}:{line.number}", name)
    for metric, value in record.items():
        printed = units.get(metric)
        _take_metric(line, metric, "" if printed is None else str(printed.value), value, kernel)
    return True


def _take_text(line: Line, report: _Report) -> None:
    text = line.text
    kernel = _KERNEL.match(text)
    section = _SECTION.match(text)
    if kernel is not None:
        report.of(f"line {line.number}", kernel["name"].strip())
        report.in_section = True
    elif section is not None:
        report.in_section = True
    elif not _take_line(line, report):
        return
    report.claimed.add(line.number)


def _take_line(line: Line, report: _Report) -> bool:
    text = line.text
    rule = _RULE.match(text)
    if rule is not None and (report.in_section or _LATENCY.search(text)):
        _take_rule(line, rule["type"], rule["text"], report.current)
        return True
    listed = _LISTED.match(text)
    if listed is not None:
        return _take_metric(line, listed["name"], listed["unit"] or "", listed["value"], report.current)
    metric = _METRIC_LINE.match(text) if report.in_section or "__" in text or "Throughput" in text else None
    if metric is not None:
        return _take_metric(line, metric["name"], metric["unit"] or "", metric["value"], report.current)
    stripped = text.strip()
    return report.in_section and (
        stripped.startswith("Metric Name") or (len(stripped) > 8 and not stripped.strip("- "))
    )


def _take_metric(line: Line, name: str, unit: str, value: str, kernel: _Kernel) -> bool:
    key, plain_unit = name.strip().lower(), unit.strip().strip("[]").lower()
    number = parse_number(value)
    factor = _UNITS.get(plain_unit)
    fact = _METRICS.get(key)
    if "byte/s" in plain_unit:
        fact = _RATE.get(key)
    if fact is None or number is None or factor is None or (fact.endswith("_share") and plain_unit not in ("%", "")):
        return False
    if fact.endswith("_share"):
        factor = 0.01
    scaled = number * factor
    whole = int(scaled) if fact in _WHOLE else scaled
    kernel.readings.setdefault(fact, Reading(fact, whole, line.number, line.text.strip()[-200:]))
    return True


def _take_rule(line: Line, kind: str, description: str, kernel: _Kernel) -> None:
    if kind in ("OPT", "WRN") and _LATENCY.search(description):
        reading = Reading("kernel.latency_bound_rule", True, line.number, description.strip()[:200])
        kernel.readings.setdefault("kernel.latency_bound_rule", reading)


FORMAT = TextFormat(
    "nsight-compute",
    "Nsight Compute report",
    (
        "gpu speed of light",
        "metric value",
        "__throughput.avg",
        "compute (sm) throughput",
        "sol sm",
        "gpu__time_duration",
        "achieved occupancy",
        "dram throughput",
    ),
    scan,
)
