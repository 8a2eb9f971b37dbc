"""What rows of labelled numbers say whose names are machines, ranks, GPUs or places of the data, compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from gpuwhy.kb.facts import JOB, Entity, Value, gpu
from gpuwhy.probes.artefacts.contract import Reading
from gpuwhy.probes.artefacts.labelled_lines import Kind, Labelled

FEWEST = 3
"""Peers from which on one of them can differ from the others."""

_INDEX_LABELS = {"gpu", "gpu id", "gpu index", "device", "card", "rank", "local rank", "local_rank"}
_COUNTED = re.compile(
    r"(?i)^(gpu|card|device|cuda|rank|local[ _]rank|node|host|machine|server|pod)[ :#]{0,2}([0-9]{1,4})$"
)
_NAMED = re.compile(
    r"(?i)^(?:[a-z0-9]{1,20}[-_.]){0,3}(?:gpu|dgx|hgx|rank|node|host|machine|server|pod|worker|ecs)"
    r"(?:[-_.]?[0-9]{1,6}|[-_.][a-z][0-9]{1,6}){1,3}$|^ip(?:-[0-9]{1,3}){4}$|^i-[0-9a-f]{8,17}$"
)
_HEAD = re.compile(
    r"(?i)^((?:gpu|card|device|cuda|rank|local[ _]rank|node|host|machine|server|pod)[ :#]{1,2}[0-9]{1,4}|\S+)"
)
_WORD = re.compile(r"[a-z0-9]+")
_WORK = {"step", "iter", "iteration", "it", "batch", "epoch", "compute", "forward", "backward", "data", "dataloader"}
_SETTINGS = {"size", "bs", "workers", "gpus", "nodes", "ranks", "seq", "seqlen", "length"}
_EXCHANGE = {"comm", "communication", "nccl", "allreduce", "reduce", "barrier", "sync", "collective", "startup", "cpu"}
_RATES = {"samples", "sample", "images", "image", "img", "imgs", "tokens", "token", "tok", "it", "iter", "throughput"}
_FLOPS = {"tflops", "gflops", "tflop", "gflop"}
_COPIES = {"busbw", "algbw", "bandwidth", "h2d", "d2h", "d2d", "copy", "copies", "pcie"}
_POWER = re.compile(r"(?<![0-9.])([0-9]{1,4}(?:\.[0-9]{1,2})?)\s?W?\s?/\s?([0-9]{1,4}(?:\.[0-9]{1,2})?)\s?W\b")
_EVENTS: Mapping[str, re.Pattern[str]] = {
    "gpu.event_software_power_cap": re.compile(r"(?i)\bsw[ _]power[ _]cap"),
    "gpu.event_hardware_thermal_slowdown": re.compile(r"(?i)\bhw[ _]therm"),
    "gpu.event_software_thermal_slowdown": re.compile(r"(?i)\bsw[ _]therm"),
    "gpu.event_hardware_power_brake": re.compile(r"(?i)\bhw[ _]power[ _]brake"),
}
_NETWORK = re.compile(
    r"(?i)(?<![a-z0-9])(?:NFS|NAS|OSS|OSSFS|S3|EFS|CPFS|ceph\w{0,4}|lustre|gluster\w{0,2}|SMB|HDFS|GCS|JuiceFS"
    r"|(?:network|shared) (?:disk|drive|storage|file system|folder))(?![a-z0-9])|对象存储|网络存储|共享存储|云盘"
)
_LOCAL = re.compile(
    r"(?i)(?<![a-z0-9])(?:NVMe|SSD|ESSD|local(?: disk| copy)?|/dev/shm|tmpfs|RAM ?disk|in memory)(?![a-z0-9])"
    r"|本地|内存盘"
)
_PER = re.compile(r"(?i)^s(?:ec(?:onds?)?)?\s?/\s?(?:it|iter|step|batch|epoch)$")


def peer_facts(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """The slowest of several peers and how far it is from the others; what GPUs show; what the data's place brings."""
    rows = _rows(entries)
    if len(rows) >= FEWEST:
        yield from _slowest(rows)
        yield from _shown(rows)
    yield from _places(entries)


def _fact(fact: str, value: Value, source: Labelled, entity: Entity = JOB) -> Reading:
    return Reading(fact, value, source.line.number, source.line.text.strip()[:200], entity)


def _rows(entries: Sequence[Labelled]) -> dict[str, list[Labelled]]:
    """The rows by their peer; none where one returns, numbers have gaps, or the rows differ in more than the peer."""
    lines: dict[int, list[Labelled]] = {}
    for entry in entries:
        lines.setdefault(entry.line.number, []).append(entry)
    named = [(name, rest, row) for row in lines.values() for name, rest in [_peer(row)] if name]
    rows = {name: row for name, _, row in named}
    numbers = sorted(int(found[2]) for name in rows if (found := _COUNTED.match(name)))
    if len(rows) < len(named) or len({(rest, _settings(row)) for _, rest, row in named}) > 1:
        return {}
    if numbers and (len(numbers) < len(rows) or numbers != list(range(numbers[0], numbers[0] + len(numbers)))):
        return {}
    return rows if not numbers or numbers[0] <= 1 else {}


def _settings(row: Sequence[Labelled]) -> tuple[tuple[str, float], ...]:
    return tuple((entry.label, entry.value) for entry in row if set(_WORD.findall(entry.label.lower())) & _SETTINGS)


def _peer(row: Sequence[Labelled]) -> tuple[str, str]:
    """The peer that a row is about, and what else the row is called."""
    for entry in row:
        if entry.label.lower() in _INDEX_LABELS and entry.kind in (Kind.VALUE, Kind.COUNT) and entry.value >= 0:
            return f"{entry.label.lower()} {int(entry.value)}", ""
    head = _HEAD.match(row[0].row)
    name = head[1] if head else ""
    if not (_COUNTED.match(name) or _NAMED.match(name)):
        return "", ""
    return name, row[0].row[len(name) :].strip()


def _cost(entry: Labelled) -> float | None:
    """What grows with the time that the work takes; None for a column that is about something else."""
    words = set(_WORD.findall(entry.label.lower().replace("_", " ")))
    if entry.value <= 0:
        return None
    per = _PER.match(entry.label) is not None
    if entry.kind is Kind.SECONDS or per:
        if words & _EXCHANGE:
            return None
        return entry.value if words & _WORK or per or "/" in entry.unit else None
    words |= set(_WORD.findall(entry.unit.lower()))
    rate = entry.kind is Kind.RATE or (entry.kind is Kind.VALUE and words & ({"throughput"} | _FLOPS))
    if (rate and words & (_RATES | _FLOPS)) or (entry.kind is Kind.BYTE_RATE and words & _COPIES):
        return 1.0 / entry.value
    return None


def _slowest(rows: Mapping[str, Sequence[Labelled]]) -> Iterator[Reading]:
    """Of the columns about the work the one in which one peer stands furthest from the others.

    What differs between times counts against the longest of them: a short part of a step does not hold a peer back.
    """
    columns: dict[str, list[tuple[float, str, Labelled]]] = {}
    for name, row in rows.items():
        for entry in row:
            cost = _cost(entry)
            if cost is not None:
                columns.setdefault(_measure(entry, name), []).append((cost, name, entry))
    full = [sorted(column, key=lambda one: one[0]) for column in columns.values() if len(column) == len(rows)]
    longest = max((median(_costs(column)) for column in full if column[0][2].kind is Kind.SECONDS), default=0.0)
    found = [_apart(column, longest if column[0][2].kind is Kind.SECONDS else 0.0) for column in full]
    if found:
        ratio, spread, name, source = max(found, key=lambda one: one[0] / one[1])
        yield _fact("bench.peer_count", len(rows), source)
        yield _fact("bench.peer_slowest", name, source)
        yield _fact("bench.peer_measure", _measure(source, name), source)
        yield _fact("bench.peer_slowest_ratio", ratio, source)
        yield _fact("bench.peer_others_ratio", spread, source)


def _measure(entry: Labelled, name: str) -> str:
    return entry.label.replace(name, "").strip() or entry.unit or entry.kind.value


def _costs(ordered: Sequence[tuple[float, str, Labelled]]) -> list[float]:
    """Of all peers but the slowest."""
    return [cost for cost, _, _ in ordered[:-1]]


def _apart(ordered: Sequence[tuple[float, str, Labelled]], longest: float) -> tuple[float, float, str, Labelled]:
    """How many times more the slowest needs than the median of the others, and the most than the least of those."""
    others, (cost, name, source) = _costs(ordered), ordered[-1]
    extra = max(longest - median(others), 0.0)
    return (cost + extra) / (median(others) + extra), (others[-1] + extra) / (others[0] + extra), name, source


def _shown(rows: Mapping[str, Sequence[Labelled]]) -> Iterator[Reading]:
    """Utilisation, clock, temperature, power and clock events of GPUs that the rows number."""
    for name, row in rows.items():
        found = _COUNTED.match(name)
        if found is None or found[1].lower() not in ("gpu", "card", "device", "cuda"):
            continue
        own = gpu(int(found[2]))
        for entry in row:
            fact = _gpu_fact(entry)
            if fact:
                yield _fact(fact, entry.value, entry, own)
        power = _POWER.search(row[0].line.text)
        if power and float(power[1]) > 0 and float(power[2]) > 0:
            yield _fact("gpu.power_watts", float(power[1]), row[0], own)
            yield _fact("gpu.power_limit_watts", float(power[2]), row[0], own)
        yield from (_fact(fact, True, row[0], own) for fact, said in _EVENTS.items() if said.search(row[0].line.text))


def _gpu_fact(entry: Labelled) -> str:
    words = set(_WORD.findall(entry.label.lower()))
    unit = entry.unit.lower().strip("°")
    if words & {"mem", "memory", "cpu", "max", "limit"}:
        return ""
    if entry.kind is Kind.SHARE and words & {"util", "utilization", "utilisation"} and entry.value <= 1:
        return "gpu.utilization_share"
    if words & {"clock", "clocks", "freq", "frequency"} and "mhz" in words | {unit}:
        return "gpu.sm_clock_megahertz"
    if words & {"temp", "temperature"} and (words | {unit}) & {"c", "celsius"}:
        return "gpu.temperature_celsius"
    return "gpu.power_watts" if "power" in words and "w" in words | {unit} else ""


def _places(entries: Sequence[Labelled]) -> Iterator[Reading]:
    """The same epochs or steps with the data on a network file system and on a local disk or in memory."""
    settings: dict[int, list[Labelled]] = {}
    found: dict[tuple[str, bool], tuple[float, tuple[tuple[str, float], ...]]] = {}
    for entry in entries:
        settings.setdefault(entry.line.number, []).append(entry)
    for entry in entries:
        cost, network = _cost(entry), _NETWORK.search(entry.name) is not None
        if cost is None or network == (_LOCAL.search(entry.name) is not None):
            continue
        measure = _LOCAL.sub("", _NETWORK.sub("", entry.label)).strip()
        if (measure, network) in found:
            return
        found[measure, network] = cost, _settings(settings[entry.line.number])
        other = found.get((measure, not network))
        if other is not None:
            if other[1] == found[measure, network][1]:
                slow, fast = (cost, other[0]) if network else (other[0], cost)
                yield _fact("bench.local_data_speedup", slow / fast, entry)
            return
