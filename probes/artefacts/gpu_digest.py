"""Digests of a GPU profile, written by hand or by a script: `kernels 60 busy 0.31 ms span 3.91 ms`, `9 launches`.

A line counts if it gives a number of kernels or launches, or the GPU's busy time, under these words; every number is
kept under its label, and the first of each kind says how the steps spend their time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import parse_duration, parse_number
from gpuwhy.probes.artefacts.timeline_kernels import matrix_readings

_COUNT = r"([0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,12})"
_TIME = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s?(ns|us|µs|ms|s)\b"
_SEPARATOR = r"[\s:=*]{1,12}"
_MEASURES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("kernels", re.compile(rf"\b(?:kernels{_SEPARATOR}{_COUNT}\b|{_COUNT}\s{{1,4}}kernels\b)", re.IGNORECASE)),
    ("launches", re.compile(rf"\b(?:launches{_SEPARATOR}{_COUNT}\b|{_COUNT}\s{{1,4}}launches\b)", re.IGNORECASE)),
    ("busy", re.compile(rf"\bbusy(?:\s{{1,4}}time)?{_SEPARATOR}{_TIME}", re.IGNORECASE)),
    ("sum", re.compile(rf"\bsum{_SEPARATOR}{_TIME}", re.IGNORECASE)),
    ("span", re.compile(rf"\bspan{_SEPARATOR}{_TIME}", re.IGNORECASE)),
    ("busy share", re.compile(rf"\bbusy{_SEPARATOR}([0-9]{{1,3}}(?:\.[0-9]{{1,4}})?)\s?%", re.IGNORECASE)),
    ("mean", re.compile(rf"\bmean{_SEPARATOR}(?:kernel{_SEPARATOR})?{_TIME}", re.IGNORECASE)),
    (
        "step",
        re.compile(rf"{_TIME}\s?(?:/|per)\s?(?:frame|step|iteration|iter|batch|token|inference)\b", re.IGNORECASE),
    ),
)
_PART = re.compile(rf"\bkernels\s{{1,8}}{_TIME}\s{{1,4}}of\s{{1,4}}([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)\b", re.IGNORECASE)
_ENTRY = re.compile(
    rf"(?:^|;)[\s>*]{{0,40}}([A-Za-z_][\w:<>,.]{{2,200}})\s{{1,20}}{_COUNT}\s{{1,4}}calls\s{{1,20}}{_TIME}"
)
_DIGEST = frozenset({"kernels", "launches", "busy"})
_COUNTED = frozenset({"kernels", "launches"})
_BUSY = frozenset({"busy", "busy share", "sum", "span"})


@dataclass(frozen=True)
class _Measure:
    kind: str
    value: float
    line: Line
    label: str


def scan(text: Text) -> Iterable[Extract]:
    """One extract of all labelled numbers, and step facts of the first of each kind; nothing for a lone number."""
    measures = [measure for line in text.lines if len(line.text) < 1000 for measure in _measures(line)]
    kinds = {measure.kind for measure in measures}
    if not kinds & _COUNTED or not kinds & _BUSY:
        return
    entries = [(line, match) for line in text.lines if len(line.text) < 1000 for match in _ENTRY.finditer(line.text)]
    claimed = {measure.line.number for measure in measures} | {line.number for line, _ in entries}
    readings = [*_labelled(measures), *_steps(measures), *_entries(entries)]
    yield Extract("gpu-digest", tuple(readings), claimed=frozenset(claimed))


def _measures(line: Line) -> Iterator[_Measure]:
    found: list[_Measure] = []
    matches = {kind: match for kind, pattern in _MEASURES if (match := pattern.search(line.text)) is not None}
    part = _PART.search(line.text)
    label = _label(
        line.text, min((match.start() for match in [*matches.values(), *([part] if part else [])]), default=0)
    )
    for kind, match in matches.items():
        value = _value(kind, [group for group in match.groups() if group])
        if value is not None:
            found.append(_Measure(kind, value, line, label))
    if part is not None:
        for kind, number in (("busy", part[1]), ("span", part[3])):
            value = parse_duration(f"{number} {part[2]}")
            if value is not None:
                found.append(_Measure(kind, value, line, label))
    if _DIGEST & {measure.kind for measure in found} or [measure.kind for measure in found] == ["step"]:
        yield from found


def _value(kind: str, groups: list[str]) -> float | None:
    if kind in ("kernels", "launches"):
        return parse_number(groups[0])
    if kind == "busy share":
        number = parse_number(groups[0])
        return None if number is None else number / 100.0
    return parse_duration(" ".join(groups))


def _label(text: str, end: int) -> str:
    """The words before a number, without marks of a list or of emphasis."""
    words = text[:end].replace("*", " ").strip(" \t>-:|").split(":")[0]
    return " ".join(words.split())[:80]


def _labelled(measures: list[_Measure]) -> Iterator[Reading]:
    facts = {"kernels": "reading.count", "launches": "reading.count", "busy share": "reading.share"}
    seen: dict[str, int] = {}
    for measure in measures:
        name = f"{measure.label} {measure.kind}".strip()
        seen[name] = seen.get(name, 0) + 1
        entity = Entity("measurement", name if seen[name] == 1 else f"{name} #{seen[name]}", JOB)
        fact = facts.get(measure.kind, "reading.seconds")
        yield Reading(fact, measure.value, measure.line.number, measure.line.text.strip()[:200], entity)


_DIRECT = {
    "kernels": "step.kernel_count",
    "launches": "step.launch_count",
    "busy": "step.gpu_busy_seconds",
    "busy share": "step.gpu_busy_share",
    "mean": "step.kernel_mean_seconds",
    "step": "step.time_seconds",
    "sum": "step.kernel_total_seconds",
}


def _steps(measures: list[_Measure]) -> Iterator[Reading]:
    """Step facts of the first digest: where several runs are set side by side, the first is the one asked about."""
    first: dict[str, _Measure] = {}
    for measure in measures:
        first.setdefault(measure.kind, measure)
    for kind, fact in _DIRECT.items():
        if kind in first:
            value = first[kind].value
            yield _step(fact, int(value) if fact.endswith("_count") else value, first[kind])
    if "mean" not in first and "sum" in first and "kernels" in first and first["kernels"].value > 0:
        yield _step("step.kernel_mean_seconds", first["sum"].value / first["kernels"].value, first["sum"])
    yield from _shares(first)


def _shares(first: dict[str, _Measure]) -> Iterator[Reading]:
    """Busy or compute time over the span, or over the time of a step."""
    whole = first.get("span") or first.get("step")
    if whole is None or whole.value <= 0:
        return
    yield _step("step.window_seconds", whole.value, whole)
    for kind, fact in (("busy", "step.gpu_busy_share"), ("sum", "step.compute_share")):
        known = kind == "busy" and "busy share" in first
        if kind in first and not known and first[kind].value <= whole.value:
            yield _step(fact, first[kind].value / whole.value, first[kind])


def _step(fact: str, value: float | int, measure: _Measure) -> Reading:
    return Reading(fact, value, measure.line.number, measure.line.text.strip()[:200], JOB)


def _entries(entries: list[tuple[Line, re.Match[str]]]) -> Iterator[Reading]:
    seen: dict[str, float] = {}
    for line, match in entries:
        seconds, calls = parse_duration(f"{match[3]} {match[4]}"), parse_number(match[2])
        if seconds is None or calls is None or match[1] in seen:
            continue
        seen[match[1]] = seconds
        entity = Entity("entry", match[1], JOB)
        yield Reading("profile.device_total_seconds", seconds, line.number, match[0].strip()[:200], entity)
        yield Reading("profile.calls", int(calls), line.number, match[0].strip()[:200], entity)
    yield from matrix_readings(list(seen.items()))


FORMAT = TextFormat("gpu-digest", "Digest of a GPU profile", ("kernels", "launches"), scan)
