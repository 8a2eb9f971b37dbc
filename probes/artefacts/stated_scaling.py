"""What sentences say of several GPUs against few: a speed-up, or a pace or the time of an epoch for each number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwhy.kb.facts import JOB
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Line, Reading
from gpuwhy.probes.artefacts.gpu_models import models
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number

LONGEST = 400
LONGEST_SENTENCE = 1_000
MOST_LINES = 300

_N = r"(?P<count>[2-9]|[1-9][0-9]{1,2}|two|four|eight)"
_TIMES = r"(?P<ratio>[0-9]{1,3}(?:\.[0-9]{1,3})?)\s?(?:x(?!\w)|×|times\b)"
_STATED = (
    later(
        rf"(?i)\b(?:speed-?up|scale-?up|scaling(?: factor)?)\b[^.\n]{{0,60}}?\b{_N}[ -]?gpus?\b[^\n]{{0,80}}?{_TIMES}"
    ),
    later(rf"(?i)\b{_N}[ -]?gpus?\b[^.\n]{{0,60}}?\b(?:speed-?up|scale-?up)\b[^\n]{{0,40}}?{_TIMES}"),
    later(
        rf"(?i)\b(?:scal(?:es?|ed|ing)|speed(?:s|ed)?[ -]?up|speed-?up(?: is| of)?)\b[^.\n]{{0,30}}?{_TIMES}"
        rf"(?: speed-?up| faster)?(?: only)? (?:on|with|using|for|across|over) {_N}[ -]?(?:x )?(?:\w{{1,8}} )?GPUs\b"
    ),
    later(
        rf"(?i)\b(?:only|just|get|gain|see|is|are|runs?|trains?|about) {_TIMES} (?:speed-?up|faster) "
        rf"(?:on|with|using|from|for) {_N}[ -]?(?:x )?(?:\w{{1,8}} )?GPUs\b"
    ),
    later(
        rf"(?i)(?<![\w.]){_N}[ -]?(?:x )?GPUs (?:are|is|give|gives|run|runs|train|trains|only)\b[^.\n0-9]{{0,24}}?"
        rf"{_TIMES} (?:faster than|as fast as|the (?:speed|throughput) of) (?:with |on )?(?:one|1|a single)\b"
    ),
    later(
        r"(?P<count>[2-9]|[1-9][0-9]{1,2}|双|两|四|八)\s?(?:张|块)?(?:显)?(?:卡|GPU)[^\n。；0-9]{0,16}?"
        r"(?:加速比|(?:速度|吞吐量?)?(?:只|仅)?(?:有|是|为|达到)?(?:单卡|单机(?P<few>[2-9]|[1-9][0-9])卡)的)"
        r"[^\n。；0-9]{0,8}"
        r"(?P<ratio>[0-9]{1,3}(?:\.[0-9]{1,3})?)\s?(?:倍|x|X)?(?![0-9%]|\.[0-9])"
    ),
)
_OTHER_THAN = later(r"(?i)\A[^.\n]{0,40}?\b(?:CPU|than (?!(?:on |with )?(?:one|1|a single)\b))")
_WORDS = {
    "one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "eight": 8,
    "单": 1, "一": 1, "双": 2, "两": 2, "二": 2, "三": 3, "四": 4, "六": 6, "八": 8,
}  # fmt: skip
_COUNT = later(
    r"(?i)(?<![\w.])(?P<count>[1-9][0-9]{0,3}|one|single|two|three|four|eight)(?: or \w{1,5})?(?:[ -]?x)?[ -]?"
    r"(?:A?[A-Z]?[0-9]{2,4} )?(?P<unit>GPUs?|cards?|nodes?|machines?)\b"
    r"|(?P<zh>(?<![0-9.])[1-9][0-9]{0,2}|[单一双两二三四六八])\s?(?:张|块)?(?:显)?(?P<zhunit>卡|GPU|机(?![器型房]))"
)
_PACE = later(
    rf"(?i)(?<![\w.])(?P<value>{NUMBER})\s?(?:(?:img|image|sample|token|tok|seq|sequence|example|frame)s?\s?)?"
    r"(?:/\s?s(?:ec(?:ond)?)?\b|per second\b)(?P<each>\s?(?:/|per )\s?(?:GPU|card|device)\b)?"
    rf"|(?P<value2>{NUMBER})\s?(?:(?:张|个|条|帧|步|样本|图片|图像|images?|imgs?|samples?|tokens?)\s?){{1,2}}(?:/|每)\s?(?:秒|s\b)"
    rf"|每秒(?:处理|约|大约|只有|只|能|跑|训练){{0,2}}\s?(?P<value3>{NUMBER})\s?(?:张|个|条|帧|步|样本|tokens?)"
)
_BARE = later(
    rf"(?i)(?:只有|仅有?|才|only|just) ?(?P<value>{NUMBER})(?![\w%]|\.[0-9]| ?(?:%|x\b|times|张卡|倍|卡|GPU|card))"
)
_SPAN = later(
    r"(?i)(?<![\w.:])(?P<span>[0-9]{1,4}(?:\.[0-9]{1,2})?\s?(?:h|hours?|hrs?|min(?:ute)?s?|s|sec(?:ond)?s?|小时|分钟|分|秒))(?![\w/])"
)
_SPANS = {"小时": "h", "分钟": "min", "分": "min", "秒": "s"}
_SAME_WORK = later(
    r"(?i)(?<![A-Za-z])epochs?(?![A-Za-z])|\b(?:whole|total|full) (?:training|run)\b|"
    r"\btraining (?:takes|took|needs)\b|一轮|每轮|轮次|总训练时间|训练完"
)
_STEP = later(r"(?i)\b(?:steps?|iterations?|batch(?:es)?)\b|/\s?it\b|每步|迭代")
_WISHED = later(r"(?i)\b(?:expect\w{0,3}|should|would|theor\w{1,7}|ideal\w{0,2}|linear)\b|理论|应该|期望|理想")
_EACH = later(r"(?i)per[ _-](?:gpu|device|card)\b[^\n]{0,12}\Z|每(?:张|块)?卡[^\n]{0,8}\Z")


@dataclass(frozen=True)
class _Told:
    """A number of GPUs or nodes, and the throughput that a sentence gives for all of them together."""

    unit: str
    count: int
    throughput: float


def readings(lines: Sequence[Line]) -> Iterator[Reading]:
    """The speed-up that a text states, or that follows from the paces of one sentence."""
    yield from [*_stated(lines)] or [*_said(lines)]


def facts(count: int, speedup: float, line: Line, few: int = 1) -> Iterator[Reading]:
    """Readings of a speed-up on a number of GPUs against one, or against `few`."""
    said = line.text.strip()[:200]
    yield Reading("bench.scaling_gpu_count", count, line.number, said, JOB)
    yield Reading("bench.scaling_speedup", speedup, line.number, said, JOB)
    yield Reading("bench.scaling_efficiency_share", speedup * few / count, line.number, said, JOB)


def _number(printed: str) -> int:
    return _WORDS.get(printed.lower()) or int(printed)


def _stated(lines: Sequence[Line]) -> Iterator[Reading]:
    for line in lines:
        cut = line.text if len(line.text) <= LONGEST else ""
        lowered = cut.lower()
        told = any(word in lowered for word in ("speed", "scal", "faster", "as fast", "throughput of", "加速", "卡的"))
        if not (told and ("gpu" in lowered or "卡" in lowered)):
            continue
        for pattern in _STATED:
            found = pattern.search(cut)
            if found is None or _WISHED.search(cut[max(0, found.start() - 40) : found.end()]):
                continue
            count, ratio = _number(found["count"]), float(found["ratio"])
            few = int(found["few"]) if found.groupdict().get("few") else 1
            if 0 < ratio * few <= 2 * count and few < count and not _OTHER_THAN.search(cut[found.end() :]):
                yield from facts(count, ratio, line, few)
                return


def _said(lines: Sequence[Line]) -> Iterator[Reading]:
    """Sentences that give one throughput for few and one for many: `40 images/s on one node, on two nodes 55`."""
    for line in lines[:MOST_LINES]:
        if len(line.text) > LONGEST_SENTENCE or len({name for _, name in models(line.text)}) > 1:
            continue
        paces = _paces(line.text) or _epochs(line.text)
        for unit in ("gpu", "node"):
            told = {one.count: one.throughput for one in reversed(paces) if one.unit == unit}
            if len(told) >= 2:
                yield from _of_sentence(unit, told, line)
                return


def _of_sentence(unit: str, told: dict[int, float], line: Line) -> Iterator[Reading]:
    few, many = min(told), max(told)
    speedup = told[many] / told[few]
    said = line.text.strip()[:200]
    if unit == "gpu":
        yield Reading("bench.scaling_gpu_count", many, line.number, said, JOB)
    yield Reading("bench.scaling_speedup", speedup, line.number, said, JOB)
    yield Reading("bench.scaling_efficiency_share", speedup * few / many, line.number, said, JOB)


def _counts(text: str) -> list[tuple[int, str, int]]:
    """Where a text counts GPUs or nodes: the place, which of them, and how many."""
    found = []
    for one in _COUNT.finditer(text):
        unit = (one["unit"] or one["zhunit"]).lower()[0]
        found.append((one.start(), "gpu" if unit in "gc卡" else "node", _number(one["count"] or one["zh"])))
    return found


def _paces(text: str) -> list[_Told]:
    """For each throughput of a sentence: what was counted last before it, how many, and what all of them did."""
    full = list(_PACE.finditer(text)) if "/" in text or "per second" in text.lower() or "每" in text else []
    if not full:
        return []
    bare = [one for one in _BARE.finditer(text) if one.start() > full[0].end()]
    bare = [one for one in bare if all(one.end() <= pace.start() or one.start() >= pace.end() for pace in full)]
    values = [(one, parse_number(next(filter(None, (one["value"], *_more(one))), ""))) for one in (*full, *bare)]
    return _told(text, sorted(values, key=lambda pair: pair[0].start()))


def _more(found: re.Match[str]) -> tuple[str | None, ...]:
    return (found["value2"], found["value3"]) if "value2" in found.re.groupindex else ()


def _epochs(text: str) -> list[_Told]:
    """Times of the same work, an epoch or all of the training, for each number of GPUs; times of steps are not."""
    if not _SAME_WORK.search(text) or _STEP.search(text):
        return []
    values: list[tuple[re.Match[str], float | None]] = []
    for found in _SPAN.finditer(text):
        span = found["span"]
        for chinese, unit in _SPANS.items():
            span = span.replace(chinese, unit)
        seconds = parse_duration(span)
        values.append((found, 1.0 / seconds if seconds else None))
    return _told(text, values)


def _told(text: str, values: Sequence[tuple[re.Match[str], float | None]]) -> list[_Told]:
    found: list[_Told] = []
    counts = _counts(text)
    taken = 0
    for match, value in values:
        before = [one for one in counts if taken <= one[0] < match.start()]
        if not before or not value or _WISHED.search(text[max(taken, match.start() - 40) : match.start()]):
            continue
        each = ("each" in match.re.groupindex and match["each"]) or _EACH.search(text[taken : match.start()])
        last = {unit: count for _, unit, count in before}
        found.extend(_Told(unit, count, value * (count if each else 1)) for unit, count in last.items())
        taken = match.end()
    return found
