"""Logs that take a training step apart: forward, backward, exchange, optimizer, copy to the device, and the whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache

from gpuwhy.kb.averages import median
from gpuwhy.kb.facts import JOB, Entity
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Line, Reading
from gpuwhy.probes.artefacts.lazy_pattern import later
from gpuwhy.probes.artefacts.quantities import NUMBER, parse_duration, parse_number
from gpuwhy.probes.artefacts.step_log_keys import Meaning, meaning, says_time, words_of

LONGEST_LINE = 2_500
"""Longer lines are dumps, not steps."""


MOST_SINGLE = 3
"""Lines whose phases are kept one by one, beside those of the last line; the medians rest on all of them."""


class Phase(Enum):
    """A part of a training step, or the whole of it."""

    DATA = "waiting for data"
    TRANSFER = "copy to the device"
    FORWARD = "forward"
    LOSS = "loss"
    BACKWARD = "backward"
    EXCHANGE = "gradient exchange"
    OPTIMIZER = "optimizer"
    WHOLE = "whole step"


_TIME_UNIT = r"ms|msecs?|us|µs|s|secs?|seconds?"
_PAIR = later(
    r"(?<![A-Za-z0-9_.])(?P<key>[A-Za-z][A-Za-z_]{0,40}(?: [A-Za-z_]{1,16}){0,2}?)"
    rf"\s{{0,4}}(?:\((?P<key_unit>{_TIME_UNIT})\))?\s{{0,2}}[:=]\s{{0,4}}(?P<value>{NUMBER})(?![0-9:])"
    rf"\s?(?P<unit>{_TIME_UNIT})?(?![A-Za-z/])"
)
_MAIN = {Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER}
_NAMES: Mapping[Phase, frozenset[str]] = {
    Phase.EXCHANGE: frozenset({"allreduce", "reduce", "comm", "communication", "sync"}),
    Phase.TRANSFER: frozenset({"transfer", "device", "cuda", "htod", "copy"}),
    Phase.OPTIMIZER: frozenset({"optimizer", "optim", "opt", "optimiser"}),
    Phase.FORWARD: frozenset({"forward", "fwd", "fw"}),
    Phase.BACKWARD: frozenset({"backward", "bwd", "bw", "backwards"}),
    Phase.WHOLE: frozenset({"total", "iteration", "iter", "batch"}),
    Phase.LOSS: frozenset({"loss"}),
}
_IN_PARTS = frozenset({"inner", "gradients", "allgather", "param", "params", "recv", "send", "layer", "optims"})


@lru_cache(maxsize=2048)
def phase_of(key: str) -> Phase | None:
    """The phase that a key names; None for parts of a phase and for anything else."""
    words = words_of(key)
    kinds = frozenset(words)
    if kinds & _IN_PARTS:
        return None
    if meaning(key) in (Meaning.DATA, Meaning.LAST_DATA):
        return Phase.DATA
    for phase, names in _NAMES.items():
        if kinds & names:
            return phase
    return Phase.OPTIMIZER if kinds - {"time", "ms", "microstep", "s"} == {"step"} else None


@dataclass(frozen=True)
class Parts:
    """The phases of one line, in seconds."""

    line: Line
    items: tuple[tuple[Phase, float], ...]

    @property
    def seconds(self) -> Mapping[Phase, float]:
        """Seconds by phase."""
        return dict(self.items)


def read_parts(line: Line) -> Parts | None:
    """The phases of a line that gives two of forward, backward and optimizer, or three phases, as durations."""
    text = line.text
    if len(text) > LONGEST_LINE or ("orward" not in text and "fw" not in text.lower()):
        return None
    default = "ms" if "(ms)" in text else ""
    seconds: dict[Phase, float] = {}
    for pair in _PAIR.finditer(text):
        phase = phase_of(pair["key"])
        value = parse_number(pair["value"])
        if phase is None or value is None or phase in seconds:
            continue
        unit = pair["unit"] or pair["key_unit"] or default or ("s" if says_time(pair["key"]) else "")
        duration = parse_duration(f"{value!r}{unit}") if unit else None
        if duration is not None:
            seconds[phase] = duration
    several = len(_MAIN & set(seconds)) >= 2 or len(set(seconds) - {Phase.WHOLE, Phase.LOSS}) >= 3
    return Parts(line, tuple(seconds.items())) if several else None


def phase_readings(lines: Sequence[Line], step_seconds: float | None) -> tuple[list[Reading], set[int]]:
    """Median time of each phase, the shares that they give of a step, and the numbers of the lines that gave them.

    `step_seconds` is the time of a typical step from elsewhere in the log; without it and without a printed total the
    step is the sum of forward, backward and optimizer.
    """
    found = [parts for parts in map(read_parts, lines) if parts is not None]
    if not found:
        return [], set()
    typical = {
        phase: median(parts.seconds[phase] for parts in found if phase in parts.seconds)
        for phase in Phase
        if any(phase in parts.seconds for parts in found)
    }
    whole = typical.get(Phase.WHOLE) or step_seconds or sum(typical.get(phase, 0.0) for phase in _MAIN)
    last = found[-1].line
    readings = [_labelled(last, phase.value, value) for phase, value in typical.items()]
    for parts in dict.fromkeys([*found[:MOST_SINGLE], found[-1]]):
        where = f"line {parts.line.number}"
        readings.extend(_labelled(parts.line, f"{phase.value}, {where}", value) for phase, value in parts.items)
    readings.extend(_shares(typical, whole, last))
    return readings, {parts.line.number for parts in found}


def _labelled(line: Line, label: str, seconds: float) -> Reading:
    return Reading("reading.seconds", seconds, line.number, line.text.strip()[:200], Entity("measurement", label, JOB))


def _shares(typical: Mapping[Phase, float], whole: float, last: Line) -> Iterator[Reading]:
    text = last.text.strip()[:200]
    if whole <= 0:
        return
    for phase, fact in (
        (Phase.EXCHANGE, "step.communication_share"),
        (Phase.OPTIMIZER, "step.optimizer_share"),
    ):
        if phase in typical and typical[phase] <= whole:
            yield Reading(fact, typical[phase] / whole, last.number, text, JOB)
    if Phase.WHOLE in typical and Phase.DATA in typical and typical[Phase.DATA] <= whole:
        yield Reading("step.time_mean_seconds", whole, last.number, text, JOB)
        yield Reading("step.data_wait_seconds", typical[Phase.DATA], last.number, text, JOB)
        yield Reading("step.data_wait_share", typical[Phase.DATA] / whole, last.number, text, JOB)
