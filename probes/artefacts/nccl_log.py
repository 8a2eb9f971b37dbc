"""Logs of NCCL (NCCL_DEBUG=INFO or WARN): which network and paths it found, and which it uses.

Lines of all ranks and nodes come interleaved, in any order and cut anywhere; everything is counted over the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpuwhy.kb.facts import JOB, Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later

NAME = "nccl-log"
LONGEST = 2000
"""Longer lines are cut: a message of NCCL is a few hundred characters."""
_GIGABYTE = 1e9
"""NCCL plans in decimal gigabytes per second."""

_FROM = later(r"(?:^|[\s(])(?P<host>[^\s:()\[\]]{1,80}):[0-9]{1,9}:[0-9]{1,9}\s{1,4}\[[0-9]{1,3}\]")
_VERSION = later(r"\b[NR]CCL version:?\s{1,4}(?P<version>[0-9]{1,2}\.[0-9]{1,3}(?:\.[0-9]{1,3})?(?:\+\w[\w.]{1,20})?)")
_RDMA = later(r"NET/IB\s{0,2}: Using(?P<devices>[^\n]{0,1500})")
_DEVICE = later(r"\[[0-9]{1,3}\](?:\{[^}]{1,200}\}|[\w.+-]{1,40}):[0-9]{1,3}/(?P<layer>IB|RoCE)", re.IGNORECASE)
_INTERFACE = later(r"NET/Socket\s{0,2}: Using \[0\](?P<name>[\w.@-]{1,40}):")
_NETWORK = later(r"Using network (?P<name>[A-Za-z][\w /.-]{0,40}?)\s*$")
_NO_PLUGIN = later(
    r"NET/Plugin\s{0,2}:[^\n]{0,200}?(?:No plugin found|Could not find|no such file|failed to load)"
    r"|No plugin found \(libnccl-net", re.IGNORECASE,
)  # fmt: skip
_PLUGIN = later(r"NET/Plugin\s{0,2}: (?:Loaded net plugin|Loaded collnet plugin)|NET/OFI (?:Selected|Using|Init)")
_CHANNEL = later(
    r"Channel [0-9]{1,3}(?:/[0-9]{1,3})?\s{0,2}: (?P<from>[0-9]{1,5})\[\w{1,10}\] -> (?P<to>[0-9]{1,5})\[\w{1,10}\]"
    r"(?: \[(?:send|receive)\])? via (?P<via>[A-Za-z][\w /.()-]{1,60})"
)
_SIZES: Mapping[str, re.Pattern[str]] = {
    "job.rank_count": later(r"\bnranks[ =](?P<n>[0-9]{1,6})\b", re.IGNORECASE),
    "comm.node_count": later(r"\bnNodes[ =](?P<n>[0-9]{1,5})\b", re.IGNORECASE),
    "comm.channel_count": later(r"\b(?P<n>[0-9]{1,3}) coll channels\b"),
}
_GRAPH = later(
    r"Pattern [0-9]{1,2}, crossNic [0-9], nChannels (?P<channels>[0-9]{1,3}), (?:bw|speed) "
    r"(?P<intra>[0-9]{1,6}\.[0-9]{1,6})/(?P<inter>[0-9]{1,6}\.[0-9]{1,6}), type "
    r"(?P<path>[A-Z0-9]{2,4}(?:/[A-Z0-9]{2,4})?)"
)
_SYSTEM = later(r"=== System : max(?:Bw|Width) (?P<bandwidth>[0-9]{1,5}\.[0-9]{1,3})")
_UNREADABLE = later(r"Topology detection\s{0,2}: could not read /sys/[^\s]{1,300}")
_ASSUMED = later(r"could not find value of '[^']{0,60}' in dictionary, falling back to (?P<value>[0-9]{1,6})")
_VIRTUAL = later(r"is not a PCI device \((?:vmbus|virtio)\)", re.IGNORECASE)
_SETTING = later(
    r"(?:^|[\s\"'(])(?P<name>NCCL_[A-Z0-9_]{2,40}) (?:set by environment )?(?:to|set to) (?P<said>[^\s,;]{1,80})"
    r"|(?:^\s{0,8}(?:\S{0,60}[#$>]\s{1,2})?|\bexport |\benv |\bENV |-x |-e |--env |^[-+] "
    r")(?P<key>NCCL_[A-Z0-9_]{2,40})=[\"']?(?P<given>[^\s\"';]{1,80})"
    r"|\b(?:environ\[|setdefault\(|putenv\(|setenv\()[\"'](?P<variable>NCCL_[A-Z0-9_]{2,40})[\"'](?:\] ?= ?|, ?)"
    r"[\"'](?P<assigned>[^\s\"']{1,80})[\"']"
    r"|^[\s{]{0,40}(?:-\s)?[\"']?(?P<item>NCCL_[A-Z0-9_]{2,40})[\"']?\s?:\s{1,4}[\"']?(?P<holds>[^\s\"',}]{1,80})[\"']?,?[\s}]{0,4}$"
)
_NAMES, _VALUES = ("name", "key", "variable", "item"), ("said", "given", "assigned", "holds")
_FELL_BACK = later(
    r"(?i)\bNCCL\b[^\n]{0,160}?\b(?:(?:falls?|fell|falling|fallen) back (?:to|on) (?:the |using )?"
    r"(?:TCP(?:/IP)? ?)?sockets?\b"
    r"|(?:uses?|using|used|chooses|chose|picks|picked) (?:the )?(?:TCP(?:/IP)? ?)?sockets?\b"
    r"[^\n]{0,40}?\b(?:instead of|rather than|not)\b)"
)
_INSTEAD = later(r"(?i)\b(?:instead of|rather than|not) (?:the |over |via )?(?:InfiniBand|IB|RoCE|RDMA|EFA)\b")
_IF = later(
    r"(?i)\b(?:if|unless|would|may|might|can|could|should)\b[^\n]{0,60}?\b(?:fall|use|back)|\bdoes not (?:fall|use)\b"
)
"""People say in a report what NCCL did; what it would do, or does under a condition, is no report."""
_ERRORS = (
    ("system-error", later(r"unhandled system error|ncclSystemError")),
    ("cuda-error", later(r"unhandled cuda error|ncclUnhandledCudaError")),
    ("remote-error", later(r"remote process exited or there was a network error|ncclRemoteError")),
    ("internal-error", later(r"NCCL error[^\n]{0,120}internal error|ncclInternalError")),
    ("invalid-usage", later(r"NCCL error[^\n]{0,120}invalid usage|ncclInvalidUsage")),
    ("invalid-argument", later(r"NCCL error[^\n]{0,120}invalid argument|ncclInvalidArgument")),
)
_COUNTED: Mapping[str, re.Pattern[str]] = {
    "comm.unreadable_topology_count": _UNREADABLE,
    "comm.peer_disabled_count": later(r"P2P is disabled between connected GPUs"),
    "comm.nvlink_peer_disabled_count": later(r"P2P is disabled between NVLINK connected GPUs", re.IGNORECASE),
}
_SAID: tuple[tuple[str, bool, re.Pattern[str]], ...] = (
    ("comm.virtual_bus", True, _VIRTUAL),
    ("comm.plugin_found", False, _NO_PLUGIN),
    ("comm.plugin_found", True, _PLUGIN),
    ("comm.gpu_direct_rdma", False, later(r"GPU Direct RDMA Disabled for (?:HCA|GPU)")),
    ("comm.gpu_direct_rdma", True, later(r"GPU Direct RDMA Enabled for (?:HCA|GPU)|via NET/[^\n]{1,60}/GDRDMA")),
    ("comm.mismatch_stated", True, later(r"(?:Mismatched collective detected|collective mismatch error)")),
    ("comm.version_mismatch", True, later(r"Mismatched NCCL version detected")),
    ("comm.duplicate_gpu", True, later(r"Duplicate GPU detected")),
)
_FLAGS = {
    "NCCL_IB_DISABLE": "comm.rdma_disabled",
    "NCCL_P2P_DISABLE": "comm.peer_disabled_by_setting",
    "NCCL_SHM_DISABLE": "comm.shared_memory_disabled",
}
_WANTS_RDMA = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_CUDA_SUPPORT", "NCCL_NET_GDR_LEVEL")


@dataclass
class _Log:
    """What has been read so far: values with their line, counts with their first line."""

    values: dict[str, tuple[Value, Line]] = field(default_factory=dict)
    counts: dict[str, tuple[int, Line]] = field(default_factory=dict)
    hosts: dict[str, Line] = field(default_factory=dict)
    claimed: set[int] = field(default_factory=set)

    def put(self, fact: str, value: Value, line: Line) -> None:
        self.values[fact] = (value, line)

    def most(self, fact: str, value: int | float, line: Line) -> None:
        """Keeps the largest value."""
        old = self.values.get(fact)
        if old is None or (not isinstance(old[0], str) and old[0] < value):
            self.values[fact] = (value, line)

    def add(self, fact: str, line: Line) -> None:
        number, first = self.counts.get(fact, (0, line))
        self.counts[fact] = (number + 1, first)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of everything that NCCL wrote in a text."""
    log = _Log()
    for line in text.lines:
        if "NCCL" in line.text or "nccl" in line.text or "NET/" in line.text or " via " in line.text:
            _take(log, Line(line.number, line.text[:LONGEST]))
    readings = tuple(_readings(log))
    if readings or log.claimed:
        yield Extract(NAME, readings, claimed=frozenset(log.claimed))


def _take(log: _Log, line: Line) -> None:
    text = line.text
    known = len(log.values) + sum(number for number, _ in log.counts.values())
    own = "NCCL INFO" in text or "NCCL WARN" in text
    if own and (source := _FROM.search(text)):
        log.hosts.setdefault(source["host"], line)
    _take_network(log, text, line)
    _take_plan(log, text, line)
    for fact, value, pattern in _SAID:
        if pattern.search(text):
            log.put(fact, value, line)
    for fact, pattern in _COUNTED.items():
        if pattern.search(text):
            log.add(fact, line)
    for error, pattern in _ERRORS:
        if pattern.search(text):
            log.put("comm.error", error, line)
            break
    for setting in _SETTING.finditer(text):
        name_of, given = (next(one for one in setting.group(*kinds) if one) for kinds in (_NAMES, _VALUES))
        _take_setting(log, name_of, given, line)
    if own or len(log.values) + sum(number for number, _ in log.counts.values()) > known:
        log.claimed.add(line.number)


def _take_network(log: _Log, text: str, line: Line) -> None:
    if version := _VERSION.search(text):
        log.put("comm.nccl_version", version["version"], line)
    if re.search(r"NET/IB\s{0,2}: No device found", text):
        log.most("comm.rdma_device_count", 0, line)
    if rdma := _RDMA.search(text):
        devices = [found["layer"] for found in _DEVICE.finditer(rdma["devices"])]
        if devices:
            log.most("comm.rdma_device_count", len(devices), line)
    if interface := _INTERFACE.search(text):
        log.put("comm.socket_interface", interface["name"], line)
    if _FELL_BACK.search(text) and not _IF.search(text):
        log.put("comm.network", "socket", line)
        if _INSTEAD.search(text):
            log.put("comm.rdma_wanted", True, line)
    if network := _NETWORK.search(text):
        name = network["name"].strip().lower()
        known = {"ib": "rdma", "ibext": "rdma", "ibext_v8": "rdma", "socket": "socket"}
        log.put("comm.network", known.get(name, "rdma" if name.startswith("ib") else "plugin"), line)


def _take_plan(log: _Log, text: str, line: Line) -> None:
    if channel := _CHANNEL.search(text):
        via = channel["via"].lower()
        kind = (
            "network"
            if via.startswith("net/")
            else "peer"
            if via.startswith(("p2p", "nvb", "nvls"))
            else "shared_memory"
        )
        log.add(f"comm.{kind}_channel_count", line)
        if via.startswith("net/socket"):
            log.add("comm.socket_channel_count", line)
        log.most("comm.rank_highest", max(int(channel["from"]), int(channel["to"])), line)
    for fact, pattern in _SIZES.items():
        if found := pattern.search(text):
            log.most(fact, int(found["n"]), line)
    if graph := _GRAPH.search(text):
        slowest = min(float(graph["intra"]), float(graph["inter"])) * _GIGABYTE
        log.most("comm.graph_channels", int(graph["channels"]), line)
        log.most("comm.graph_bandwidth_bytes_per_second", slowest, line)
        log.put("comm.graph_path", graph["path"], line)
    if system := _SYSTEM.search(text):
        log.put("comm.system_bandwidth_bytes_per_second", float(system["bandwidth"]) * _GIGABYTE, line)
    if assumed := _ASSUMED.search(text):
        log.put("comm.assumed_link_speed", int(assumed["value"]), line)


def _take_setting(log: _Log, name: str, value: str, line: Line) -> None:
    plain = value.rstrip(".")
    if name in _FLAGS and plain in ("0", "1"):
        log.put(_FLAGS[name], plain == "1", line)
    if name == "NCCL_P2P_LEVEL" and plain.upper() == "LOC":  # as nvidia documents it: never from GPU to GPU
        log.put("comm.peer_disabled_by_setting", True, line)
    if (name == "NCCL_IB_DISABLE" and plain == "0") or name in _WANTS_RDMA:
        log.put("comm.rdma_wanted", True, line)
    if name == "NCCL_TOPO_FILE":
        log.put("comm.topology_file", True, line)


def _readings(log: _Log) -> Iterator[Reading]:
    values = {fact: (value, line) for fact, (value, line) in log.values.items() if fact != "comm.rank_highest"}
    values |= log.counts
    nodes = _nodes(log)
    if nodes is not None:
        values.setdefault("comm.node_count", nodes)
    for fact in ("peer", "shared_memory", "network", "socket"):
        # where channels are listed, those of the kinds that are not are none
        if any(kind.endswith("_channel_count") for kind in log.counts):
            first = next(line for kind, (_, line) in log.counts.items() if kind.endswith("_channel_count"))
            values.setdefault(f"comm.{fact}_channel_count", (0, first))
    for fact, (value, line) in values.items():
        yield Reading(fact, value, line.number, line.text.strip()[:200], JOB)


def _nodes(log: _Log) -> tuple[int, Line] | None:
    """How many nodes the lines come from; channels that all stay inside a node show one."""
    if len(log.hosts) >= 2:
        return len(log.hosts), next(iter(log.hosts.values()))
    inside = [
        log.counts[kind]
        for kind in ("comm.peer_channel_count", "comm.shared_memory_channel_count")
        if kind in log.counts
    ]
    if inside and "comm.network_channel_count" not in log.counts:
        return 1, inside[0][1]
    return None


FORMAT = TextFormat(NAME, "NCCL log", ("nccl", "net/ib", "net/socket", "net/plugin"), scan)
