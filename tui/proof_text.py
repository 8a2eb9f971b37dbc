"""The proof of a condition as text: readings, thresholds and margins, then once each what they rest on."""

from __future__ import annotations

from collections.abc import Mapping

from gpuwhy.engine.model import DerivedFrom, Truth, Verdict
from gpuwhy.kb.conditions import All, Any_, Comparison, Not, Operator
from gpuwhy.kb.facts import Entity, Fact, OriginKind
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.texts import say
from gpuwhy.kb.units import show
from gpuwhy.tui.wording import ASCII_MARKS, MARKS, comparison, reading, visible, where, wrapped

INDENT = "  "


class ProofText:
    """Lines of a proof. What conditions rest on is gathered on the way and written at the end, each fact once."""

    def __init__(
        self,
        kb: KnowledgeBase,
        derived: Mapping[tuple[str, Entity], DerivedFrom],
        language: str = "en",
        ascii_only: bool = False,
        width: int = 80,
    ) -> None:
        self.kb, self.derived, self.language, self.width = kb, derived, language, width
        self.marks = ASCII_MARKS if ascii_only else MARKS
        self.out: list[str] = []
        self.rested_on: dict[tuple[str, Entity], Fact] = {}
        self.sources: dict[str, int] = {}

    def line(self, depth: int, text: str) -> None:
        indent = INDENT * depth
        self.out.extend(wrapped(visible(text), indent, indent + INDENT * 2, self.width))

    def part(self, title: str, verdict: Verdict | None, failed_only: bool) -> None:
        if verdict is None or (failed_only and verdict.truth is Truth.TRUE):
            return
        self.line(2, f"{title}:")
        self.verdict(verdict, 3, failed_only)

    def verdict(self, verdict: Verdict, depth: int, failed_only: bool) -> None:
        if failed_only and verdict.truth is Truth.TRUE:
            return
        condition = verdict.condition
        if isinstance(condition, Comparison):
            self.line(depth, f"{self.marks[verdict.truth]} {self.comparison(verdict)}")
            if verdict.truth is Truth.UNKNOWN:
                self.obtain(condition, depth + 1)
            return
        plain_all = isinstance(condition, All) and depth == 3
        if isinstance(condition, Not) or (len(verdict.parts) > 1 and not plain_all):
            word = {All: "all of", Any_: "any of", Not: "not"}[type(condition)]
            self.line(depth, f"{self.marks[verdict.truth]} {word}")
            depth += 1
        for part in verdict.parts:
            self.verdict(part, depth, failed_only and not isinstance(condition, Not))

    def comparison(self, verdict: Verdict) -> str:
        """One comparison in words, with its reading, where that stands, and the number of the threshold's source."""
        condition = verdict.condition
        assert isinstance(condition, Comparison)
        text = comparison(condition, self.kb.facts[condition.ref.fact].unit)
        if not (condition.op is Operator.EQ and verdict.truth is Truth.TRUE):
            text += f": {reading(verdict)}"
        for fact in (verdict.fact, verdict.other):
            if fact is not None:
                self.rested_on.setdefault((fact.id, fact.entity), fact)
        reference = self.kb.references.get(condition.source or "")
        if reference is not None and reference.strength != "definition":
            text += f"  [{self.source(reference.id)}]"
        return text

    def facts(self) -> None:
        """What the conditions rest on, each fact once: computed ones with their inputs, then the readings."""
        todo, computed, read = list(self.rested_on.values()), [], []
        seen = set(self.rested_on)
        while todo:
            fact = todo.pop(0)
            made = self.derived.get((fact.id, fact.entity))
            if made is None:
                read.append(fact)
                continue
            computed.append((fact, made))
            fresh = [one for one in made.inputs if (one.id, one.entity) not in seen]
            seen.update((one.id, one.entity) for one in fresh)
            todo.extend(fresh)
        if computed:
            self.out += ["", "COMPUTED"]
        for fact, made in computed:
            inputs = ", ".join(dict.fromkeys(one.id for one in made.inputs))
            self.line(1, f"{fact.id} = {show(fact.value, fact.unit)}  from {inputs}")
            rests = "".join(f"  [{self.source(one)}]" for one in made.derivation.references)
            self.line(3, f"{made.derivation.id} {made.derivation.version}{rests}")
        if read:
            self.out += ["", "READ"]
        for fact in read:
            quote = f"  “{fact.origin.text[:120]}”" if fact.origin.text else ""
            self.line(1, f"{fact.id} = {show(fact.value, fact.unit)}  [{self.place(fact)}]{quote}")

    def place(self, fact: Fact) -> str:
        """Where a fact stands: of the catalogue, the number of its source."""
        known = fact.origin.kind is OriginKind.CATALOGUE and fact.origin.source in self.kb.references
        return str(self.source(fact.origin.source)) if known else where(fact)

    def source(self, reference: str) -> int:
        """The number of a source; a new one where it was not named yet."""
        return self.sources.setdefault(reference, len(self.sources) + 1)

    def obtain(self, condition: Comparison, depth: int) -> None:
        for name in dict.fromkeys([condition.ref.fact, *([condition.than.fact] if condition.than else [])]):
            spec = self.kb.facts[name]
            for one in spec.obtain[:1]:
                self.line(depth, f"{name}: {one.command or say(one.says, self.language)} ({one.effort})")

    def finish(self) -> str:
        """The text, with what it rests on and the sources of its thresholds."""
        self.facts()
        if self.sources:
            self.out += ["", "SOURCES"]
        for name, number in self.sources.items():
            reference = self.kb.references[name]
            self.line(1, f"[{number}] {reference.title} ({reference.strength}, {reference.accessed})")
            self.out.append(f"{INDENT * 3}{reference.address}")
        return "\n".join(self.out) + "\n"
