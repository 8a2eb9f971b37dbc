"""Output of nvbandwidth, as text and as JSON: copies between host and GPUs, and between GPUs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from gpuwhy.kb.facts import HOST, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.bandwidth_figures import Figures
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Line, Reading, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.packed import unpacked

NAME = "nvbandwidth"
LONGEST = 2000
MOST_BYTES = 16 << 20

_TEST = later(
    r"\b(?P<name>(?:multinode_)?(?:host|device|all|one)_to_(?:host|device|all|one)(?:_\w{1,60})?_(?:ce|sm)|device_local_copy)\b"
)
_HEADING = later(r"^\s*(?:memcpy|memory latency|latency)\b[^\n]{0,120}\((?:GB/s|ns|us)\)\s*$")
_INDICES = later(r"^\s*[0-9]{1,3}(?:\s+[0-9]{1,3})*\s*$")
_VALUE = r"(?:[0-9]{1,8}\.[0-9]{1,9}|N/A)"
_ROW = later(rf"^\s*(?P<index>[0-9]{{1,3}})(?P<values>(?:\s+{_VALUE})+)\s*$")
_INLINE = later(rf"^\W{{0,6}}(?P<name>\w{{6,80}})[\s:|=]{{1,20}}(?P<values>{_VALUE}(?:[\s,|]{{1,8}}{_VALUE})*)\s*$")
_SUM = later(r"^\s*(?:SUM|COEFFICIENT_OF_VARIATION)\s+\w{6,80}\s+[0-9.]{1,20}\s*$")
_DEVICE = later(
    r"^\s*Device (?P<index>[0-9]{1,3}): (?P<name>[A-Z][^\n(]{2,60}?)\s*(?:\((?P<bus>[0-9A-Fa-f:.]{7,16})\))?\s*$"
)
_VERSION = later(
    r"nvbandwidth Version: v[0-9.]{1,12}|Built from Git version|CUDA (?:Runtime|Driver) Version: [0-9]{4,6}"
)
_DRIVER = later(r"^\s*Driver Version: (?P<version>[0-9.]{5,16})\s*$")
_HOST_FACTS = {
    "host_to_device_memcpy_ce": "gpu.host_to_device_bytes_per_second",
    "device_to_host_memcpy_ce": "gpu.device_to_host_bytes_per_second",
    "host_to_device_memcpy_sm": "gpu.host_to_device_kernel_bytes_per_second",
    "device_to_host_memcpy_sm": "gpu.device_to_host_kernel_bytes_per_second",
}


def put_row(figures: Figures, test: str, row: int, values: Sequence[float | None], line: Line) -> None:
    """One row of the matrix of a test: GPUs are the columns; rows are CPUs, or GPUs in tests between GPUs."""
    fact = _HOST_FACTS.get(test)
    for column, value in enumerate(values):
        if value is None:
            continue
        if fact is not None:
            figures.put(fact, column, value, line)
        elif test.startswith(("device_to_device_memcpy", "multinode_device_to_device_memcpy")):
            figures.pair("peer_copy", row, column, value, line)
        else:
            figures.quote(f"{test} {row} {column}" if row else f"{test} {column}", value, line)


@dataclass
class _Reader:
    """Where in the output the reader is: in which test, and whether its matrix has begun."""

    figures: Figures = field(default_factory=Figures)
    names: list[Reading] = field(default_factory=list)
    test: str = ""
    inside: bool = False
    counted: bool = False
    version: bool = False

    def take(self, line: Line) -> bool:
        """Reads one line; True if it belongs to the output."""
        text = line.text[:LONGEST]
        return self._named(text, line) or self._matrix(text, line) or self._about(text, line)

    def _named(self, text: str, line: Line) -> bool:
        named = _TEST.search(text)
        if not named:
            return False
        inline = _INLINE.match(text)
        if inline and _TEST.fullmatch(inline["name"]):
            put_row(self.figures, inline["name"], 0, _values(re.sub(r"[,|]", " ", inline["values"])), line)
        elif text.lstrip().startswith(("Running", "INFO")) or text.strip().rstrip(".:") == named["name"]:
            self.test, self.inside, self.counted = named["name"], False, False
        elif _SUM.match(text):
            self.test, self.inside = "", False
        else:
            return False
        return True

    def _matrix(self, text: str, line: Line) -> bool:
        if _HEADING.match(text):
            self.test = self.test or _guess(text)
            self.inside, self.counted = bool(self.test), False
            return self.inside
        if not self.inside:
            return False
        if not self.counted and _INDICES.match(text):
            self.counted = True
            return True
        row = _ROW.match(text)
        if row:
            put_row(self.figures, self.test, int(row["index"]), _values(row["values"]), line)
        return bool(row)

    def _about(self, text: str, line: Line) -> bool:
        if _VERSION.search(text):
            self.version = True
            return True
        device = _DEVICE.match(text) if self.version else None
        if device:
            name = Reading("gpu.name", device["name"], line.number, text.strip()[:200], gpu(int(device["index"])))
            self.names.append(name)
        return bool(device) or (self.version and bool(_DRIVER.match(text)))


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all tests of nvbandwidth in a text."""
    reader = _Reader()
    claimed = frozenset(line.number for line in text.lines if reader.take(line))
    readings = [*reader.figures.readings()]
    if readings:
        yield Extract(NAME, (*reader.names, *readings), claimed=claimed)


def _guess(heading: str) -> str:
    """The test of a heading whose name is cut off."""
    way = "sm" if " SM " in heading else "ce"
    if "CPU(row) -> GPU" in heading:
        return f"host_to_device_memcpy_{way}"
    if "CPU(row) <- GPU" in heading:
        return f"device_to_host_memcpy_{way}"
    return f"device_to_device_memcpy_{way}" if "GPU(row)" in heading and "<->" not in heading else ""


def _values(printed: str) -> list[float | None]:
    return [None if part == "N/A" else float(part) for part in printed.split()]


def accepts(head: bytes, _name: str) -> bool:
    """True for the JSON that `nvbandwidth -j` prints, with results; a bare error is read as text."""
    begins = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    return begins and b'"nvbandwidth"' in head[:4096] and b'"testcases"' in head[:4096]


def read(source: Path | bytes, _name: str) -> Extract:
    """The figures of a JSON file of nvbandwidth."""
    try:
        raw, _ = unpacked(source, MOST_BYTES)
        told = json.loads(raw.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        return Extract(NAME, troubles=(Trouble(None, f"damaged JSON of nvbandwidth: {str(error)[:120]}"),))
    body = told.get("nvbandwidth") if isinstance(told, dict) else None
    body = body if isinstance(body, dict) else {}
    figures = Figures()
    cases = body.get("testcases")
    for case in cases if isinstance(cases, list) else ():
        _take_case(figures, case)
    driver = body.get("Driver Version")
    extra = (
        [Reading("host.driver_version", driver[:40], None, None, HOST)] if isinstance(driver, str) and driver else []
    )
    return Extract(NAME, tuple(chain(extra, figures.readings())))


def _take_case(figures: Figures, case: object) -> None:
    if not isinstance(case, dict) or not isinstance(case.get("name"), str):
        return
    matrix = case.get("bandwidth_matrix")
    line = Line(1, f"{case['name'][:80]}: {str(case.get('bandwidth_description', ''))[:80]}")
    for row, values in enumerate(matrix if isinstance(matrix, list) else ()):
        if isinstance(values, list):
            put_row(figures, case["name"], row, [_number(value) for value in values[:1024]], line)


def _number(value: object) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,12})?", value.strip()):
        return float(value)
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e9 else None


FORMATS = (
    TextFormat(
        NAME,
        "nvbandwidth (copies between host and GPUs)",
        ("memcpy_ce", "memcpy_sm", "memcpy ce", "memcpy sm", "memcpy_read_", "memcpy_write_", "_to_all_", "all_to_"),
        scan,
    ),
    FileFormat(NAME, "nvbandwidth (copies between host and GPUs)", accepts, read),
)
