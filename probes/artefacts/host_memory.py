"""Host memory as `free`, `/proc/meminfo` and `vmstat` print it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.host_values import HeadedRow, binary_size, headed_row, host_reading, mean, percent
from gpuwhy.probes.artefacts.quantities import parse_size
from gpuwhy.probes.meminfo import FACTS_OF_MEMINFO

_FREE_HEAD = re.compile(r"^\s*total\s+used\s+free\s+shared\s")
_FREE_ROW = re.compile(r"^\s*(Mem|Swap|-/\+ buffers/cache|Total):\s+(.{1,200})$")
_FREE_CALL = re.compile(r"\bfree\b(?:\s+-{1,2}[a-z]+)*\s+-{1,2}([a-z]{1,12})")
_FREE_UNITS = {"b": 1.0, "bytes": 1.0, "k": 1024.0, "kibi": 1024.0, "m": 1024.0**2, "mebi": 1024.0**2, "g": 1024.0**3}
_FREE_UNITS |= {"gibi": 1024.0**3, "mega": 1e6, "giga": 1e9}
_MEMINFO = re.compile(r"^\s*([A-Z][A-Za-z_()0-9]{2,24}):\s+([0-9]{1,15}) kB\s*$")
_VMSTAT_HEAD = re.compile(r"^\s*r\s+b\s+swpd\s+free\s")


def scan_free(text: Text) -> Iterator[Extract]:
    """One extract per output of `free`."""
    for index, line in enumerate(text.lines):
        if not _FREE_HEAD.match(line.text):
            continue
        header = line.text.lower().split()
        rows = [(found, row) for row in text.lines[index + 1 : index + 5] if (found := _FREE_ROW.match(row.text))]
        unit = _free_unit(text.lines[max(0, index - 3) : index], rows)
        readings = [reading for found, row in rows for reading in _free_row(header, found, row, unit)]
        if readings:
            yield Extract("free", tuple(readings), claimed=frozenset({line.number, *(row.number for _, row in rows)}))


def _free_unit(before: Sequence[Line], rows: Sequence[tuple[re.Match[str], Line]]) -> float:
    """Bytes per printed unit: from the command above, else from the size of the machine (`free` does not print it)."""
    for line in before:
        call = _FREE_CALL.search(line.text)
        if call:
            return _FREE_UNITS.get(call[1], _FREE_UNITS.get(call[1][-1:], 1024.0))
    totals = [found[2].split()[:1] for found, _ in rows if found[1] == "Mem"]
    total = binary_size(totals[0][0]) if totals and totals[0] else None
    if total is None or total >= 8e9:
        return 1.0
    return 1024.0**3 if total < 2048 else 1024.0**2 if total < 4e6 else 1024.0


def _free_row(header: Sequence[str], found: re.Match[str], line: Line, unit: float) -> Iterator[Reading]:
    cells = dict(zip(header, (binary_size(cell, unit) for cell in found[2].split()), strict=False))
    if found[1] == "Mem":
        old = "buffers" in cells and "cached" in cells
        cache = mean([cells.get("buffers"), cells.get("cached")]) if old else cells.get("buff/cache")
        yield from host_reading("host.memory_total_bytes", cells.get("total"), line)
        if not old:  # the old layout counts the page cache as used; its second row does not
            yield from host_reading("host.memory_used_bytes", cells.get("used"), line)
        yield from host_reading("host.memory_free_bytes", cells.get("free"), line)
        yield from host_reading("host.memory_shared_bytes", cells.get("shared"), line)
        yield from host_reading("host.memory_available_bytes", cells.get("available"), line)
        yield from host_reading("host.memory_cache_bytes", cache if not old or cache is None else cache * 2, line)
    elif found[1] == "Swap":
        yield from host_reading("host.swap_total_bytes", cells.get("total"), line)
        yield from host_reading("host.swap_used_bytes", cells.get("used"), line)
    elif found[1].startswith("-/+"):
        used, available = [binary_size(cell, unit) for cell in [*found[2].split(), "", ""][:2]]
        yield from host_reading("host.memory_used_bytes", used, line)
        yield from host_reading("host.memory_available_bytes", available, line)


def scan_meminfo(text: Text) -> Iterator[Extract]:
    """The lines of `/proc/meminfo` in the text, as one extract; a single such line is not enough to tell."""
    found = [(match, line) for line in text.lines if (match := _MEMINFO.match(line.text))]
    if len(found) < 2 or not any(match[1] in FACTS_OF_MEMINFO for match, _ in found):
        return
    sizes = {match[1]: (parse_size(f"{match[2]} KiB"), line) for match, line in found}
    readings: list[Reading] = []
    for name, (size, line) in sizes.items():
        if name in FACTS_OF_MEMINFO:
            readings.extend(host_reading(FACTS_OF_MEMINFO[name], size, line))
    for fact, whole, parts in (
        ("host.swap_used_bytes", "SwapTotal", ("SwapFree",)),
        ("host.memory_used_bytes", "MemTotal", ("MemAvailable",)),
    ):
        if whole in sizes and all(part in sizes for part in parts):
            rest = (sizes[whole][0] or 0.0) - sum(sizes[part][0] or 0.0 for part in parts)
            readings.extend(host_reading(fact, max(0.0, rest), sizes[whole][1]))
    if "Cached" in sizes:
        cache = sum(sizes[name][0] or 0.0 for name in ("Cached", "Buffers") if name in sizes)
        readings.extend(host_reading("host.memory_cache_bytes", cache, sizes["Cached"][1]))
    yield Extract("meminfo", tuple(readings), claimed=frozenset(line.number for _, line in found))


def scan_vmstat(text: Text) -> Iterator[Extract]:
    """One extract for all samples of `vmstat`; the first, which is since boot, counts only where it is alone."""
    header: list[str] = []
    rows: list[HeadedRow] = []
    claimed: set[int] = set()
    for line in text.lines:
        if _VMSTAT_HEAD.match(line.text):
            header = line.text.lower().split()
            header = header[: header.index("timestamp")] if "timestamp" in header else header
            claimed.add(line.number)
        elif line.text.strip().startswith("procs -"):
            claimed.add(line.number)
        elif header and line.text.strip():
            parts = line.text.split()
            row = headed_row(header, Line(line.number, " ".join(parts[: len(header)])))
            if row is None or not all(part.isdigit() for part in parts[: len(header)]):
                header = []
                continue
            rows.append(row)
            claimed.add(line.number)
    if rows:
        yield Extract("vmstat", tuple(_vmstat_readings(rows[1:] or rows)), claimed=frozenset(claimed))


def _vmstat_readings(rows: Sequence[HeadedRow]) -> Iterator[Reading]:
    last = rows[-1].line

    def average(name: str) -> float | None:
        return mean([row.number(name) for row in rows])

    for fact, name in (("host.running_tasks", "r"), ("host.blocked_tasks", "b")):
        count = average(name)
        yield from host_reading(fact, None if count is None else round(count), last)
    for fact, name in (
        ("host.swap_used_bytes", "swpd"),
        ("host.memory_free_bytes", "free"),
        ("host.swap_in_bytes_per_second", "si"),
        ("host.swap_out_bytes_per_second", "so"),
        ("host.block_read_bytes_per_second", "bi"),
        ("host.block_write_bytes_per_second", "bo"),
    ):
        value = average(name)
        yield from host_reading(fact, None if value is None else value * 1024.0, last)
    cache = [average("buff"), average("cache")]
    if None not in cache:
        yield from host_reading("host.memory_cache_bytes", sum(part or 0.0 for part in cache) * 1024.0, last)
    yield from host_reading("host.interrupts_per_second", average("in"), last)
    yield from host_reading("host.context_switches_per_second", average("cs"), last)
    for fact, name in (
        ("host.cpu_user_share", "us"),
        ("host.cpu_system_share", "sy"),
        ("host.cpu_idle_share", "id"),
        ("host.cpu_iowait_share", "wa"),
        ("host.cpu_steal_share", "st"),
    ):
        value = average(name)
        yield from host_reading(fact, None if value is None else percent(repr(value)), last)


FORMATS = (
    TextFormat("free", "Memory of the host (free)", ("buff/cache", "buffers"), scan_free),
    TextFormat(
        "meminfo", "Memory of the host (/proc/meminfo)", ("memtotal:", "memavailable:", "memfree:"), scan_meminfo
    ),
    TextFormat("vmstat", "Activity of the host (vmstat)", ("swpd",), scan_vmstat),
)
