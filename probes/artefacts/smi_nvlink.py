"""`nvidia-smi nvlink`: which links of each GPU are up (-s), and what errors they count (-e)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpuwhy.kb.facts import Entity, gpu
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.artefacts.contract import Extract, Reading, Text, TextFormat

NAME = "nvidia-smi-nvlink"

_DEVICE = re.compile(r"(?:^|\s)GPU (?P<index>\d{1,3}): (?P<name>\S.{0,80}?) \(UUID: (?P<uuid>GPU-[^)\s]{2,40})\)")
_STATE = re.compile(
    r"^\s{0,16}Link (?P<link>\d{1,3}): "
    r"(?:(?P<speed>\d{1,4}(?:\.\d{1,4})?) GB/s|(?P<down><?inactive>?|Disabled))\s{0,4}$"
)
_ERRORS = re.compile(
    r"^\s{0,16}Link (?P<link>\d{1,3}): (?P<kind>Replay|Recovery|CRC(?: FLIT)?|Data CRC|CRC Data)"
    r"\s?[Ee]rrors?\s?: (?P<count>\d{1,18})"
)
_ALL_DOWN = "unable to retrieve nvlink information as all links are inactive"
_FACTS = {"Replay": "gpu.nvlink_replays", "Recovery": "gpu.nvlink_recoveries"}
_HINTS = ("link 0:", "link 1:", "all links are inactive", ": <inactive>", "replay errors:", "recovery errors:")


@dataclass
class _Links:
    """The links of one GPU."""

    line: int
    up: dict[int, float] = field(default_factory=dict)
    down: dict[int, int] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    all_down: int | None = None


def scan(text: Text) -> Iterator[Extract]:
    """One extract of all NVLink listings in a text. Links before any GPU's name are of the first GPU."""
    found: dict[Entity, _Links] = {}
    readings: list[Reading] = []
    claimed: set[int] = set()
    device: Entity | None = None
    for line in text.lines:
        named = _DEVICE.search(line.text)
        state = None if named else _STATE.match(line.text)
        errors = None if named or state else _ERRORS.match(line.text)
        if named:
            device = gpu(int(named["index"]))
            readings.append(Reading("gpu.name", named["name"], line.number, line.text.strip()[:200], device))
        elif state or errors or _ALL_DOWN in line.text.lower():
            links = found.setdefault(device or gpu(0), _Links(line.number))
            _note(links, line.number, state, errors)
            claimed.add(line.number)
    if found:
        readings += [one for entity, links in found.items() for one in _of(entity, links)]
        down = [(entity, links.all_down) for entity, links in found.items() if links.all_down is not None]
        if down and down[0][0].name.isdecimal():
            readings.append(Reading("host.nvlink_inactive_gpu_index", int(down[0][0].name), down[0][1]))
        yield Extract(NAME, tuple(readings), claimed=frozenset(claimed))


def _note(links: _Links, number: int, state: re.Match[str] | None, errors: re.Match[str] | None) -> None:
    if state is not None and state["speed"]:
        links.up[int(state["link"])] = float(state["speed"])
    elif state is not None:
        links.down[int(state["link"])] = number
    elif errors is not None:
        links.errors[_FACTS.get(errors["kind"], "gpu.nvlink_crc_errors")] += int(errors["count"])
    else:
        links.all_down = number


def _of(entity: Entity, links: _Links) -> Iterator[Reading]:
    if links.all_down is not None:
        yield Reading("gpu.nvlink_all_inactive", True, links.all_down, entity=entity)
        yield Reading("gpu.nvlink_active_count", 0, links.all_down, entity=entity)
    elif links.up or links.down:
        first = min(links.down.values(), default=links.line)
        yield Reading("gpu.nvlink_count", len(links.up) + len(links.down), first, entity=entity)
        yield Reading("gpu.nvlink_active_count", len(links.up), first, entity=entity)
    if links.down:
        yield Reading("gpu.nvlink_inactive_first", min(links.down), min(links.down.values()), entity=entity)
    if links.up:
        yield Reading("gpu.nvlink_speed_bytes_per_second", min(links.up.values()) * 1e9, links.line, entity=entity)
    for fact, count in links.errors.items():
        yield Reading(fact, count, links.line, entity=entity)


FORMAT = TextFormat(NAME, "nvidia-smi nvlink", _HINTS, scan)
