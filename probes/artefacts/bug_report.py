"""`nvidia-bug-report.log`: the outputs of many commands and files in one, each behind a ruler and its name.

Only sections with a reader are kept, each as a text of its own with its line numbers in the report; the rest (tens of
megabytes of encoded dumps among it) is passed over unread. The kernel log stands in it several times over: what the
journal or a log file repeats of `dmesg` is left out, and of earlier starts of the machine is only read where this start
shows no Xid.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from gpuwhy.kb.facts import HOST
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.cleaning import numbered
from gpuwhy.probes.artefacts.contract import Extract, FileFormat, Line, Missing, Reading, Text, Trouble

NAME = "nvidia-bug-report"
MARK = b"Start of NVIDIA bug report log file"
MOST_OF_A_SECTION = 4 << 20
MOST_SECTIONS = 400
MOST_BYTES = 1 << 31
_LONGEST_LINE = 1 << 20

_KERNEL = frozenset(
    ("kernel-log-nvidia", "kernel-log-pcie", "host-memory-kills", "environment-messages", "network-links")
)
_FORMATS = {
    "dmesg": _KERNEL,
    "smi": frozenset(
        (
            "nvidia-smi",
            "nvidia-smi-q",
            "nvidia-smi-nvlink",
            "nvidia-smi-topology",
            "nvidia-smi-failure",
            "nvidia-smi-list",
        )
    ),
    "lspci": frozenset(("pcie-links",)),
    "memory": frozenset(("meminfo", "free")),
    "versions": frozenset(("software-versions",)),
    "fabric": frozenset(("fabric-manager-log", "environment-messages")),
    "network": frozenset(("network-links",)),
}
"""Which formats are looked for in which kind of section: a log of graphics servers is nobody's training log."""

_RULER = re.compile(rb"_{20,100}\s*")
_FILE = re.compile(rb"(?:\*\*\* )?(/(?:proc|var|sys|etc)/[^\s:]{1,200})(?:\s.{0,100})?")
_COMMAND = re.compile(
    rb"(?:/[\w./-]{1,80}/)?(?:nvidia-smi|lspci|ibstat|numactl|systemctl|nvidia-debugdump)(?: [^\n|:]{0,200})?"
)
_LOG = re.compile(rb" {1,4}(?:journalctl -b -?\d|/var/log/[\w.-]{1,60}):\s*")
_KERNEL_LINE = re.compile(r"NVRM:|nvidia-nvswitch|SXid|\bXid\b")
_XID = re.compile(r"\bXid\s{0,2}\(|\bXid PCI:")
_HEX = re.compile(r"\s*[0-9a-f]{2,3}: (?:[0-9a-f]{2}\s?){4,16}\s*")


@dataclass(frozen=True)
class Section:
    """A part of the report: its lines as a text, and the names of the formats that may be in it."""

    text: Text
    formats: frozenset[str]


@dataclass(frozen=True)
class Parted:
    """What of a report is worth reading, what a person should know about the rest, and where an older log begins."""

    sections: tuple[Section, ...]
    notes: tuple[Trouble, ...]
    earlier: int | None = None


@dataclass
class _Raw:
    kind: str
    first: int
    content: list[bytes]
    size: int = 0
    cut: bool = False


def accepts(head: bytes, _name: str) -> bool:
    """True for the beginning of a bug report."""
    return MARK in head


def read(source: Path | bytes, name: str) -> Extract:
    """What the readers of the sections find, as one extract; lines are those of the (unpacked) report."""
    from gpuwhy.probes.artefacts import registry
    from gpuwhy.probes.artefacts.read import scanned

    lines = _Lines(source)
    parted = part(lines, name)
    readings: list[Reading] = []
    missing: list[Missing] = []
    troubles = [*parted.notes]
    for section in parted.sections:
        lowered = "\n".join(line.text for line in section.text.lines).lower()
        for one in registry.text_formats(lowered):
            for extract in scanned(one, section.text) if one.name in section.formats else ():
                readings.extend(extract.readings)
                missing.extend(extract.missing)
                troubles.extend(extract.troubles)
    if parted.earlier is not None:
        readings.append(Reading("host.kernel_log_earlier", True, parted.earlier, None, HOST))
    if lines.broken:
        troubles.append(Trouble(None, "gzip file damaged, cut short or larger than is read; its start was read"))
    if not readings:
        troubles.append(Trouble(None, "no section of the report that is read says anything"))
    return Extract(NAME, tuple(readings), tuple(missing), troubles=tuple(troubles))


class _Lines:
    """The lines of a plain or packed file; `broken` afterwards if they are not all."""

    def __init__(self, source: Path | bytes) -> None:
        self._source = source
        self.broken = False

    def __iter__(self) -> Iterator[bytes]:
        if isinstance(self._source, bytes):
            yield from self._from(io.BytesIO(self._source))
            return
        with open(self._source, "rb") as raw:
            yield from self._from(raw)

    def _from(self, raw: IO[bytes]) -> Iterator[bytes]:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not packed:
            yield from self._of(raw)
            return
        with gzip.open(raw) as unpacked:
            yield from self._of(cast(IO[bytes], unpacked))

    def _of(self, file: IO[bytes]) -> Iterator[bytes]:
        total = 0
        part_of_line = False
        try:
            while line := file.readline(_LONGEST_LINE):
                total += len(line)
                if total > MOST_BYTES:
                    self.broken = True
                    return
                if not part_of_line:
                    yield line if line.endswith(b"\n") else line + b"\n"
                part_of_line = not line.endswith(b"\n")
        except (EOFError, OSError, zlib.error):
            self.broken = True


def part(lines: Iterable[bytes], name: str) -> Parted:
    """The sections of a report that have readers, from its lines with their ends."""
    raw = list(_raw_sections(lines))
    kept: list[Section] = []
    notes = [Trouble(one.first, "a section longer than is read: its start was read") for one in raw if one.cut]
    logs: dict[str, list[Line]] = {"dmesg": [], "journal": [], "earlier": []}
    for one in raw:
        read = numbered(b"".join(one.content), one.first)
        if one.kind == "earlier":
            logs["earlier"].extend(_not_in(read, logs["earlier"]))
        elif one.kind in logs:
            logs[one.kind].extend(read)
        else:
            kept.append(Section(Text(name, _without_dumps(one.kind, read)), _FORMATS[one.kind]))
    kernel, told, earlier = _kernel_log(logs)
    if kernel:
        kept.append(Section(Text(name, kernel), _KERNEL))
    return Parted(tuple(kept), (*notes, *told), earlier)


def _raw_sections(lines: Iterable[bytes]) -> Iterator[_Raw]:
    current: _Raw | None = None
    opened = False
    found = 0
    for number, line in enumerate(lines, 1):
        if line.startswith(b"____") and _RULER.fullmatch(line):
            if current is not None:
                yield current
            current, opened = None, True
            continue
        kind = _kind_of(line, opened) if line[:1] in b"/* dsjS" else None
        if kind is not None:
            if current is not None:
                yield current
            found += 1
            current = _Raw(kind, number, []) if kind and found <= MOST_SECTIONS else None
        if opened and line.strip():
            opened = False
        if current is not None:
            _add(current, line)
    if current is not None:
        yield current


def _add(section: _Raw, line: bytes) -> None:
    if section.size + len(line) > MOST_OF_A_SECTION:
        section.cut = True
        return
    section.content.append(line)
    section.size += len(line)


def _kind_of(line: bytes, opened: bool) -> str | None:
    """The kind of section that a line opens: empty where nobody reads it, None where it opens none."""
    if len(line) > 400:
        return None
    if _LOG.fullmatch(line):
        return "journal" if b"-b -0" in line or b"-b 0" in line else "earlier"
    text = line.strip()
    if opened and text == b"dmesg:":
        return "dmesg"
    file = _FILE.fullmatch(text)
    if file and (opened or text.startswith(b"*** /")):
        return _kind_of_file(file[1])
    command = _COMMAND.fullmatch(text)
    if command and (opened or text.startswith((b"/", b"nvidia-smi"))):
        return _kind_of_command(text)
    return "" if opened and text else None


def _kind_of_file(path: bytes) -> str:
    if path.endswith(b"/proc/meminfo"):
        return "memory"
    if path.endswith(b"/proc/driver/nvidia/version"):
        return "versions"
    return "fabric" if path.endswith(b"/fabricmanager.log") else ""


def _kind_of_command(text: bytes) -> str:
    if b"nvidia-smi" in text:
        return "" if b"--unit" in text or b"conf-compute" in text else "smi"
    if b"lspci" in text:
        return "lspci" if b"vv" in text else ""
    if b"nvidia-fabricmanager" in text:
        return "fabric"
    return "network" if b"ibstat" in text and b"-" not in text.split(b"ibstat", 1)[1] else ""


def _without_dumps(kind: str, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    if kind != "lspci":
        return lines
    return tuple(line for line in lines if not _HEX.fullmatch(line.text))


def _kernel_log(logs: dict[str, list[Line]]) -> tuple[tuple[Line, ...], list[Trouble], int | None]:
    """One kernel log of all that stand in the report, what is older first; and where an earlier start's begins."""
    dmesg, journal, earlier = logs["dmesg"], logs["journal"], logs["earlier"]
    current = [*_not_in(journal, dmesg), *dmesg]
    before = _not_in(earlier, current)
    with_xid = [line for line in before if _XID.search(line.text)]
    if not with_xid:
        return tuple(current), [], None
    first, last = with_xid[0].number, with_xid[-1].number
    if any(_XID.search(line.text) for line in current):
        says = f"Xids of an earlier start of this machine (lines {first}-{last}) were left out"
        return tuple(current), [Trouble(first, says)], None
    says = f"no Xid since this machine started: those of an earlier start were read (lines {first}-{last})"
    return (*before, *current), [Trouble(first, says)], first


def _not_in(lines: Iterable[Line], others: Iterable[Line]) -> list[Line]:
    """Lines of the NVIDIA driver that the other log does not have, the times of the two logs left aside."""
    known = Counter(_message(line.text) for line in others if _KERNEL_LINE.search(line.text))
    kept: list[Line] = []
    for line in lines:
        found = _KERNEL_LINE.search(line.text)
        if not found:
            continue
        if known[message := _message(line.text)] > 0:
            known[message] -= 1
        else:
            kept.append(line)
    return kept


def _message(text: str) -> str:
    found = _KERNEL_LINE.search(text)
    return text[found.start() :].strip() if found else text.strip()


FORMAT = FileFormat(NAME, "nvidia-bug-report.log (sections of it)", accepts, read)
