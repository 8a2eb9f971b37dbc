"""Lines of a training log taken apart: where in the training they stand, and the times, rates and memory they print.

Nothing here knows a framework: keys are judged by their words, progress by `[10/500]`, `iter: 10`, `step 10` and bars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Line
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number, parse_size
from gpuwhy.probes.artefacts.step_log_keys import Meaning, is_part, meaning, says_time, to_number, words_of

_OF_THE_BAR = 1.5
"""A time this many times shorter than a bar's rate says is that of a part, such as the optimizer step."""

LONGEST_LINE = 2_500
"""Longer lines are configuration dumps and command lines, not steps."""

_VALUE = rf"(?:0,[0-9]{{1,9}}|[0-9]{{1,6}},[0-9]{{1,2}})(?![0-9,])|{NUMBER}"
_TIME_UNIT = r"ms|msecs?|us|usecs?|µs|ns|s|secs?|seconds?|min"
_UNIT = rf"(?:{_TIME_UNIT}|[KMGT]i?B?|B|bytes|%)(?![A-Za-z])"
_PAIR = later(
    r"(?<![A-Za-z0-9_./])"
    r"(?P<key>[A-Za-z][A-Za-z0-9_@/%-]{0,48}(?:\.[A-Za-z][A-Za-z0-9_]{0,32}){0,2}(?: [A-Za-z][A-Za-z_/]{0,24}){0,4}?)"
    rf"['\"]?\s{{0,12}}(?:[(\[](?P<key_unit>{_TIME_UNIT}|[KMG]i?B)[)\]])?\s{{0,12}}[:=]?\s{{0,8}}['\"]?"
    rf"(?P<value>[-+]?(?:{_VALUE}))(?![0-9:])(?:\s?(?P<unit>{_UNIT})(?!/))?"
    rf"(?:,\s{{1,4}}(?P<per_second>{NUMBER})/s)?"
    rf"(?:\s{{0,4}}\(\s{{0,6}}(?P<average>{_VALUE})(?:\s?(?:{_TIME_UNIT}))?\s{{0,4}}[,)])?"
)
_BRACKET = later(
    r"(?<![\w./:])[\[(]?\s{0,6}([0-9]{1,9})\s{0,4}/\s{0,6}([0-9]{1,9})(?![0-9./]|\s?[A-Za-z]{1,2}\b|\s[0-9]{1,2}:[0-9])"
)
_COUNTER = later(
    r"(?i)(?<![A-Za-z])(?:global[_ ]?step|micro_step|iter(?:ation)?s?|steps?|batch|it|num_updates|update)\b"
    r"['\"]?\s{0,4}[:=#\[]?\s{0,12}([0-9]{1,9})(?![0-9]|[.,][0-9]|\s{0,2}(?:ms|s|sec|it|%)\b|:[0-9])(?:\s{0,4}/\s{0,8}([0-9]{1,9}))?"
)
_EPOCH = later(r"(?i)\bepoch\b\D{0,12}?([0-9]{1,6})(?![0-9]|\.[0-9]{2})")
_BAR = later(
    r"(?P<step>[0-9]{1,9}(?:\.[0-9]{1,2}[kM])?)(?:/(?P<total>[0-9]{1,9}(?:\.[0-9]{1,2}[kM])?|\?))?(?P<unit>it|step|batch)?\s{0,4}"
    r"\[(?P<elapsed>[0-9:]{4,11})(?:<(?P<left>[^,\]\[\n]{1,24}))?,\s{0,4}"
    r"(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,4})?|\?)\s{0,3}(?P<rate_unit>s/[A-Za-z]{1,12}|[A-Za-z]{1,12}/s)"
)
_NOT_STEPS = later(
    r"(?i)load|download|\bmap\b|map:|tokeniz|filter|fetch|captur|shard|generat|sanity|cach|scann|profil|convert|quantiz"
    r"|extract|compil|sav|upload|copy|warm|read|decod|encod|index|grouping|writing|preparing|prompt|request|epochs?:?\s{0,4}[0-9]{1,3}%"
)
_EVALUATION = later(
    r"(?i)(?<![A-Za-z])(?:val|valid|validat\w{1,6}|eval\w{0,8}|test(?:ing)?|infer\w{0,8}|predict\w{0,5})(?![a-z])"
)
_SECONDS_PER_STEP = later(
    rf"(?P<value>{_VALUE})\s{{0,3}}(?P<unit>{_TIME_UNIT})\s?/\s?(?P<count>[0-9]{{1,6}} )?(?:[0-9]{{1,6}}-)?"
    r"(?:it|iters?|iterations?|steps?|batch(?:es)?)\b"
)
_MAY_BE_PER_STEP = later(r"/\s?(?:[0-9]{1,6} )?(?:[0-9]{1,6}-)?(?:it|step|batch)")
_MAY_BE_BAR = later(r"\[[0-9:]{4,11}[<,]")
_MAY_BE_STEP_RATE = later(r"(?:its?|iters?|iterations?|steps?|batch(?:es)?)\s?/\s?s")
_MAY_BE_SAMPLE_RATE = later(
    r"(?:samples?|examples?|ex|images?|imgs?|sequences|seqs?|sentences|records|frames|fps)\s?(?:/|per)\s?s"
)
"""Short parts of the patterns above and below: most lines lack them, and are spared the search at every number."""
_KEY_BEFORE = later(r"(?P<key>[A-Za-z][A-Za-z_ -]{0,40}?)\s{0,4}[:=]?\s{0,4}$")
_RATE_IN_KEY = later(
    rf"\((?:it|iters?|iterations?|steps?|batch(?:es)?)/s(?:ec)?\)['\"]?\s{{0,4}}[:=]\s{{0,4}}['\"]?(?P<value>{_VALUE})"
)
_STEPS_PER_SECOND = later(
    rf"(?P<value>{_VALUE})\s{{0,3}}(?:it|iters?|iterations?|steps?|batch(?:es)?)\s?/\s?s(?:ec(?:ond)?)?\b"
)
_SAMPLES_PER_SECOND = later(
    rf"(?P<value>{_VALUE})\s{{0,3}}(?:samples?|examples?|ex|images?|imgs?|sequences|seqs?|sentences|records|frames|fps)"
    r"\s?(?:/|per)\s?s(?:ec(?:ond)?)?\b"
)
_BARE_TIME = later(rf"[|,]\s{{1,8}}(?P<value>{NUMBER})\s?(?P<unit>ms|s|sec|secs|seconds)\s{{0,8}}(?:[|,]|$)")
_TABLE_MEMORY = later(r"^\s{0,12}[0-9]{1,6}/[0-9]{1,6}\s{1,12}([0-9]{1,4}(?:\.[0-9]{1,4})?)([GM])(?:i?B)?\s")
_CLOCK = later(r"(?<![0-9:])([0-2]?[0-9]):([0-5][0-9]):([0-5][0-9])(?:[.,]([0-9]{1,9}))?(?![0-9:])")
_PARTS = later(r"(?i)\b(?:fwd|forward|bwd|backward)\b")
_NOT_A_TIMESTAMP = later(r"(?i)(?:eta|time|elapsed|total|wall|took|in)[\s:=]{0,4}$")
_EPOCH_BEFORE = later(r"(?i)epochs?\s{0,2}[:=]?\s{0,3}\[?$")
_DEVICE_MEMORY = later(r"(?i)gpu|cuda|vram|device")
_LEVEL = later(r"^(?:DEBUG|INFO|WARNING|WARN|ERROR|TRACE) ")
_MEMORY_MEANINGS = (Meaning.USED_MEMORY, Meaning.PEAK_MEMORY, Meaning.FREE_MEMORY)


@dataclass(frozen=True)
class MemoryReading:
    """One printed figure of device memory: which kind, under which key, and the bytes."""

    kind: Meaning
    key: str
    size_bytes: float


@dataclass(frozen=True)
class StepLine:
    """What one line of a training log says. Times in seconds, rates per second; None where it says nothing.

    `average` and `data_average` are running means over the epoch, as `Time 0.3 (0.5)` prints them in parentheses.
    `is_explicit`: the time stands with its own `per step` unit (`0.45 s/it`).
    """

    number: int
    text: str
    step: int | None = None
    total: int | None = None
    epoch: int | None = None
    is_evaluation: bool = False
    is_bar: bool = False
    seconds: float | None = None
    average: float | None = None
    last_seconds: float | None = None
    data: float | None = None
    data_average: float | None = None
    last_data: float | None = None
    elapsed: float | None = None
    rate: float | None = None
    samples: float | None = None
    tokens: float | None = None
    memory: tuple[MemoryReading, ...] = ()
    clock: float | None = None
    scored: bool = False
    is_explicit: bool = False

    @property
    def has_times(self) -> bool:
        """True if the line says anything about how long steps take."""
        return any(value is not None for value in (self.seconds, self.data, self.rate, self.samples, self.elapsed))


@dataclass
class _Draft:
    """Values found so far on a line; the first of each meaning counts."""

    values: dict[Meaning, float] = field(default_factory=dict)
    averages: dict[Meaning, float] = field(default_factory=dict)
    memory: list[MemoryReading] = field(default_factory=list)
    times_sure: bool = False
    per_step: bool = False
    default_unit: str | None = None

    def put(self, what: Meaning, value: float | None) -> None:
        if value is not None and what not in self.values:
            self.values[what] = value


def read_line(line: Line) -> StepLine | None:
    """The training-log content of a line, or None if it holds no pair or bar that could belong to one."""
    text = line.text
    bar = _training_bar(text)
    if bar is None and _MAY_BE_BAR.search(text) and _BAR.search(text):
        return None  # a bar that counts files, bytes or shards
    draft = _Draft(default_unit="ms" if "(ms)" in text else None)
    for pair in _PAIR.finditer(text):
        _add_pair(draft, pair)
    _add_rates(draft, text)
    table = _TABLE_MEMORY.match(text)
    if table:
        scale = 1024.0 ** (3 if table[2] == "G" else 2)
        draft.memory.append(MemoryReading(Meaning.USED_MEMORY, "table column", float(table[1]) * scale))
    if not draft.values and not draft.memory and bar is None:
        return None
    step, total = _progress(text, bar)
    epoch = _EPOCH.search(text)
    if step is None:
        _drop_unsure(draft)
    else:
        _add_bare_time(draft, text)
    values = draft.values
    return StepLine(
        number=line.number,
        text=text.strip()[:200],
        step=step,
        total=total,
        epoch=int(epoch[1]) if epoch else None,
        is_evaluation=_EVALUATION.search(text[:80]) is not None,
        is_bar=bar is not None,
        seconds=_step_seconds(values.get(Meaning.STEP), bar),
        average=draft.averages.get(Meaning.STEP),
        last_seconds=values.get(Meaning.LAST_STEP),
        data=values.get(Meaning.DATA),
        data_average=draft.averages.get(Meaning.DATA),
        last_data=values.get(Meaning.LAST_DATA),
        elapsed=_seconds_of_clock(bar["elapsed"]) if bar else None,
        rate=values.get(Meaning.RATE),
        samples=values.get(Meaning.SAMPLES),
        tokens=values.get(Meaning.TOKENS),
        memory=tuple(draft.memory),
        clock=_clock(text),
        scored=Meaning.LOSS in values and (step is not None or len(text) <= 300),
        is_explicit=draft.per_step,
    )


def _drop_unsure(draft: _Draft) -> None:
    """Without a step number `data 5` is no waiting time unless a step time stands beside it."""
    if not draft.times_sure and Meaning.STEP not in draft.values:
        draft.values.pop(Meaning.DATA, None)


def _add_pair(draft: _Draft, pair: re.Match[str]) -> None:
    unit = pair["unit"] or pair["key_unit"]
    what = Meaning.STEP if _is_whole_step(pair, unit, draft) else meaning(pair["key"])
    if what is Meaning.OTHER:
        return
    value = to_number(pair["value"])
    if value is None or value < 0:
        return
    if what in _MEMORY_MEANINGS:
        _add_memory(draft, what, pair["key"], value, unit)
        return
    if what in (Meaning.STEP, Meaning.LAST_STEP, Meaning.DATA, Meaning.LAST_DATA):
        _add_time(draft, what, pair, value, unit)
        return
    draft.put(what, value)


def _is_whole_step(pair: re.Match[str], unit: str | None, draft: _Draft) -> bool:
    """Whether a time of a whole step stands behind the wait for data: `Net 0.300s` of CenterNet and kin, `step 0.3s`.

    `total 0.3s` only where the parts of a step stand in the line too: it may be the time since the start.
    """
    if unit not in ("s", "ms") or Meaning.DATA not in draft.values:
        return False
    key = pair["key"].lower()
    return key in ("net", "step", "iter", "batch") or (key == "total" and _PARTS.search(pair.string) is not None)


def _add_time(draft: _Draft, what: Meaning, pair: re.Match[str], value: float, unit: str | None) -> None:
    key = pair["key"].lower()
    if unit is None and key.endswith(("_ms", "ms", "millis")):
        unit = "ms"
    unit = unit or draft.default_unit
    seconds = value if unit is None else parse_duration(f"{value!r}{unit}")
    if seconds is None:
        return
    scale = seconds / value if value else 1.0
    if what not in draft.values and pair["average"] is not None:
        average = to_number(pair["average"])
        if average is not None:
            draft.averages[what] = average * scale
    draft.put(what, seconds)
    draft.times_sure = draft.times_sure or says_time(pair["key"]) or unit is not None
    if pair["per_second"] is not None:
        draft.put(Meaning.SAMPLES, parse_number(pair["per_second"]))


def _add_memory(draft: _Draft, what: Meaning, key: str, value: float, unit: str | None) -> None:
    if unit is None:
        size = value * _assumed_memory_unit(key, value)
    else:
        found = parse_size(f"{value!r} {unit}")
        if found is None:
            return
        size = found
    draft.memory.append(MemoryReading(what, _LEVEL.sub("", " ".join(key.split())), size))


def _assumed_memory_unit(key: str, value: float) -> float:
    """Bytes per printed unit where none is printed: the key says it, else logs print MiB, small figures GiB."""
    lowered = key.lower()
    for mark, exponent in (("gb", 3), ("gib", 3), ("mb", 2), ("mib", 2), ("byte", 0)):
        if mark in lowered:
            return float(1024**exponent)
    if value >= 1e7:
        return 1.0
    return float(1024**2 if value == 0 or value >= 200 else 1024**3)


def _add_rates(draft: _Draft, text: str) -> None:
    """Rates that carry their own unit: `0.45 s/it`, `155ms/step`, `2.5 it/s`, `280 images/sec`."""
    if _MAY_BE_PER_STEP.search(text):
        _add_seconds_per_step(draft, text)
    if "/s" not in text and "/ s" not in text and "per s" not in text:
        return
    for what, may_be, pattern in (
        (Meaning.RATE, _MAY_BE_STEP_RATE, _RATE_IN_KEY),
        (Meaning.RATE, _MAY_BE_STEP_RATE, _STEPS_PER_SECOND),
        (Meaning.SAMPLES, _MAY_BE_SAMPLE_RATE, _SAMPLES_PER_SECOND),
    ):
        found = pattern.search(text) if what not in draft.values and may_be.search(text) else None
        if found:
            draft.put(what, to_number(found["value"]))


def _add_seconds_per_step(draft: _Draft, text: str) -> None:
    """Times with their own `per step` unit. Of several the key tells which is the wait and which the whole step."""
    found = [(per_step, _key_before(text, per_step.start())) for per_step in _SECONDS_PER_STEP.finditer(text[:800])]
    whole = [one for one, key in found if "total" in words_of(key)] or [one for one, key in found if not is_part(key)]
    waits = [one for one, key in found if is_part(key) and meaning(key) in (Meaning.DATA, Meaning.LAST_DATA)]
    for what, group in ((Meaning.STEP, whole), (Meaning.DATA, waits)):
        value = to_number(group[0]["value"]) if group else None
        seconds = None if value is None or value < 0 else parse_duration(f"{value!r}{group[0]['unit']}")
        if seconds is not None:
            draft.put(what, seconds / max(1, int(group[0]["count"] or 1)))
            draft.times_sure = draft.per_step = True


def _key_before(text: str, end: int) -> str:
    key = _KEY_BEFORE.search(text[max(0, end - 48) : end])
    return key["key"] if key else ""


def _add_bare_time(draft: _Draft, text: str) -> None:
    """A duration that stands alone between bars or commas of a line that counts a step: its time."""
    if Meaning.LOSS not in draft.values or draft.values.keys() & {Meaning.STEP, Meaning.RATE}:
        return
    bare = _BARE_TIME.search(text)
    if bare:
        draft.put(Meaning.STEP, parse_duration(f"{bare['value']}{bare['unit']}"))


def _training_bar(text: str) -> re.Match[str] | None:
    """The outermost progress bar of the line that counts steps, not files or bytes."""
    if not _MAY_BE_BAR.search(text):
        return None
    for bar in _BAR.finditer(text):
        unit = bar["rate_unit"].removeprefix("s/").removesuffix("/s").lower()
        before = text[max(0, bar.start() - 160) : bar.start()]
        if unit in ("it", "step", "batch", "iter", "update", "iteration") and not _NOT_STEPS.search(before):
            return bar
    return None


def _bar_seconds(bar: re.Match[str] | None) -> float | None:
    """Seconds per step of a bar's own (smoothed) rate."""
    if bar is None or bar["rate"] == "?":
        return None
    value = float(bar["rate"])
    if bar["rate_unit"].startswith("s/"):
        return value
    return 1.0 / value if value > 0 else None


def _step_seconds(printed: float | None, bar: re.Match[str] | None) -> float | None:
    """Time of a step: as printed, unless a bar's own rate shows that what is printed is only a part of the step."""
    rate = _bar_seconds(bar)
    if printed is None or (rate is not None and printed < rate / _OF_THE_BAR):
        return rate
    return printed


def _progress(text: str, bar: re.Match[str] | None) -> tuple[int | None, int | None]:
    """Step number and number of steps that the line stands at, as far as it says."""
    if bar is not None:
        return _count(bar["step"]), _count(bar["total"])
    brackets = [found for found in _BRACKET.finditer(text[:200]) if not _EPOCH_BEFORE.search(text[: found.start()])]
    bracket = brackets[-1] if brackets else None
    counter = _COUNTER.search(text)
    if bracket is not None and (counter is None or counter[2] or text[bracket.start()] in "[("):
        return int(bracket[1]), int(bracket[2])
    if counter is not None:
        return int(counter[1]), int(counter[2]) if counter[2] else None
    return None, None


def _count(text: str | None) -> int | None:
    if text is None or text == "?":
        return None
    scale = {"k": 1e3, "M": 1e6}.get(text[-1], 1.0)
    return int(float(text.rstrip("kM")) * scale)


def _seconds_of_clock(text: str) -> float | None:
    return parse_duration(text) if ":" in text else None


def _clock(text: str) -> float | None:
    """Seconds since midnight of the timestamp that the line starts with, if one does."""
    found = _CLOCK.search(text[:60])
    if found is None or _NOT_A_TIMESTAMP.search(text[: found.start()]):
        return None
    fraction = float(f"0.{found[4]}") if found[4] else 0.0
    return int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3]) + fraction


def is_device_memory_line(line: StepLine) -> bool:
    """True if a line outside the steps prints device memory under a key that says so."""
    return any(_DEVICE_MEMORY.search(reading.key) for reading in line.memory)


def read_lines(lines: tuple[Line, ...]) -> Iterator[StepLine]:
    """The training-log content of all lines that have any."""
    for line in lines:
        if len(line.text) <= LONGEST_LINE and any(map(str.isdigit, line.text)):
            found = read_line(line)
            if found is not None:
                yield found
