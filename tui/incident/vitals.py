"""The three vital signs of every GPU over a look, as they are kept in the journal and drawn in the report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from gpuwhy.kb.records import dataclass

if TYPE_CHECKING:
    from gpuwhy.probes.nvml_glance import Glance

MOST_POINTS = 600
MOST_GPUS = 64
_KINDS = ("utilization", "memory", "temperature")


@dataclass(frozen=True)
class Course:
    """One GPU over a look. Values are shares of 1 (of temperature: of the card's own slowdown limit); None: not read.

    `seconds` are those since the look began. `limits` say in words what 1 stands for: `100 %`, `80.0 GiB`, `89 °C`.
    """

    index: int
    name: str
    seconds: tuple[float, ...]
    values: tuple[tuple[float | None, ...], ...]
    limits: tuple[str, ...]


class Recorder:
    """Keeps glances; of a long look every second, fourth, ... one, so that it stays small."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, Glance]] = []
        self._every, self._count = 1, 0

    def take(self, seconds: float, glance: Glance) -> None:
        """A glance, so many seconds after the look began."""
        if self._count % self._every == 0:
            self._taken.append((seconds, glance))
        self._count += 1
        if len(self._taken) > MOST_POINTS:
            self._taken = self._taken[::2]
            self._every *= 2

    def courses(self) -> tuple[Course, ...]:
        """What was taken, by GPU."""
        from gpuwhy.kb.units import show

        found = []
        for index in sorted({one.index for _, glance in self._taken for one in glance.gpus})[:MOST_GPUS]:
            of = [(at, one) for at, glance in self._taken for one in glance.gpus if one.index == index]
            last = of[-1][1]
            memory = "" if last.memory_total_bytes is None else show(last.memory_total_bytes, "bytes")
            heat = "" if last.slowdown_celsius is None else f"{last.slowdown_celsius:.0f} °C"
            values = (
                tuple(one.utilization_share for _, one in of),
                tuple(share(one.memory_used_bytes, one.memory_total_bytes) for _, one in of),
                tuple(share(one.temperature_celsius, one.slowdown_celsius) for _, one in of),
            )
            found.append(Course(index, last.name, tuple(round(at, 1) for at, _ in of), values, ("100 %", memory, heat)))
        return tuple(found)


def share(part: float | None, whole: float | None) -> float | None:
    """Part of a whole; None if either is not known."""
    return None if part is None or not whole else part / whole


def to_text(courses: Iterable[Course]) -> str:
    """Courses as JSON, for the journal."""
    return json.dumps(
        [
            {
                "gpu": one.index,
                "name": one.name,
                "seconds": one.seconds,
                "limits": one.limits,
                "values": [[None if x is None else round(x, 3) for x in line] for line in one.values],
            }
            for one in courses
        ]
    )


def from_text(text: str) -> tuple[Course, ...]:
    """The courses in a journal; what is not of this form is left out."""
    found: list[Course] = []
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        for one in json.loads(text or "[]")[:MOST_GPUS]:
            values = tuple(tuple(map(_number, line)) for line in one["values"][: len(_KINDS)])
            seconds = tuple(float(at) for at in one["seconds"])
            if len(values) == len(_KINDS) and all(len(line) == len(seconds) for line in values):
                limits = tuple(str(limit) for limit in one["limits"])[: len(_KINDS)]
                found.append(Course(int(one["gpu"]), str(one["name"])[:80], seconds, values, limits))
    return tuple(found)


def _number(value: object) -> float | None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if fits else None  # type: ignore[arg-type]
