"""What a collector brought from a host, as facts: every section goes to the readers of the artefact that it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

from gpuwhy.kb.facts import HOST, Absent, Fact, Origin, OriginKind
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass, replace
from gpuwhy.probes.artefacts.attach import attach
from gpuwhy.probes.artefacts.cleaning import clean
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.collected_document import Document
from gpuwhy.probes.collected_host import read_host
from gpuwhy.probes.gathering import Gathering
from gpuwhy.probes.host_topology import normal
from gpuwhy.probes.live import joined

SMI = "nvidia-smi -q -x"
LSCPU = "lscpu"
TOP = "top -b -n 2 -d 1 -w 160"
TOPOLOGY = "nvidia-smi topo -m"
KERNEL_LOG = "kernel log"
KERNEL_LOG_SECONDS = 24 * 3600.0
"""What the kernel said longer ago says nothing about now."""

_READERS: Mapping[str, tuple[str, ...]] = {
    SMI: ("smi_xml", "smi_errors"),
    KERNEL_LOG: ("host_kills", "kernel_log"),
    TOPOLOGY: ("topology_matrix",),
    "df -P -l": ("host_disk",),
    LSCPU: ("host_cpu",),
    TOP: ("host_cpu",),
}
"""The modules of artefact formats for a section; others are not asked, so that none sees in it what it is not."""

_ONLY: Mapping[str, tuple[str, ...]] = {
    TOP: ("process.",),
    LSCPU: ("host.cpu_model", "host.socket_count", "host.cores_per_socket", "host.threads_per_core"),
}
"""Of these sections only facts that begin so are taken: the others are read from the kernel's own files."""

_MONOTONIC = re.compile(r"^\[\s{0,12}(\d{1,10}\.\d{1,9})\]")
_DID_NOT_END = re.compile(r"did not end\b")


@dataclass(frozen=True)
class Collected:
    """Facts and absent readings of a host, and what in them could not be read."""

    facts: tuple[Fact, ...]
    absent: tuple[Absent, ...]
    troubles: tuple[str, ...]


def facts_of(document: Document, specs: Mapping[str, FactSpec]) -> Collected:
    """The facts of a document in this vocabulary."""
    extracts = [(name, one) for name, content in _artefacts(document) for one in _extracts(name, content)]
    extracts += [("collector", Extract("collector", tuple(_about_driver(document))))]
    facts, absent, odd = attach(extracts, specs)
    origin = Origin(OriginKind.ARTEFACT, "collector")
    for fact, name in (("gpu.count", SMI), ("host.out_of_memory_kills", KERNEL_LOG)):
        if name in document.absent:
            absent.append(Absent(fact, HOST, f"{name}: {document.absent[name]}", origin))
    known = {normal(str(one.value)): one.entity for one in facts if one.id == "gpu.bus_id"}
    both = joined(Gathering(tuple(facts), tuple(absent)), read_host(document, known, specs))
    troubles = [f"{name}: {message}" for name, _, message in odd]
    troubles += [f"{name}: {one.message}" for name, extract in extracts for one in extract.troubles]
    return Collected(both.facts, both.absent, tuple(dict.fromkeys([*troubles, *both.unfit])))


def _artefacts(document: Document) -> Iterator[tuple[str, bytes]]:
    for name in _READERS:
        if name in document.sections:
            yield name, _recent(document) if name == KERNEL_LOG else document.sections[name].content


def _recent(document: Document) -> bytes:
    """The lines of the kernel log of the last hours; times are seconds since the host started, as /proc/uptime is."""
    uptime = document.sections.get("before:/proc/uptime")
    words = uptime.content.split()[:1] if uptime is not None else []
    try:
        since = float(words[0]) - KERNEL_LOG_SECONDS if words else None
    except ValueError:
        since = None
    kept = []
    for line in document.sections[KERNEL_LOG].content.splitlines():
        found = _MONOTONIC.match(line.decode("utf-8", "replace"))
        if found is not None and since is not None and float(found[1]) >= since:
            kept.append(line)
    return b"\n".join(kept)


def _extracts(name: str, content: bytes) -> Iterable[Extract]:
    text = Text(name, tuple(Line(number, line) for number, line in enumerate(clean(content), 1)))
    for module_name in _READERS[name]:
        module = import_module(f"gpuwhy.probes.artefacts.{module_name}")
        for one in getattr(module, "FORMATS", None) or (module.FORMAT,):
            if isinstance(one, TextFormat):
                found = [_only(extract, _ONLY.get(name, ())) for extract in one.scan(text)]
                yield from found[-1:] if name == TOP else found  # its first screen is of the time since boot


def _only(extract: Extract, beginnings: tuple[str, ...]) -> Extract:
    readings = tuple(one for one in extract.readings if one.fact.startswith(beginnings))
    return replace(extract, readings=readings) if beginnings else extract


def _about_driver(document: Document) -> Iterator[Reading]:
    """That nvidia-smi is not there, or hangs: nothing else on the host says so."""
    why = document.absent.get(SMI)
    if why is None:
        return
    if why == "not installed":
        yield Reading("host.smi_error", "not-installed", None, f"{SMI}: {why}")
    elif _DID_NOT_END.match(why):
        yield Reading("host.nvml_error", "no-answer", None, f"{SMI} {why}")
