"""The samples bandwidthTest, p2pBandwidthLatencyTest and simpleP2P, and SuperBench's gpu_copy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.bandwidth_figures import Figures
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

NAME = "bandwidth-tests"
LONGEST = 2000

_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,6})?"
_DEVICE = later(
    r"^\s*Device:? (?P<index>[0-9]{1,3})[,:] (?P<name>(?:NVIDIA|Tesla|GeForce|Quadro|A\d|H\d|L\d|V\d|T\d|RTX|GRID"
    r"|TITAN|Graphics)"
    r"[^\n,]{0,50}?)\s*(?:,\s*pciBusID: ?(?P<bus>[0-9A-Fa-f]{1,4})[^\n]{0,60})?\s*$"
)
_LISTED = later(
    r"bandwidthTest-(?P<way>H2D|D2H|D2D)(?:-(?P<memory>Pinned|Paged|Pageable))?, Bandwidth = "
    rf"(?P<value>{_NUMBER}) (?P<unit>[KMG]i?B)/s, Time = [0-9.]{{1,12}} s, Size = (?P<size>[0-9]{{1,14}}) bytes"
)
_SECTION = later(r"^\s*(?P<way>Host to Device|Device to Host|Device to Device) Bandwidth, [0-9]{1,3} Device\(s\)")
_MEMORY = later(
    r"^\s*(?P<memory>PINNED|PAGEABLE) Memory Transfers|Memory Type: (?P<other>Pinned|Pageable)", re.IGNORECASE
)
_COLUMNS = later(r"Transfer Size \(Bytes\)\s{1,20}Bandwidth\s?\((?P<unit>[KMG]i?B)/s\)")
_ROW = later(rf"^\s*(?P<size>[0-9]{{1,14}})\s+(?P<value>{_NUMBER})\s*$")
_ACCESS = later(r"Device=(?P<from>[0-9]{1,3}) (?P<can>CAN|CANNOT) Access Peer Device=(?P<to>[0-9]{1,3})")
_PEER = later(
    r"Peer(?:-to-Peer \(P2P\))? access from [^\n]{0,60}?\(GPU(?P<from>[0-9]{1,3})\) -> "
    r"[^\n]{0,60}?\(GPU(?P<to>[0-9]{1,3})\) : (?P<can>Yes|No)",
    re.IGNORECASE,
)
_CALLED = later(
    r"(?:can_device_access_peer|cudaDeviceCanAccessPeer)\((?P<from>[0-9]{1,3}), ?(?P<to>[0-9]{1,3})\)\s{0,4}"
    r"(?:=|:|->|==|returns)\s{0,4}(?P<can>True|False|1|0)\b"
)
_MATRIX = later(
    r"^\s*(?P<way>Unidirectional|Bidirectional)?\s*P2P=(?P<peer>Enabled|Disabled)\s*(?P<what>Bandwidth|Latency)"
    r"[^\n]{0,40}Matrix \((?P<unit>GB/s|us)\)", re.IGNORECASE,
)  # fmt: skip
_CONNECTIVITY = later(r"P2P Connectivity Matrix", re.IGNORECASE)
_HEAD = later(r"^\s*(?:D\\D|GPU|CPU)(?:\s+[0-9]{1,3})+\s*$")
_CELLS = later(rf"^\s*(?P<row>[0-9]{{1,3}})(?P<cells>(?:\s+{_NUMBER})+)\s*$")
_COPY = later(
    r"^(?P<from>cpu|gpu(?P<source>[0-9]{1,3}))_to_(?P<to>cpu|gpu(?P<target>[0-9]{1,3}))(?:_(?:read|write))?_by_(?P<engine>dma|sm)"
    rf"(?:_under_numa[0-9]{{1,3}})?\s+(?P<value>{_NUMBER})\s*$"
)
_NOTES = later(
    r"^\s*(?:\[P2P \(Peer-to-Peer\)|\*\*\*NOTE: In case a device|So you can see lesser|\[CUDA Bandwidth Test\]"
    r"|Running on\.\.\."
    r"|(?:Quick|Range|Shmoo) Mode|Result = (?:PASS|FAIL)|NOTE: The CUDA Samples|\.{20,}\s*$)"
)
_WAYS = {"Host to Device": "H2D", "Device to Host": "D2H", "Device to Device": "D2D"}
_FACTS = {
    ("H2D", True): "gpu.host_to_device_bytes_per_second",
    ("D2H", True): "gpu.device_to_host_bytes_per_second",
    ("H2D", False): "gpu.host_to_device_pageable_bytes_per_second",
    ("D2H", False): "gpu.device_to_host_pageable_bytes_per_second",
}
_UNITS = {"GB": 1.0, "MB": 1e-3, "KB": 1e-6, "GiB": 1.073741824, "MiB": 1.048576e-3, "KiB": 1.024e-6}


@dataclass
class _State:
    figures: Figures = field(default_factory=Figures)
    names: dict[int, tuple[str, Line]] = field(default_factory=dict)
    device: int = 0
    way: str = ""
    pinned: bool = True
    unit: float = 0.0
    matrix: str = ""
    claimed: set[int] = field(default_factory=set)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all tests of this kind in a text."""
    state = _State()
    for line in text.lines:
        cut = Line(line.number, line.text[:LONGEST])
        if any(take(state, cut) for take in _TAKERS):
            state.claimed.add(line.number)
    readings = list(state.figures.readings())
    if readings:
        names = [
            Reading("gpu.name", name, line.number, line.text.strip()[:200], gpu(index))
            for index, (name, line) in state.names.items()
        ]
        yield Extract(NAME, (*names, *readings), claimed=frozenset(state.claimed))


def _take_device(state: _State, line: Line) -> bool:
    if found := _DEVICE.match(line.text):
        state.device = int(found["index"])
        state.names[state.device] = (found["name"].strip(), line)
    return bool(found) or bool(_NOTES.match(line.text))


def _take_listed(state: _State, line: Line) -> bool:
    if found := _LISTED.search(line.text):
        value = float(found["value"]) * _UNITS[found["unit"]]
        pinned = (found["memory"] or "Pinned") == "Pinned"
        _put(state, found["way"], pinned, value, line)
        memory = "pinned" if pinned else "pageable"
        state.figures.quote(f"{found['way']} {memory} {found['size']} bytes (GB/s)", value, line)
    return bool(found)


def _take_section(state: _State, line: Line) -> bool:
    if section := _SECTION.match(line.text):
        state.way, state.pinned, state.unit = _WAYS[section["way"]], True, 0.0
    elif memory := _MEMORY.search(line.text):
        state.pinned = (memory["memory"] or memory["other"]).lower() == "pinned"
        return bool(state.way)
    elif columns := _COLUMNS.search(line.text):
        state.unit = _UNITS.get(columns["unit"], 0.0)
        return bool(state.way)
    elif state.way and state.unit and (row := _ROW.match(line.text)):
        _put(state, state.way, state.pinned, float(row["value"]) * state.unit, line)
    else:
        return False
    return True


def _put(state: _State, way: str, pinned: bool, value: float, line: Line) -> None:
    if way == "D2D":
        state.figures.put("gpu.device_copy_bytes_per_second", state.device, value, line)
    else:
        state.figures.put(_FACTS[way, pinned], state.device, value, line)


def _take_access(state: _State, line: Line) -> bool:
    found = _ACCESS.search(line.text) or _PEER.search(line.text) or _CALLED.search(line.text)
    if found:
        able = found["can"].lower() in ("can", "yes", "true", "1")
        state.figures.access[int(found["from"]), int(found["to"])] = (able, line)
        state.figures.devices |= {int(found["from"]), int(found["to"])}
    return bool(found)


def _take_matrix(state: _State, line: Line) -> bool:
    text = line.text
    if found := _MATRIX.match(text):
        bandwidth = found["what"].lower() == "bandwidth" and found["unit"] == "GB/s"
        both = (found["way"] or "").lower() == "bidirectional"
        enabled = found["peer"].lower() == "enabled"
        kinds = {(True, False): "peer_copy", (False, False): "staged_copy", (True, True): "peer_both_ways"}
        state.matrix = kinds.get((enabled, both), "other") if bandwidth else "latency" if enabled else "other"
    elif _CONNECTIVITY.search(text):
        state.matrix = "access"
    elif state.matrix and (row := _CELLS.match(text)):
        _take_row(state, int(row["row"]), [float(cell) for cell in row["cells"].split()], line)
    elif not (state.matrix and _HEAD.match(text)):
        return False
    return True


def _take_row(state: _State, row: int, cells: list[float], line: Line) -> None:
    for column, value in enumerate(cells):
        if state.matrix == "access":
            if row != column:
                state.figures.access[row, column] = (value == 1, line)
        elif state.matrix == "latency":
            continue
        elif row == column and state.matrix == "staged_copy":
            state.figures.put("gpu.device_copy_bytes_per_second", row, value, line)
        elif state.matrix != "other":
            state.figures.pair(state.matrix, row, column, value, line)


def _take_copy(state: _State, line: Line) -> bool:
    found = _COPY.match(line.text.strip())
    if not found:
        return False
    value, dma = float(found["value"]), found["engine"] == "dma"
    source, target = found["source"], found["target"]
    if source and target:
        if source == target:
            state.figures.put("gpu.device_copy_bytes_per_second", int(source), value, line)
        elif dma:
            state.figures.pair("peer_copy", int(source), int(target), value, line)
    elif source or target:
        way = "host_to_device" if target else "device_to_host"
        fact = f"gpu.{way}_bytes_per_second" if dma else f"gpu.{way}_kernel_bytes_per_second"
        state.figures.put(fact, int(source or target or 0), value, line)
    return True


_TAKERS = (_take_listed, _take_access, _take_matrix, _take_section, _take_copy, _take_device)

FORMAT = TextFormat(
    NAME,
    "Bandwidth tests of the CUDA samples",
    (
        "bandwidthtest",
        "device bandwidth",
        "host bandwidth",
        "access peer device",
        "p2p=",
        "p2p connectivity",
        "peer access from",
        "peer-to-peer (p2p) access",
        "can_device_access_peer",
        "candeviceaccesspeer",
        "_by_dma",
        "_by_sm",
    ),
    scan,
)
