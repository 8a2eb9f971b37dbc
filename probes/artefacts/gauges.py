"""Readings of one artefact taken at several moments, folded into one fact each.

A paste may hold a gauge of one GPU many times: the output of `watch`, several tables, the rows of a monitor. The fact
is then the median, with the extremes beside it, so that an idle sample and a loaded one are never mixed unseen.

Two tables have no middle: between one before a job and one during it lies nothing that ever was. Of two moments that
are no rows of a monitor one is used as a whole: the later of those at work, where work is at least half of the higher
utilisation. The other is told as set aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from gpuwhy.kb.averages import mean, median
from gpuwhy.kb.facts import Entity, Value
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.contract import Missing, Reading, Trouble

TEXT_LIMIT = 200

SPREAD: dict[str, tuple[tuple[str, float], ...]] = {
    "gpu.utilization_share": (
        ("gpu.utilization_min_share", 0.0),
        ("gpu.utilization_p10_share", 0.1),
        ("gpu.utilization_p90_share", 0.9),
        ("gpu.utilization_max_share", 1.0),
    ),
    "gpu.memory_utilization_share": (
        ("gpu.memory_utilization_min_share", 0.0),
        ("gpu.memory_utilization_max_share", 1.0),
    ),
    "gpu.memory_used_bytes": (("gpu.memory_used_min_bytes", 0.0), ("gpu.memory_used_max_bytes", 1.0)),
    "gpu.power_watts": (("gpu.power_min_watts", 0.0), ("gpu.power_max_watts", 1.0)),
    "gpu.temperature_celsius": (("gpu.temperature_min_celsius", 0.0), ("gpu.temperature_max_celsius", 1.0)),
    "gpu.sm_clock_megahertz": (("gpu.sm_clock_lowest_megahertz", 0.0), ("gpu.sm_clock_highest_megahertz", 1.0)),
    "gpu.link_receive_bytes_per_second": (
        ("gpu.link_receive_min_bytes_per_second", 0.0),
        ("gpu.link_receive_max_bytes_per_second", 1.0),
    ),
    "gpu.link_transmit_bytes_per_second": (
        ("gpu.link_transmit_min_bytes_per_second", 0.0),
        ("gpu.link_transmit_max_bytes_per_second", 1.0),
    ),
    "process.sm_share": (("process.sm_min_share", 0.0), ("process.sm_max_share", 1.0)),
    "process.gpu_memory_bytes": (("process.gpu_memory_max_bytes", 1.0),),
}
"""Facts given beside the median of a gauge that was read more than once: the quantile each of them is."""

MEANS = frozenset({"gpu.power_violation_share", "gpu.thermal_violation_share"})
"""Shares of time: over several equal windows their mean is the share over all of them."""

EVENTS = frozenset(
    f"gpu.event_{name}"
    for name in (
        "idle",
        "application_clocks",
        "software_power_cap",
        "hardware_slowdown",
        "hardware_thermal_slowdown",
        "hardware_power_brake",
        "software_thermal_slowdown",
        "sync_boost",
    )
)
"""Clock events. Read several times, one is true if it was active in half of the samples; the share stands beside it."""

LISTS = frozenset(
    {
        "gpu.process_count",
        "gpu.compute_process_count",
        "gpu.processes_memory_bytes",
        "gpu.graphics_processes_memory_bytes",
        "gpu.nameless_processes_memory_bytes",
    }
)
GAUGES = (
    frozenset(SPREAD)
    | LISTS
    | MEANS
    | {
        "gpu.memory_free_bytes",
        "gpu.memory_reserved_bytes",
        "gpu.bar1_used_bytes",
        "gpu.bar1_free_bytes",
        "gpu.memory_temperature_celsius",
        "gpu.temperature_margin_celsius",
        "gpu.module_power_watts",
        "gpu.fan_share",
        "gpu.performance_state",
        "gpu.graphics_clock_megahertz",
        "gpu.memory_clock_megahertz",
        "gpu.video_clock_megahertz",
        "gpu.link_generation",
        "gpu.link_width",
        "gpu.graphics_active_share",
        "gpu.sm_active_share",
        "gpu.sm_occupancy_share",
        "gpu.tensor_active_share",
        "gpu.dram_active_share",
        "gpu.nvlink_transmit_bytes_per_second",
        "gpu.nvlink_receive_bytes_per_second",
        "gpu.encoder_share",
        "gpu.decoder_share",
        "gpu.jpeg_share",
        "gpu.optical_flow_share",
        "partition.memory_used_bytes",
        "partition.memory_free_bytes",
        "partition.bar1_used_bytes",
        "process.memory_utilization_share",
    }
)
"""Facts that move from moment to moment and are folded into a median; of any other fact each new value is kept."""

_SAMPLED = GAUGES - LISTS

_NO_LIST = "gpu.process_list_unreadable"

SAMPLE_COUNT = "gpu.sample_count"
UTILIZATION = "gpu.utilization_share"

_MOST_CHANGES = 8

_FORMATS = (
    "%a %b %d %H:%M:%S %Y",
    "%b %d %H:%M:%S %Y",
    "%Y/%m/%d %H:%M:%S.%f",
    "%Y/%m/%d %H:%M:%S",
    "%Y%m%d %H:%M:%S",
    "%H:%M:%S",
)


@dataclass(frozen=True)
class Sample:
    """One reading of one fact at one moment. Of several sources in one moment the lowest rank is used."""

    value: Value
    line: int | None
    text: str | None
    observed_at: str | None
    rank: int
    moment: int


class Gauges:
    """Collects what an artefact says, moment by moment, and folds it into readings.

    `begin` starts a new moment; `put` notes a value, `lack` a value that the artefact says cannot be had. `monitor` is
    False where moments are tables that a person took, not rows of one run of a tool. After `fold`, `set_aside` tells of
    moments that were not used.
    """

    def __init__(self, monitor: bool = True) -> None:
        self._monitor = monitor
        self._moment = 0
        self.set_aside: list[Trouble] = []
        self._now: dict[tuple[str, Entity], Sample] = {}
        self._past: dict[tuple[str, Entity], list[Sample]] = {}
        self._moments: dict[Entity, int] = {}
        self._lacking: dict[tuple[str, Entity, str], Missing] = {}
        self.observed_at: str | None = None

    def begin(self, observed_at: str | None = None) -> None:
        """Starts a new moment, taken at this time (as printed) where the artefact says so."""
        self._close()
        self.observed_at = observed_at

    def put(
        self, fact: str, entity: Entity, value: Value, line: int | None, text: str | None = None, rank: int = 0
    ) -> None:
        """Notes the value of a fact at the present moment."""
        key = (fact, entity)
        known = self._now.get(key)
        if known is None or rank < known.rank:
            cut = None if text is None else text.strip()[:TEXT_LIMIT]
            self._now[key] = Sample(value, line, cut, self.observed_at, rank, self._moment)

    def lack(self, fact: str, entity: Entity, reason: str, line: int | None) -> None:
        """Notes that the artefact says why a fact cannot be had."""
        self._lacking.setdefault((fact, entity, reason), Missing(fact, reason[:TEXT_LIMIT], line, entity))

    def fold(self) -> tuple[tuple[Reading, ...], tuple[Missing, ...]]:
        """All readings, gauges folded over the moments, and what is missing and was not read at any other moment."""
        self._close()
        if not self._monitor:
            for device in [one for one, count in self._moments.items() if count == 2]:
                self._use_one_moment(device)
        readings = [one for (fact, entity), past in self._past.items() for one in _folded(fact, entity, past)]
        readings += [Reading(SAMPLE_COUNT, count, entity=entity) for entity, count in self._moments.items()]
        missing = [
            one for one in self._lacking.values() if (one.fact, one.entity) not in self._past or is_error(one.reason)
        ]
        readings += _unreported_memory(missing)
        return tuple(readings), tuple(missing)

    def _use_one_moment(self, device: Entity) -> None:
        """Of two moments of a GPU keep the one at work, in all gauges of the GPU and of what is on it."""
        own = {key: past for key, past in self._past.items() if _moves(*key) and device in key[1].lineage()}
        sampled = [one for (fact, entity), past in own.items() if entity == device and fact in _SAMPLED for one in past]
        moments = sorted({one.moment for one in sampled})
        work = {one.moment: one for one in self._past.get((UTILIZATION, device), ())}
        used = used_moment(moments, {moment: float(one.value) for moment, one in work.items()})
        listed = any(one.moment == used for one in own.get(("gpu.process_count", device), ()))
        for key, past in own.items():
            now = [one for one in past if one.moment == used]
            if now:
                self._past[key] = now
            elif listed and (key[0] in {*LISTS, _NO_LIST} or key[1].kind == "process"):
                del self._past[key]  # that process was there at the other moment only
        self._moments[device] = 1
        for moment in moments:
            if moment != used:
                first = next(one for one in sampled if one.moment == moment)
                self.set_aside.append(Trouble(first.line, _told(device, work.get(moment), work.get(used))))

    def _close(self) -> None:
        self._moment += 1
        devices: dict[Entity, None] = {}
        for (fact, entity), sample in self._now.items():
            self._past.setdefault((fact, entity), []).append(sample)
            if fact in _SAMPLED and entity.kind == "gpu":
                devices[entity] = None
        for entity in devices:
            self._moments[entity] = self._moments.get(entity, 0) + 1
        self._now = {}


def _unreported_memory(missing: Sequence[Missing]) -> Iterator[Reading]:
    """That a GPU does not report its memory: absent by nature (unified memory), not by an error."""
    for one in missing:
        if one.fact == "gpu.memory_total_bytes" and not is_error(one.reason):
            yield Reading("gpu.memory_reported", False, one.line, one.reason, one.entity)


def _moves(fact: str, entity: Entity) -> bool:
    return fact in GAUGES or fact in EVENTS or fact == _NO_LIST or entity.kind == "process"


def used_moment(moments: Sequence[int], work: Mapping[int, float]) -> int:
    """The later of the moments at work: those with at least half of the highest utilisation; without one the last."""
    if set(work) != set(moments):
        return moments[-1]
    return max(moment for moment in moments if work[moment] >= 0.5 * max(work.values()))


def _told(device: Entity, aside: Sample | None, used: Sample | None) -> str:
    def shown(one: Sample | None) -> str:
        return "" if one is None else f" (utilisation {float(one.value) * 100:.0f} %)"

    place = "another one" if used is None or used.line is None else f"the one at line {used.line}"
    return f"this moment of {device.path}{shown(aside)} is set aside for {place}{shown(used)}"


def is_error(reason: str) -> bool:
    """True if a reason for a missing value is an error of the GPU, not a thing that it merely does not support."""
    lowered = reason.lower()
    return any(word in lowered for word in ("error", "err!", "lost", "reset"))


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile of sorted values by linear interpolation between the neighbours; `values` must not be empty."""
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def _folded(fact: str, entity: Entity, past: Sequence[Sample]) -> Iterator[Reading]:
    numbers = [float(sample.value) for sample in past if not isinstance(sample.value, str)]
    if len(numbers) < 2 or len(numbers) < len(past) or (fact not in GAUGES and fact not in EVENTS):
        yield from _changes(fact, entity, past)
        return
    last = past[-1]
    window = _window(past)

    def reading(id_: str, value: Value, what: str) -> Reading:
        return Reading(id_, value, last.line, f"{what} of {len(numbers)} samples", entity, last.observed_at, window)

    ordered = sorted(numbers)
    if fact in EVENTS:
        active = mean(ordered)
        yield reading(fact, active >= 0.5, f"active in {active * 100:.0f} %")
        yield reading(f"{fact}_sample_share", active, "share")
    elif fact in MEANS:
        yield reading(fact, mean(ordered), "mean")
    elif all(isinstance(sample.value, int) for sample in past):
        yield reading(fact, int(ordered[(len(ordered) - 1) // 2]), "median")
    else:
        yield reading(fact, median(ordered), "median")
    for id_, share in SPREAD.get(fact, ()):
        yield reading(id_, quantile(ordered, share), _name_of(share))


def _name_of(share: float) -> str:
    return {0.0: "lowest", 1.0: "highest"}.get(share, f"{share * 100:.0f}th percentile")


def _changes(fact: str, entity: Entity, past: Sequence[Sample]) -> Iterator[Reading]:
    """Each different value once, the latest last; of very many only first and latest; of a counter only the latest."""
    if _counts_up(fact):
        past = past[-1:]
    latest: dict[Value, Sample] = {}
    for sample in past:
        latest.pop(sample.value, None)
        latest[sample.value] = sample
    kept = list(latest.values())
    for sample in kept if len(kept) <= _MOST_CHANGES else (past[0], past[-1]):
        yield Reading(fact, sample.value, sample.line, sample.text, entity, sample.observed_at)


def _counts_up(fact: str) -> bool:
    """True for counters of the driver and for the reasons of one instant: a later value does not contradict."""
    return fact.startswith(("gpu.ecc_", "gpu.link_replay", "gpu.event_"))


def _window(past: Sequence[Sample]) -> float | None:
    first, last = instant(past[0].observed_at), instant(past[-1].observed_at)
    if first is None or last is None or last <= first:
        return None
    return (last - first).total_seconds()


def instant(text: str | None) -> datetime | None:
    """The time that a tool of this family prints (`Mon Dec 19 13:05:20 2022`, `2026/11/30 02:15:06.356`, …)."""
    if text is None:
        return None
    for pattern in _FORMATS:
        try:
            return datetime.strptime(" ".join(text.split()), pattern)
        except ValueError:
            continue
    return None
