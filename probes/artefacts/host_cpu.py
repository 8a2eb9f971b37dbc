"""CPU use, load and processes as `top`, `uptime`, `mpstat`, `ps` and `lscpu` print them, in any locale."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import HOST, Entity
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.host_values import (
    HeadedRow,
    binary_size,
    headed_row,
    host_number,
    host_reading,
    mean,
    percent,
)
from gpuwhy.probes.artefacts.quantities import whole_number

MOST_PROCESSES = 20
"""Processes kept of a listing, by CPU use and again by memory."""

_LOAD = re.compile(r"load averages?:\s*([0-9]+[.,][0-9]{2}),?\s+([0-9]+[.,][0-9]{2}),?\s+([0-9]+[.,][0-9]{2})")
_TOP_CPU = re.compile(r"^\s*%?Cpu\(s\)\s*:")
_TOP_SHARE = re.compile(r"([0-9]{1,3}(?:[.,][0-9]{1,2})?)\s?%?\s?(us|sy|ni|id|wa|hi|si|st)\b")
_TOP_TASKS = re.compile(r"^\s*(Tasks|Threads):\s*([0-9]+) total,\s*([0-9]+) running,\s*([0-9]+) sleep\w*,?\s*(.{0,60})")
_TOP_MEMORY = re.compile(r"^\s*(?:([KMG])iB )?(Mem|Swap)\s?:\s*(.{1,160})$")
_TOP_AMOUNT = re.compile(
    r"([0-9]+(?:[.,][0-9]+)?)([kKmMgG]?)\s?\+?\s?(total|free|used\.?|buff/cache|buffers|cached|avail Mem)"
)
_PROCESS_HEAD = re.compile(r"^\s*(?:USER\s+|[A-Z]+\s+){0,4}PID\s.*\b(?:COMMAND|CMD)\s*$|^\s*PID\s+USER\s.*COMMAND\s*$")
_MPSTAT_HEAD = re.compile(r"^(?:Average:|[0-9:]{8}(?: [AP]M)?)?\s+CPU\s+%us")
_MPSTAT_ROW = re.compile(r"^(Average:|[0-9:]{8}(?: [AP]M)?)?\s+(all|[0-9]{1,4})\s+(.{1,200})$")
_LSCPU = re.compile(r"^\s*(?:>\s?)?([A-Z][A-Za-z()0-9 /-]{2,32}):\s+(\S.{0,160})$")
_SHARES = {
    "us": "host.cpu_user_share",
    "sy": "host.cpu_system_share",
    "id": "host.cpu_idle_share",
    "wa": "host.cpu_iowait_share",
    "st": "host.cpu_steal_share",
}
_MPSTAT_FACTS = {
    ("%usr", "%user"): "host.cpu_user_share",
    ("%sys", "%system"): "host.cpu_system_share",
    ("%iowait",): "host.cpu_iowait_share",
    ("%steal",): "host.cpu_steal_share",
    ("%idle",): "host.cpu_idle_share",
}
_TOP_UNITS = {"K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}
_TOP_MEMORY_FACTS = {
    ("Mem", "total"): "host.memory_total_bytes",
    ("Mem", "free"): "host.memory_free_bytes",
    ("Mem", "used"): "host.memory_used_bytes",
    ("Mem", "buff/cache"): "host.memory_cache_bytes",
    ("Swap", "total"): "host.swap_total_bytes",
    ("Swap", "used"): "host.swap_used_bytes",
    ("Swap", "avail Mem"): "host.memory_available_bytes",
}
_LSCPU_COUNTS = {
    "CPU(s)": "host.cpu_count",
    "Socket(s)": "host.socket_count",
    "Core(s) per socket": "host.cores_per_socket",
    "Thread(s) per core": "host.threads_per_core",
    "NUMA node(s)": "host.numa_node_count",
}


@dataclass
class _Block:
    """One screen of top, or one listing of processes."""

    readings: list[Reading] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)
    header: list[str] = field(default_factory=list)
    processes: list[HeadedRow] = field(default_factory=list)


def scan_top(text: Text) -> Iterator[Extract]:
    """One extract per screen of `top` or listing of `ps`.

    The first of several screens has CPU use since boot, which is no reading of now.
    """
    blocks: list[_Block] = []
    block = _Block()
    for line in text.lines:
        if line.text.lstrip().startswith("top - ") and block.readings:
            blocks.append(block)
            block = _Block()
        if _summary_line(block, line):
            block.claimed.add(line.number)
        elif _PROCESS_HEAD.match(line.text):
            block.header = [cell.lower() for cell in line.text.split()]
            block.claimed.add(line.number)
        elif block.header and not _process_line(block, line):
            block.header = []
    blocks.append(block)
    for one in blocks:
        one.readings.extend(reading for row in _heaviest(one.processes) for reading in _process(row))
    screens = [one for one in blocks if one.readings]
    for index, one in enumerate(screens):
        first_of_several = index == 0 and len(screens) > 1 and any("cpu_" in reading.fact for reading in one.readings)
        readings = [reading for reading in one.readings if not (first_of_several and "cpu_" in reading.fact)]
        yield Extract("top", tuple(readings), claimed=frozenset(one.claimed))


def _summary_line(block: _Block, line: Line) -> bool:
    for read in (_load, _tasks, _cpu_shares, _memory):
        found = list(read(line))
        if found:
            block.readings.extend(found)
            return True
    return False


def _load(line: Line) -> Iterator[Reading]:
    found = _LOAD.search(line.text)
    if found:
        for group, fact in enumerate(("host.load_1_minute", "host.load_5_minutes", "host.load_15_minutes"), 1):
            yield from host_reading(fact, host_number(found[group]), line)


def _tasks(line: Line) -> Iterator[Reading]:
    found = _TOP_TASKS.match(line.text)
    if found:
        yield from host_reading("host.task_count", whole_number(found[2]), line)
        yield from host_reading("host.running_tasks", whole_number(found[3]), line)
        zombies = re.search(r"([0-9]{1,7}) zombie", found[5])
        yield from host_reading("host.zombie_tasks", int(zombies[1]) if zombies else None, line)


def _cpu_shares(line: Line) -> Iterator[Reading]:
    if _TOP_CPU.match(line.text):
        for value, name in _TOP_SHARE.findall(line.text):
            if name in _SHARES:
                yield from host_reading(_SHARES[name], percent(value), line)


def _memory(line: Line) -> Iterator[Reading]:
    found = _TOP_MEMORY.match(line.text)
    if not found:
        return
    unit = _TOP_UNITS.get(found[1] or "K", 1024.0)
    for amount, suffix, name in _TOP_AMOUNT.findall(found[3]):
        fact = _TOP_MEMORY_FACTS.get((found[2], name.rstrip(".")))
        value = host_number(amount)
        if fact is not None and value is not None:
            scale = _TOP_UNITS[suffix.upper()] if suffix else unit
            yield from host_reading(fact, value * scale, line)


def _process_line(block: _Block, line: Line) -> bool:
    """Add one process of a listing; False where the listing has ended."""
    row = headed_row(block.header, line, open_ended=True)
    pid = None if row is None else row.cells.get("pid", "")
    if row is None or pid is None or whole_number(pid) is None:
        return False
    block.claimed.add(line.number)
    block.processes.append(row)
    return True


def _heaviest(rows: Sequence[HeadedRow]) -> list[HeadedRow]:
    """The processes that use most CPU and most memory, in the order of the listing."""
    if len(rows) <= MOST_PROCESSES:
        return list(rows)
    by_cpu = sorted(rows, key=lambda row: row.share("%cpu") or 0.0, reverse=True)[:MOST_PROCESSES]
    by_memory = sorted(rows, key=lambda row: _resident(row) or 0.0, reverse=True)[:MOST_PROCESSES]
    kept = {row.line.number for row in (*by_cpu, *by_memory)}
    return [row for row in rows if row.line.number in kept]


def _resident(row: HeadedRow) -> float | None:
    return binary_size(row.cells.get("res", row.cells.get("rss", "")), 1024.0)


def _process(row: HeadedRow) -> Iterator[Reading]:
    pid = row.cells["pid"]
    entity = Entity("process", pid, HOST)
    command = row.cells.get("command", row.cells.get("cmd", ""))
    yield from host_reading("process.name", command.strip()[:200] or None, row.line, entity)
    yield from host_reading("process.pid", whole_number(pid), row.line, entity)
    yield from host_reading("process.cpu_share", row.share("%cpu"), row.line, entity)
    yield from host_reading("process.memory_share", row.share("%mem"), row.line, entity)
    yield from host_reading("process.resident_bytes", _resident(row), row.line, entity)
    state = row.cells.get("s", row.cells.get("stat", ""))
    yield from host_reading("process.state", state[:1] or None, row.line, entity)


def scan_mpstat(text: Text) -> Iterator[Extract]:
    """One extract for `mpstat` or `sar -u`: their averages, or the mean of the samples where none is printed."""
    header: list[str] = []
    samples: dict[str, list[tuple[Line, HeadedRow]]] = {}
    averages: dict[str, list[tuple[Line, HeadedRow]]] = {}
    claimed: set[int] = set()
    for line in text.lines:
        if _MPSTAT_HEAD.match(line.text):
            header = line.text[line.text.index("CPU") + 3 :].lower().split()
            claimed.add(line.number)
            continue
        found = _MPSTAT_ROW.match(line.text) if header else None
        row = headed_row(header, Line(line.number, found[3])) if found else None
        if found and row is not None:
            where = averages if found[1] == "Average:" else samples
            where.setdefault(found[2], []).append((line, row))
            claimed.add(line.number)
        elif line.text.strip():
            header = []
    rows = averages or samples
    readings = list(_mpstat_readings(rows))
    if readings:
        yield Extract("mpstat", tuple(readings), claimed=frozenset(claimed))


def _mpstat_readings(rows: dict[str, list[tuple[Line, HeadedRow]]]) -> Iterator[Reading]:
    for names, fact in _MPSTAT_FACTS.items() if "all" in rows else ():
        yield from host_reading(fact, mean([row.share(*names) for _, row in rows["all"]]), rows["all"][-1][0])
    single: list[tuple[float, Line]] = []
    for cpu, samples in rows.items():
        idle = mean([row.share("%idle") for _, row in samples])
        if cpu != "all" and idle is not None:
            single.append((1.0 - idle, samples[-1][0]))
    if len(single) >= 2:
        share, line = max(single, key=lambda one: one[0])
        yield from host_reading("host.cpu_busiest_share", share, line)
        yield from host_reading("host.cpu_count", len(single), line)


def scan_lscpu(text: Text) -> Iterator[Extract]:
    """One extract for the output of `lscpu`, recognised by its count of CPUs with the topology beside it."""
    found = [(match[1], match[2], line) for line in text.lines if (match := _LSCPU.match(line.text))]
    names = {name for name, _, _ in found}
    if "CPU(s)" not in names or not names & {"Socket(s)", "Thread(s) per core", "Model name", "Architecture"}:
        return
    readings: list[Reading] = []
    claimed: set[int] = set()
    for name, value, line in found:
        count = whole_number(value.split()[0])
        if name in _LSCPU_COUNTS and count is not None:
            readings.extend(host_reading(_LSCPU_COUNTS[name], count, line))
        elif name == "Model name":
            readings.extend(host_reading("host.cpu_model", value.strip(), line))
        elif name not in ("CPU MHz", "CPU max MHz", "Architecture", "On-line CPU(s) list", "Vendor ID"):
            continue
        claimed.add(line.number)
    yield Extract("lscpu", tuple(readings), claimed=frozenset(claimed))


FORMATS = (
    TextFormat("top", "Processes and load (top, ps, uptime)", ("load average", "cpu(s)", "command", " cmd"), scan_top),
    TextFormat("mpstat", "CPU use (mpstat, sar)", ("%iowait",), scan_mpstat),
    TextFormat("lscpu", "CPUs (lscpu)", ("cpu(s):",), scan_lscpu),
)
