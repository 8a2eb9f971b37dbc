"""`dcgmi dmon`: rows of DCGM fields per GPU, columns by the short names in the header.

The header is `#Entity GPUTL POWER …` with `ID` beneath it (in older releases `# Entity …` and `Id`), and it comes again
every so many rows; a row begins with the kind and number of an entity. Every row is a sample of its GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import gpu
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.gauges import Gauges
from gpuwhy.probes.artefacts.gpu_metric_names import DCGM, Metric
from gpuwhy.probes.artefacts.quantities import parse_number

NAME = "dcgmi-dmon"

_HEADER = re.compile(r"#\s{0,4}Entity\s{1,40}(?P<names>[A-Z0-9_]{2,8}(?:\s{1,40}[A-Z0-9_]{2,8}){0,60})\s*\Z")
_BENEATH = re.compile(r"\s*I[Dd]\s*\Z")
_ROW = re.compile(
    r"(?:\A|\s)(?P<kind>GPU|GPU-I|GPU-CI|NvSwitch|Switch|CPU|Link)\s{1,8}(?P<index>\d{1,4})\s{1,40}(?P<rest>\S[^\n]{0,2000})\Z"
)
_NOT = frozenset(("N/A", "-", "ERR!"))

_SHORT = {
    "GPUTL": "GPU_UTIL", "MCUTL": "MEM_COPY_UTIL", "ENUTL": "ENC_UTIL", "DEUTL": "DEC_UTIL",
    "SMCLK": "SM_CLOCK", "MMCLK": "MEM_CLOCK", "MSMCK": "MAX_SM_CLOCK",
    "TMPTR": "GPU_TEMP", "MMTMP": "MEMORY_TEMP", "POWER": "POWER_USAGE", "PMLIM": "POWER_MGMT_LIMIT",
    "FBTTL": "FB_TOTAL", "FBFRE": "FB_FREE", "FBUSD": "FB_USED",
    "GRACT": "GR_ENGINE_ACTIVE", "SMACT": "SM_ACTIVE", "SMOCC": "SM_OCCUPANCY", "TENSO": "PIPE_TENSOR_ACTIVE",
    "DRAMA": "DRAM_ACTIVE", "PCITX": "PCIE_TX_BYTES", "PCIRX": "PCIE_RX_BYTES",
    "NVLTX": "NVLINK_TX_BYTES", "NVLRX": "NVLINK_RX_BYTES",
}  # fmt: skip
"""Short names that `dcgmi dmon` prints, and the fields that they are."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all output of `dcgmi dmon` in a text."""
    reader = _Reader()
    for line in text.lines:
        reader.take(line)
    if reader.claimed:
        readings, missing = reader.gauges.fold()
        yield Extract(NAME, readings, missing, frozenset(reader.claimed), tuple(reader.troubles))


class _Reader:
    def __init__(self) -> None:
        self.gauges = Gauges()
        self.claimed: set[int] = set()
        self.troubles: list[Trouble] = []
        self._names: tuple[str, ...] = ()
        self._unknown: set[str] = set()

    def take(self, line: Line) -> None:
        """Reads one line: a header, what stands beneath it, or a row."""
        text = line.text[:3000]
        if header := _HEADER.search(text) if "#" in text else None:
            self._names = tuple(header["names"].split())
            self.claimed.add(line.number)
            self._tell_unknown(line)
        elif self._names and _BENEATH.match(text):
            self.claimed.add(line.number)
        elif self._names and (row := _ROW.search(text)):
            self._row(row, line)

    def _tell_unknown(self, line: Line) -> None:
        new = [name for name in self._names if name not in _SHORT and name not in self._unknown]
        if new:
            self._unknown.update(new)
            self.troubles.append(Trouble(line.number, f"columns not read: {', '.join(new)[:120]}"))

    def _row(self, row: re.Match[str], line: Line) -> None:
        cells = row["rest"].split()
        if len(cells) != len(self._names):
            return
        self.claimed.add(line.number)
        if row["kind"] != "GPU":
            return
        self.gauges.begin()
        for name, cell in zip(self._names, cells, strict=True):
            if name in _SHORT:
                self._cell(DCGM[_SHORT[name]], int(row["index"]), cell, line)

    def _cell(self, metric: Metric, index: int, cell: str, line: Line) -> None:
        value = None if cell in _NOT else parse_number(cell)
        share = metric.fact.endswith("_share")
        if value is None or value < 0:
            self.gauges.lack(metric.fact, gpu(index), f"shown as {cell[:40]}", line.number)
        elif share and value * metric.factor > 1.0:
            self.gauges.lack(metric.fact, gpu(index), f"a share of {cell[:40]} cannot be", line.number)
        else:
            self.gauges.put(metric.fact, gpu(index), value * metric.factor, line.number, line.text)


FORMAT = TextFormat(NAME, "dcgmi dmon", ("#entity", "# entity", "#  entity"), scan)
