"""Stages around a model in a handler (`preprocess: 120 ms, inference: 15 ms`), and start-up times per version."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.averages import mean
from gpuwhy.kb.facts import model
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number
from gpuwhy.probes.artefacts.serve_loads import Loads, reading

NAME = "serve-stages"
HINTS = (
    "preproc", "pre-proc", "pre_proc", "postproc", "post-proc", "post_proc", "download", "decode", "tokeniz",
    "| seconds", "seconds |", "startup", "start-up", "load time",
)  # fmt: skip

_N = rf"({NUMBER})"
_UNIT = r"(ns|us|µs|ms|msec|milliseconds|s|sec|secs|seconds)"
_STAGE = re.compile(
    rf"\b(pre[-_ ]?proc\w{{0,8}}|download\w{{0,4}}|(?:image )?decod(?:e|ing)|tokeniz\w{{0,6}}|"
    rf"infer\w{{0,5}}|model|forward|"
    rf"post[-_ ]?proc\w{{0,8}}|nms)\b[\w ]{{0,24}}?(?:\s{{0,3}}[:=]|\s(?:took|takes|"
    rf"in))?\s{{0,4}}{_N}\s{{0,2}}{_UNIT}\b",
    re.I,
)
_SERVES = re.compile(r"\b(?:handler|serv(?:e|er|ing)|requests?|queue|endpoint|worker|api|triton|torchserve)\b", re.I)
_TRAINS = re.compile(r"\b(?:epoch|loss|ultralytics|Speed:)", re.I)
_KINDS = (("pre", "pre"), ("download", "pre"), ("decod", "pre"), ("image decod", "pre"), ("tokeniz", "pre"),
          ("post", "post"), ("nms", "post"))  # fmt: skip
_VERSION = re.compile(r"\bversions?|release|image|container\b", re.I)
_STARTUP = re.compile(r"\b(?:seconds|start-?up|load(?:ing)? time|time to (?:load|start|ready))\b", re.I)
_ACCELERATOR = re.compile(
    r"\b(TRT|TensorRT|OpenVINO)\b[^\n|]{0,24}\b(?:optimi[sz]\w{0,6}|accelerat\w{0,5}|flag|EP|"
    r"execution provider)",
    re.I,
)
_ROW = re.compile(
    rf"\s{{0,8}}\|?\s{{0,8}}v?([0-9]{{1,4}}(?:\.[0-9]{{1,4}}){{1,3}}[\w.-]{{0,12}})\s{{0,8}}\|"
    rf"\s{{0,8}}{_N}\s{{0,3}}(s|sec|seconds|min|ms)?\s{{0,8}}\|?"
)


_FACTS = {
    "pre": "serve.preprocess_seconds",
    "post": "serve.postprocess_seconds",
    "model": "serve.compute_infer_seconds",
}


def scan(text: Text) -> Iterator[Extract]:
    """One extract of the stages of a handler, one of start-up times."""
    yield from _stages(text)
    yield from _startups(text)


def _stages(text: Text) -> Iterator[Extract]:
    lines = text.lines
    if not any(_SERVES.search(line.text) for line in lines) or any(_TRAINS.search(line.text) for line in lines):
        return
    times: dict[str, list[tuple[float, Line]]] = {}
    for line in text.lines:
        for name, number, unit in _STAGE.findall(line.text[:1000]):
            seconds = parse_duration(f"{number} {unit}")
            kind = next((kind for start, kind in _KINDS if name.lower().startswith(start)), "model")
            if seconds is not None:
                times.setdefault(f"{kind} {name.lower()}", []).append((seconds, line))
    sums: dict[str, float] = {}
    for key, values in times.items():
        kind = key.split(" ", 1)[0]
        sums[kind] = sums.get(kind, 0.0) + mean([value for value, _ in values])
    if "model" not in sums or len(sums) < 2:
        return
    loads = Loads()
    load = loads.start("handler")
    last = max((values[-1][1] for values in times.values()), key=lambda line: line.number)
    for kind, seconds in sums.items():
        load.put(_FACTS[kind], seconds, last)
    around = sums.get("pre", 0.0) + sums.get("post", 0.0)
    load.put("serve.handler_seconds", around, last)
    if around + sums["model"] > 0:
        load.put("serve.handler_share", around / (around + sums["model"]), last)
    claimed = frozenset(line.number for values in times.values() for _, line in values)
    yield Extract(NAME, tuple(loads.readings()), claimed=claimed)


def _startups(text: Text) -> Iterator[Extract]:
    caption = ""
    head: Line | None = None
    readings = []
    claimed: set[int] = set()
    for line in text.lines:
        row = _ROW.match(line.text)
        if row is None:
            if _VERSION.search(line.text) and _STARTUP.search(line.text):
                head, caption = line, line.text.rsplit("|", 1)[-1].strip(" ()") if line.text.count("|") > 2 else ""
            elif line.text.strip(" |-:+="):
                head = None
            continue
        seconds = parse_number(row[2]) if head is not None else None
        if head is None or seconds is None:
            continue
        claimed |= {line.number, head.number}
        owner = model(f"{caption[:40]} {row[1]}".strip())
        scale = {"min": 60.0, "ms": 1e-3}.get(row[3] or "s", 1.0)
        readings.append(reading("serve.load_seconds", seconds * scale, line, owner))
        if (kind := _ACCELERATOR.search(head.text)) is not None:
            name = "openvino" if kind[1].lower() == "openvino" else "tensorrt"
            readings.append(reading("serve.accelerator", name, head, owner))
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(claimed))


FORMAT = TextFormat(NAME, "Stages of a handler, start-up times", HINTS, scan)
