"""Matrices of paths between GPUs: `nvidia-smi topo -m` and `topo -p2p` of all versions, or pieces of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import HOST, JOB, Entity, Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

NAME = "nvidia-smi-topology"
LONGEST = 4000
MOST_TABLES = 8

_LABEL = r"(?:GPU|NIC|mlx[45]_|hfi1_|ib|bnxt_re|irdma)\d{1,3}"
_HEADER = later(rf"^\s*(?P<labels>GPU\d{{1,3}}(?:\s+{_LABEL})*)\s*(?:CPU Affinity[^\n]{{0,80}}|$)")
_PATHS = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""From the shortest to the longest: one bridge, several, the CPU's host bridge, within a socket, between sockets."""
_ALIASES = {"SOC": "SYS", "PSB": "PIX"}
_CELL = r"(?:X|NV\d{1,2}|NVB|PIX|PXB|PHB|PSB|NODE|SYS|SOC|DIS)"
_ROW = later(rf"^\s*(?P<label>{_LABEL})(?P<cells>(?:\s+{_CELL})+)(?=\s|$)(?P<rest>[^\n]{{0,400}})$")
_ACCESS_CELL = r"(?:X|OK|CNS|GNS|TNS|NS|DR|U)"
_ACCESS = later(rf"^\s*GPU(?P<index>\d{{1,3}})(?P<cells>(?:\s+{_ACCESS_CELL})+)\s*$")
_LEGEND = later(
    r"^\s*(?:Legend:|NIC Legend:|(?:X|OK|CNS|GNS|TNS|NS|DR|U|SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV#)\s{1,6}= |NIC\d{1,3}: \S)"
)


@dataclass
class _Table:
    """One matrix: the cells of each GPU's row, and what the last columns say."""

    columns: int | None = None
    rows: dict[int, tuple[list[str], Line]] = field(default_factory=dict)
    adapters: int = 0
    nodes: set[str] = field(default_factory=set)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all matrices in a text. Of several matrices each is told by itself only."""
    claimed: set[int] = set()
    tables: list[_Table] = []
    access: dict[tuple[int, int], tuple[bool, Line]] = {}
    header: tuple[int, int] | None = None
    for line in text.lines:
        cut = line.text[:LONGEST]
        if found := _HEADER.match(cut):
            labels = found["labels"].split()
            header = (sum(one.startswith("GPU") for one in labels), len(labels))
            if len(labels) > 1:
                claimed.add(line.number)
        elif row := _ROW.match(cut):
            _take(tables, row, header, line)
            claimed.add(line.number)
            header = None if header and tables and len(tables[-1].rows) > 1 else header
        elif allowed := _ACCESS.match(cut):
            _take_access(access, allowed, line)
            claimed.add(line.number)
        elif claimed and _LEGEND.match(cut):
            claimed.add(line.number)
    readings = [*_told(tables), *_access(access)]
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(claimed))


def _take(tables: list[_Table], row: re.Match[str], header: tuple[int, int] | None, line: Line) -> None:
    label, cells = row["label"], row["cells"].split()
    if not label.startswith("GPU"):
        if tables and tables[-1].columns is None:
            tables[-1].adapters += 1
        return
    index = int(label[3:])
    if not tables or index <= max(tables[-1].rows, default=-1):
        if len(tables) >= MOST_TABLES:
            return
        tables.append(_Table(header[0] if header else None))
        if header:
            tables[-1].adapters = header[1] - header[0]
    table = tables[-1]
    table.rows[index] = (cells, line)
    rest = row["rest"].split()
    if len(rest) >= 2 and re.fullmatch(r"[0-9,-]{1,20}", rest[1]):
        table.nodes.add(rest[1])


def _take_access(access: dict[tuple[int, int], tuple[bool, Line]], row: re.Match[str], line: Line) -> None:
    own = int(row["index"])
    for other, cell in enumerate(row["cells"].split()):
        if cell != "X" and other != own:
            pair = (min(own, other), max(own, other))
            known = access.get(pair)
            access[pair] = (cell == "OK" and (known is None or known[0]), line)


def _access(access: dict[tuple[int, int], tuple[bool, Line]]) -> Iterator[Reading]:
    if access:
        line = next(iter(access.values()))[1]
        can = sum(allowed for allowed, _ in access.values())
        for fact, value in (("topology.peer_pair_count", can), ("topology.no_peer_pair_count", len(access) - can)):
            yield Reading(fact, value, line.number, line.text.strip()[:200], HOST)


def _told(tables: Sequence[_Table]) -> Iterator[Reading]:
    for number, table in enumerate(tables, 1):
        facts = list(_facts(table))
        line = next(iter(table.rows.values()))[1]
        if len(tables) == 1:
            for fact, value in facts:
                yield Reading(fact, value, line.number, line.text.strip()[:200], HOST)
            continue
        for fact, value in facts:
            if not isinstance(value, str):
                words = fact.rpartition(".")[2].replace("_", " ")
                name = f"{'GPUs' if fact == 'gpu.count' else words} of matrix {number}"
                entity = Entity("measurement", name, JOB)
                yield Reading("reading.count", value, line.number, line.text.strip()[:200], entity)


def _facts(table: _Table) -> Iterator[tuple[str, Value]]:
    """What a matrix says of all pairs of its GPUs."""
    cells = max((len(found) for found, _ in table.rows.values()), default=0)
    columns = table.columns if table.columns is not None else cells - table.adapters
    pairs: dict[tuple[int, int], str] = {}
    for index, (found, _) in table.rows.items():
        for other, cell in enumerate(found[:columns]):
            if other != index and cell != "X":
                pairs[min(index, other), max(index, other)] = _ALIASES.get(cell, cell)
    yield "gpu.count", columns
    links = [int(cell[2:]) for cell in pairs.values() if cell[:2] == "NV" and cell[2:].isdigit()]
    yield "topology.pair_count", len(pairs)
    yield "topology.nvlink_pair_count", len(links)
    if links:
        yield "topology.nvlinks_per_pair", min(links)
    across = sum(cell == "SYS" for cell in pairs.values())
    yield "topology.cross_socket_pair_count", across
    others = [_PATHS.index(cell) for cell in pairs.values() if cell in _PATHS]
    if pairs:
        yield "topology.worst_path", _PATHS[max(others)] if others else "NVLINK"
    if table.nodes:
        yield "topology.numa_node_count", len(table.nodes)
    if table.adapters:
        yield "topology.adapter_count", table.adapters


FORMAT = TextFormat(
    NAME,
    "nvidia-smi topo (paths between GPUs)",
    ("gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7", "cpu affinity"),
    scan,
)
