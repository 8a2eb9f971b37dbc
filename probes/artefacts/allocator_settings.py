"""Settings of framework allocators, wherever a text shows them: shells, Dockerfiles, Python, YAML, prose.

Assertions of PyTorch's allocator stand with them: they follow from settings that do not go together.
Read are the variables of PyTorch (`PYTORCH_ALLOC_CONF`, `PYTORCH_CUDA_ALLOC_CONF`), of JAX and of TensorFlow. A setting
that a message merely suggests (`try setting …`) is not set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from gpuwhy.kb.facts import JOB, Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat, Trouble
from gpuwhy.probes.artefacts.quantities import parse_number

_MIB = 1024.0 * 1024.0

_HINTS = (
    "alloc_conf",
    "max_split_size_mb",
    "expandable_segments",
    "garbage_collection_threshold",
    "set_allocator_settings",
    "xla_python_client",
    "tf_force_gpu_allow_growth",
    "tf_gpu_allocator",
    "allow_growth",
    "set_memory_growth",
    "per_process_gpu_memory_fraction",
    "set_per_process_memory_fraction",
    "cachingallocator",
)

_KEY_VALUE = r"[a-z][a-z0-9_]{2,50}\s?[:=]\s?(?:\[[^\]\n]{1,200}\]|[A-Za-z0-9_.]{1,40})"
_VARIABLE = re.compile(
    r"\b(PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF)\b[\"'\]]{0,3}\s{0,3}(?:[=:,]|\s)\s{0,3}[\"']?"
    rf"({_KEY_VALUE}(?:\s?,\s?{_KEY_VALUE}){{0,24}})"
)
_CALL = re.compile(r"_set_allocator_settings\(\s{0,3}[\"']([^\"'\n]{1,400})[\"']")
_PAIR = re.compile(r"([a-z][a-z0-9_]{2,50})\s?[:=]\s?(\[[^\]\n]{1,200}\]|[A-Za-z0-9_.]{1,40})")
_BARE = re.compile(
    r"\b(max_split_size_mb|expandable_segments|garbage_collection_threshold|roundup_power2_divisions)\s?[:=]\s?"
    r"(\[[^\]\n]{1,200}\]|[A-Za-z0-9_.]{1,40})"
)
_ADVICE = re.compile(
    r"\b(?:try|trying|consider|recommend\w{0,3}|suggest\w{0,3}|should|could|might|e\.g\.|for example|such as)\b",
    re.IGNORECASE,
)
_UNSET = re.compile(r"\b(?:unset|without|not set|no longer)\b", re.IGNORECASE)


_ASSERTION = re.compile(r"\bINTERNAL ASSERT FAILED at [\"'][^\"'\n]{0,200}CachingAllocator\w{0,12}\.(?:cpp|h)\b")
_WHILE_REPORTING = "NVML_SUCCESS"  # this assertion is a failed report of memory that ran out


@dataclass(frozen=True)
class _Setting:
    fact: str
    read: Callable[[str], Value | None]


def _truth(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())


def _mebibytes(text: str) -> float | None:
    value = parse_number(text)
    return None if value is None else value * _MIB


def _share(text: str) -> float | None:
    value = parse_number(text)
    return value if value is not None and 0.0 <= value <= 1.0 else None


def _backend(text: str) -> str | None:
    return text if text in ("native", "cudaMallocAsync") else None


_PYTORCH = {
    "expandable_segments": _Setting("allocator.expandable_segments", _truth),
    "max_split_size_mb": _Setting("allocator.max_split_size_bytes", _mebibytes),
    "garbage_collection_threshold": _Setting("allocator.garbage_collection_threshold", _share),
    "backend": _Setting("allocator.backend", _backend),
    "max_non_split_rounding_mb": _Setting("allocator.max_non_split_rounding_bytes", _mebibytes),
    "roundup_power2_divisions": _Setting("allocator.roundup_divisions", str),
    "large_segment_size_mb": _Setting("allocator.large_segment_bytes", _mebibytes),
    "per_process_memory_fraction": _Setting("allocator.memory_fraction_share", _share),
    "release_lock_on_cudamalloc": _Setting("allocator.release_lock", _truth),
    "release_lock_on_hipmalloc": _Setting("allocator.release_lock", _truth),
    "throw_on_cudamalloc_oom": _Setting("allocator.throw_early", _truth),
    "graph_capture_record_stream_reuse": _Setting("allocator.graph_stream_reuse", _truth),
    "pinned_use_cuda_host_register": _Setting("allocator.pinned_host_register", _truth),
    "pinned_use_hip_host_register": _Setting("allocator.pinned_host_register", _truth),
    "pinned_num_register_threads": _Setting("allocator.pinned_register_threads", parse_number),
    "pinned_use_background_threads": _Setting("allocator.pinned_background_threads", _truth),
    "pinned_reserve_segment_size_mb": _Setting("allocator.pinned_reserve_bytes", _mebibytes),
}
_EXACT_BOOLEANS = frozenset(key for key, setting in _PYTORCH.items() if setting.read is _truth)
_SMALLEST_SPLIT_MB = 20.0  # PyTorch refuses less: its large pool serves 1 to 10 MiB from segments of 20 MiB


@dataclass(frozen=True)
class _Other:
    """A setting of another framework, by the pattern that shows it."""

    pattern: re.Pattern[str]
    fact: str
    read: Callable[[str], Value | None]


_VALUE = r"[\"'\]]{0,3}\s{0,3}[=:,]\s{0,3}[\"']?([A-Za-z0-9_.]{1,40})"
_OTHERS = (
    _Other(re.compile(r"\bXLA_PYTHON_CLIENT_PREALLOCATE\b" + _VALUE), "allocator.preallocates", _truth),
    _Other(re.compile(r"\bXLA_PYTHON_CLIENT_MEM_FRACTION\b" + _VALUE), "allocator.memory_fraction_share", _share),
    _Other(re.compile(r"\bXLA_CLIENT_MEM_FRACTION\b" + _VALUE), "allocator.memory_fraction_share", _share),
    _Other(re.compile(r"\bXLA_PYTHON_CLIENT_ALLOCATOR\b" + _VALUE), "allocator.kind", str),
    _Other(re.compile(r"\bTF_GPU_ALLOCATOR\b" + _VALUE), "allocator.kind", str),
    _Other(re.compile(r"\bTF_FORCE_GPU_ALLOW_GROWTH\b" + _VALUE), "allocator.grows", _truth),
    _Other(re.compile(r"\ballow_growth\s{0,3}=\s{0,3}(True|False|true|false)\b"), "allocator.grows", _truth),
    _Other(re.compile(r"\bset_memory_growth\([^,\n]{1,80},\s{0,3}(True|False)"), "allocator.grows", _truth),
    _Other(
        re.compile(r"\bper_process_gpu_memory_fraction\s{0,3}=\s{0,3}([0-9.]{1,12})"),
        "allocator.memory_fraction_share",
        _share,
    ),
    _Other(
        re.compile(r"\bset_per_process_memory_fraction\(\s{0,3}([0-9.]{1,12})"),
        "allocator.memory_fraction_share",
        _share,
    ),
)


def _scan(text: Text) -> Iterable[Extract]:
    readings: list[Reading] = []
    troubles: list[Trouble] = []
    claimed: set[int] = set()
    shown: dict[str, str] = {}
    for index, line in enumerate(text.lines):
        lowered = line.text.lower()
        if not any(hint in lowered for hint in _HINTS):
            continue
        before = text.lines[index - 1].text if index else ""
        for name, pairs, stretch in _settings(line, before):
            shown[name] = ",".join(f"{key}:{value}" for key, value in pairs)
            for key, value in pairs:
                _read(key, value, line, stretch, readings, troubles)
            claimed.update({line.number} if len(stretch) * 2 > len(line.text.strip()) else ())
        readings.extend(_other_settings(line, before))
    readings.extend(_conflict(shown))
    if readings or troubles:
        yield Extract(FORMAT.name, tuple(readings), claimed=frozenset(claimed), troubles=tuple(troubles))


def _settings(line: Line, before: str) -> Iterator[tuple[str, list[tuple[str, str]], str]]:
    """Settings of PyTorch on one line: the variable ("" where none is named), its pairs, and the text they stand in."""
    found = False
    for match in (*_VARIABLE.finditer(line.text), *_CALL.finditer(line.text)):
        found = True
        name = match[1] if match.re is _VARIABLE else ""
        if not _merely_mentioned(line.text, match.start(), before):
            yield name, _PAIR.findall(match[match.lastindex or 0]), match[0]
    if found:
        return
    for match in _BARE.finditer(line.text):
        if not _merely_mentioned(line.text, match.start(), before):
            yield "", [(match[1], match[2])], match[0]


def _merely_mentioned(text: str, start: int, line_before: str) -> bool:
    """True if the words before the setting advise it (or say that it is not set)."""
    lead = text[max(0, start - 80) : start]
    if start < 40:
        lead = line_before[-80:] + " " + lead if _ends_open(line_before) else lead
    lead = re.split(r"[.;]\s", lead)[-1]
    return bool(_ADVICE.search(lead) or _UNSET.search(lead))


def _ends_open(line: str) -> bool:
    """True if a line stops in mid-sentence, so that the next one may belong to it."""
    stripped = line.rstrip()
    return len(stripped) >= 40 and stripped[-1].isalpha()


def _read(key: str, value: str, line: Line, stretch: str, readings: list[Reading], troubles: list[Trouble]) -> None:
    setting = _PYTORCH.get(key)
    if setting is None:
        readings.append(Reading("allocator.setting_unknown", f"{key}:{value}", line.number, stretch[:200], JOB))
        return
    read = setting.read(value)
    if read is None:
        troubles.append(Trouble(line.number, f"{key} has the value {value!r}, which it cannot take"))
        readings.append(Reading("allocator.setting_invalid", f"{key}:{value}", line.number, stretch[:200], JOB))
        return
    readings.append(Reading(setting.fact, read, line.number, stretch[:200], JOB))
    too_small = key == "max_split_size_mb" and (parse_number(value) or 0.0) < _SMALLEST_SPLIT_MB
    if too_small or (key in _EXACT_BOOLEANS and value not in ("True", "False")):
        readings.append(Reading("allocator.setting_invalid", f"{key}:{value}", line.number, stretch[:200], JOB))


def _other_settings(line: Line, before: str) -> Iterator[Reading]:
    asserted = _ASSERTION.search(line.text)
    if asserted is not None and _WHILE_REPORTING not in line.text:
        yield Reading("allocator.assertion_failed", True, line.number, line.text.strip()[:200], JOB)
    for other in _OTHERS:
        for match in other.pattern.finditer(line.text):
            value = other.read(match[1])
            if value is not None and not _merely_mentioned(line.text, match.start(), before):
                yield Reading(other.fact, value, line.number, match[0][:200], JOB)


def _conflict(shown: dict[str, str]) -> Iterator[Reading]:
    general = shown.get("PYTORCH_ALLOC_CONF")
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"):
        special = shown.get(name)
        if general is not None and special is not None:
            differ = general.replace("=", ":") != special.replace("=", ":")
            text = f"PYTORCH_ALLOC_CONF={general} {name}={special}"[:200]
            yield Reading("allocator.settings_conflict", differ, None, text, JOB)


FORMAT = TextFormat("allocator-settings", "Settings of the memory allocator", _HINTS, _scan)
