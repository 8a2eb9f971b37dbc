"""Facts: what is known about one entity, where it came from, and what could not be read.

A reading that could not be taken is an `Absent` with a reason; it is never 0, NaN or a magic string.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from gpuwhy.kb.records import dataclass, field

Value = bool | int | float | str


def is_number(value: object) -> bool:
    """True for a finite number that a float can hold; a boolean is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


@dataclass(frozen=True)
class Entity:
    """One thing that facts are about. `kind` is a word of the vocabulary (host, gpu, job, failure, process, …).

    `parent` is what it belongs to: a GPU belongs to its host, a failure to its job or to the GPU it happened on.
    """

    kind: str
    name: str
    parent: Entity | None = None

    def __hash__(self) -> int:
        """Remembered: facts are looked up by entity many times, and an entity hashes all that it belongs to."""
        known: int | None = getattr(self, "_hash", None)
        if known is None:
            known = hash((self.kind, self.name, self.parent))
            object.__setattr__(self, "_hash", known)
        return known

    def __reduce__(self) -> tuple[type[Entity], tuple[str, str, Entity | None]]:
        """Without the hash, which is another one in another process."""
        return Entity, (self.kind, self.name, self.parent)

    @property
    def path(self) -> str:
        """Stable text form, for example `gpu:0`, unique within one diagnosis."""
        own = f"{self.kind}:{self.name}"
        return own if self.parent is None or self.parent.kind == "host" else f"{self.parent.path}/{own}"

    def lineage(self) -> Iterator[Entity]:
        """This entity, its parent, and so on up to the host."""
        entity: Entity | None = self
        while entity is not None:
            yield entity
            entity = entity.parent


HOST = Entity("host", "this")
JOB = Entity("job", "this", HOST)
SERVER = Entity("server", "this", HOST)


def gpu(index: int | str, host: Entity = HOST) -> Entity:
    """The GPU with this NVML index (or bus id where no index is known) of a host."""
    return Entity("gpu", str(index), host)


def model(name: str = "this", server: Entity = SERVER) -> Entity:
    """A model that a server holds. `this` is the one model that an artefact is about without naming it."""
    return Entity("model", name, server)


def load(name: str, of: Entity) -> Entity:
    """One model under one load: a level of a benchmark, the time between two scrapes, a logged interval."""
    return Entity("load", name, of)


def sweep(name: str, of: Entity) -> Entity:
    """Several loads of one model compared: a benchmark at several levels, or with and without a setting."""
    return Entity("sweep", name, of)


class OriginKind(str, Enum):
    """How a fact came to be known, best first: of two readings of one thing the better origin wins."""

    ASSUMED = "assumed"
    MEASURED = "measured"
    ARTEFACT = "artefact"
    PERSON = "person"
    DERIVED = "derived"
    CATALOGUE = "catalogue"

    @property
    def rank(self) -> int:
        """0 is the best. An assumption made for a what-if outranks everything, on purpose."""
        return list(OriginKind).index(self)


@dataclass(frozen=True)
class Origin:
    """Where a fact stands: a probe, a line of an artefact, a person's answer, or the rule that derived it."""

    kind: OriginKind
    source: str
    line: int | None = None
    text: str | None = None

    def where(self) -> str:
        """For example `oom.txt:3`, `answer`, `derive.oom.slack`."""
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass(frozen=True)
class Fact:
    """One known value. `unit` is the vocabulary's unit for this fact id; numbers are always finite.

    `observed_at` and `window_seconds` say when it was taken and over how long, as far as that is known.
    """

    id: str
    value: Value
    unit: str | None
    entity: Entity
    origin: Origin
    observed_at: str | None = None
    window_seconds: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.value, (bool, str)) and not is_number(self.value):
            raise ValueError(f"{self.id}: no finite number that can be reckoned with is no reading; leave the fact out")


@dataclass(frozen=True)
class Absent:
    """A fact that was looked for and could not be read, with the reason in the words of the source."""

    id: str
    entity: Entity
    reason: str
    origin: Origin


@dataclass(frozen=True)
class Contradiction:
    """Two readings of one thing that differ: the one used, and the one set aside."""

    kept: Fact
    dropped: Fact


def differ(a: Fact, b: Fact) -> bool:
    """True if two readings of one thing do not agree within the rounding of a printed figure (1 %)."""
    if isinstance(a.value, (bool, str)) or isinstance(b.value, (bool, str)):
        return a.value != b.value
    return abs(a.value - b.value) > 0.01 * max(abs(a.value), abs(b.value))


@dataclass(frozen=True)
class FactBase:
    """All facts of one diagnosis, by fact id and entity. Immutable; `with_facts` gives a new one."""

    by_key: Mapping[tuple[str, Entity], Fact] = field(default_factory=dict)
    absent: tuple[Absent, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()

    @staticmethod
    def of(facts: Iterable[Fact], absent: Iterable[Absent] = ()) -> FactBase:
        """A base of these facts; where two readings of one thing differ the better origin wins, then the later one."""
        return FactBase(absent=tuple(absent)).with_facts(facts)

    def with_facts(self, facts: Iterable[Fact]) -> FactBase:
        """This base and these facts; contradictions are kept beside them."""
        by_key = dict(self.by_key)
        found = list(self.contradictions)
        for fact in facts:
            key = (fact.id, fact.entity)
            old = by_key.get(key)
            if old is None:
                by_key[key] = fact
                continue
            kept, dropped = (fact, old) if fact.origin.kind.rank <= old.origin.kind.rank else (old, fact)
            by_key[key] = kept
            if differ(kept, dropped):
                found.append(Contradiction(kept, dropped))
        return FactBase(by_key, self.absent, tuple(found))

    def facts(self) -> list[Fact]:
        """All facts, in the order they became known."""
        return list(self.by_key.values())

    def get(self, fact_id: str, entity: Entity) -> Fact | None:
        """The fact with this id about exactly this entity."""
        return self.by_key.get((fact_id, entity))

    def entities(self, kind: str) -> list[Entity]:
        """All entities of a kind that something is known about, or that something known belongs to."""
        seen: dict[Entity, None] = {}
        for entity in dict.fromkeys(entity for _, entity in self.by_key):
            for one in entity.lineage():
                if one.kind == kind:
                    seen[one] = None
        return list(seen)
