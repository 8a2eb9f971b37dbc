"""Why and why not: the proof of a conclusion as a tree, from the rule down to the line of an artefact."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwhy.engine.model import Diagnosis, SignatureResult, Status, Truth, Verdict
from gpuwhy.kb.conditions import All, Any_, Comparison, Not
from gpuwhy.kb.facts import Fact
from gpuwhy.kb.texts import say
from gpuwhy.kb.units import show
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import ASCII_MARKS, LABELS, MARKS, comparison, reading, visible, where, wrapped

MAX_DEPTH = 12
INDENT = "  "


def why(report: Report, conclusion_id: str, ascii_only: bool = False, width: int = 80) -> str:
    """The proof tree of every signature of a conclusion that is in play, the leading one first."""
    return _Tree(report, ascii_only, width).conclusion(conclusion_id, failed_only=False)


def why_not(report: Report, conclusion_id: str, ascii_only: bool = False, width: int = 80) -> str:
    """What keeps a conclusion from being confirmed: conditions that fail or are unknown, and by how much."""
    return _Tree(report, ascii_only, width).conclusion(conclusion_id, failed_only=True)


class _Tree:
    def __init__(self, report: Report, ascii_only: bool, width: int) -> None:
        self.report = report
        self.diagnosis: Diagnosis = report.diagnosis
        self.marks = ASCII_MARKS if ascii_only else MARKS
        self.width = width
        self.out: list[str] = []

    def conclusion(self, name: str, failed_only: bool) -> str:
        spec = self.report.kb.conclusions[name]
        found = next((one for one in (*self.diagnosis.conclusions, *self.diagnosis.ruled_out) if one.id == name), None)
        label = LABELS[found.status] if found else "NOT IN PLAY"
        self.line(0, f"{label}  {name}  {say(spec.says, self.report.language)}")
        results = [*(found.results if found else ()), *self.silent(name)]
        if not results:
            self.line(1, "no rule concludes this yet")
        for result in results:
            self.signature(result, failed_only)
        return "\n".join(self.out) + "\n"

    def silent(self, name: str) -> Iterator[SignatureResult]:
        yield from (one for one in self.diagnosis.silent if one.signature.concludes == name)

    def line(self, depth: int, text: str) -> None:
        indent = INDENT * depth
        self.out.extend(wrapped(visible(text), indent, indent + INDENT * 2, self.width))

    def signature(self, result: SignatureResult, failed_only: bool) -> None:
        rule = result.signature
        status = LABELS[result.status] if result.status else "not in play"
        about = "" if result.entity.kind in ("host", "job") else f" for {result.entity.path}"
        self.out.append("")
        self.line(1, f"{rule.id} {rule.version} ({rule.status}){about}: {status}")
        self.line(2, say(rule.title, self.report.language))
        if result.because:
            self.line(2, result.because)
        self.part(
            f"in play {'because' if result.status else 'only if'}",
            result.given,
            failed_only and result.status is not None,
        )
        if result.status is None:
            return
        self.part("requires", result.requires, failed_only)
        self.part("confirmed by", result.confirms, failed_only)
        if rule.confirms is None and failed_only and result.status is Status.LIKELY:
            self.line(2, "this signature alone never confirms: it is circumstantial")
        for verdict in result.excludes:
            if not failed_only or verdict.truth is not Truth.FALSE:
                note = {Truth.TRUE: "ruled out", Truth.FALSE: "would be ruled out", Truth.UNKNOWN: "would be ruled out"}
                self.part(f"{note[verdict.truth]} if", verdict, False)
        for verdict in () if failed_only else result.supports:
            self.part("supported by", verdict, False)

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
            self.comparison(verdict, condition, depth)
            return
        word = {All: "all of", Any_: "any of", Not: "not"}[type(condition)]
        if len(verdict.parts) > 1 or isinstance(condition, Not):
            self.line(depth, f"{self.marks[verdict.truth]} {word}")
            depth += 1
        for part in verdict.parts:
            self.verdict(part, depth, failed_only and not isinstance(condition, Not))

    def comparison(self, verdict: Verdict, condition: Comparison, depth: int) -> None:
        unit = self.report.kb.facts[condition.ref.fact].unit
        self.line(depth, f"{self.marks[verdict.truth]} {comparison(condition, unit)}: {reading(verdict)}")
        if condition.source is not None and condition.source in self.report.kb.references:
            reference = self.report.kb.references[condition.source]
            if reference.strength != "definition":
                self.line(
                    depth + 1,
                    f"threshold: {reference.title} ({reference.strength}, {reference.accessed}) {reference.address}",
                )
        for fact in (verdict.fact, verdict.other):
            if fact is not None:
                self.fact(fact, depth + 1, ())
        if verdict.truth is Truth.UNKNOWN:
            self.obtain(condition, depth + 1)

    def fact(self, fact: Fact, depth: int, above: tuple[Fact, ...]) -> None:
        made = self.diagnosis.derived.get((fact.id, fact.entity))
        line = f"{fact.id} = {show(fact.value, fact.unit)}  [{where(fact)}]"
        if made is None or fact in above or depth > MAX_DEPTH:
            if fact.origin.text:
                line += f"  “{fact.origin.text[:60]}”"
            self.line(depth, line)
            return
        self.line(
            depth, f"{fact.id} = {show(fact.value, fact.unit)}  [{made.derivation.id} {made.derivation.version}] from"
        )
        for one in made.inputs:
            self.fact(one, depth + 1, (*above, fact))

    def obtain(self, condition: Comparison, depth: int) -> None:
        for name in dict.fromkeys([condition.ref.fact, *([condition.than.fact] if condition.than else [])]):
            spec = self.report.kb.facts[name]
            for one in spec.obtain[:1]:
                self.line(depth, f"{name}: {one.command or say(one.says, self.report.language)} ({one.effort})")
