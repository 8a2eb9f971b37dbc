"""Versions as people give them in a report: a label and a value, or a heading with the value below it."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.kb.facts import HOST, JOB, Entity, Value
from gpuwhy.kb.patterns import later
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.flow import Flow

NAME = "framework-versions"
HINTS = ("tensorflow", "jaxlib", "cudnn", "os platform", "windows 1", "wsl")
_LONGEST = 60_000
"""Characters looked at: who lists versions does so at the beginning or in a short text."""

_IS = r"\s{0,3}(?:[:=]{1,2}|\bis\b|\n)\s{0,4}"
_V = r"v?(?P<{0}>[0-9]{{1,2}}(?:\.[0-9]{{1,4}}){{0,3}})(?![0-9])"
_TENSORFLOW = later(
    rf"(?i)(?:\btensorflow(?:[-_]gpu)? version(?: \([^)\n]{{0,40}}\))?\**{_IS}"
    rf"(?:v?[0-9.]{{3,8}}-\S{{1,40}} )?{_V.format('a')}"
    rf"|^\s{{0,8}}tensorflow(?:[-_](?:gpu|intel))?(?:==|\s{{2,40}}){_V.format('b')}"
    rf"|\btf\.__version__\)?['\"]?{_IS}['\"]?{_V.format('c')}"
    rf"|\btensorflow(?:[-_]gpu)?(?:==| v?(?=[12]\.)){_V.format('d')})"
)
_JAXLIB = later(rf"(?im)\bjaxlib(?:==|\s{{2,40}}| v|\s?:\s?){_V.format('a')}(?:[.+a-z0-9]{{0,40}})")
_PAIR = later(
    rf"(?i)\bCUDA ?/ ?cuDNN versions?\**{_IS}(?:CUDA\s{{0,2}}(?:version )?[:=]?\s{{0,2}})?{_V.format('cuda')}"
    rf"\s{{0,3}}(?:[/,;&]|and|-|\s)\s{{0,3}}(?:cuDNN\s{{0,2}}(?:version )?[:=]?\s{{0,2}})?{_V.format('cudnn')}"
)
_CUDNN = later(
    rf"(?im)(?:^|[\s,(])cuDNN(?: SDK)?(?: version)?\**(?:\s{{0,3}}[:=]{{1,2}}\s{{0,4}}| (?:is )?(?=[5-9]\.))"
    rf"{_V.format('a')}"
)
_TOOLKIT = later(
    rf"(?im)(?:^\W{{0,6}}|\bhave installed )CUDA(?: ?toolkit)?(?: version)?\**\s{{0,3}}[:=]{{1,2}}\s{{0,4}}"
    rf"{_V.format('a')}"
)
_SYSTEM = later(
    r"(?i)(?:\bOS(?: Platform(?: and Distribution)?(?: \([^)\n]{0,60}\))?| version)?\**"
    r"\s{0,3}[:\n]{1,3}\s{0,4}|^|\bon )"
    r"(?P<system>WSL ?2?\b|Windows(?: Native)?(?: 1[01]| Server)?\b)(?=(?:[^\n]{0,40}?\b(?P<subsystem>WSL))?)"
)


def scan(text: Text) -> Iterator[Extract]:
    """One extract of the versions named in a text, each where it stands first."""
    flow = Flow.of(text.lines)
    whole = flow.text[:_LONGEST]
    readings = []
    for fact, value, entity, start in _found(whole):
        line = whole[whole.rfind("\n", 0, start) + 1 :].partition("\n")[0].strip()[:160]
        readings.append(Reading(fact, value, flow.number(start), line, entity))
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(one.line or 0 for one in readings))


def _found(whole: str) -> Iterator[tuple[str, Value, Entity, int]]:
    if one := _TENSORFLOW.search(whole):
        version = next(group for group in one.groups() if group)
        if "." in version:
            yield "job.tensorflow_version", version, JOB, one.start()
    if one := _JAXLIB.search(whole):
        yield "job.jaxlib_version", one["a"], JOB, one.start("a")
    pair = _PAIR.search(whole)
    if pair is not None:
        yield "host.toolkit_version", pair["cuda"], HOST, pair.start("cuda")
        yield "job.cudnn_version", pair["cudnn"], JOB, pair.start("cudnn")
    elif one := _CUDNN.search(whole):
        yield "job.cudnn_version", one["a"], JOB, one.start("a")
    if pair is None and (one := _TOOLKIT.search(whole)) and "." in one["a"]:
        yield "host.toolkit_version", one["a"], HOST, one.start("a")
    if one := _SYSTEM.search(whole):
        wsl = one["system"].lower().startswith("wsl") or one["subsystem"] is not None
        yield "job.platform", "wsl" if wsl else "windows", JOB, one.start("system")


FORMAT = TextFormat(NAME, "Versions that a report names", HINTS, scan)
