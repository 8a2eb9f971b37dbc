"""Whose metrics a Prometheus server holds: targets, and the hosts and machine types that they belong to.

One host answers under several addresses and names: dcgm-exporter on one port, node_exporter on another, in Kubernetes
each with its own IP. The label that names the host decides; without one, targets of one address are of one host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gpuwhy.kb.errors import KnowledgeError
from gpuwhy.kb.records import dataclass, field
from gpuwhy.kb.strict_yaml import load

HOST_LABELS = ("node", "kubernetes_node", "Hostname", "hostname", "nodename", "host")
TYPE_LABELS = ("instance_type", "machine_type", "node_kubernetes_io_instance_type",
               "label_node_kubernetes_io_instance_type", "beta_kubernetes_io_instance_type")  # fmt: skip
REGION_LABELS = ("region", "topology_kubernetes_io_region", "label_topology_kubernetes_io_region")
INSTANCE, JOB_LABEL = "instance", "job"
FAMILIES = ("dcgm", "nvidia_gpu_exporter", "triton", "node")
"""Those that make a machine a host of the audit stand before node_exporter, which runs everywhere."""
NAMING = ("dcgm", "nvidia_gpu_exporter")
"""Exporters whose label of the host says what it is called, whatever address they have."""


class MappingError(ValueError):
    """A mapping file that cannot be used; says why."""


@dataclass(frozen=True)
class Named:
    """What a mapping file says of hosts whose name fits a pattern."""

    like: str
    name: str = ""
    instance_type: str = ""
    region: str = ""


@dataclass(frozen=True)
class LabelMap:
    """Which labels name a host, its machine type and its region, and what is said of hosts by name."""

    host: tuple[str, ...] = HOST_LABELS
    instance_type: tuple[str, ...] = TYPE_LABELS
    region: tuple[str, ...] = REGION_LABELS
    match: str = ""
    hosts: tuple[Named, ...] = ()

    def renamed(self, name: str) -> str:
        """What the first entry that has a name for hosts like this one calls it; else the name itself."""
        return next((one.name for one in self.hosts if one.name and fnmatchcase(name, one.like)), name)

    def own_labels(self) -> list[str]:
        """The labels that whoever asks named, beside those that are looked for anyway."""
        usual = {*HOST_LABELS, *TYPE_LABELS, *REGION_LABELS}
        return [one for one in (*self.host, *self.instance_type, *self.region) if one not in usual]


_LISTS = {"host": HOST_LABELS, "instance_type": TYPE_LABELS, "region": REGION_LABELS}


def read_mapping(path: Path) -> LabelMap:
    """The mapping of a YAML file. Raises `MappingError`."""
    try:
        plain = load(path).data
    except (OSError, UnicodeDecodeError) as error:
        raise MappingError(f"{path}: {error}") from None
    except KnowledgeError as error:
        raise MappingError("; ".join(str(one) for one in error.problems)) from None
    if not isinstance(plain, dict) or set(plain) - {"labels", "match", "hosts"}:
        raise MappingError(f"{path}: has other keys than labels, match, hosts")
    labels = plain.get("labels", {})
    if not isinstance(labels, dict) or set(labels) - set(_LISTS) or not all(map(_texts, labels.values())):
        other = sorted(map(str, set(labels) - set(_LISTS))) if isinstance(labels, dict) else []
        told = f", not for {', '.join(other)}" if other else ""
        raise MappingError(f"{path}: labels takes lists of names for {', '.join(_LISTS)}{told}")
    match, hosts = plain.get("match", ""), plain.get("hosts", [])
    if not isinstance(match, str) or not isinstance(hosts, list):
        raise MappingError(f'{path}: match is a text like cluster="a", hosts a list')
    found = {key: tuple(labels.get(key, default)) for key, default in _LISTS.items()}
    return LabelMap(**found, match=match, hosts=tuple(_entry(path, one) for one in hosts))


def _texts(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) and one for one in found)


def _entry(path: Path, found: Any) -> Named:
    whole = isinstance(found, dict) and "like" in found and not set(found) - {"like", "name", "instance_type", "region"}
    if not whole or not all(isinstance(one, str) and one for one in found.values()):
        raise MappingError(f"{path}: an entry of hosts takes like, and name, instance_type, region")
    return Named(**found)


@dataclass(frozen=True)
class Target:
    """One scraped endpoint: which exporter it is, and its address as the server labels it."""

    family: str
    instance: str


@dataclass
class HostTargets:
    """A host by name, with the endpoints that tell about it."""

    name: str
    targets: list[Target] = field(default_factory=list)
    instance_type: str = ""
    region: str = ""

    def instances(self, family: str) -> list[str]:
        """The addresses of its endpoints of an exporter."""
        return [one.instance for one in self.targets if one.family == family]


class Hosts:
    """The hosts found so far, and which of them a series belongs to."""

    def __init__(self, mapping: LabelMap) -> None:
        self._mapping = mapping
        self.by_name: dict[str, HostTargets] = {}
        self.unjoined: set[str] = set()
        self.labels: set[str] = set()
        self._was: dict[str, set[str]] = {}
        self._by_address: dict[str, str] = {}
        self._by_short: dict[str, set[str]] = {}
        self._seen: set[tuple[str, str, str]] = set()

    def add(self, family: str, series: Iterable[Mapping[str, str]]) -> None:
        """Takes the targets of an exporter; families in the order of `FAMILIES`."""
        for labels in series:
            self.labels.update(labels)
            instance = labels.get(INSTANCE, "")
            name = self.name_of(labels, family in NAMING)
            if not instance or not name:
                continue
            if name not in self.by_name:
                if family == "node":
                    self.unjoined.add(instance)
                    continue
                self.by_name[name] = HostTargets(name)
                self._by_short.setdefault(short(name), set()).add(name)
            self._by_address.setdefault(address(instance), name)
            host = self.by_name[name]
            host.instance_type = host.instance_type or _first(labels, self._mapping.instance_type)
            host.region = host.region or _first(labels, self._mapping.region)
            if (name, family, instance) not in self._seen:
                self._seen.add((name, family, instance))
                host.targets.append(Target(family, instance))

    def add_types(self, series: Iterable[Mapping[str, str]]) -> None:
        """Takes machine types and regions from the labels of Kubernetes nodes."""
        for labels in series:
            self.labels.update(labels)
            host = self.by_name.get(self._known(self._renamed(labels.get("node", ""))))
            if host is not None:
                host.instance_type = host.instance_type or _first(labels, self._mapping.instance_type)
                host.region = host.region or _first(labels, self._mapping.region)

    def finish(self) -> list[HostTargets]:
        """All hosts by name, with what the mapping says of them: of each matter the first entry that says something."""
        for one in self.by_name.values():
            said = [each for each in self._mapping.hosts if self._fits(each, one.name)]
            one.instance_type = next((each.instance_type for each in said if each.instance_type), one.instance_type)
            one.region = next((each.region for each in said if each.region), one.region)
        return sorted(self.by_name.values(), key=lambda one: one.name)

    def unused(self) -> Iterator[str]:
        """What was asked for and met nothing: labels that no series has, entries of the mapping like no host."""
        yield from (f"no series has the label `{one}`" for one in self._mapping.own_labels() if one not in self.labels)
        for entry in self._mapping.hosts:
            if not any(self._fits(entry, name) for name in self.by_name):
                yield f"no host is like `{entry.like}`, of which the mapping says something"

    def _fits(self, entry: Named, name: str) -> bool:
        """True if an entry of the mapping is about the host of this name, be it the old or the new one."""
        return any(fnmatchcase(one, entry.like) for one in (name, *self._was.get(name, ())))

    def name_of(self, labels: Mapping[str, str], new: bool = False) -> str:
        """The host that a series is of: by a label that names it, else by its address.

        A name that no host has yet stands for itself where `new` hosts may come.
        """
        label = self._renamed(_first(labels, self._mapping.host))
        name = self._known(label) if label else ""
        if name in self.by_name or (new and name):
            return name
        at = address(labels.get(INSTANCE, ""))
        return self._by_address.get(at) or name or self._renamed(at)

    def _renamed(self, name: str) -> str:
        made = self._mapping.renamed(name) if name else name
        if made != name:
            self._was.setdefault(made, set()).add(name)
        return made

    def _known(self, label: str) -> str:
        """The host of this name; of a name without domain, the only host that begins with it, or the other way."""
        if label in self.by_name:
            return label
        close = self._by_short.get(short(label), set())
        only = next(iter(close)) if len(close) == 1 else ""
        return only if only and (short(only) == only or short(label) == label) else label


def short(name: str) -> str:
    """A host name without its domain; an IP address as it is."""
    first = name.partition(".")[0]
    return name if first.isdecimal() or ":" in name else first


def address(instance: str) -> str:
    """The address of an endpoint without its port and scheme."""
    bare = instance.partition("://")[2] or instance
    bare = bare.partition("/")[0]
    if bare.startswith("["):
        return bare[1:].partition("]")[0]
    host, colon, port = bare.rpartition(":")
    return host if colon and port.isdecimal() and ":" not in host else bare


def _first(labels: Mapping[str, str], names: Sequence[str]) -> str:
    return next((labels[one] for one in names if labels.get(one)), "")
