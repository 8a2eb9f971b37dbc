"""What a live look gives, and how probes collect it: readings by fact and entity, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import NamedTuple

from gpuwhy.kb.facts import Absent, Entity, Fact, Origin, OriginKind, Value
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.artefacts.attach import typed

TEXT_LIMIT = 200


@dataclass(frozen=True)
class Gathering:
    """Facts and absent readings of a live look.

    `seconds` is how long was really watched, `interrupted` whether that was cut short. `unfit` are readings that the
    vocabulary has no place for.
    """

    facts: tuple[Fact, ...] = ()
    absent: tuple[Absent, ...] = ()
    seconds: float = 0.0
    interrupted: bool = False
    unfit: tuple[str, ...] = ()


class _Taken(NamedTuple):
    value: Value
    text: str | None
    observed_at: str
    window_seconds: float | None
    source: str


class Readings:
    """Collects readings of one probe; the last one of a fact and entity stays. A reason stands where none was taken.

    Without `reasons` only values are kept.
    """

    def __init__(self, source: str, reasons: bool = True) -> None:
        self._source = source
        self._reasons = reasons
        self._taken: dict[tuple[str, Entity], _Taken] = {}
        self._lacking: dict[tuple[str, Entity], str] = {}
        self._last: tuple[float, str] | None = None

    def put(
        self,
        fact: str,
        entity: Entity,
        value: Value,
        text: str | None = None,
        *,
        at: float | None = None,
        window_seconds: float | None = None,
        source: str | None = None,
    ) -> None:
        """Notes a value, taken `at` (seconds since the epoch, by default now) or over the window that ended then."""
        if isinstance(value, str):
            value = plain(value)
        self._taken[fact, entity] = _Taken(value, text, self._shown(at), window_seconds, source or self._source)

    def _shown(self, at: float | None) -> str:
        """A moment as text. Most readings of a window are of the same one."""
        if at is not None and self._last is not None and self._last[0] == at:
            return self._last[1]
        moment = datetime.now(timezone.utc) if at is None else datetime.fromtimestamp(at, timezone.utc)
        shown = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._last = None if at is None else (at, shown)
        return shown

    def lack(self, fact: str, entity: Entity, reason: str) -> None:
        """Notes why a fact cannot be had; the first reason stays."""
        if self._reasons:
            self._lacking.setdefault((fact, entity), plain(reason))

    def __len__(self) -> int:
        """How many facts have a value."""
        return len(self._taken)

    def get(self, fact: str, entity: Entity) -> Value | None:
        """The value noted for a fact, if there is one."""
        taken = self._taken.get((fact, entity))
        return None if taken is None else taken.value

    def gathering(
        self, specs: Mapping[str, FactSpec], seconds: float, interrupted: bool, reasons: bool = True
    ) -> Gathering:
        """All of it as facts of this vocabulary; without `reasons` nothing but facts, no word of what is left out."""
        facts: list[Fact] = []
        unfit: list[str] = []
        for (fact, entity), one in list(self._taken.items()):
            spec = specs.get(fact)
            if spec is None and not reasons:
                continue
            value = None if spec is None else typed(one.value, spec)
            if spec is None or value is None:
                unfit.append(f"{fact} of {entity.path} = {one.value!r}")
                continue
            origin = Origin(OriginKind.MEASURED, one.source, None, one.text)
            facts.append(Fact(fact, value, spec.unit, entity, origin, one.observed_at, one.window_seconds))
        absent = [
            Absent(fact, entity, reason, Origin(OriginKind.MEASURED, self._source))
            for (fact, entity), reason in (list(self._lacking.items()) if reasons else ())
            if (fact, entity) not in self._taken and fact in specs
        ]
        return Gathering(tuple(facts), tuple(absent), seconds, interrupted, tuple(unfit))


def plain(text: str) -> str:
    """A text of a driver on one line, without control characters, of at most `TEXT_LIMIT` characters."""
    clean = text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)
    return clean.strip()[:TEXT_LIMIT]
