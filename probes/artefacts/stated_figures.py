"""Figures that people give in a sentence: what utilisation, step, batch, loader and memory of their own job are.

A figure counts where the sentence states it: not where it asks, supposes, wishes or denies. Of several different
figures of one kind none is the job's (they are tried values, or other machines): they are kept as readings only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from gpuwhy.kb.facts import HOST, JOB, Entity, Value
from gpuwhy.kb.patterns import later
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.flow import Flow
from gpuwhy.probes.artefacts.quantities import parse_duration, parse_size, whole_number
from gpuwhy.probes.artefacts.reported_sentences import observed, sentence_of

NAME = "stated-figures"
HINTS = (
    "util", "usage", "cpu", "load", "worker", "batch", "step", "iter", "vram", "gpu mem", "nvidia-smi", "cores",
    "利用率", "使用率", "占用", "显存", "数据加载", "跑满", "打满",
)  # fmt: skip
_LONGEST = 100_000
"""Characters looked at; reports are written by people."""
_MOST = 6
"""Matches of one pattern that are weighed."""

_ABOUT = r"(?:(?:is|was|are|at|of|to|only|just|about|around|roughly|approximately|nearly|under|below|up|stays?|stuck|"
_ABOUT += (
    r"sits|hovers|remains|averages|shows?|rate|percentage|very|low|high|still|always|mostly|constantly|between|from"
)
_ABOUT += r"|is about)\b ?|[:=~≈<>() ]|\w{1,3}ing ){0,6}"
_SHARE = (
    r"(?P<low>[0-9]{1,3}(?:\.[0-9])?)(?: ?%)?(?: ?(?:-|–|~|to|and|到|至) ?(?P<high>[0-9]{1,3}(?:\.[0-9])?))?"
    r" ?(?:%|percent)"
)
_SECONDS = (
    r"(?P<number>[0-9]{1,5}(?:\.[0-9]{1,4})?) ?(?P<unit>ms|milliseconds?|s|secs?|seconds?|min(?:ute)?s?|秒|毫秒|分钟)"
)
_STEP = r"(?:(?:training|train|gradient|optimizer) )?(?:steps?|iterations?|iters?|it|(?:mini-?)?batch(?:es)?)"
_SIZE = r"[0-9]{1,6}(?:\.[0-9]{1,3})? ?(?:[GM](?:i?B)?)?"
_IS = r"(?: ?(?:=|:|(?:is )?set to|is|was|of|to|at|with|设为|设置为|设成|是|为|改成|用的?是?) ?| )"

_UTILIZATION = (
    later(
        r"(?i)(?<![A-Za-z0-9_])GPU(?:'s|s)?[-_ ]?(?:core |compute )?(?:util\w{0,10}|usage|load)\b(?! of) ?"
        rf"{_ABOUT}{_SHARE}"
    ),
    later(rf"(?i)\b(?:only|just|about|around|at|~) ?{_SHARE} (?:of )?(?:the )?GPU[- ]?(?:util\w{{0,10}}|usage)\b"),
    later(
        rf"(?i)\bGPUs?\b[^\n.%0-9]{{0,24}}?(?:only |just |about |around |at |with |~ ?){{0,3}}{_SHARE} "
        r"(?:of )?(?:util\w{0,10}|usage|load)\b"
    ),
    later(rf"(?i)GPU ?(?:的)?(?:平均)?(?:利用率|使用率)[^\n。；0-9%]{{0,12}}{_SHARE}"),
)
_WORKERS = (
    later(rf"(?i)\bnum[_ -]?workers(?![A-Za-z0-9_])['\"`]?{_IS}['\"`]?(?P<count>[0-9]{{1,3}})\b(?!\s?/)"),
    later(r"(?i)(?<![\w-])--(?:num[-_])?workers[ =](?P<count>[0-9]{1,3})\b"),
    later(r"(?i)(?<![\w.])(?P<count>[0-9]{1,3}) data ?loader workers\b"),
)
_BATCH = (
    later(rf"(?i)(?<![a-z]-)\bbatch[_ -]?size(?![A-Za-z0-9_])['\"`]?{_IS}['\"`]?(?P<count>[0-9]{{1,6}})\b(?! ?[/%])"),
    later(r"(?i)\b(?:with|using|at|use) (?:a )?batch(?:es)? of (?:size )?(?P<count>[0-9]{1,6})\b(?! ?(?:s|%|GB|GPU))"),
)
_STEP_TIME = (
    later(
        rf"(?i)\b(?:each|every|one|a|per) {_STEP} (?:\w{{1,10}} ){{0,2}}?(?:takes?|took|needs?|costs?|is|lasts) "
        rf"{_ABOUT}{_SECONDS}\b"
    ),
    later(
        rf"(?i)(?<![\w.]){_SECONDS} ?(?:per|/|(?:for )?(?:each|every)) ?(?:training )?(?:step|iteration|iter|batch)\b"
    ),
    later(rf"(?i)\b(?:step|iteration|batch|iter) time(?: is| was|:|=) ?{_ABOUT}{_SECONDS}\b"),
    later(rf"(?i)每(?:一|个|次)?(?:个)? ?(?:step|iter(?:ation)?|batch|步|迭代)[^\n。；0-9]{{0,10}}{_SECONDS}"),
)
_MEMORY = (
    later(
        rf"(?i)(?:nvidia-smi|\bGPU|\bVRAM|显存|video memory)[^\n.0-9|。]{{0,40}}(?P<used>{_SIZE}) ?"
        rf"(?:/|out of|of|used of) ?(?:the |my )?(?:total )?(?P<total>[0-9]{{1,6}}(?:\.[0-9]{{1,3}})? ?[GM](?:i?B)?)\b"
    ),
)
_LOADING = (
    r"(?:data[- ]?load(?:ing|er)s?|loading (?:the )?(?:data|batch(?:es)?)|data (?:fetching|reading|preparation)"
    r"|数据加载)"
)
_DATA_WAIT = (
    later(
        rf"(?i){_SHARE} of (?:the )?(?:total |whole |training |step |epoch )?time (?:is |was |being )?"
        rf"(?:spent |consumed |taken |used )?(?:up )?(?:in|by|on|for|with|to|waiting for) (?:the )?{_LOADING}"
    ),
    later(
        rf"(?i)\b{_LOADING} ?(?:takes?|took|accounts? for|consumes?|is|uses?|占(?:了)?) ?(?:up )?{_ABOUT}{_SHARE}"
        r" ?(?:of|的) ?(?:the )?(?:total |whole |training |step |epoch |训练)?(?:time|step|epoch|iteration|时间)"
    ),
)
_DATA_SECONDS = (
    later(
        rf"(?i)\b(?:steps?|iterations?|iters?|batch(?:es)?)\b[^\n。|]{{0,80}}?\b{_LOADING}"
        r"(?: time)?(?: alone| itself)? ?(?:takes?|took|needs?|costs?|accounts? for|uses?|is|was)? ?"
        rf"{_ABOUT}{_SECONDS}(?![A-Za-z0-9/])"
    ),
    later(
        rf"(?i)(?:step|iter(?:ation)?|batch|步|迭代)[^\n。|]{{0,40}}?{_LOADING}[^\n。；0-9|]{{0,8}}{_SECONDS}(?![A-Za-z0-9/])"
    ),
)
"""Within a sentence about steps: how long the data of the first batch of all takes says nothing of a step."""
_CPU = (
    later(
        rf"(?i)(?<!process )(?<!python )\b(?:(?:the |all )?CPUs?)(?: \([^)\n]{{0,60}}\))?[- ]?"
        rf"(?:util\w{{0,10}}|usage|load)\b(?! of) ?{_ABOUT}{_SHARE}(?! of (?:one|a|1) core)"
    ),
    later(rf"(?i)\ball (?:[0-9]{{1,3}} |the |my )?(?:CPU )?(?:cores|CPUs|threads) (?:are |were )?{_ABOUT}{_SHARE}"),
    later(rf"(?i)CPU ?(?:的)?(?:整体)?(?:占用率?|利用率|使用率)[^\n。；0-9%]{{0,8}}{_SHARE}"),
    later(
        r"(?i)\b(?:all (?:[0-9]{1,3} |the |my )?(?:v?CPU )?(?:cores|v?CPUs)|(?:the |my )?(?:host )?CPU) "
        r"(?:is |are |was |were |(?:constantly |always |completely |fully |totally |all )){0,4}"
        r"(?:maxed(?: out)?|pegged|saturated|fully (?:used|loaded|busy))\b"
    ),
    later(
        r"(?i)(?:CPU ?(?:的)?(?:[0-9]{1,3} ?个?(?:核心?|线程))?|[0-9]{1,3} ?个?(?:核心?|线程) ?(?:CPU)?)"
        r"(?:已经?|都|全部|全|一直|也|基本|完全|被){0,4}(?:跑满|打满|满载|占满|吃满|拉满)"
    ),
)
_NO_SENTENCE = later(
    r"\||it\]|out of memory|tried to allocate|total capacity|^\s{0,8}(?:#|\[|[0-9]{4}-)|s/it|\[=|"
    r"loss: |\beta\b"
)
_END = later(r"[.!?](?=\s|$)|[。！？]|\n")
_WORD = later(r"[A-Za-z]{2,}|[\u4e00-\u9fff]")
_SENTENCE_WORDS = 5
"""A line of fewer words may be a row of a comparison, which others read."""
_WISHED = later(r"(?i)\b(?:should|expect\w{0,3}|want|could|target|goal|recommend\w{0,3}|default)\b|应该|希望|默认|建议")


@dataclass(frozen=True)
class _Kind:
    """One kind of figure: its patterns, the words for it, and what a match gives by fact.

    `words`: one of them is in lower case in every sentence that a pattern matches.
    """

    label: str
    words: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    read: Callable[[re.Match[str]], dict[str, Value] | None]


def _share(found: re.Match[str]) -> dict[str, Value] | None:
    low, high = float(found["low"]) / 100, float(found["high"] or found["low"]) / 100
    if low > 1 or high > 1:
        return None
    return {"said.utilization_share": max(low, high), "said.utilization_least_share": min(low, high)}


def _workers(found: re.Match[str]) -> dict[str, Value] | None:
    count = whole_number(found["count"])
    return None if count is None else {"loader.workers": count, "loader.in_main_process": count == 0}


def _batch(found: re.Match[str]) -> dict[str, Value] | None:
    count = whole_number(found["count"])
    return {"job.batch_size": count} if count else None


def _wait(found: re.Match[str]) -> dict[str, Value] | None:
    share = float(found["low"]) / 100
    return {"step.data_wait_share": share} if share <= 1 and found["high"] is None else None


def _cpu(found: re.Match[str]) -> dict[str, Value] | None:
    told = found.groupdict()
    if told.get("low") is None:  # all of them are said to be in full use
        return {"host.cpu_busy_share": 1.0}
    share = float(told["low"]) / 100
    return {"host.cpu_busy_share": share} if share <= 1 and told["high"] is None else None


_UNITS = {"秒": "s", "毫秒": "ms", "分钟": "min"}


def _seconds(found: re.Match[str]) -> float | None:
    unit = _UNITS.get(found["unit"], found["unit"].lower())
    unit = "min" if unit.startswith("min") else unit
    return parse_duration(f"{found['number']}{unit}")


def _step(found: re.Match[str]) -> dict[str, Value] | None:
    seconds = _seconds(found)
    return {"step.time_seconds": seconds} if seconds else None


def _wait_seconds(found: re.Match[str]) -> dict[str, Value] | None:
    seconds = _seconds(found)
    return None if seconds is None else {"step.data_wait_seconds": seconds}


def _memory(found: re.Match[str]) -> dict[str, Value] | None:
    unit = re.search(r"[A-Za-z]{1,3}", found["total"])
    used = found["used"] if re.search(r"[A-Za-z]", found["used"]) else found["used"] + (unit[0] if unit else "")
    sizes = [parse_size(re.sub(r"(?i)([GM])(?:i?B)?$", r"\1iB", one.strip())) for one in (used, found["total"])]
    if sizes[0] is None or sizes[1] is None or not 0 < sizes[0] <= sizes[1] or sizes[1] < 2**30:
        return None
    return {"said.memory_used_bytes": sizes[0], "said.memory_total_bytes": sizes[1]}


_KINDS = (
    _Kind("GPU utilisation", ("gpu",), _UTILIZATION, _share),
    _Kind("loader workers", ("worker",), _WORKERS, _workers),
    _Kind("batch size", ("batch",), _BATCH, _batch),
    _Kind("step time", ("step", "it", "batch", "步", "迭代"), _STEP_TIME, _step),
    _Kind("GPU memory", ("nvidia-smi", "gpu", "vram", "显存", "video memory"), _MEMORY, _memory),
    _Kind("wait for data", ("load", "data ", "数据"), _DATA_WAIT, _wait),
    _Kind("wait for data in a step", ("load", "data ", "数据"), _DATA_SECONDS, _wait_seconds),
    _Kind("CPU use", ("cpu", "cores", "threads", "核", "线程"), _CPU, _cpu),
)
_READINGS = {
    "said.utilization_share": "reading.share", "said.utilization_least_share": "reading.share",
    "loader.workers": "reading.count", "job.batch_size": "reading.count", "step.time_seconds": "reading.seconds",
    "step.data_wait_share": "reading.share", "host.cpu_busy_share": "reading.share",
    "step.data_wait_seconds": "reading.seconds",
    "said.memory_used_bytes": "reading.bytes", "said.memory_total_bytes": "reading.bytes",
}  # fmt: skip
"""What a figure is called where several different ones of its kind are given."""


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all figures that sentences of a text state."""
    flow = Flow.of(text.lines)
    whole = flow.text[:_LONGEST]
    lowered = whole.lower()
    readings: list[Reading] = []
    claimed: set[int] = set()
    sentences = "\n".join(line for line in lowered.split("\n") if not _NO_SENTENCE.search(line))
    for kind in _KINDS:
        if not any(word in sentences for word in kind.words):
            continue
        told = list(_told(kind, whole, lowered))
        distinct = {tuple(sorted(values.items())): (found, values) for found, values in reversed(told)}
        for found, values in distinct.values():
            number = flow.number(found.start())
            quoted = sentence_of(whole, found)
            if len(distinct) == 1 and len(_WORD.findall(quoted)) >= _SENTENCE_WORDS:
                claimed |= flow.numbers(found.start(), found.end())
            for fact, value in values.items():
                if len(distinct) == 1:
                    owner = HOST if fact.startswith("host.") else JOB
                    readings.append(Reading(fact, value, number, quoted, owner, said=True))
                elif fact in _READINGS:
                    place = Entity("measurement", f"{kind.label} as said, line {number}: {found[0][-24:].strip()}", JOB)
                    readings.append(Reading(_READINGS[fact], value, number, quoted, place, said=True))
    if readings:
        yield Extract(NAME, tuple(readings), claimed=frozenset(claimed))


def _told(kind: _Kind, whole: str, lowered: str) -> Iterator[tuple[re.Match[str], dict[str, Value]]]:
    taken: set[int] = set()
    for pattern in kind.patterns:
        for found in islice(pattern.finditer(whole), _MOST):
            near = whole[max(0, found.start() - 12) : found.end()]
            line = whole[
                whole.rfind("\n", 0, found.start()) + 1 : (whole.find("\n", found.end()) + 1 or len(whole) + 1) - 1
            ]
            if taken & set(range(*found.span())) or _NO_SENTENCE.search(line.lower()) or _WISHED.search(near):
                continue
            end = _END.search(whole, found.end())
            if end is not None and end[0] in "?？":
                continue
            values = kind.read(found) if observed(found, lowered, negative=True) else None
            if values:
                taken |= set(range(*found.span()))
                yield found, values


FORMAT = TextFormat(NAME, "Figures that a report states", HINTS, scan)
