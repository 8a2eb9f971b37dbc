"""The same work timed under different conditions, in whatever words: versions, GPUs, jobs, graphs, loaders.

A number belongs to the condition that stands before it on its line, else to the one after it, else to the last one
that stood on a line above. Two conditions of one kind with the same sort of number are a comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from gpuwhy.kb.facts import JOB, Entity, Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Extract, Line, Reading, Text, TextFormat
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number, whole_number

LONGEST = 400
"""Longer lines are dumps, or paragraphs of prose: those are taken sentence by sentence."""

LONGEST_PARAGRAPH = 4000

MOST_LINES = 300
"""Lines looked at: people write comparisons by hand; of more, those at both ends."""

REACH = 8
"""Lines that a condition on a line of its own holds for, unless another one comes."""

_NOUN = r"it|iters?|iterations?|steps?|epochs?|batch(?:es)?|images?|imgs?|samples?|frames?|tokens?|sentences"
_TIME_UNIT = r"milliseconds?|ms|msecs?|us|µs|s|secs?|seconds?|mins?|minutes?"
_PER = later(rf"(?P<value>{NUMBER})\s?(?P<unit>{_TIME_UNIT})?\s?(?:/|\bper )\s?(?P<noun>{_NOUN})\b", re.IGNORECASE)
_SAME = later(rf"(?P<value>{NUMBER})\s?(?P<unit>{_TIME_UNIT})\s(?=(?:using|on|with)\b)", re.IGNORECASE)
"""`40s per epoch on one GPU vs. 30s on two`: the second time is per the same thing."""
_RATE = later(
    rf"(?P<value>{NUMBER})(?P<kilo>k)?\s?(?P<noun>{_NOUN})\s?(?:/|\bper )\s?(?:s|sec|second)s?\b", re.IGNORECASE
)
_NAMED = later(
    r"(?P<label>[A-Za-z][A-Za-z_, =-]{0,60}?)\s{0,8}(?:\([^()]{0,60}\))?\s{0,8}[:=]?\s{1,40}"
    rf"(?P<value>{NUMBER})\s?(?P<unit>{_TIME_UNIT})?(?![A-Za-z0-9/%.])",
    re.IGNORECASE,
)
_CUT = later(r"(?i)\bvs\.?(?= )|\bversus\b|\bcompared (?:to|with)\b|;|\band\b|\bwhile\b|\bbut\b")
_SAYS_TIME = later(r"(?i)\b(?:time|elapsed|total|duration|latency|took|takes|seconds)\b")
_SENTENCE_END = later(r"(?<=[.!?])\s{1,4}(?=[A-Z])")
_WORDS = {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "eight": 8, "sixteen": 16}
_GPUS = later(
    r"(?i)(?<![A-Za-z0-9_.-])(?P<count>one|single|two|three|four|eight|sixteen|[0-9]{1,4})[ -]?x?[ -]?"
    r"(?:gpus?|cards?|nodes?)\b"
    r"|--(?:num[_-])?gpus?[ =](?P<option>[0-9]{1,3})(?![0-9,])"
    r"|CUDA_VISIBLE_DEVICES=(?P<list>[0-9](?:,[0-9]){0,15})(?![0-9,])"
)
_JOBS = later(
    r"(?i)\b(?P<count>one|a single|single|two|three|four|[1-9])\s(?:[a-z]{2,10}\s){0,2}"
    r"(?:process|processes|jobs?|instances?|trainings?|containers?)\b(?=[^.\n]{0,60}\b(?:gpu|card|device)\b)"
)
_VERSION = later(
    r"(?i)(?<![A-Za-z0-9_.])(?:(?P<name>py)?(?P<soft>torch|tensorflow|tf|cuda ?toolkit|cuda|cudnn|driver"
    r"|jax|mxnet|keras|lightning|transformers)"
    r"[ =:-]{0,3}(?:version )?v?(?P<number>[0-9]{1,3}\.[0-9]{1,4}(?:\.[0-9]{1,4}){0,2}(?:\+[a-z0-9]{2,12})?)"
    r"|(?P<built>[0-9]{1,2}\.[0-9]{1,3}\.[0-9]{1,3}(?:\.dev[0-9]{1,8}|(?:a|b|rc)[0-9]{1,2})?\+(?:cu[0-9]{2,3}|git[0-9a-f]{5,12}|cpu|rocm[0-9.]{1,6}))"
    r"|(?P<bare>(?<=^)[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,3}(?:\.[0-9]{1,3})?(?=$)))(?![0-9.])"
)
_EAGER = r"without (?:cuda )?graphs?|no[ -]graphs?|direct launches|individual launches|\beager\b"
_GRAPH = later(rf"(?i)(?P<eager>{_EAGER})|(?P<graph>\bcuda ?-?graphs?\b|\bgraph[ -]replays?\b|\bwith graphs?\b)")
_LOADER = later(
    r"(?i)(?P<direct>\bdirect (?:tensor )?index\w{0,4}|\b(?:synthetic|fake|dummy|random) (?:data|input|batch)\w{0,3}"
    r"|\bpre-?loaded\b|\bcached batch\b|\bwithout (?:the )?(?:data)?loader)|(?P<loader>\bdataloader\b|\breal data\b)"
)


_THREADS = later(r"\b(?:OMP|MKL)_NUM_THREADS\b|\bset_num_threads\b|(?i:\bthread (?:cap|limit)\b)")
_CORES = later(r"(?i)\b(?:cpu )?cores? (?:busy|used|in use)\b|\bbusy (?:cpu )?cores\b")
_ARROW = r"\s?(?:->|→|=>)\s?~?"
_ARROW_TIME = later(rf"(?P<before>{NUMBER})\s?(?P<unit>ms|s|min){_ARROW}(?P<after>{NUMBER})\s?(?P=unit)(?![A-Za-z])")
_ARROW_COUNT = later(rf"(?<![0-9.%-])(?P<before>[0-9]{{1,6}}){_ARROW}(?P<after>[0-9]{{1,6}})(?![0-9.%A-Za-z])")


@dataclass(frozen=True)
class _Number:
    """A time in seconds or a rate, under the condition of one kind that it belongs to."""

    kind: str
    key: str
    measure: tuple[str, str]
    value: float
    line: Line

    @property
    def cost(self) -> float:
        """What grows when the work is slower."""
        return 1.0 / self.value if self.measure[0] == "rate" else self.value


def scan(text: Text) -> Iterator[Extract]:
    """One extract for all comparisons; it claims no line, since other formats read the same ones."""
    lines = list(text.lines)
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES // 2], *lines[-MOST_LINES // 2 :]]
    lines = [sentence for line in lines for sentence in _sentences_of(line)]
    readings = [*comparison_readings(lines), *_thread_limit(lines)]
    if readings:
        yield Extract("comparisons", tuple(readings))


def _sentences_of(line: Line) -> Iterator[Line]:
    if LONGEST < len(line.text) <= LONGEST_PARAGRAPH:
        yield from (Line(line.number, one) for one in _SENTENCE_END.split(line.text))
    else:
        yield line


def comparison_readings(lines: Sequence[Line]) -> list[Reading]:
    """The facts of all comparisons: how many times faster or slower under one condition than under another."""
    readings: list[Reading] = []
    for kind, (find, tell) in _KINDS.items():
        groups: dict[tuple[str, str], dict[str, _Number]] = {}
        for number in _numbers(lines, kind, find):
            groups.setdefault(number.measure, {}).setdefault(number.key, number)
        for measure in sorted(groups, key=lambda one: _WORTH.index(one[0])):
            found = list(tell(groups[measure])) if len(groups[measure]) >= 2 else []
            if found:
                readings.extend(_quoted(groups[measure]))
                readings.extend(found)
                break
        else:
            readings.extend(_sentences(kind, groups, tell))
    return readings


def _sentences(
    kind: str,
    groups: Mapping[tuple[str, str], Mapping[str, _Number]],
    tell: Callable[[Mapping[str, _Number]], Iterator[Reading]],
) -> list[Reading]:
    """Times on one and on several GPUs in sentences, each in its own words."""
    steps = _steps(groups) if kind == "GPUs" else {}
    if found := list(tell(steps)) if len(steps) >= 2 else []:
        return [*_quoted(steps), *found]
    times: dict[str, _Number] = {}
    for (sort, _), group in groups.items() if kind == "GPUs" else ():
        for key, number in group.items() if sort == "time" else ():
            epoch = "epoch" in number.line.text.lower()
            times.setdefault(
                key, _Number(kind, key, ("per", "epoch") if epoch else ("time", ""), number.value, number.line)
            )
    found = list(tell(times)) if len(times) >= 2 else []
    return [*_quoted(times), *found] if found else []


def _steps(groups: Mapping[tuple[str, str], Mapping[str, _Number]]) -> Mapping[str, _Number]:
    """Times per step, those that a progress bar shows as steps per second too (`1.3it/s` here, `1.4s/it` there)."""
    each = dict(groups.get(("per", "step"), {}))
    for key, number in groups.get(("rate", "step"), {}).items():
        each.setdefault(key, _Number(number.kind, key, ("per", "step"), 1.0 / number.value, number.line))
    return each


_WORTH = ("per", "rate", "time")
Find = Callable[[str], Iterator[tuple[int, str]]]


def _numbers(lines: Sequence[Line], kind: str, find: Find) -> Iterator[_Number]:
    current, heading, since = "", False, 0
    usable = [line for line in lines if len(line.text) <= LONGEST and line.text.strip()]
    told = [list(find(line.text)) if _may_name(kind, line.text) else [] for line in usable]
    several = len({key for one in told for _, key in one}) >= 2  # else there is nothing to compare with
    for line, conditions in zip(usable, told, strict=True) if several else ():
        text = line.text
        since += 1
        if since > REACH:
            current, heading = "", False
        amounts = list(_amounts(text))
        for at, measure, value in amounts:
            key = _nearest(text, at, conditions) or current
            if key and value > 0:
                yield _Number(kind, key, measure, value, line)
        titled = text.rstrip(" *`").endswith(":")
        if conditions and not amounts and (titled or not heading):
            current, heading, since = conditions[-1][1], titled, 0


def _may_name(kind: str, text: str) -> bool:
    lowered = text.lower()
    if any(word in lowered for word in _WORDS_OF[kind]):
        return True
    return kind == "version" and "." in text and len(text.strip()) <= _LONGEST_VERSION


def _nearest(text: str, at: int, conditions: Sequence[tuple[int, str]]) -> str:
    """The condition for a number: of its own clause the one before it, else one after it, else the last before it."""
    start = max((cut.end() for cut in _CUT.finditer(text, 0, at)), default=0)
    end = next((cut.start() for cut in _CUT.finditer(text, at)), len(text))
    own = [(place, key) for place, key in conditions if start <= place < end]
    before = [key for place, key in own if place < at] or (
        [] if own else [key for place, key in conditions if place < at]
    )
    return before[-1] if before else own[0][1] if own else ""


def _amounts(text: str) -> Iterator[tuple[int, tuple[str, str], float]]:
    """Times per something, rates, and times under a name, with their place and what they measure."""
    taken: list[tuple[int, int]] = []
    for sort, pattern in (("per", _PER), ("rate", _RATE)):
        for found in pattern.finditer(text):
            value = parse_number(found["value"])
            if sort == "per" and value is not None:
                value = parse_duration(f"{value!r}{found['unit'] or 's'}")
            elif sort == "rate" and value is not None and found["kilo"]:
                value *= 1000
            if value is not None and text[found.start() - 1 : found.start()] not in (".", "-", "+"):
                taken.append(found.span())
                yield found.start(), (sort, _noun(found["noun"])), value
    yield from _elliptic(text, taken)
    for found in _NAMED.finditer(text):
        free = all(found.end() <= start or found.start("value") >= end for start, end in taken)
        label = found["label"].strip(" ,=-").lower()
        if free and (found["unit"] or _SAYS_TIME.search(label)):
            value = parse_duration(f"{found['value'].replace(',', '')}{found['unit'] or 's'}")
            if value is not None:
                yield found.start("value"), ("time", label if _SAYS_TIME.search(label) else ""), value


def _elliptic(text: str, taken: list[tuple[int, int]]) -> Iterator[tuple[int, tuple[str, str], float]]:
    """Times without a noun, after one that has it."""
    first = _PER.search(text)
    if first is None:
        return
    for found in _SAME.finditer(text, first.end()):
        value = parse_duration(f"{found['value'].replace(',', '')}{found['unit']}")
        if value is not None and all(found.end() <= start or found.start() >= end for start, end in taken):
            taken.append(found.span())
            yield found.start(), ("per", _noun(first["noun"])), value


def _noun(noun: str) -> str:
    lowered = noun.lower().rstrip("s")
    return {"iter": "step", "iteration": "step", "it": "step", "batch": "step", "batche": "step"}.get(lowered, lowered)


def _count(text: str) -> str:
    return str(_WORDS.get(text.lower().removeprefix("a "), text))


def _gpus(text: str) -> Iterator[tuple[int, str]]:
    for found in _GPUS.finditer(text):
        listed = str(found["list"].count(",") + 1) if found["list"] else ""
        yield found.start(), listed or _count(found["count"] or found["option"])


def _jobs(text: str) -> Iterator[tuple[int, str]]:
    for found in _JOBS.finditer(text):
        yield found.start(), _count(found["count"])


def _versions(text: str) -> Iterator[tuple[int, str]]:
    for found in _VERSION.finditer(text.strip()):
        name = "torch" if found["built"] else "library" if found["bare"] else found["soft"].lower()
        yield found.start(), f"{name} {found['built'] or found['bare'] or found['number']}"


def _graphs(text: str) -> Iterator[tuple[int, str]]:
    for found in _GRAPH.finditer(text):
        yield found.start(), "eager" if found["eager"] else "graph"


def _loaders(text: str) -> Iterator[tuple[int, str]]:
    for found in _LOADER.finditer(text):
        yield found.start(), "direct" if found["direct"] else "loader"


def _fact(fact: str, value: Value, source: _Number) -> Reading:
    return Reading(fact, value, source.line.number, source.line.text.strip()[:200], JOB)


def _quoted(group: Mapping[str, _Number]) -> Iterator[Reading]:
    for key, number in group.items():
        fact = "reading.value" if number.measure[0] == "rate" else "reading.seconds"
        entity = Entity("measurement", f"{' '.join(number.measure).strip()} with {number.kind} {key}", JOB)
        yield Reading(fact, number.value, number.line.number, number.line.text.strip()[:200], entity)


def _thread_limit(lines: Sequence[Line]) -> Iterator[Reading]:
    """A step and the CPUs in use before and after the threads were limited, as arrows (`112s -> 87s`) show them."""
    if not any(_THREADS.search(line.text) for line in lines if len(line.text) <= LONGEST):
        return
    for line in lines:
        found = _ARROW_TIME.search(line.text) if len(line.text) <= LONGEST else None
        if found is not None and (parse_number(found["after"]) or 0) > 0:
            ratio = (parse_number(found["before"]) or 0.0) / (parse_number(found["after"]) or 1.0)
            yield Reading("bench.thread_limit_speedup", ratio, line.number, line.text.strip()[:200], JOB)
            break
    for line in _under_cpu(lines):
        found = _ARROW_COUNT.search(line.text)
        if found is not None and int(found["after"]) > 0:
            ratio = int(found["before"]) / int(found["after"])
            yield Reading("bench.thread_limit_cpu_ratio", ratio, line.number, line.text.strip()[:200], JOB)
            break


def _under_cpu(lines: Sequence[Line]) -> Iterator[Line]:
    """Lines that speak of busy CPU cores, and rows of a table whose header does."""
    named = 0
    for line in lines:
        named = REACH + 2 if _CORES.search(line.text[:LONGEST]) else named - 1
        if named > 0 and len(line.text) <= LONGEST:
            yield line


def _tell_versions(group: Mapping[str, _Number]) -> Iterator[Reading]:
    """Versions of one software: how much slower the slowest of them is than the fastest."""
    software: dict[str, list[_Number]] = {}
    for key, number in group.items():
        software.setdefault(key.partition(" ")[0], []).append(number)
    several = [numbers for numbers in software.values() if len(numbers) >= 2]
    if several:
        slowest = max(several[0], key=lambda one: one.cost)
        fastest = min(several[0], key=lambda one: one.cost)
        yield _fact("bench.version_ratio", slowest.cost / fastest.cost, slowest)
        yield _fact("bench.version_slowest", slowest.key, slowest)
        yield _fact("bench.version_fastest", fastest.key, fastest)


def _tell_gpus(group: Mapping[str, _Number]) -> Iterator[Reading]:
    """One and several GPUs. Of times per step each GPU is taken to have its own batch; epochs hold the same work."""
    counts = {count: number for key, number in group.items() if (count := whole_number(key))}
    if 1 not in counts or len(counts) < 2:
        return
    most = max(counts)
    gain = counts[1].cost / counts[most].cost
    sort, noun = counts[most].measure
    speedup = gain * most if sort == "time" or (sort == "per" and noun != "epoch") else gain
    yield _fact("bench.scaling_gpu_count", most, counts[most])
    yield _fact("bench.scaling_speedup", speedup, counts[most])
    yield _fact("bench.scaling_efficiency_share", speedup / most, counts[most])


def _tell_jobs(group: Mapping[str, _Number]) -> Iterator[Reading]:
    """One and several jobs on a GPU: how much slower each becomes."""
    counts = {count: number for key, number in group.items() if (count := whole_number(key)) is not None}
    if 1 in counts and len(counts) >= 2:
        most = max(counts)
        yield _fact("bench.shared_job_count", most, counts[most])
        yield _fact("bench.shared_slowdown_ratio", counts[most].cost / counts[1].cost, counts[most])


def _tell_graphs(group: Mapping[str, _Number]) -> Iterator[Reading]:
    if {"eager", "graph"} <= set(group):
        yield _fact("step.graph_speedup_ratio", group["eager"].cost / group["graph"].cost, group["graph"])


def _tell_loaders(group: Mapping[str, _Number]) -> Iterator[Reading]:
    if {"direct", "loader"} <= set(group):
        ratio = group["loader"].cost / group["direct"].cost
        yield _fact("step.synthetic_speedup_ratio", ratio, group["loader"])


_WORDS_OF: Mapping[str, tuple[str, ...]] = {
    "version": ("torch", "tensorflow", "tf", "cuda", "cudnn", "driver", "jax", "mxnet", "keras", "lightning",
        "transformers", "+cu", "+git", "+cpu", "+rocm"),
    "GPUs": ("gpu", "card", "node", "cuda_visible_devices"),
    "jobs": ("gpu", "card", "device"),
    "graph": ("graph", "eager", "launches"),
    "input": ("index", "data", "input", "batch", "loaded", "loader"),
}  # fmt: skip
"""Lower-case words, one of which is in every line that names a condition of the kind, but for a bare version."""
_LONGEST_VERSION = 12

_KINDS: Mapping[str, tuple[Find, Callable[[Mapping[str, _Number]], Iterator[Reading]]]] = {
    "version": (_versions, _tell_versions),
    "GPUs": (_gpus, _tell_gpus),
    "jobs": (_jobs, _tell_jobs),
    "graph": (_graphs, _tell_graphs),
    "input": (_loaders, _tell_loaders),
}

FORMAT = TextFormat(
    "comparisons",
    "Timings under different conditions",
    (
        "gpu",
        "node",
        "torch",
        "+cu",
        "cudnn",
        "tensorflow",
        "mxnet",
        "driver",
        "graph",
        "dataloader",
        "num_threads",
        "cuda_visible_devices",
        "ms/iter",
    ),
    scan,
)
