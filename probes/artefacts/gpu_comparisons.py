"""One piece of work on several GPU models: tables with a row for each, and lines that name a model and a figure.

What is told is whether the larger card is the faster one, whether decoding follows prefill, and whether software or
settings differ besides the card.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpuwhy.kb.facts import JOB, Entity, Value
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.gpu_models import models, step
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_number

NAME = "gpu-comparisons"
LONGEST = 400
MOST_LINES = 300
"""People write comparisons by hand: of a longer text its first lines."""
MOST_ROWS = 60
_ALIKE = 1.1
"""Figures of which it is not known whether more is better are only told where they are nearly the same."""

_DECODE = later(r"(?i)\btg\s?[0-9]{1,4}|decod|generat|\beval rate|\btpot\b|output tok")
_PREFILL = later(r"(?i)\bpp\s?[0-9]{2,5}|prefill|prompt (?:eval|proc)|\bttft\b")
_RATE = later(
    r"(?i)\b(?:t|tok|tokens?|it|iters?|steps?|img|imgs|images?|samples?|seq|examples?|frames?|req|src "
    r"char\w{0,8})\s?/\s?s|tps\b"
    r"|\bfps\b|throughput|per second|\btg\s?[0-9]|\bpp\s?[0-9]|\bk/s|chars?/s"
)
_TIME = later(
    r"(?i)\b(?:s|ms|sec|seconds?|min|minutes?)\s?/\s?(?:it|iter|step|epoch|batch|img|image|request|token)\b|latency|\btime\b"
    r"|seconds|\belapsed|\bduration|\brtf\b|\(s\)|\(ms\)|\bms\b"
)
_VALUE = later(
    rf"(?<![A-Za-z0-9_.:-])(?P<value>{NUMBER})\s?(?P<unit>(?:k\s?)?[A-Za-z]{{1,12}}\s?/\s?[A-Za-z]{{1,9}}|tokens? "
    rf"per second|ms|s|secs?"
    r"|seconds?|mins?|minutes?|fps|TPS|(?:tokens?|images?|samples?) (?:per|a) (?:sec|second))(?![A-Za-z0-9])"
)
_REQUEST = later(
    r"(?i)tok|\brtf\b|\bper request\b|/\s?request|inference|latency|prompt|completion"
    r"|batch(?:[ _-]?size)?\s?[ =:]\s?1\b|\bbs[ =]1\b"
    r"|generat|decod|\btg\s?[0-9]|char"
)
_SOFTWARE = later(
    r"(?i)\b(?P<name>(?:py)?torch|tensorflow|tf|jax|cudnn|cuda|driver|tensorrt|vllm|llama\.cpp|transformers|mxnet|python)"
    r"(?:[ _-](?:cuda[ _-])?version)?\s{0,4}(?:=="
    r"|[=:-])?\s{0,20}v?(?P<number>[0-9]{1,5}(?:\.[0-9]{1,4}){0,3}(?:\.?(?:a|b|rc|dev)[0-9]{1,8})?"
    r"(?:\+[a-z0-9]{2,12})?)(?![A-Za-z0-9])"
)
_TORCH_CUDA = later(r"(?i)\btorch cuda version\s{0,4}[:=]\s{0,20}(?P<number>[0-9]{1,2}\.[0-9]{1,2})")
_SETTING = later(
    r"(?i)\b(?P<name>batch(?:[ _-]?size)?|precision|dtype|workers|num_workers|epochs|image size|imgsz"
    r"|seq(?:uence)?[ _-]?len(?:gth)?)"
    r"\s{0,4}[=: ]\s{0,20}(?P<value>[A-Za-z0-9]{1,10})\b|\b(?P<type>fp32|fp16|bf16|tf32|int8|fp8|amp)\b"
)
_PLAIN = later(rf"(?i)(?:\bis|[:=])\s{{0,4}}[`*]{{0,2}}(?P<value>{NUMBER})[`*]{{0,2}}\s*\.?\s*$")
"""A number at the end of a line, with nothing that says what it counts."""
_ON = later(
    r"(?i)(?:(?!\b(?:while|and|but|vs)\b)[^,;]){0,40}?\b(?:on|with|using) "
    r"(?:(?:an?|the|my|our|one|single|NVIDIA|Tesla|GeForce|1x) ){0,3}\Z"
)
"""What stands between a figure and the model behind it that it is of."""
_RULER = later(r"^\s*(?:[-=*_]{3,}|#{1,6}\s.*)\s*$")


@dataclass(frozen=True)
class _Point:
    """One figure of one model: `cost` is larger where the work is slower."""

    model: str
    measure: str
    cost: float
    line: Line


@dataclass
class _Side:
    """What one side of a comparison says of its software and settings."""

    model: str
    software: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    line: Line | None = None


def scan(text: Text) -> Iterator[Extract]:
    """One extract for all comparisons of GPU models; it claims no line, since other formats read the same ones."""
    lines = [Line(one.number, one.text[:LONGEST]) for one in text.lines[:MOST_LINES]]
    told = {one.number: list(models(one.text)) for one in lines}
    if len({name for found in told.values() for _, name in found}) < 2:
        return
    points, quoted = [*_table_points(lines, told)], list[Reading]()
    for find in (_line_points, _plain_points):
        if len({one.model for one in points}) < 2:
            points = [*find(lines, told)]
            quoted = [*_quoted(points)]
    readings = [*quoted, *_scaling_with_class(points, lines), *_decode_and_prefill(points), *_sides(lines, told)]
    if readings:
        yield Extract(NAME, tuple(readings))


def _fact(fact: str, value: Value, line: Line) -> Reading:
    return Reading(fact, value, line.number, line.text.strip()[:200], JOB)


def _quoted(points: Sequence[_Point]) -> Iterator[Reading]:
    """The figures of sentences as they are printed; those of tables are told by other formats."""
    for number, one in enumerate(points[:MOST_ROWS], 1):
        printed = 1.0 / one.cost if one.measure.startswith("rate") else one.cost
        entity = Entity("measurement", f"{one.model} {one.measure.strip(':')} #{number}", JOB)
        yield Reading("reading.value", printed, one.line.number, one.line.text.strip()[:200], entity)


def _cells(text: str) -> list[str]:
    if text.count("|") >= 2:
        return [cell.strip(" *`") for cell in text.strip().strip("|").split("|")]
    return [cell for cell in re.split(r"\s{2,}|\t|,(?=\S)", text.strip()) if cell]


def _table_points(lines: Sequence[Line], told: Mapping[int, list[tuple[int, str]]]) -> Iterator[_Point]:
    """Rows that name a model beneath a header; columns are counted from the right."""
    header: list[str] = []
    rows = 0
    for line in lines:
        cells = _cells(line.text)
        if not told[line.number] and any(_measure(cell) for cell in cells) and not _numbers(cells):
            header = cells
        elif header and told[line.number] and rows < MOST_ROWS:
            rows += 1
            yield from _row_points(header, cells, told[line.number][0][1], line)
        elif cells and not _RULER.match(line.text) and not set(line.text) <= set("|-: +="):
            header = [] if not told[line.number] else header


def _row_points(header: Sequence[str], cells: Sequence[str], model: str, line: Line) -> Iterator[_Point]:
    for name, cell in zip(reversed(header), reversed(cells), strict=False):
        measure = _measure(name)
        found = re.fullmatch(rf"[~≈]?({NUMBER})\s?[A-Za-z/ ]{{0,16}}(?:±.{{0,12}})?", cell)
        value = parse_number(found[1]) if found else None
        if measure and value:
            yield _Point(model, f"{measure}:{name.strip().lower()}", 1.0 / value if measure != "time" else value, line)


def _numbers(cells: Sequence[str]) -> int:
    return sum(parse_number(cell) is not None for cell in cells)


def _measure(name: str) -> str:
    """What a column holds: decode or prefill rates, other rates, times; empty for anything else."""
    if len(name) > 60:
        return ""
    time = bool(_TIME.search(name)) and not _RATE.search(name)
    if _DECODE.search(name) and not time:
        return "decode"
    if _PREFILL.search(name) and not time:
        return "prefill"
    return "time" if time else "rate" if _RATE.search(name) else ""


def _line_points(lines: Sequence[Line], told: Mapping[int, list[tuple[int, str]]]) -> Iterator[_Point]:
    """Figures on lines that name models, or below one; of several models each figure has the last before it."""
    current, since = "", 0
    for line in lines:
        named = told[line.number]
        found = list(_VALUE.finditer(line.text))
        since += 1
        several = len({name for _, name in named}) > 1
        if named and not several and (found or len(line.text) < 80):
            current, since = named[0][1], 0
        if since > 16 or several:
            current = ""
        for place, one in enumerate(found):
            end = found[place + 1].start() if place + 1 < len(found) else len(line.text)
            for model in _owners(line.text[:end], one, named) if several else [current] if current else ():
                if point := _point(model, one, line):
                    yield point


def _owners(text: str, found: re.Match[str], named: Sequence[tuple[int, str]]) -> list[str]:
    """The models that a figure is of: `both A and B take 19 s`, `on A it was 23 s, on B 16 s`, `23 s on A, 16 s on B`.

    `text` ends where the next figure begins.
    """
    behind = [
        name for place, name in named if found.end() <= place < len(text) and _ON.match(text[found.end() : place])
    ]
    if behind:
        return behind[:1]
    before = [name for place, name in named if place < found.start()]
    if re.search(r"(?i)\bboth\b", text) and len(set(before)) == 2:
        return list(dict.fromkeys(before))
    return before[-1:]


def _point(model: str, found: re.Match[str], line: Line) -> _Point | None:
    value, unit = parse_number(found["value"]), found["unit"].lower().replace(" ", "")
    if not value:
        return None
    rate = unit.endswith(("/s", "/sec", "/second", "persecond", "persec", "asecond", "fps", "tps"))
    label = unit if rate or "/" in unit else "time"
    return _Point(model, f"{'rate' if rate else 'time'}:{label}", 1.0 / value if rate else value, line)


def _plain_points(lines: Sequence[Line], told: Mapping[int, list[tuple[int, str]]]) -> Iterator[_Point]:
    """Lines that differ in the model and one number without a unit: what it counts, and which way, is not known."""
    for line in lines:
        named = list(dict.fromkeys(name for _, name in told[line.number]))
        found = _PLAIN.search(line.text) if len(named) == 1 and len(line.text) < 120 else None
        value = parse_number(found["value"]) if found else None
        if value:
            yield _Point(named[0], "plain:", value, line)


def _scaling_with_class(points: Sequence[_Point], lines: Sequence[Line]) -> Iterator[Reading]:
    """Of the first measure that several models share: how much faster the card of the higher class is."""
    by_measure: dict[str, dict[str, _Point]] = {}
    for one in points:
        by_measure.setdefault(one.measure, {}).setdefault(one.model, one)
    for measure, group in by_measure.items():
        ordered = sorted(((step(name), name) for name in group), key=lambda pair: (pair[0] or 0, pair[1]))
        if len(group) < 2:
            continue
        line = group[ordered[-1][1]].line
        yield _fact("bench.gpu_model_count", len(group), line)
        pairs = [(low, high) for low in ordered for high in ordered if (low[0] or 0) < (high[0] or 0)]
        if len(group) > 4:
            pairs = [(ordered[0], ordered[-1])] if pairs else []
        if not pairs:
            return
        if measure == "plain:":
            pairs = [pair for pair in pairs if 1 / _ALIKE < group[pair[0][1]].cost / group[pair[1][1]].cost < _ALIKE]
            if not pairs:
                return
        low, high = min(pairs, key=lambda pair: group[pair[0][1]].cost / group[pair[1][1]].cost)
        yield _fact("bench.lower_gpu", low[1], group[low[1]].line)
        yield _fact("bench.higher_gpu", high[1], group[high[1]].line)
        yield _fact("bench.gpu_class_gain_ratio", group[low[1]].cost / group[high[1]].cost, group[high[1]].line)
        requests = measure.startswith(("decode", "prefill")) or any(_REQUEST.search(one.text) for one in lines)
        yield _fact("bench.single_requests", requests, line)
        return


def _decode_and_prefill(points: Sequence[_Point]) -> Iterator[Reading]:
    """Where decode and prefill disagree on which of two cards is the faster one: by how much prefill is ahead."""
    speeds: dict[str, dict[str, float]] = {"decode": {}, "prefill": {}}
    lines: dict[str, Line] = {}
    for one in points:
        kind = one.measure.partition(":")[0]
        if kind in speeds:
            speeds[kind].setdefault(one.model, 1.0 / one.cost)
            lines[one.model] = one.line
    both = [name for name in speeds["decode"] if name in speeds["prefill"]]
    if len(both) < 2:
        return
    ahead = [
        (speeds["prefill"][a] / speeds["prefill"][b], a, b)
        for a in both
        for b in both
        if speeds["decode"][a] < speeds["decode"][b]
    ]
    if ahead:
        ratio, computes, decodes = max(ahead)
        yield _fact("bench.decode_model_count", len(both), lines[computes])
        yield _fact("bench.prefill_ahead_ratio", ratio, lines[computes])
        yield _fact("bench.prefill_ahead_gpu", computes, lines[computes])
        yield _fact("bench.decode_ahead_gpu", decodes, lines[decodes])


def _sides(lines: Sequence[Line], told: Mapping[int, list[tuple[int, str]]]) -> Iterator[Reading]:
    """Whether software or settings differ between the parts of a text that are about different models."""
    sides = _split(lines, told)
    cards = list(dict.fromkeys(one.model for one in sides))
    if len(cards) < 2:
        return
    first = next(one for one in sides if one.model == cards[0])
    for other in (next(one for one in sides if one.model == name) for name in cards[1:]):
        software = [
            name for name in first.software if first.software[name] != other.software.get(name, first.software[name])
        ]
        settings = [
            name for name in first.settings if first.settings[name] != other.settings.get(name, first.settings[name])
        ]
        shared = set(first.software) & set(other.software)
        line = other.line or lines[0]
        if shared:
            yield _fact("bench.software_differs", bool(software), line)
        if set(first.settings) & set(other.settings):
            yield _fact("bench.settings_differ", bool(settings), line)
        if software or settings:
            yield _fact("bench.differing", ", ".join([*software, *settings])[:120], line)
            yield _fact("bench.compared_gpus", f"{first.model}, {other.model}", line)
            return


def _split(lines: Sequence[Line], told: Mapping[int, list[tuple[int, str]]]) -> list[_Side]:
    """Parts of the text, one for each model that it turns to.

    Versions before a model's name belong to it where a
    ruler, a heading or an empty line begins the part."""
    sides: list[_Side] = []
    pending = _Side("")
    current: _Side | None = None
    for line in lines:
        if _RULER.match(line.text) or not line.text.strip():
            pending, current = _Side(""), current if not _RULER.match(line.text) else None
        named = list(dict.fromkeys(name for _, name in told[line.number]))
        if len(named) == 1 and (current is None or named[0] != current.model):
            current = _Side(named[0], dict(pending.software), dict(pending.settings), line)
            sides.append(current)
            pending = _Side("")
        target = current or pending
        _take_side(target, line.text)
    return sides


def _take_side(side: _Side, text: str) -> None:
    cuda = _TORCH_CUDA.search(text)
    if cuda:
        side.software.setdefault("cuda", cuda["number"])
    for found in _SOFTWARE.finditer(text) if not cuda else ():
        name = {"pytorch": "torch", "tf": "tensorflow"}.get(found["name"].lower(), found["name"].lower())
        side.software.setdefault(name, found["number"])
    for setting in _SETTING.finditer(text):
        if setting["type"]:
            side.settings.setdefault("precision", setting["type"].lower())
        else:
            name = "batch size" if setting["name"].lower().startswith("batch") else setting["name"].lower()
            side.settings.setdefault(name, setting["value"].lower())


FORMAT = TextFormat(
    NAME,
    "One piece of work on several GPU models",
    ("a100", "h100", "h200", "v100", "p100", "t4", "a10", "l4", "rtx", "gtx", "k80", "3090", "4090", "2080", "a40",
     "b200", "a800", "h800", "a6000", "5090", "3080", "l20", "h20", "a30", "a16", "a2", "m60", "m40", "p4", "titan"),
    scan,
)  # fmt: skip
