"""Why and why not: the proof of a conclusion, from the rule down to the line of an artefact.

Conditions come first, with reading, threshold and margin. What they rest on follows once each: facts that were computed
(from what, by which rule), facts that were read (where, and the words that stand there), and the sources of thresholds.
"""

from __future__ import annotations

from gpuwhy.engine.diagnose import not_in_play
from gpuwhy.engine.model import Diagnosis, SignatureResult, Status, Truth, Verdict
from gpuwhy.kb.conditions import All, Any_, Comparison, Not, Operator
from gpuwhy.kb.facts import Entity, Fact
from gpuwhy.kb.texts import say
from gpuwhy.kb.units import show
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import ASCII_MARKS, LABELS, MARKS, comparison, reading, visible, where, wrapped

INDENT = "  "


def why(report: Report, conclusion_id: str, ascii_only: bool = False, width: int = 80) -> str:
    """The proof of a conclusion by every signature that is in play, the leading one first."""
    return _Proof(report, ascii_only, width).why(conclusion_id)


def why_not(report: Report, conclusion_id: str, ascii_only: bool = False, width: int = 80) -> str:
    """What keeps a conclusion from being confirmed: conditions that fail or are unknown, and by how much."""
    return _Proof(report, ascii_only, width).why_not(conclusion_id)


class _Proof:
    def __init__(self, report: Report, ascii_only: bool, width: int) -> None:
        self.report = report
        self.diagnosis: Diagnosis = report.diagnosis
        self.marks = ASCII_MARKS if ascii_only else MARKS
        self.width = width
        self.out: list[str] = []
        self.rested_on: dict[tuple[str, Entity], Fact] = {}
        self.sources: dict[str, int] = {}

    def why(self, name: str) -> str:
        results = self.heading(name)
        silent = self.silent(name)
        for result in results:
            self.signature(result, failed_only=False)
        if silent:
            self.out.append("")
            self.line(1, "not in play: " + ", ".join(dict.fromkeys(one.signature.id for one in silent)))
        return self.finish(results, silent)

    def why_not(self, name: str) -> str:
        results = self.heading(name)
        silent = self.silent(name)
        for result in results:
            self.signature(result, failed_only=True)
        if silent:
            self.out.append("")
        for one in silent:
            self.not_in_play(one)
        return self.finish(results, silent)

    def heading(self, name: str) -> tuple[SignatureResult, ...]:
        spec = self.report.kb.conclusions[name]
        found = next((one for one in (*self.diagnosis.conclusions, *self.diagnosis.ruled_out) if one.id == name), None)
        self.line(
            0, f"{LABELS[found.status] if found else 'NOT IN PLAY'}  {name}  {say(spec.says, self.report.language)}"
        )
        if found is not None and found.contradicted:
            self.line(1, f"but: {found.contradicted}")
        return found.results if found else ()

    def silent(self, name: str) -> list[SignatureResult]:
        return not_in_play(self.report.kb, self.diagnosis, name, self.report.language)

    def finish(self, results: object, silent: object) -> str:
        if not results and not silent:
            self.line(1, "no rule concludes this")
        self.facts()
        if self.sources:
            self.out += ["", "SOURCES"]
        for name, number in self.sources.items():
            reference = self.report.kb.references[name]
            self.line(1, f"[{number}] {reference.title} ({reference.strength}, {reference.accessed})")
            self.out.append(f"{INDENT * 3}{reference.address}")
        return "\n".join(self.out) + "\n"

    def line(self, depth: int, text: str) -> None:
        indent = INDENT * depth
        self.out.extend(wrapped(visible(text), indent, indent + INDENT * 2, self.width))

    def signature(self, result: SignatureResult, failed_only: bool) -> None:
        rule = result.signature
        assert result.status is not None
        about = "" if result.entity.kind in ("host", "job") else f" for {result.entity.path}"
        self.out.append("")
        self.line(1, f"{rule.id} {rule.version} ({rule.status}){about}: {LABELS[result.status]}")
        self.line(2, result.because or say(rule.title, self.report.language))
        if not failed_only:
            self.part("in play because", result.given, False)
        self.part("requires", result.requires, failed_only)
        self.part("confirmed by", result.confirms, failed_only)
        if rule.confirms is None and failed_only and result.status is Status.LIKELY:
            self.line(2, "this signature alone never confirms: it is circumstantial")
        for verdict in result.excludes:
            if not failed_only or verdict.truth is not Truth.FALSE:
                self.part("ruled out because" if verdict.truth is Truth.TRUE else "ruled out if", verdict, False)
        for verdict in () if failed_only else result.supports:
            self.part("supported by", verdict, False)

    def not_in_play(self, result: SignatureResult) -> None:
        """One line: the first condition of its being in play that does not hold."""
        assert result.given is not None
        leaf = next(one for one in result.given.leaves() if one.truth is not Truth.TRUE)
        self.line(1, f"{result.signature.id}: only if {self.comparison(leaf)}")

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
        text = comparison(condition, self.report.kb.facts[condition.ref.fact].unit)
        if not (condition.op is Operator.EQ and verdict.truth is Truth.TRUE):
            text += f": {reading(verdict)}"
        for fact in (verdict.fact, verdict.other):
            if fact is not None:
                self.rested_on.setdefault((fact.id, fact.entity), fact)
        reference = self.report.kb.references.get(condition.source or "")
        if reference is not None and reference.strength != "definition":
            text += f"  [{self.sources.setdefault(reference.id, len(self.sources) + 1)}]"
        return text

    def facts(self) -> None:
        """What the conditions rest on, each fact once: computed ones with their inputs, then the readings."""
        todo, computed, read = list(self.rested_on.values()), [], []
        seen = set(self.rested_on)
        while todo:
            fact = todo.pop(0)
            made = self.diagnosis.derived.get((fact.id, fact.entity))
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
            self.line(3, f"{made.derivation.id} {made.derivation.version}")
        if read:
            self.out += ["", "READ"]
        for fact in read:
            quote = f"  “{fact.origin.text[:120]}”" if fact.origin.text else ""
            self.line(1, f"{fact.id} = {show(fact.value, fact.unit)}  [{where(fact)}]{quote}")

    def obtain(self, condition: Comparison, depth: int) -> None:
        for name in dict.fromkeys([condition.ref.fact, *([condition.than.fact] if condition.than else [])]):
            spec = self.report.kb.facts[name]
            for one in spec.obtain[:1]:
                self.line(depth, f"{name}: {one.command or say(one.says, self.report.language)} ({one.effort})")
