"""What nvidia-smi prints instead of an answer: the driver, its library or a GPU cannot be reached."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import Entity, gpu
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import join_lines
from gpuwhy.probes.artefacts.smi_rows import bus_key, indices_by_bus

NAME = "nvidia-smi-failure"
_WRAPPED = 3
"""Lines that one message may be wrapped over."""


@dataclass(frozen=True)
class _Failure:
    """A message (in lower case, white space collapsed) and what it says."""

    words: str
    error: str


_INIT = "failed to initialize nvml: "
_FAILURES = (
    _Failure("nvidia-smi has failed because it couldn't communicate with the nvidia driver", "driver-not-loaded"),
    _Failure("nvidia-smi has failed because you are not", "no-permission"),
    _Failure("nvidia-smi couldn't find libnvidia-ml.so library", "library-missing"),
    _Failure("nvidia-smi couldn't find nvml.dll library", "library-missing"),
    _Failure("nvml shared library not found", "library-missing"),
    _Failure(_INIT + "driver/library version mismatch", "version-mismatch"),
    _Failure("rm has detected an nvml/rm version mismatch", "version-mismatch"),
    _Failure(_INIT + "unknown error", "unknown-error"),
    _Failure(_INIT + "insufficient permissions", "no-permission"),
    _Failure(_INIT + "no permission", "no-permission"),
    _Failure(_INIT + "gpu access blocked by the operating system", "blocked-by-os"),
    _Failure(_INIT + "driver not loaded", "driver-not-loaded"),
    _Failure(_INIT + "driver is not loaded", "driver-not-loaded"),
    _Failure(_INIT + "nvml library not found", "library-missing"),
    _Failure(_INIT + "gpu is lost", "gpu-lost"),
    _Failure(_INIT + "gpu requires reset", "reset-required"),
    _Failure("nvidia-smi: command not found", "not-installed"),
    _Failure("nvidia-smi: not found", "not-installed"),
    _Failure('exec: "nvidia-smi": executable file not found', "not-installed"),
    _Failure("'nvidia-smi' is not recognized as", "not-installed"),
    _Failure("is not a valid field to query", "unknown-field"),
)
_CODE = re.compile(
    r"\bnvml\b[^\n]{0,60}?\b(?:error|return|ret|status)(?: code)?\s?[:=]?\s?(?P<code>[0-9]{1,3})\b(?![.%])"
    r"|\bgpu is lost \((?P<lost>15)\)"
)
_BY_CODE = {
    4: "no-permission", 8: "insufficient-power", 9: "driver-not-loaded", 11: "interrupt-problem",
    12: "library-missing", 14: "corrupted-inforom",
    15: "gpu-lost", 16: "reset-required", 17: "blocked-by-os", 18: "version-mismatch", 999: "unknown-error",
}  # fmt: skip
"""Return codes of NVML, which other programs print by number (nvmlReturn_t)."""
_NO_DEVICES = re.compile(r"(?:^|[:\]>]\s{0,4})no devices were found\.?\s{0,4}$")
_HANDLE = re.compile(
    r"unable to determine the device handle for gpu\s{0,2}(?P<index>\d{1,3}(?=:\s))?:?\s{0,2}"
    r"(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])?:?\s{0,2}(?P<why>[a-z][a-z /'-]{2,60})"
)
_LIBRARY = re.compile(r"nvml library version:\s{0,4}(?P<version>\d{3}[0-9.]{1,16})")
_INFOROM = re.compile(
    r"infoROM is corrupted at gpu (?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])", re.I
)
_TRIGGERS = (
    "nvidia-smi", "nvml", "no devices were found", "unable to determine the device handle", "inforom", "valid field",
    "gpu is lost",
)  # fmt: skip


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all failure messages of nvidia-smi in a text."""
    readings: list[Reading] = []
    claimed: set[int] = set()
    indices: dict[str, int] | None = None
    for position, line in enumerate(text.lines):
        lowered = line.text.lower()
        if not any(trigger in lowered for trigger in _TRIGGERS):
            continue
        indices = indices_by_bus(text) if indices is None else indices
        for count in range(1, _WRAPPED + 1):
            joined = " ".join(join_lines(text.lines, position, count).split())
            found = list(_read(line, joined.lower(), indices))
            if found:
                readings += found
                claimed.update(one.number for one in text.lines[position : position + count])
                claimed |= _continued(text, position + count - 1)
                break
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(claimed))


def _continued(text: Text, position: int) -> set[int]:
    """The lines after a message that only go on with it."""
    claimed = set()
    for line in text.lines[position + 1 : position + _WRAPPED]:
        lowered = line.text.strip().lower()
        if not lowered or not any(part in lowered for part in _TAILS):
            break
        claimed.add(line.number)
    return claimed


_TAILS = (
    "make sure that the latest nvidia driver",
    "installed and running",
    "please make sure that the nvidia display driver",
    "please also try adding directory",
    "reboot the system to recover",
)


def _read(line: Line, joined: str, indices: dict[str, int]) -> Iterator[Reading]:
    text = line.text.strip()[:200]
    own = " ".join(line.text.lower().split())
    for failure in _FAILURES:
        at = joined.find(failure.words)
        if 0 <= at < len(own):
            yield Reading("host.smi_error", failure.error, line.number, text)
            break
    if _NO_DEVICES.search(own):
        yield Reading("host.smi_error", "no-devices", line.number, text)
        yield Reading("gpu.count", 0, line.number, text)
    code = _CODE.search(own)
    if code and (number := int(code["code"] or code["lost"])) in _BY_CODE:
        yield Reading("host.nvml_error", _BY_CODE[number], line.number, text)
        yield Reading("host.nvml_error_code", number, line.number, text)
    library = _LIBRARY.search(own)
    if library:
        yield Reading("host.nvml_library_version", library["version"], line.number, text)
    inforom = _INFOROM.search(line.text)
    if inforom:
        yield Reading("gpu.inforom_corrupted", True, line.number, text, _device(None, inforom["bus"], indices))
    handle = _HANDLE.search(joined)
    if handle and handle.start() < len(own):
        yield from _handle(handle, line.number, text, indices)


def _handle(found: re.Match[str], number: int, text: str, indices: dict[str, int]) -> Iterator[Reading]:
    device = _device(found["index"], found["bus"], indices)
    why = found["why"].strip()
    yield Reading("gpu.handle_error", _reason(why), number, text, device)
    if found["bus"]:
        yield Reading("gpu.bus_id", found["bus"].upper(), number, text, device)
    if "gpu is lost" in why:
        yield Reading("gpu.lost", True, number, text, device)
        yield Reading("host.smi_error", "gpu-lost", number, text)
    elif "reset" in why:
        yield Reading("gpu.reset_required", True, number, text, device)
        yield Reading("host.smi_error", "reset-required", number, text)
    elif "permission" in why:
        yield Reading("host.smi_error", "no-permission", number, text)
    else:
        yield Reading("host.smi_error", "gpu-unreachable", number, text)


def _reason(why: str) -> str:
    known = ("unknown error", "gpu is lost", "gpu requires reset", "insufficient permissions", "not found")
    return next((reason for reason in known if reason in why), why[:60])


def _device(index: str | None, bus: str | None, indices: dict[str, int]) -> Entity:
    """The GPU of this index; else the one a table shows at this bus id; else one known by its bus id only."""
    if index:
        return gpu(int(index))
    if bus is None:
        return gpu(0)
    known = indices.get(bus_key(bus))
    return gpu(bus.upper() if known is None else known)


FORMAT = TextFormat(NAME, "nvidia-smi (failure message)", _TRIGGERS, scan)
