"""Output of the NCCL tests (all_reduce_perf and its kin): bandwidth over message size, whole or in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import JOB, Entity, Value, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

NAME = "nccl-tests"
LONGEST = 600
MOST_ROWS = 5_000
GIGABYTE = 1e9
"""The tests print decimal gigabytes per second."""

_TYPE = r"(?:u?int(?:8|32|64)|half|float|double|bfloat16|f8e4m3|f8e5m2|fp8\w{0,6}|char)"
_NUM = r"[0-9]{1,12}(?:\.[0-9]{1,6})?"
_ERROR = r"(?:[0-9.]{1,8}(?:e[-+]?[0-9]{1,3})?|N/A)"
_ROW = later(
    rf"(?:^|\s)(?P<size>[0-9]{{1,14}})\s+(?P<count>[0-9]{{1,14}})\s+{_TYPE}\s+"
    r"(?:(?P<op>sum|prod|max|min|avg|mulsum|none|all)\s+)?(?:(?P<root>-?[0-9]{1,4})\s+(?=\S+\s+\S+\s+\S+))?"
    rf"(?P<time>{_NUM})\s+(?P<alg>{_NUM})\s+(?P<bus>{_NUM})(?:\s+(?P<wrong>{_ERROR}))?"
    rf"(?:\s+(?P<time2>{_NUM})\s+(?P<alg2>{_NUM})\s+(?P<bus2>{_NUM})(?:\s+(?P<wrong2>{_ERROR}))?)?\s*$"
)
_AVERAGE = later(r"Avg bus bandwidth\s{0,8}: (?P<average>[0-9]{1,8}(?:\.[0-9]{1,8})?)")
_BOUNDS = later(r"Out of bounds values\s{0,8}: (?P<wrong>[0-9]{1,12}) (?:OK|FAILED)")
_RANK = later(
    r"#\s{1,4}Rank\s{1,4}(?P<rank>[0-9]{1,6})(?:\s{1,4}Group\s{1,4}[0-9]{1,5})?\s{1,4}Pid\s{1,8}[0-9]{1,9} on\s{1,8}"
    r"(?P<host>\S{1,80})\s{1,4}device\s{1,4}(?P<device>[0-9]{1,3}) \[[^\]]{1,20}\]\s(?P<name>[^\n]{2,60})"
)
_COMMAND = later(
    r"\b(?P<name>all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|sendrecv|gather|scatter)_perf\b"
)
_HEADING = later(
    r"^#(?:\s{1,80}(?:out-of-place|in-place|size|count|\(B\)|type)|\s{0,4}(?:nThread|nccl-tests|Using dev|$))"
)
_REDUCES = ("sum", "prod", "max", "min", "avg", "mulsum")


@dataclass(frozen=True)
class _Row:
    size: int
    reduces: bool
    out_of_place: tuple[float, float]
    in_place: tuple[float, float] | None
    line: Line
    wrong: int | None = None
    """Wrong values in both ways; None where the column holds an error (`0e+00`) or none was checked (`N/A`)."""

    @property
    def best(self) -> tuple[float, float]:
        """Algorithm and bus bandwidth of the faster of the two ways."""
        return max(self.out_of_place, self.in_place or (0.0, 0.0), key=lambda one: one[1])


@dataclass
class _Run:
    rows: list[_Row] = field(default_factory=list)
    average: tuple[float, Line] | None = None
    wrong: tuple[int, Line] | None = None


@dataclass
class _Output:
    runs: list[_Run] = field(default_factory=list)
    devices: dict[tuple[str, str], tuple[str, Line]] = field(default_factory=dict)
    ranks: dict[int, Line] = field(default_factory=dict)
    operation: tuple[str, Line] | None = None
    claimed: set[int] = field(default_factory=set)
    open: bool = False
    count: int = 0
    listed: bool = False
    """The list of ranks came to its end: something else follows it."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all runs in a text. Of several runs each is told by itself only."""
    output = _Output()
    for line in text.lines:
        _take(output, Line(line.number, line.text[:LONGEST]))
    runs = [run for run in output.runs if run.rows or run.average]
    readings = [*_devices(output)] if runs or output.listed else []
    if output.listed and not runs and (ranks := _listed_ranks(output)):
        first = next(iter(output.ranks.values()))
        readings.append(Reading("job.rank_count", ranks, first.number, _said(first), JOB))
    for number, run in enumerate(runs, 1):
        facts = list(_facts(run, output))
        if len(runs) == 1:
            readings.extend(Reading(fact, value, line.number, _said(line), JOB) for fact, value, line in facts)
        else:
            readings.extend(_measured(number, facts))
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(output.claimed))


def _said(line: Line) -> str:
    return line.text.strip()[:200]


def _take(output: _Output, line: Line) -> None:
    text = line.text
    output.listed = output.listed or bool(output.ranks and text.strip() and not _RANK.search(text))
    if row := _ROW.search(text) if output.count < MOST_ROWS else None:
        _take_row(output, row, line)
    elif average := _AVERAGE.search(text):
        if not output.runs or output.runs[-1].average:
            output.runs.append(_Run())
        output.runs[-1].average = (float(average["average"]), line)
        output.open = False
    elif bounds := _BOUNDS.search(text):
        if not output.runs or output.runs[-1].wrong or output.runs[-1].average:
            output.runs.append(_Run())
        output.runs[-1].wrong = (int(bounds["wrong"]), line)
    elif rank := _RANK.search(text):
        output.ranks[int(rank["rank"])] = line
        output.devices[rank["host"], rank["device"]] = (rank["name"].strip(), line)
        output.open = False
    elif command := _COMMAND.search(text):
        output.operation = (command["name"].replace("_", "-"), line)
        output.open = False
        return
    elif not (text.startswith("#") and (output.runs or output.ranks or _HEADING.match(text))):
        return
    output.claimed.add(line.number)


def _take_row(output: _Output, row: re.Match[str], line: Line) -> None:
    size = int(row["size"])
    last = output.runs[-1] if output.runs else None
    if last is None or not output.open or (last.rows and size < last.rows[-1].size):
        output.runs.append(_Run())
    output.open = True
    output.count += 1
    second = (float(row["alg2"]), float(row["bus2"])) if row["bus2"] else None
    reduces = row["op"] in _REDUCES
    printed = [row["wrong"], row["wrong2"]] if second else [row["wrong"]]
    wrong = sum(int(one) for one in printed) if all(one and one.isdecimal() for one in printed) else None
    output.runs[-1].rows.append(_Row(size, reduces, (float(row["alg"]), float(row["bus"])), second, line, wrong))


def _facts(run: _Run, output: _Output) -> Iterator[tuple[str, Value, Line]]:
    if run.rows:
        largest = max(run.rows, key=lambda one: one.size)
        fastest = max(run.rows, key=lambda one: one.best[1])
        yield "comm.message_max_bytes", largest.size, largest.line
        yield "comm.bus_bandwidth_bytes_per_second", largest.best[1] * GIGABYTE, largest.line
        yield "comm.bus_bandwidth_out_of_place_bytes_per_second", largest.out_of_place[1] * GIGABYTE, largest.line
        yield "comm.bus_bandwidth_max_bytes_per_second", fastest.best[1] * GIGABYTE, fastest.line
        yield "comm.algorithm_bandwidth_bytes_per_second", largest.out_of_place[0] * GIGABYTE, largest.line
    if run.average:
        yield "comm.bus_bandwidth_average_bytes_per_second", run.average[0] * GIGABYTE, run.average[1]
    if wrong := run.wrong or _wrong_in_rows(run):
        yield "comm.wrong_value_count", wrong[0], wrong[1]
    yield from _operation(run, output)


def _operation(run: _Run, output: _Output) -> Iterator[tuple[str, Value, Line]]:
    """The operation and the number of ranks: as listed, else from bus over algorithm bandwidth.

    All-reduce has 2(n-1)/n, all-gather, reduce-scatter and all-to-all (n-1)/n (NCCL tests, doc/PERFORMANCE.md).
    """
    name, ranks = output.operation, _listed_ranks(output)
    fastest = max(run.rows, key=lambda one: one.best[1], default=None)
    if fastest is not None and fastest.best[0] > 1.0:
        ratio = fastest.best[1] / fastest.best[0]
        if name is None and 1.02 < ratio < 2.0:
            name = ("all-reduce", fastest.line)
        if not ranks:
            ranks = _ranks(ratio, name[0] if name else "")
        if ranks:
            yield "job.rank_count", ranks, fastest.line
    elif ranks:
        yield "job.rank_count", ranks, next(iter(output.ranks.values()))
    if name is not None:
        yield "comm.bench_operation", name[0], name[1]


def _listed_ranks(output: _Output) -> int:
    """How many ranks the list at the start names; 0 where it has gaps."""
    return len(output.ranks) if len(output.ranks) == max(output.ranks, default=0) + 1 else 0


def _wrong_in_rows(run: _Run) -> tuple[int, Line] | None:
    """Values that differ from the expected ones, summed over the rows; None where a row does not count them."""
    counts = [row.wrong for row in run.rows]
    if not counts or None in counts:
        return None
    return sum(count for count in counts if count is not None), run.rows[-1].line


def _ranks(ratio: float, name: str) -> int:
    if name == "all-reduce" and 0.98 < ratio < 1.995:
        ranks = 2.0 / (2.0 - ratio)
    elif 0.45 < ratio < 0.995 and name in ("", "all-gather", "reduce-scatter", "alltoall"):
        ranks = 1.0 / (1.0 - ratio)
    else:
        return 0
    return round(ranks) if abs(ranks - round(ranks)) < 0.04 * ranks else 0


def _devices(output: _Output) -> Iterator[Reading]:
    hosts = {host for host, _ in output.devices}
    if not hosts:
        return
    line = next(iter(output.ranks.values()))
    yield Reading("comm.node_count", len(hosts), line.number, _said(line), JOB)
    for (_, device), (name, named) in output.devices.items() if len(hosts) == 1 else ():
        yield Reading("gpu.name", name, named.number, _said(named), gpu(int(device)))


def _measured(number: int, facts: Sequence[tuple[str, Value, Line]]) -> Iterator[Reading]:
    """The figures of one of several runs, as labelled readings."""
    for fact, value, line in facts:
        if isinstance(value, str) or fact == "job.rank_count":
            continue
        words = fact.rpartition(".")[2].removesuffix("_bytes_per_second").replace("_", " ")
        per_second = fact.endswith("_per_second")
        entity = Entity("measurement", f"{words} of run {number}{' (GB/s)' if per_second else ''}", JOB)
        shown = value / GIGABYTE if per_second else value
        kind = "reading.bytes" if fact.endswith("max_bytes") else "reading.value"
        yield Reading(kind, shown, line.number, _said(line), entity)


FORMAT = TextFormat(
    NAME,
    "NCCL tests (bandwidth of collectives)",
    (
        "avg bus bandwidth",
        "busbw",
        "float",
        "half",
        "double",
        "uint8",
        "int8",
        "bfloat16",
        "out of bounds values",
        "# using devices",
    ),
    scan,
)
