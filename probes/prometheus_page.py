"""Some hosts of a Prometheus server at once: every query is asked for all of them, and answers become facts of each.

Where an answer is too much, it is asked for half of the hosts, down to one. What is not answered even then is absent,
with the server's words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpuwhy.kb.facts import HOST, Absent, Entity, Fact, Origin, OriginKind, Value
from gpuwhy.kb.model import FactSpec
from gpuwhy.kb.records import dataclass, field
from gpuwhy.probes.prometheus_http import Answer, Client, Kind, QueryError, Series
from gpuwhy.probes.prometheus_names import Source, expression, literal, matchers, quoted, selector
from gpuwhy.probes.prometheus_targets import INSTANCE, Hosts, HostTargets

ORIGIN = "prometheus"
Question = Callable[[str], str]
"""Makes the text of a query from matchers."""
SETTLED_SHARE = 0.95
"""A target that was seen for this share of the window was seen for all of it: its rates need no correction."""


@dataclass(frozen=True)
class Window:
    """The time looked at, and how far apart the moments are that are looked at within it; seconds since the epoch."""

    start: float
    end: float
    step: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start


@dataclass
class HostRead:
    """What was read about a host, and when its newest sample is from, in seconds since the epoch."""

    facts: dict[tuple[str, Entity], Fact] = field(default_factory=dict)
    absent: dict[tuple[str, Entity], Absent] = field(default_factory=dict)
    last_seen: float = -math.inf


@dataclass
class Page:
    """The hosts of a page, how they are asked about, and what is known of them so far."""

    client: Client
    hosts: Hosts
    window: Window
    specs: Mapping[str, FactSpec]
    match: str
    target_labels: tuple[str, ...]
    read: dict[str, HostRead]
    warnings: dict[str, None] = field(default_factory=dict)
    narrowed: bool = False

    def put(self, host: str, fact: str, entity: Entity, value: Value, text: str = "") -> None:
        """Notes a fact; of two readings of one thing the first stays."""
        spec, found = self.specs.get(fact), self.read.get(host)
        if spec is None or found is None or (fact, entity) in found.facts:
            return
        origin = Origin(OriginKind.MEASURED, ORIGIN, None, text[:200] or None)
        found.facts[fact, entity] = Fact(fact, value, spec.unit, entity, origin, None, self.window.seconds)
        found.absent.pop((fact, entity), None)

    def lack(self, host: str, fact: str, entity: Entity, reason: str) -> None:
        """Notes that a fact could not be had."""
        found = self.read.get(host)
        if fact in self.specs and found is not None and (fact, entity) not in found.facts:
            origin = Origin(OriginKind.MEASURED, ORIGIN)
            found.absent.setdefault((fact, entity), Absent(fact, entity, reason[:300], origin))

    def ask(self, one: Source, about: Sequence[HostTargets], family: str) -> Iterator[tuple[HostTargets, Series]]:
        """The series that give a fact, with the host of each. What cannot be answered becomes absent."""

        def question(match: str) -> str:
            return expression(one, self.target_labels, match, self.window.seconds, self.window.step)

        yield from self.series(question, about, family, (one.fact,))

    def series(
        self, question: Question, about: Sequence[HostTargets], family: str, facts: tuple[str, ...], step: float = 0.0
    ) -> Iterator[tuple[HostTargets, Series]]:
        """The series that answer a question for these hosts; `step`: over the whole window, so far apart."""
        for part, answer in self._answers(question, about, family, step):
            names = {one.name: one for one in part}
            if isinstance(answer, QueryError):
                for name in names:
                    for fact in facts:
                        self.lack(name, fact, HOST, answer.says)
                continue
            self.warnings.update(dict.fromkeys(answer.warnings))
            for one in answer.series:
                host = names.get(self.hosts.name_of(one.labels))
                if host is not None:
                    yield host, one

    def _answers(
        self, question: Question, about: Sequence[HostTargets], family: str, step: float
    ) -> Iterator[tuple[Sequence[HostTargets], Answer | QueryError]]:
        match = self.matching(about, family)
        if not match:
            return
        try:
            if step:
                yield about, self.client.range(question(match), self.window.start, self.window.end, step)
            else:
                yield about, self.client.instant(question(match), self.window.end)
        except QueryError as error:
            if error.kind in (Kind.UNAVAILABLE, Kind.REFUSED):
                raise
            if error.kind is Kind.FAILED or len(about) < 2:
                yield about, error
                return
            self.narrowed = True
            half = len(about) // 2
            yield from self._answers(question, about[:half], family, step)
            yield from self._answers(question, about[half:], family, step)

    def matching(self, about: Iterable[HostTargets], family: str) -> str:
        """The matchers of the targets of these hosts; empty where there are none."""
        found = sorted({instance for one in about for instance in one.instances(family)})
        if not found:
            return ""
        alternatives = "|".join(map(literal, found))
        return matchers(f"{INSTANCE}=~{quoted(alternatives)}", self.match)

    def seen(self, names: Sequence[str], about: Sequence[HostTargets], family: str) -> dict[str, float]:
        """For each target (by address) the seconds between its first and last sample of any of these metrics.

        The host learns when it was last seen. Targets without samples are left out.
        """
        by = ", ".join(self.target_labels)
        span = f"[{self.window.seconds:.0f}s:{self.window.step:.0f}s]"

        def question(function: str) -> Question:
            return lambda match: f"{function}((max by ({by}) (timestamp({selector(names[:1], match)}))){span})"

        first = {
            one.labels.get(INSTANCE, ""): one.value
            for _, one in self.series(question("min_over_time"), about, family, ())
        }
        found = {}
        for host, one in self.series(question("max_over_time"), about, family, ()):
            instance = one.labels.get(INSTANCE, "")
            read = self.read[host.name]
            read.last_seen = max(read.last_seen, one.value)
            found[instance] = max(one.value - first.get(instance, one.value), 0.0)
        return found

    def corrected(self, value: float, seen: float | None) -> float | None:
        """A mean rate over the window as one over the time that the target was seen; None where that is too short."""
        if seen is None or seen < 2 * self.window.step:
            return None
        return value if seen >= SETTLED_SHARE * self.window.seconds else value * self.window.seconds / seen


def value_of(one: Source, number: float) -> Value | None:
    """A number of the server as a value of the fact; None where it cannot be one."""
    if not math.isfinite(number):
        return None
    value = number * one.factor
    if one.kind == "flag":
        return value != 0
    if one.kind == "share":
        return min(value, 1.0) if value <= 1.02 else None
    if one.kind == "grown":
        return 0 if value <= 0 else max(1, round(value))
    return round(value) if one.kind in ("whole", "count") else value
