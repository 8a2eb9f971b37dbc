"""The GPUs of this machine as they are now, with the moments before: busy, memory and temperature in curves."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from gpuwhy.tui.app.curves import BLOCKS, curve
from gpuwhy.tui.incident.vitals import share

if TYPE_CHECKING:
    from gpuwhy.probes.nvml_glance import Glance, Vital

WIDE = 60
"""Columns from which the three curves of a GPU stand in one line."""

TALL_UP_TO = 3
"""GPUs that get several lines each where there is no room beside one another."""

_LONG, _SHORT = 16, 10
_GIB = 2**30


class Vitals(VerticalScroll):
    """Takes glances. A line is drawn again when it says something else, and only then."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.can_focus = False
        self._lines: list[str] = []
        self._past: dict[tuple[int, str], deque[float | None]] = defaultdict(lambda: deque(maxlen=_LONG))

    def on_mount(self) -> None:
        self._write(["looking for GPUs…"])

    def show(self, glance: Glance) -> None:
        """The GPUs now."""
        for one in glance.gpus:
            self._past[one.index, "busy"].append(one.utilization_share)
            self._past[one.index, "memory"].append(share(one.memory_used_bytes, one.memory_total_bytes))
            self._past[one.index, "heat"].append(share(one.temperature_celsius, one.slowdown_celsius))
        self._write(self._all(glance))

    def _all(self, glance: Glance) -> list[str]:
        if glance.trouble:
            return [f"No GPU to look at: {glance.trouble}.", "What you paste or open is diagnosed all the same."]
        if self.size.width >= WIDE:
            heading = f"  {'busy':{_LONG + 6}}{'memory in GiB':{_SHORT + 15}}°C, and where it slows"
            return [heading, *(self._row(one) for one in glance.gpus)]
        if len(glance.gpus) > TALL_UP_TO:
            return [self._short(one) for one in glance.gpus]
        return [line for one in glance.gpus for line in self._tall(one)]

    def _row(self, one: Vital) -> str:
        if one.trouble:
            return f"{one.index} {one.name}: {one.trouble}"
        memory = f"{_gib(one.memory_used_bytes)} of {_gib(one.memory_total_bytes)}"
        return (
            f"{one.index} {self._curve(one, 'busy', _LONG)} {_percent(one):>4} "
            f"{self._curve(one, 'memory', _SHORT)} {memory:<14}"
            f"{self._curve(one, 'heat', _SHORT)} {_whole(one.temperature_celsius)} of {_whole(one.slowdown_celsius)}"
        )

    def _short(self, one: Vital) -> str:
        if one.trouble:
            return f"{one.index} {one.trouble}"
        memory = f"{_gib(one.memory_used_bytes)}/{_gib(one.memory_total_bytes)}G"
        heat = f"{_whole(one.temperature_celsius)}/{_whole(one.slowdown_celsius)}°"
        return f"{one.index} {self._curve(one, 'busy', 8)} {_percent(one):>4} {memory:>12} {heat:>7}"

    def _tall(self, one: Vital) -> list[str]:
        from gpuwhy.kb.units import show

        if one.trouble:
            return [f"GPU {one.index}  {one.name}: {one.trouble}"]
        used = "?" if one.memory_used_bytes is None else show(one.memory_used_bytes, "bytes")
        of = "" if one.memory_total_bytes is None else f" / {_gib(one.memory_total_bytes)}"
        limit = "" if one.slowdown_celsius is None else f", slows at {one.slowdown_celsius:.0f}"
        return [
            f"GPU {one.index}  {one.name}",
            f"busy {self._curve(one, 'busy', _SHORT)} {_percent(one)}",
            f"mem  {self._curve(one, 'memory', _SHORT)} {used}{of}",
            f"temp {self._curve(one, 'heat', _SHORT)} {_whole(one.temperature_celsius)} °C{limit}",
        ]

    def _curve(self, one: Vital, kind: str, width: int) -> str:
        return curve(list(self._past[one.index, kind]), width)

    def _write(self, lines: list[str]) -> None:
        drawn = list(self.query(Static))
        if len(drawn) != len(lines):
            self.remove_children()
            self.mount_all([Static(_tinted(line)) for line in lines])
        else:
            for widget, line, before in zip(drawn, lines, self._lines, strict=True):
                if line != before:
                    widget.update(_tinted(line), layout=False)
        self._lines = lines


def _percent(one: Vital) -> str:
    return "?" if one.utilization_share is None else f"{one.utilization_share:.0%}"


def _gib(size: float | None) -> str:
    return "?" if size is None else f"{size / _GIB:.1f}" if size < 100 * _GIB else f"{size / _GIB:.0f}"


def _whole(number: float | None) -> str:
    return "?" if number is None else f"{number:.0f}"


def _tinted(line: str) -> Content:
    return Content(line).highlight_regex(f"[{BLOCKS}]+", style="ansi_cyan")
