"""The host of a collected document: its files are laid out in a folder, and read as those of this machine are."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gpuwhy.kb.facts import HOST, Absent, Entity, Origin, OriginKind
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import replace
from gpuwhy.probes import host_cpu_live, host_disks_live, host_memory_live, host_topology
from gpuwhy.probes.collected_document import Document
from gpuwhy.probes.gathering import Gathering, Readings
from gpuwhy.probes.host_tree import Tree

SOURCE = "host"
_JOB = "job"
"""Stands in the place of a process id: the one job whose limits are asked for."""

_LINKS = "pci links"
_SAFE = re.compile(r"/(?:proc|sys)(?:/[^/\x00]{1,255}){1,60}\Z")
_CGROUP = re.compile(r"/proc/(\d{1,10})/cgroup\Z")
_ALLOWED = re.compile(r"(?m)^Cpus_allowed_list:\s*(\S{1,400})$")
_OF_JOB = ("host.effective_cpu_count",)
"""Facts that need to know whose limits count."""


def read_host(document: Document, gpus: Mapping[str, Entity], specs: Mapping[str, FactSpec]) -> Gathering:
    """Facts about the host in this vocabulary. `gpus` are those that the driver named, by address."""
    readings = Readings(SOURCE)
    with tempfile.TemporaryDirectory(prefix="gpuwhy-") as folder:
        root = Path(folder).resolve()
        tree = Tree(root, _JOB)
        why_no_job = _lay_out(document, root)
        seconds = _seconds(document)
        cpu, memory = host_cpu_live.observe(tree), host_memory_live.observe(tree)
        disks = host_disks_live.observe(tree)
        for name, section in document.sections.items():
            if name.startswith("after:"):
                _put(root, name.removeprefix("after:"), section.content)
        host_cpu_live.fold(tree, cpu, host_cpu_live.observe(tree), seconds, readings)
        host_memory_live.fold(memory, host_memory_live.observe(tree), seconds, readings)
        host_disks_live.fold(disks, host_disks_live.observe(tree), seconds, readings)
        _read_state(tree, readings)
        if document.links or _LINKS in document.absent:
            host_topology.read_gpus(tree, gpus, readings)
    found = readings.gathering(specs, seconds, False)
    if why_no_job is None:
        return found
    origin = Origin(OriginKind.MEASURED, SOURCE)
    absent = [Absent(one, HOST, why_no_job, origin) for one in _OF_JOB]
    others = [one for one in found.absent if one.id not in _OF_JOB]
    return replace(found, facts=tuple(one for one in found.facts if one.id not in _OF_JOB), absent=(*others, *absent))


def _read_state(tree: Tree, readings: Readings) -> None:
    host_cpu_live.read_counts(tree, readings)
    host_cpu_live.read_load(tree, readings)
    host_memory_live.read_memory(tree, readings)
    host_memory_live.read_limits(tree, readings)
    host_topology.read_clocks(tree, readings)
    host_topology.read_nodes(tree, readings)


def _lay_out(document: Document, root: Path) -> str | None:
    """Writes the files of the document below `root`; why no single job's limits are among them, None if they are."""
    for name, section in document.sections.items():
        _put(root, name.removeprefix("before:"), section.content)
    for name, target in document.links.items():
        _link(root, name, target)
    jobs: dict[tuple[bytes, str], str] = {}
    for name, section in document.sections.items():
        found = _CGROUP.match(name)
        if found is not None:
            status = document.sections.get(f"/proc/{found[1]}/status")
            allowed = _ALLOWED.search(status.content.decode("utf-8", "replace")) if status is not None else None
            jobs.setdefault((section.content.strip(), allowed[1] if allowed else ""), found[1])
    if len(jobs) != 1:
        return "processes with different limits use the GPUs" if jobs else "no process computes on a GPU"
    (process,) = jobs.values()
    for one in ("status", "cgroup", "limits"):
        section_of = document.sections.get(f"/proc/{process}/{one}")
        if section_of is not None:
            _put(root, f"/proc/{_JOB}/{one}", section_of.content)
    mounts = document.sections.get("/proc/self/mountinfo")
    if mounts is not None:
        _put(root, f"/proc/{_JOB}/mountinfo", mounts.content)
    return None


def _put(root: Path, name: str, content: bytes) -> None:
    """Writes a file whose name the host chose: only below /proc and /sys, and never through a link or over a folder."""
    if not _is_safe(name):
        return
    path = root / name.lstrip("/")
    if path.parent.resolve() != path.parent or path.is_symlink():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError:
        return


def _link(root: Path, name: str, target: str) -> None:
    if not _is_safe(name) or not _is_safe(target):
        return
    path = root / name.lstrip("/")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(root / target.lstrip("/"))
    except OSError:
        return


def _is_safe(name: str) -> bool:
    return _SAFE.match(name) is not None and not {".", ".."} & set(name.split("/"))


def _seconds(document: Document) -> float:
    """The time between the two readings of the counters; 0 if it is not known."""
    moments = []
    for which in ("before", "after"):
        section = document.sections.get(f"{which}:/proc/uptime")
        words = section.content.split() if section is not None else []
        try:
            moments.append(float(words[0]) if words else 0.0)
        except ValueError:
            return 0.0
    return max(0.0, moments[1] - moments[0]) if all(moments) else 0.0
