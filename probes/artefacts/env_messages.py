"""Messages that GPU, driver, framework and container do not fit together, whoever prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpuwhy.kb.facts import HOST, JOB, Value
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.env_wordings import EnvWording, spaced
from gpuwhy.probes.artefacts.env_wordings_cuda import AT_START, BY_CODE, CODES, OUT_OF_MEMORY, cuda_wordings
from gpuwhy.probes.artefacts.env_wordings_frameworks import BUILD, DEBUGGING, UNAVAILABLE, UNSUPPORTED_TYPES
from gpuwhy.probes.artefacts.env_wordings_system import CONTAINERS, DEVICE, DRIVER, FABRIC, SHARING
from gpuwhy.probes.artefacts.flow import Flow
from gpuwhy.probes.artefacts.lazy_pattern import LazyPattern

NAME = "environment-messages"
_HINTS = (
    "cuda",
    "nvidia",
    "nvrm",
    "nvml",
    "gpu",
    "torch",
    "driver",
    "libcu",
    "bf16",
    "fp8",
    "anomaly",
    "mps ",
    "jaxlib",
    "fabric manager",
    "nvlsm",
    "cudnn",
)
_QUOTED = 160
_SPACE = re.compile(r"\s{1,40}")
_WORDINGS: tuple[EnvWording, ...] = (
    *cuda_wordings(), *BUILD, *UNAVAILABLE, *UNSUPPORTED_TYPES, *DEBUGGING, *DRIVER, *DEVICE, *FABRIC, *CONTAINERS,
    *SHARING,
)  # fmt: skip
_CODES = tuple(LazyPattern(spaced(one), one) for one in CODES)
_AT_START = tuple(one for one, written in zip(_CODES, CODES, strict=True) if written in AT_START)
_SOURCE_LINE = re.compile(r"\bCUDA error at [^\s:]{1,200}:(?P<line>[0-9]{1,6})\b")


_AVAILABLE = (
    LazyPattern(
        r"\btorch\.cuda\.is_available(?:\(\))?['\")]{0,3}\s{0,3}(?:returns?|returned|is|gives|:|=|->|,)?[\s:=,]{0,4}"
        r"(?P<answer>True|False)\b"
    ),
    LazyPattern(
        r"(?<!\bif )(?<!\bis )(?<!\bwhen )\btorch\.cuda\.is_available(?:\(\))?['\"`)]{0,3},? "
        r"(?:(?:which|it|that|always|still) ){0,3}"
        r"(?:is |was |keeps )?(?:returning|returned|printing|prints|printed|giving|gave|says|showing|shows) "
        r"(?:me |always |still )?(?P<answer>True|False)\b(?!\?)"
    ),
    LazyPattern(r"\bCUDA (?:is )?available['\"?]{0,2}\s{0,3}[:=]\s{0,3}['\"]?(?P<answer>True|False|yes|no)\b"),
    LazyPattern(r"\bcuda_available['\"]?\s{0,3}[:=]\s{0,3}(?P<answer>True|False)\b"),
)
"""How a program answers, or is quoted, when it is asked for CUDA."""


def scan(text: Text) -> Iterable[Extract]:
    """One extract of all statements of a text; of several wordings of one statement the first is quoted."""
    flow = Flow.of(text.lines)
    lowered = flow.text.lower()
    found = _Found(flow)
    for wording in _WORDINGS:
        match = wording.find(flow.text, lowered)
        if match is not None:
            found.note(wording, match)
    _codes(flow, lowered, found)
    for pattern in _AVAILABLE:
        for match in _first_three(pattern.finditer(flow.text, lowered)):
            found.put("job.cuda_available", match["answer"].lower() in ("true", "yes"), match)
    if found.readings:
        yield Extract(NAME, tuple(found.readings.values()), claimed=frozenset(found.claimed))


class _Found:
    """Statements found so far, each once, in the words that stand first in the text."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.readings: dict[str, Reading] = {}
        self.claimed: set[int] = set()

    def note(self, wording: EnvWording, match: re.Match[str]) -> None:
        """A statement, and the facts in the groups of its wording."""
        if f"said.{wording.fact}" not in wording.groups.values():
            self.put(f"said.{wording.fact}", self.quoted(match), match)
        for group, fact in wording.groups.items():
            printed = match.groupdict().get(group)
            if printed:
                self.put(fact, _value(fact, printed), match)

    def quoted(self, match: re.Match[str]) -> str:
        """The line that the match begins on, from the match on if the line is long."""
        start = self.flow.text.rfind("\n", 0, match.start()) + 1
        end = self.flow.text.find("\n", match.end())
        if match.end() - start > _QUOTED:
            start = match.start()
        return _SPACE.sub(" ", self.flow.text[start : end if end > 0 else None].strip())[:_QUOTED]

    def put(self, fact: str, value: Value, match: re.Match[str]) -> None:
        """A reading, unless an earlier line already gave it."""
        number = self.flow.number(match.start())
        known = self.readings.get(fact)
        self.claimed |= self.flow.numbers(match.start(), match.end())
        if known is not None and (known.line or 0) <= number:
            return
        entity = HOST if fact.startswith(("host.", "driver.")) else JOB
        self.readings[fact] = Reading(fact, value, number, self.quoted(match), entity)


def _value(fact: str, printed: str) -> Value:
    if fact in ("driver.probe_failed_count", "driver.probe_error_code"):
        return int(printed)
    if fact == "said.driver_cuda":
        return f"{int(printed) // 1000}.{int(printed) % 1000 // 10}"
    return printed.rstrip(".,;")


def _codes(flow: Flow, lowered: str, found: _Found) -> None:
    """Numbers of CUDA errors; one that says something of the environment is a statement too."""
    for pattern in _CODES:
        for match in _first_three(pattern.finditer(flow.text, lowered)):
            code = int(match["code"])
            if code == 0:
                continue
            fact = BY_CODE.get(code)
            if fact is None and pattern in _AT_START and code != OUT_OF_MEMORY:
                fact = "cuda_init_failed"
            if fact is None:
                continue
            found.put("cuda.error_code", code, match)
            place = _SOURCE_LINE.match(flow.text, match.start())
            if place is not None:
                found.put("cuda.error_source_line", int(place["line"]), match)
            found.put(f"said.{fact}", found.quoted(match), match)


def _first_three(matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    for _, match in zip(range(3), matches, strict=False):
        yield match


FORMAT = TextFormat(NAME, "Messages that GPU, driver and software do not fit", _HINTS, scan)
