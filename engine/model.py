"""What reasoning gives: verdicts with evidence, conclusions, questions, fixes, and the diagnosis of them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from gpuwhy.kb.conditions import Condition
from gpuwhy.kb.facts import Absent, Contradiction, Entity, Fact, Value
from gpuwhy.kb.model import ConclusionSpec, Derivation, Fix, Signature, Stage
from gpuwhy.kb.records import dataclass, field


class Truth(Enum):
    """Three-valued truth: unknown is neither true nor false, and stays unknown under `not`."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """A condition judged over facts, with what decided it.

    Of a comparison: `fact` is the reading, `bound` the threshold (of `than`: the other fact times the factor),
    `margin` by how much it holds (negative: fails), in the fact's unit; `unknown` says why it is unknown.
    """

    truth: Truth
    condition: Condition
    fact: Fact | None = None
    bound: Value | tuple[Value, ...] | None = None
    other: Fact | None = None
    margin: float | None = None
    unknown: str | None = None
    parts: tuple[Verdict, ...] = ()

    def leaves(self) -> Iterator[Verdict]:
        """The comparisons below this verdict, in the order written."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def unknown_leaves(self) -> Iterator[Verdict]:
        """The comparisons that keep this verdict unknown; none if it is true or false."""
        if self.truth is not Truth.UNKNOWN:
            return
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.unknown_leaves()

    def facts(self) -> Iterator[Fact]:
        """Every fact that this verdict rests on."""
        for leaf in self.leaves():
            yield from (fact for fact in (leaf.fact, leaf.other) if fact is not None)


class Status(str, Enum):
    """Status of a conclusion, best first."""

    CONFIRMED = "confirmed"
    LIKELY = "likely"
    POSSIBLE = "possible"
    RULED_OUT = "ruled out"

    @property
    def rank(self) -> int:
        """0 for confirmed, 3 for ruled out."""
        return _RANKS[self]

    @property
    def asserted(self) -> bool:
        """True for confirmed and likely."""
        return self in (Status.CONFIRMED, Status.LIKELY)


_RANKS = {one: rank for rank, one in enumerate(Status)}


@dataclass(frozen=True)
class SignatureResult:
    """One signature judged for one entity. `status` None: not in play (what it is given is not true)."""

    signature: Signature
    entity: Entity
    status: Status | None
    given: Verdict | None
    requires: Verdict | None = None
    confirms: Verdict | None = None
    excludes: tuple[Verdict, ...] = ()
    supports: tuple[Verdict, ...] = ()
    because: str = ""

    @property
    def vetoed(self) -> bool:
        """True if an exclusion holds."""
        return any(verdict.truth is Truth.TRUE for verdict in self.excludes)

    @property
    def support_count(self) -> int:
        """How many supporting conditions hold."""
        return sum(verdict.truth is Truth.TRUE for verdict in self.supports)

    def verdicts(self) -> Iterator[Verdict]:
        """Everything that was judged."""
        yield from (one for one in (self.given, self.requires, self.confirms) if one is not None)
        yield from self.excludes
        yield from self.supports


@dataclass(frozen=True)
class FixOffer:
    """A fix for a conclusion. Not `offered`: it would not help, `because` says why; `check_first`: not known yet."""

    fix: Fix
    offered: bool
    because: str = ""
    check_first: str = ""
    steps: tuple[tuple[str, str], ...] = ()
    effect: str = ""
    risk: str = ""
    undo: str = ""
    verify: str = ""
    verify_command: str = ""


@dataclass(frozen=True)
class Conclusion:
    """A conclusion with its status, the signature that leads, and its place among causes and consequences."""

    spec: ConclusionSpec
    status: Status
    lead: SignatureResult | None
    because: str
    results: tuple[SignatureResult, ...] = ()
    explains: tuple[str, ...] = ()
    explained_by: str | None = None
    contradicted: str = ""
    fixes: tuple[FixOffer, ...] = ()

    @property
    def id(self) -> str:
        """The id of the vocabulary."""
        return self.spec.id


@dataclass(frozen=True)
class Question:
    """The fact that would decide most, how to learn it, and which conclusions it separates."""

    fact: str
    entity: Entity
    ask: str
    how: str
    command: str
    effort: str
    separates: tuple[str, ...]
    answers: tuple[tuple[Value, str], ...] = ()
    worth: float = 0.0


@dataclass(frozen=True)
class Gain:
    """The most that removing the first wall can gain (time now over time then), and the wall that comes next."""

    first: Stage
    first_share: float
    at_most: float
    then: Stage | None = None
    then_share: float | None = None


@dataclass(frozen=True)
class DerivedFrom:
    """How a derived fact came about: the rule, and the facts it was computed from."""

    derivation: Derivation
    inputs: tuple[Fact, ...]


@dataclass(frozen=True)
class Diagnosis:
    """Everything concluded from the facts. `conclusions` are best first."""

    conclusions: tuple[Conclusion, ...]
    ruled_out: tuple[Conclusion, ...]
    questions: tuple[Question, ...]
    gain: Gain | None
    facts: tuple[Fact, ...]
    absent: tuple[Absent, ...]
    contradictions: tuple[Contradiction, ...]
    derived: Mapping[tuple[str, Entity], DerivedFrom] = field(default_factory=dict)
    engine: str = "proof"

    @property
    def asserted(self) -> tuple[Conclusion, ...]:
        """Confirmed and likely conclusions."""
        return tuple(one for one in self.conclusions if one.status.asserted)
