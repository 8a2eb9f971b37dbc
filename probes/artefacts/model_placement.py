"""Where a model server placed a model: `ollama ps`, Ollama's `/api/ps`, the load log of Ollama, and what people quote.

A part that is not on the GPU is computed by the CPU. Of several models the largest counts; where one model is shown
several times, the time when the least of it was on the GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.facts import JOB, gpu
from gpuwhy.kb.patterns import later
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.quantities import parse_size, whole_number
from gpuwhy.probes.artefacts.reported_sentences import observed, sentence_of

NAME = "model-placement"
HINTS = ("cpu/gpu", "% gpu", "% cpu", "size_vram", "layers.offload", "inference compute")
LONGEST = 2_000
_SIZE = r"(?P<size>[0-9]{1,4}(?:\.[0-9]{1,3})?\s?[KMGT]i?B)"
_PAIR = r"(?P<cpu>[0-9]{1,3})%\s?/\s?(?P<gpu>[0-9]{1,3})% CPU/GPU"
_ROW = later(
    rf"(?:(?<![\w./:-])(?P<name>[\w./:-]{{2,120}})[\s|]{{1,60}}(?P<id>[0-9a-f]{{12}})[\s|]{{1,60}})?{_SIZE}"
    rf"[\s|]{{1,60}}(?:{_PAIR}|100% (?P<whole>GPU|CPU))(?![\w/])"
)
_QUOTED_PAIR = later(rf"(?<![0-9.%]){_PAIR}(?!\w)")
_QUOTED_CPU = later(r"(?i)\b(?:ollama ps|PROCESSOR)\b[^\n.;%]{0,60}?(?P<only>100 ?% CPU)(?![\w/])")
_PAST = later(
    r"\b(?:before|previously|formerly|earlier|originally|used to|was|were|had|would|until|instead of|no longer|than)\b"
    r"|以前|之前|原来"
)
_NOW = later(r"\b(?:now|today|currently|since)\b|,|现在|目前")
_API = later(r"\"(?P<field>size|size_vram)\"\s{0,4}:\s{0,4}(?P<bytes>[0-9]{1,15})(?![0-9.])")
_PLAN = later(
    r"\bmsg=\"?offload(?: to \w{1,12})?\"?\s[^\n]{0,200}?\blayers\.requested=(?P<requested>-?[0-9]{1,4})\s"
    r"[^\n]{0,60}?\blayers\.model=(?P<model>[0-9]{1,4})\s[^\n]{0,60}?\blayers\.offload=(?P<placed>[0-9]{1,4})\b"
)
_FULL = later(r"\bmemory\.required\.full=\"?(?P<size>[0-9.]{1,8} [KMGT]i?B)")
_COMPUTE = later(
    r"\bmsg=\"inference compute\" id=(?P<id>\S{1,60})\s[^\n]{0,80}?\blibrary=(?P<library>\w{1,12})\b[^\n]{0,400}?"
    r"\bname=(?:\"(?P<name>[^\"\n]{0,60})\"|\S{0,30})(?: description=\"(?P<described>[^\"\n]{0,60})\")?"
    r"[^\n]{0,300}?\btotal=\"(?P<total>[0-9.]{1,8} [KMGT]i?B)\""
)


@dataclass(frozen=True)
class _Placed:
    """One statement of where a model is: bytes of all of it where they are told, and the share on the GPU."""

    share: float
    size: float | None
    line: Line
    name: str | None = None
    quoted: str | None = None


def scan(text: Text) -> Iterator[Extract]:
    """One extract of the largest model, of the plan by which it was placed, and of the GPUs that the server found."""
    placed: list[_Placed] = []
    readings: dict[str, Reading] = {}
    claimed: set[int] = set()
    for line in text.lines:
        cut = line.text[:LONGEST]
        rows = list(_rows(cut, line)) if _names_processor(cut) else []
        placed.extend(rows or (_quoted(cut, line) if _names_processor(cut) else ()))
        planned = list(_plan(cut, line))
        readings.update({reading.fact: reading for reading in planned})
        if rows or planned:
            claimed.add(line.number)
    found = [*readings.values(), *_from_api(text), *_gpus(text), *_of_largest(placed)]
    if found:
        found.append(Reading("job.kind", "serving", found[0].line, found[0].text, JOB, said=True))
        yield Extract(NAME, tuple(found), claimed=frozenset(claimed | {one.line or 0 for one in _gpus(text)}))


def _names_processor(cut: str) -> bool:
    return "% GPU" in cut or "% CPU" in cut


def _share(found: re.Match[str]) -> float | None:
    cpu, on_gpu = int(found["cpu"]), int(found["gpu"])
    return on_gpu / 100 if cpu + on_gpu == 100 else None


def _rows(cut: str, line: Line) -> Iterator[_Placed]:
    """Rows of `ollama ps`, also in a table of Markdown."""
    for found in _ROW.finditer(cut):
        share = float(found["whole"] == "GPU") if found["whole"] else _share(found)
        if share is not None:
            yield _Placed(share, parse_size(found["size"], decimal=True), line, found["name"])


def _quoted(cut: str, line: Line) -> Iterator[_Placed]:
    """What a person quotes of the column in a sentence, where it says how things are, not how they were."""
    lowered = cut.lower()
    for found in (*_QUOTED_PAIR.finditer(cut), *_QUOTED_CPU.finditer(cut)):
        share = _share(found) if "cpu" in found.re.groupindex else 0.0
        if share is not None and observed(found, lowered, negative=False) and not _was(lowered, found.start()):
            yield _Placed(share, None, line, quoted=sentence_of(cut, found))


def _was(lowered: str, start: int) -> bool:
    """Whether the words before a place speak of the past."""
    before = lowered[max(0, start - 80) : start]
    past = max((found.end() for found in _PAST.finditer(before)), default=-1)
    return past >= 0 and _NOW.search(before[past:]) is None


def _of_largest(placed: list[_Placed]) -> Iterator[Reading]:
    if not placed:
        return
    largest = max((one.size or 0.0 for one in placed), default=0.0)
    names = {one.name for one in placed if (one.size or 0.0) == largest}
    chosen = min((one for one in placed if one.name in names), key=lambda one: one.share)
    said = chosen.quoted or chosen.line.text.strip()[:200]
    yield Reading("model.gpu_share", chosen.share, chosen.line.number, said, JOB, said=chosen.quoted is not None)
    if chosen.size is not None:
        yield Reading("model.needed_bytes", chosen.size, chosen.line.number, said, JOB)


def _plan(cut: str, line: Line) -> Iterator[Reading]:
    """What Ollama logs as it places a model: layers, and the memory of the whole."""
    if (found := _PLAN.search(cut)) is None:
        return
    said = found[0][-120:]
    for fact, group in (("model.layer_count", "model"), ("model.offloaded_layers", "placed")):
        yield Reading(fact, int(found[group]), line.number, said, JOB)
    if (asked := whole_number(found["requested"])) is not None:
        yield Reading("model.requested_gpu_layers", asked, line.number, said, JOB)
    size = parse_size(full["size"]) if (full := _FULL.search(cut)) is not None else None
    if full is not None and size is not None:
        yield Reading("model.needed_bytes", size, line.number, full[0], JOB)


def _from_api(text: Text) -> Iterator[Reading]:
    """`/api/ps`: for each model the bytes of all of it, and of what is in the memory of GPUs."""
    best: tuple[int, int, Line] | None = None
    size: int | None = None
    for line in text.lines:
        for found in _API.finditer(line.text[:LONGEST]):
            if found["field"] == "size":
                size = int(found["bytes"])
            elif size and size >= int(found["bytes"]):
                best = max(best or (0, 0, line), (size, int(found["bytes"]), line), key=lambda one: one[0])
                size = None
    if best is not None:
        yield Reading("model.gpu_share", best[1] / best[0], best[2].number, f"{best[1]} of {best[0]} bytes", JOB)
        yield Reading("model.needed_bytes", float(best[0]), best[2].number, f"{best[0]} bytes", JOB)


def _gpus(text: Text) -> Iterator[Reading]:
    """The GPUs that the server found when it started, each once, and their memory together."""
    totals: dict[str, float] = {}
    last: Line | None = None
    for line in text.lines:
        found = _COMPUTE.search(line.text[:LONGEST]) if "inference compute" in line.text[:LONGEST] else None
        if found is None or found["library"].lower() != "cuda" or found["id"] in totals:
            continue
        total = parse_size(found["total"])
        name = found["described"] or found["name"]
        if total is None:
            continue
        if name:
            yield Reading("gpu.name", name, line.number, found[0][-160:], gpu(len(totals)))
        totals[found["id"]], last = total, line
    if last is not None:
        said = " + ".join(f"{total / 2**30:.1f} GiB" for total in totals.values())
        yield Reading("model.gpu_memory_bytes", sum(totals.values()), last.number, said, JOB)


FORMAT = TextFormat(NAME, "Where a model server placed a model (Ollama)", HINTS, scan)
