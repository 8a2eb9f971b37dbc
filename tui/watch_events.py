"""Events of `gpuwhy watch`: as one JSON object each, and as lines for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from gpuwhy.engine.steady import Shown, Turn
from gpuwhy.engine.watching import Finding, Key
from gpuwhy.kb.facts import Fact
from gpuwhy.tui.wording import wrapped

SCHEMA = 1
WIDTH = 80
EVENT_FACTS = frozenset({"gpu.handle_error", "gpu.lost", "gpu.name", "gpu.nvml_error", "host.nvml_error"})
"""Facts that are events themselves, whatever the rules make of them."""

_LABELS = {
    "started": "WATCHING",
    "appeared": "APPEARED",
    "cleared": "CLEARED",
    "gpu-stopped": "GPU STOPPED",
    "gpu-answers": "GPU ANSWERS",
    "driver-silent": "NO ANSWER",
    "driver-answers": "ANSWERS",
    "ended": "ENDED",
}
_INDENT = " " * 10


@dataclass(frozen=True)
class Event:
    """Something that happened. `more` are further keys of its JSON object."""

    kind: str
    at: float
    says: str
    more: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The JSON object of this event."""
        return {"schema": SCHEMA, "event": self.kind, "at": _utc(self.at), "says": self.says, **self.more}

    def lines(self) -> list[str]:
        """The event for a terminal: the local time of day, what happened, and the rest beneath it."""
        clock = datetime.fromtimestamp(self.at).strftime("%H:%M:%S")
        head = f"{_LABELS[self.kind]}  " + "  ".join(str(self.more[key]) for key in _HEAD if key in self.more)
        return [*wrapped(head.rstrip(), f"{clock}  ", _INDENT, WIDTH), *wrapped(self.says, _INDENT, _INDENT, WIDTH)]


_HEAD = ("status", "conclusion", "entity")


def of_turn(turn: Turn[Key, Finding], at: float, moment_of: Any) -> Event:
    """A conclusion that appeared or cleared. `moment_of` turns a time of the watch into one since the epoch."""
    finding, shown = turn.shown.value, turn.shown
    lasted = shown.last_at - shown.first_at
    says = finding.because if turn.appeared else f"it held for {lasting(lasted)}: {finding.because}"
    more = {
        "conclusion": finding.conclusion,
        "entity": finding.entity,
        "status": finding.status,
        "since": _utc(moment_of(shown.first_at)),
        "lasted_seconds": round(lasted, 3),
    }
    return Event("appeared" if turn.appeared else "cleared", at, says, more)


class Gpus:
    """Which GPUs answer: a change is an event, whatever the rules make of it."""

    def __init__(self) -> None:
        self._stopped: dict[str, str] = {}

    @property
    def stopped(self) -> Iterable[str]:
        """GPUs that do not answer."""
        return self._stopped.keys()

    def take(self, facts: Iterable[Fact], at: float) -> Iterator[Event]:
        """What the facts of a window say."""
        broken: dict[str, str] = {}
        seen: set[str] = set()
        for one in facts:
            if one.entity.kind != "gpu":
                continue
            seen.add(one.entity.path)
            if one.id in ("gpu.nvml_error", "gpu.handle_error") or (one.id == "gpu.lost" and one.value is True):
                broken.setdefault(one.entity.path, one.origin.text or str(one.value))
        for entity, why in broken.items():
            if entity not in self._stopped:
                yield Event("gpu-stopped", at, why, {"entity": entity})
        for entity in self._stopped:
            if entity in seen and entity not in broken:
                yield Event("gpu-answers", at, "it answers again", {"entity": entity})
        self._stopped = broken | {one: why for one, why in self._stopped.items() if one not in seen}


def summary(
    standing: Iterable[tuple[Key, Shown[Finding]]],
    counts: Mapping[tuple[str, str], int],
    at: float,
    seconds: float,
    windows: int,
    stopped: Iterable[str],
) -> Event:
    """How the watch ended: what stands, and how often what appeared."""
    stands = [{"conclusion": key[0], "entity": key[1], "status": shown.value.status} for key, shown in sorted(standing)]
    appeared = [{"conclusion": key[0], "entity": key[1], "times": times} for key, times in sorted(counts.items())]
    silent = sorted(stopped)
    parts = [f"after {lasting(seconds)} and {windows} window{'' if windows == 1 else 's'}"]
    parts.append("still there: " + ", ".join(_named(one) for one in stands) if stands else "nothing stands")
    if appeared:
        parts.append("appeared: " + ", ".join(f"{_named(one)} {one['times']}x" for one in appeared))
    if silent:
        parts.append("no answer from " + ", ".join(silent))
    more = {
        "seconds": round(seconds, 3),
        "windows": windows,
        "standing": stands,
        "appeared": appeared,
        "stopped": silent,
    }
    return Event("ended", at, "; ".join(parts), more)


def _named(one: Mapping[str, Any]) -> str:
    return f"{one['conclusion']} ({one['entity']})"


def lasting(seconds: float) -> str:
    """A length of time for a person: 40 s, 2 min 5 s, 3 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _utc(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
