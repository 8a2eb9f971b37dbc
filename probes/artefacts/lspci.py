"""PCIe links as lspci -vv, sysfs and nvtop show them: what card and port can do, what they do now.

A speed below the highest is usual on a GPU at rest; fewer lanes are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import Entity, Value, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.pci_places import ADDRESS, gpu_at, place

NAME = "pcie-links"

GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""PCIe generation by its speed in GT/s."""

REACH = 200
"""Characters before a quoted line in which a sentence says what it is of."""

_HEADER = re.compile(rf"^\W{{0,4}}(?P<at>{ADDRESS})\s(?P<what>[A-Z3][^\n:]{{3,60}}): (?P<name>[^\n]{{3,120}})$")
_LINK = re.compile(
    r"\bLnk(?P<kind>Cap|Sta)(?::| (?:says|shows|reads|is|reports|gives|=):?)\s{0,8}(?:Port #\d{1,3}, )?"
    r"Speed (?P<speed>\d{1,3}(?:\.\d)?)GT/s"
    r"(?: \((?P<slow>ok|downgraded)\))?, Width x(?P<width>\d{1,2})(?: \((?P<few>ok|downgraded)\))?"
)
_OTHER = re.compile(
    r"(?i)\b(?:nvme|ssd|nic|ethernet|infiniband|connectx|mellanox|hca|raid|hba|drive|network|wi-?fi|usb)\b(?![^\n]{0,200}\bGPU\b)"
)
"""Words before a link line in a sentence that make it the link of something else."""
_SECONDARY = re.compile(r"\bBus: primary=[0-9a-f]{2}, secondary=(?P<bus>[0-9a-f]{2})")
_SYSFS = re.compile(
    rf"(?:(?P<at>{ADDRESS})/)?(?P<which>current|max)_link_(?P<what>speed|width)\s{{0,2}}[:=]?\s{{0,3}}(?P<value>\d{{1,3}}(?:\.\d)?)\b"
)
_SYSFS_HEADER = re.compile(
    rf"^==> [^\n]{{0,160}}?(?:(?P<at>{ADDRESS})/)?(?P<name>(?:current|max)_link_(?:speed|width)) <=="
)
_NVTOP = re.compile(
    r"\bDevice (?P<index>\d{1,2})\s{1,3}\[(?P<name>[^\]\n]{3,60})\]\s{1,6}"
    r"PCIe GEN\s{0,2}(?P<generation>\d)@\s?(?P<width>\d{1,2})x"
)
_DISPLAY = ("VGA compatible controller", "3D controller", "Display controller")
_HINTS = ("lnkcap", "lnksta", "_link_speed", "_link_width", "pcie gen", "nvidia corporation")


@dataclass
class _Port:
    """A PCI bridge: what it offers, and the bus below it."""

    at: str
    below: str | None = None
    speed: float | None = None
    width: int | None = None
    line: Line | None = None


@dataclass
class _Links:
    """What one text says of PCIe links."""

    readings: list[Reading] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)
    gpus: dict[Entity, str] = field(default_factory=dict)
    ports: list[_Port] = field(default_factory=list)
    here: Entity | None = None
    port: _Port | None = None
    seen: bool = False

    def put(self, line: Line, fact: str, value: Value, entity: Entity) -> None:
        self.readings.append(Reading(fact, value, line.number, line.text.strip()[:200], entity))
        self.claimed.add(line.number)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all that a text shows of PCIe links."""
    links = _Links()
    above = ""
    for line in text.lines:
        header = _HEADER.match(line.text)
        if header:
            _device(links, line, header)
            continue
        if _links_of(links, line):
            continue
        secondary = _SECONDARY.search(line.text)
        if secondary and links.port is not None:
            links.port.below = secondary["bus"]
        for one in _SYSFS.finditer(above + line.text):
            _sysfs(links, line, one)
        above = _headed(line)
        shown = _NVTOP.search(line.text)
        if shown:
            _nvtop(links, line, shown)
    _above(links)
    if links.gpus:
        first = min(links.claimed)
        links.readings.append(Reading("host.pci_gpu_count", len(links.gpus), first))
    if links.readings:
        yield Extract(NAME, tuple(links.readings), claimed=frozenset(links.claimed))


def _headed(line: Line) -> str:
    """The file whose content follows, where `head` or `tail` names it above (`==> FILE <==`); else nothing."""
    header = _SYSFS_HEADER.match(line.text)
    if header is None:
        return ""
    return f"{header['at']}/{header['name']}:" if header["at"] else f"{header['name']}:"


def _device(links: _Links, line: Line, header: re.Match[str]) -> None:
    links.seen, links.here, links.port = True, None, None
    at = place(header["at"]) or header["at"]
    if header["what"].startswith(_DISPLAY) and "NVIDIA" in header["name"]:
        links.here = gpu_at(at)
        links.gpus[links.here] = at
        links.claimed.add(line.number)
    elif header["what"].startswith("PCI bridge"):
        links.port = _Port(at)
        links.ports.append(links.port)


def _links_of(links: _Links, line: Line) -> bool:
    """The links that a line shows: one in the output itself, several where a sentence quotes it."""
    before = 0
    for found in _LINK.finditer(line.text):
        if links.seen or not _OTHER.search(line.text[max(before, found.start() - REACH) : found.start()]):
            _link(links, line, found)
            before = found.end()
    return before > 0


def _link(links: _Links, line: Line, found: re.Match[str]) -> None:
    """A link of the device above; without any header it is the GPU's that the paste is about."""
    speed, width = float(found["speed"]), int(found["width"])
    if links.port is not None:
        if found["kind"] == "Cap":
            links.port.speed, links.port.width, links.port.line = speed, width, line
        links.claimed.add(line.number)
        return
    entity = links.here if links.seen else gpu(0)
    if entity is None:
        return
    suffix = "_max" if found["kind"] == "Cap" else ""
    links.put(line, f"gpu.link_speed{suffix}_gigatransfers", speed, entity)
    links.put(line, f"gpu.link_width{suffix}", width, entity)
    if speed in GENERATIONS:
        links.put(line, f"gpu.link_generation{suffix}", GENERATIONS[speed], entity)
    if found["few"]:
        links.put(line, "gpu.link_width_downgraded", found["few"] == "downgraded", entity)
    if found["slow"]:
        links.put(line, "gpu.link_speed_downgraded", found["slow"] == "downgraded", entity)


def _above(links: _Links) -> None:
    """The port above each GPU: the one whose bus it is on; of one port and one GPU no more needs to be said."""
    offering = [port for port in links.ports if port.width is not None and port.line is not None]
    for entity, at in links.gpus.items():
        bus = at.split(":")[1]
        above = [port for port in offering if port.below == bus]
        if not above and len(links.gpus) == len(offering) == 1 and offering[0].below is None:
            above = offering
        for port in above[:1]:
            assert port.line is not None
            assert port.width is not None
            links.put(port.line, "gpu.link_upstream_width", port.width, entity)
            if port.speed in GENERATIONS:
                links.put(port.line, "gpu.link_upstream_generation", GENERATIONS[port.speed], entity)


def _sysfs(links: _Links, line: Line, found: re.Match[str]) -> None:
    entity = gpu_at(found["at"]) if found["at"] else gpu(0)
    suffix = "_max" if found["which"] == "max" else ""
    value = float(found["value"])
    if found["what"] == "width":
        links.put(line, f"gpu.link_width{suffix}", int(value), entity)
    elif value in GENERATIONS:
        links.put(line, f"gpu.link_speed{suffix}_gigatransfers", value, entity)
        links.put(line, f"gpu.link_generation{suffix}", GENERATIONS[value], entity)


def _nvtop(links: _Links, line: Line, found: re.Match[str]) -> None:
    entity = gpu(int(found["index"]))
    links.put(line, "gpu.name", found["name"].strip(), entity)
    links.put(line, "gpu.link_generation", int(found["generation"]), entity)
    links.put(line, "gpu.link_width", int(found["width"]), entity)


FORMAT = TextFormat(NAME, "PCIe links (lspci, sysfs, nvtop)", _HINTS, scan)
