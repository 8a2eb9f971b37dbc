"""Links of the network between machines: lost carriers in logs, ibstat, ib_write_bw and its kin, iperf."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.facts import HOST, Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

NAME = "network-links"
LONGEST = 400

_LOST = later(
    r"\b(?P<name>(?:ib|en|eth|bond|mlx5_|roce|hsn|rdma)\w{0,16}): (?:NIC )?(?:[Ll]ost carrier|[Ll]ink (?:is "
    r")?(?:[Dd]own|DOWN))"
)
_CLOCK = later(r"(?:^|[T ])(?P<h>[0-2][0-9]):(?P<m>[0-5][0-9]):(?P<s>[0-5][0-9])\b")
_GAINED = later(
    r"\b(?:ib|en|eth|bond|mlx5_|roce|hsn|rdma)\w{0,16}: (?:NIC )?(?:[Gg]ained carrier|[Ll]ink (?:is )?(?:[Uu]p|UP))"
)
_ADAPTER = later(r"^\s*CA '(?P<name>[\w.-]{1,40})'\s*$")
_PORT_STATE = later(r"^\s*State: (?P<state>Active|Down|Initializing|Armed)\s*$")
_RATE = later(r"^\s*Rate: (?P<rate>[0-9]{1,4})\s*$")
_IBSTAT_LINE = later(
    r"^\s*(?:Port [0-9]{1,2}:|Physical state: |Base lid: |LMC: |SM lid: |Capability mask: |Port GUID: |Link "
    r"layer: |CA type: "
    r"|Number of ports: |Firmware version: |Hardware version: |Node GUID: |System image GUID: )"
)
_TEST = later(r"\b(?P<way>RDMA_Write|RDMA_Read|Send) BW Test\b")
_COLUMNS = later(r"^\s*#bytes\s+#iterations\s+BW peak\[(?P<unit>MB/sec|Gb/sec|MiB/sec)\]")
_BANDWIDTH = later(
    r"^\s*(?P<size>[0-9]{1,12})\s+[0-9]{1,9}\s+[0-9]{1,7}\.[0-9]{1,3}\s+(?P<average>[0-9]{1,7}\.[0-9]{1,3})(?:\s+[0-9.]{1,12})?\s*$"
)
_IPERF = later(
    r"^\s*\[\s?(?P<stream>SUM|[0-9]{1,3})\]\s+[0-9.]{1,8}\s?-\s?[0-9.]{1,8}\s+sec\s+[0-9.]{1,9} [KMGT]?Bytes\s+"
    r"(?P<rate>[0-9.]{1,9}) (?P<unit>[KMGT]?)bits/sec(?P<rest>[^\n]{0,60})$"
)
_UNITS = {"MB/sec": 1e6, "MiB/sec": 1048576.0, "Gb/sec": 1.25e8}
_PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass
class _Links:
    lost: dict[str, list[Line]] = field(default_factory=dict)
    states: list[tuple[str, Line]] = field(default_factory=list)
    rates: list[tuple[int, Line]] = field(default_factory=list)
    facts: dict[str, tuple[Value, Line]] = field(default_factory=dict)
    claimed: set[int] = field(default_factory=set)
    unit: float = 0.0
    in_adapter: bool = False


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all that a text says of network links."""
    links = _Links()
    for line in text.lines:
        cut = Line(line.number, line.text[:LONGEST])
        if _take_log(links, cut) or _take_ibstat(links, cut) or _take_test(links, cut):
            links.claimed.add(line.number)
    readings = list(_readings(links))
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(links.claimed))


def _take_log(links: _Links, line: Line) -> bool:
    if lost := _LOST.search(line.text):
        links.lost.setdefault(lost["name"], []).append(line)
        return True
    return bool(_GAINED.search(line.text))


def _take_ibstat(links: _Links, line: Line) -> bool:
    if _ADAPTER.match(line.text):
        links.in_adapter = True
    elif links.in_adapter and (state := _PORT_STATE.match(line.text)):
        links.states.append((state["state"], line))
    elif links.in_adapter and (rate := _RATE.match(line.text)):
        links.rates.append((int(rate["rate"]), line))
    else:
        return links.in_adapter and bool(_IBSTAT_LINE.match(line.text))
    return True


def _take_test(links: _Links, line: Line) -> bool:
    if columns := _COLUMNS.match(line.text):
        links.unit = _UNITS[columns["unit"]]
    elif links.unit and (row := _BANDWIDTH.match(line.text)):
        _most(links, "network.rdma_bytes_per_second", float(row["average"]) * links.unit, line)
    elif iperf := _IPERF.match(line.text):
        rate = float(iperf["rate"]) * _PREFIX[iperf["unit"]] / 8.0 if iperf["rate"].count(".") <= 1 else 0.0
        if rate > 0:
            _most(links, "network.tcp_bytes_per_second", rate, line)
    else:
        return bool(_TEST.search(line.text))
    return True


def _most(links: _Links, fact: str, value: float, line: Line) -> None:
    old = links.facts.get(fact)
    if old is None or (not isinstance(old[0], str) and value > old[0]):
        links.facts[fact] = (value, line)


def _readings(links: _Links) -> Iterator[Reading]:
    facts = dict(links.facts)
    if links.lost:
        name, lines = max(links.lost.items(), key=lambda one: len(one[1]))
        facts["network.carrier_lost_count"] = (len(lines), lines[0])
        facts["network.carrier_interface"] = (name, lines[0])
        seconds = [time for line in lines if (time := _seconds(line)) is not None]
        if len(seconds) >= 2 and len(seconds) == len(lines):
            facts["network.flap_span_seconds"] = (max(seconds) - min(seconds), lines[-1])
    if links.states:
        active = sum(state == "Active" for state, _ in links.states)
        facts["network.rdma_port_count"] = (len(links.states), links.states[0][1])
        facts["network.rdma_port_active_count"] = (active, links.states[0][1])
    if links.rates:
        rate, line = max(links.rates, key=lambda one: one[0])
        facts["network.rdma_rate_bytes_per_second"] = (rate * 1.25e8, line)
    for fact, (value, line) in facts.items():
        yield Reading(fact, value, line.number, line.text.strip()[:200], HOST)


def _seconds(line: Line) -> int | None:
    """The time of day of a log line in seconds."""
    clock = _CLOCK.search(line.text)
    return int(clock["h"]) * 3600 + int(clock["m"]) * 60 + int(clock["s"]) if clock else None


FORMAT = TextFormat(
    NAME,
    "Network links (logs, ibstat, ib_write_bw, iperf)",
    ("carrier", "link is ", "link down", "link up", "ca '", "#bytes", " bw test", "bits/sec"),
    scan,
)
