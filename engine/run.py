"""Which reading of the rules makes a diagnosis: chaining or proof. Both come to the same; the diagnosis says which ran.

A single diagnosis is fastest by proof. A live session chains: what follows from one more fact is found without judging
everything again. Where durable_rules cannot be loaded, or has no room for so many entities, the proof reading runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from gpuwhy.engine.catalogue import described
from gpuwhy.engine.derive import Derived, compute
from gpuwhy.engine.diagnose import diagnose, reason
from gpuwhy.engine.model import DerivedFrom, Diagnosis, SignatureResult, Truth
from gpuwhy.engine.signatures import evaluate
from gpuwhy.kb.facts import Absent, Fact, FactBase
from gpuwhy.kb.model import KnowledgeBase

if TYPE_CHECKING:
    from gpuwhy.engine.chaining import Session

ENGINES = ("auto", "chaining", "proof")


def diagnose_with(
    kb: KnowledgeBase,
    base: FactBase,
    engine: str = "auto",
    language: str = "en",
    ask: bool = True,
    areas: Collection[str] = (),
) -> Diagnosis:
    """The diagnosis by the engine asked for (`auto`, `chaining`, `proof`); `auto` is proof, for one diagnosis.

    `areas` are those of the trouble that a person came with (see `diagnose`).
    """
    if engine not in ENGINES:
        raise ValueError(f"no engine {engine!r}; there are {', '.join(ENGINES)}")
    if engine != "chaining":
        return diagnose(kb, base, language, ask, areas)
    live = LiveDiagnosis(kb, engine)
    try:
        live.tell(base.facts(), base.absent)
        return live.diagnosis(language, ask, areas)
    finally:
        live.close()


class LiveDiagnosis:
    """A diagnosis that follows as facts come in: by chaining where that can run, else by proof; `engine` says which."""

    def __init__(self, kb: KnowledgeBase, engine: str = "auto") -> None:
        self._kb = kb
        self._base = FactBase()
        self._session: Session | None = None
        self.engine = "proof"
        if engine != "proof":
            self._open()

    def _open(self) -> None:
        from gpuwhy.engine.durable_adapter import available

        reason_why_not = available()
        if reason_why_not is not None:
            self.engine = f"proof ({reason_why_not})"
            return
        from gpuwhy.engine.chaining import Session
        from gpuwhy.engine.chaining_rules import RuleBook

        self._session = Session(RuleBook(self._kb))
        self.engine = "chaining"

    def tell(self, facts: Iterable[Fact], absent: Iterable[Absent] = ()) -> None:
        """Add facts, and readings that could not be taken."""
        told, missing = list(facts), list(absent)
        news = [*told, *described(self._kb, self._base.with_facts(told))]
        if self._session is not None:
            try:
                self._session.tell(news, missing)
            except MemoryError as error:
                self._session.book.close()
                self._session, self.engine = None, f"proof (chaining has no room: {error})"
        self._base = FactBase(self._base.by_key, (*self._base.absent, *missing), self._base.contradictions)
        self._base = self._base.with_facts(news)

    def diagnosis(self, language: str = "en", ask: bool = True, areas: Collection[str] = ()) -> Diagnosis:
        """The diagnosis of everything told so far."""
        if self._session is None:
            found = diagnose(self._kb, self._base, language, ask, areas)
            return Diagnosis(**(vars(found) | {"engine": self.engine}))
        derived = _with_inputs(self._session)
        found = reason(
            self._kb,
            self._base,
            self._session.world,
            derived,
            engine=self.engine,
            language=language,
            ask=ask,
            areas=areas,
        )
        assert not (wrong := disagreements(self._session)), wrong
        return found

    def close(self) -> None:
        """Free what the rules take outside Python's memory."""
        if self._session is not None:
            self._session.book.close()
            self._session = None


def _with_inputs(session: Session) -> Derived:
    """The derived facts with what they were computed from; the proof reading must come to the same values."""
    derived: Derived = {}
    for key, made in session.derived.items():
        computed = compute(made.derivation, session.world, made.entity)
        assert computed is not None
        assert computed[0] == made.fact.value, (
            f"{made.fact.id}: {computed[0]!r} by proof, {made.fact.value!r} by chaining"
        )
        derived[key] = DerivedFrom(made.derivation, computed[1])
    return derived


def disagreements(session: Session) -> list[str]:
    """Where the truth of a condition by chaining is not that by proof over the same facts; always empty."""
    wrong = []
    for result in evaluate(session.book.kb.signatures, session.world):
        for part, truth in _truths(result):
            chained = session.truth(result.signature.id, part, result.entity)
            if chained is not truth:
                wrong.append(
                    f"{result.signature.id} {part} {result.entity.path}: {truth} by proof, {chained} by chaining"
                )
    return wrong


def _truths(result: SignatureResult) -> Iterable[tuple[str, Truth]]:
    named = (("given", result.given), ("requires", result.requires), ("confirms", result.confirms))
    yield from ((name, verdict.truth) for name, verdict in named if verdict is not None)
    yield from ((f"excludes.{number}", one.truth) for number, one in enumerate(result.excludes))
    yield from ((f"supports.{number}", one.truth) for number, one in enumerate(result.supports))
