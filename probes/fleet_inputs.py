"""The machines of a fleet behind path arguments: whose artefact is which file, and which files are tables of facts.

A file is of the host that its name says, without endings; files of one name in one folder are of one host. Below a
folder argument, each folder in it is a host with all the files below; of a collected host only the name counts.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpuwhy.kb.facts import Absent, Fact
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.read import UnusableInput, gather

TABLE_ENDINGS = (".parquet", ".arrow", ".feather", ".ipc")
LINE_ENDINGS = (".ndjson", ".jsonl")
HEAD_BYTES = 64 << 10
_NODE = re.compile(rb'"(?:node|index)"\s{0,4}:\s{0,4}"([^"\\\n]{1,200})"')
_ENDINGS = frozenset(
    ("gz", "xml", "csv", "tsv", "txt", "log", "json", "jsonl", "ndjson", "out", "err", "md", "html", "prom", "metrics",
     "pickle", "sqlite", "dmesg", "facts", "failed", "trace", "yaml")
)  # fmt: skip


@dataclass(frozen=True)
class Slice:
    """The line of a file that holds the results of one host."""

    path: Path
    start: int
    size: int

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> bytes:
        """The line. Raises `OSError` where the file cannot be read any more."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.size)


@dataclass(frozen=True)
class HostFiles:
    """A host by name, and its artefacts with the names that reports show."""

    name: str
    files: tuple[tuple[str, Path | Slice], ...]

    def inputs(self) -> list[tuple[str, Path | bytes]]:
        """What a diagnosis of the host would be given. Raises `OSError`."""
        return [(name, one.read() if isinstance(one, Slice) else one) for name, one in self.files]


@dataclass(frozen=True)
class Broken:
    """Something of the fleet that could not be read, and why; `host` is a file name where no host is known."""

    host: str
    says: str


@dataclass
class Fleet:
    """What the path arguments name."""

    hosts: list[HostFiles] = field(default_factory=list)
    tables: list[Path] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)


@dataclass(frozen=True)
class HostFacts:
    """What was read about a host; `says` names what in its files could not be used, for the report."""

    facts: tuple[Fact, ...]
    absent: tuple[Absent, ...]
    says: str = ""


def find_fleet(arguments: Iterable[str], specs: Mapping[str, FactSpec]) -> Fleet:
    """The hosts and tables behind paths. What cannot be opened is among `broken`, never an error."""
    fleet = Fleet()
    found: dict[tuple[str, str], list[Path | Slice]] = {}
    seen: set[str] = set()
    for argument in arguments:
        for place, host, file in _named(argument, fleet.broken):
            if (whole := os.path.abspath(file)) in seen:
                continue
            seen.add(whole)
            if is_table(file, specs):
                if shown(whole) == whole:
                    fleet.tables.append(file)
                else:  # which the readers of tables do not take
                    fleet.broken.append(Broken(file.name, "a table with a path that is no UTF-8: name it otherwise"))
            else:
                for own, part in _nodes_of(file) or [(host, file)]:
                    found.setdefault((place, own), []).append(part)
    fleet.hosts = list(_unique(found))
    fleet.broken = [Broken(shown(one.host), shown(one.says)) for one in fleet.broken]
    return fleet


def shown(name: str) -> str:
    """A name of a file as text: bytes of it that are no UTF-8 are written as `\\xff`."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def _named(argument: str, broken: list[Broken]) -> Iterator[tuple[str, str, Path]]:
    """Place, host and file of everything that an argument names; that it names nothing, or cannot be, is broken."""
    paths = [Path(argument)]
    if not paths[0].exists() and glob.has_magic(argument):
        paths = [Path(one) for one in sorted(glob.glob(argument))]
    if not paths or not paths[0].exists():
        broken.append(Broken(argument, "no such file or folder"))
        return
    for path in paths:
        if not path.is_dir():
            yield str(path.parent), stem(path.name), path
            continue
        told = len(broken)
        files = list(_of_folder(path, broken))
        if not files and len(broken) == told:
            broken.append(Broken(str(path), "a folder without files"))
        yield from files


def stem(name: str) -> str:
    """The name of a file without the endings of file formats: `gpu-01.facts.json` is of gpu-01."""
    while "." in name:
        before, _, ending = name.rpartition(".")
        if not before or ending.lower() not in _ENDINGS:
            break
        name = before
    return name


def is_table(path: Path, specs: Mapping[str, FactSpec]) -> bool:
    """True for Parquet and Arrow files, and for lines of JSON whose keys are facts of a host."""
    lowered = path.name.lower()
    if lowered.endswith(TABLE_ENDINGS):
        return True
    if not lowered.endswith(LINE_ENDINGS):
        return False
    try:
        with open(path, "rb") as file:
            first = json.loads(file.readline(1 << 20))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "host" in first and any(key in specs for key in first)


def read_host(host: HostFiles, specs: Mapping[str, FactSpec]) -> HostFacts | Broken:
    """The facts of a host, read as a diagnosis of the same files reads them; or why there are none."""
    failed = not_collected(host)
    if failed is not None:
        return failed
    try:
        found = gather(host.inputs(), specs)
    except UnusableInput as error:
        return Broken(host.name, error.message)
    except (OSError, MemoryError) as error:
        return Broken(host.name, f"cannot be read: {error}")
    whole = next((f"{one.artefact}: {one.reason}" for one in found.not_understood if one.first is None), "")
    if not found.facts:
        return Broken(host.name, whole or "nothing in it is of a known format")
    return HostFacts(found.facts, found.absent, whole)


def _nodes_of(path: Path) -> list[tuple[str, Path | Slice]]:
    """The nodes of a file of benchmark results that has a line for each; empty for any other file."""
    if not path.name.lower().endswith((".jsonl", ".ndjson")):
        return []
    from gpuwhy.probes.artefacts import superbench

    found: list[tuple[str, Path | Slice]] = []
    try:
        with open(path, "rb") as file:
            if not superbench.accepts(file.read(HEAD_BYTES), path.name):
                return []
            file.seek(0)
            start = 0
            for number, line in enumerate(file, 1):
                name = _node_name(line, number)
                if name:
                    found.append((name, Slice(path, start, len(line))))
                start += len(line)
    except OSError:
        return []
    return found


def _node_name(line: bytes, number: int) -> str:
    """The node that a line is about; a line that is cut still makes a row of the report."""
    if not line.strip():
        return ""
    named = _NODE.search(line)
    if named is None:
        return f"line {number}"
    return named[1].decode("utf-8", "replace")


def _of_folder(folder: Path, broken: list[Broken]) -> Iterator[tuple[str, str, Path]]:
    """Place, host and file of everything below a folder, in the order of names."""
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError as error:
        broken.append(Broken(str(folder), f"cannot be read: {error.strerror}"))
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from ((str(folder), entry.name, file) for file in _of_host(entry, broken))
        elif entry.is_file():
            yield str(folder), stem(entry.name), Path(entry.path)
        elif entry.is_symlink():
            broken.append(Broken(stem(entry.name), "a link to a file that is not there"))


def _of_host(folder: os.DirEntry[str], broken: list[Broken]) -> list[Path]:
    """The files of a host that has a folder; that there are none, or that they cannot be listed, is broken."""
    refused: list[OSError] = []
    files = list(_below(Path(folder.path), refused))
    if not files:
        says = f"cannot be read: {refused[0].strerror}" if refused else "a folder without files"
        broken.append(Broken(folder.name, says))
    return files


def _below(folder: Path, refused: list[OSError]) -> Iterator[Path]:
    for base, folders, names in os.walk(folder, onerror=refused.append):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        yield from (Path(base) / name for name in sorted(names) if not name.startswith("."))


def _unique(found: Mapping[tuple[str, str], list[Path | Slice]]) -> Iterator[HostFiles]:
    """Hosts with names of their own: files of one name in several folders are told apart by their folders."""
    times = Counter(host for _, host in found)
    taken: set[str] = set()
    for (place, host), files in found.items():
        name = host if times[host] == 1 else f"{Path(place).resolve().name}/{host}"
        name = name if name not in taken else f"{place}/{host}"
        taken.add(name)
        yield HostFiles(shown(name), tuple((shown(str(one) if len(files) > 1 else one.name), one) for one in files))


def not_collected(host: HostFiles) -> Broken | None:
    """The reason that `collect` left for a host, if that is all there is."""
    path = host.files[0][1]
    if len(host.files) > 1 or isinstance(path, Slice) or not path.name.endswith(".failed.json"):
        return None
    try:
        document = json.loads(path.read_bytes()[: 1 << 20])
        return Broken(str(document["host"])[:200], f"was not collected: {str(document['says'])[:400]}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Broken(host.name, "was not collected")
