"""Why and why not: the proof of a conclusion, from the rule down to the line of an artefact.

Conditions come first, with reading, threshold and margin. What they rest on follows once each: facts that were computed
(from what, by which rule), facts that were read (where, and the words that stand there), and the sources of thresholds.
"""

from __future__ import annotations

from gpuwhy.engine.diagnose import not_in_play
from gpuwhy.engine.model import Diagnosis, SignatureResult, Status, Truth
from gpuwhy.kb.texts import say
from gpuwhy.tui.proof_text import ProofText
from gpuwhy.tui.report import Report
from gpuwhy.tui.wording import LABELS


def why(report: Report, conclusion_id: str, ascii_only: bool = False, width: int = 80) -> str:
    """The proof of a conclusion by every signature that is in play, the leading one first."""
    return _Proof(report, ascii_only, width).why(conclusion_id)


def why_not(report: Report, conclusion_id: str, ascii_only: bool = False, width: int = 80) -> str:
    """What keeps a conclusion from being confirmed: conditions that fail or are unknown, and by how much."""
    return _Proof(report, ascii_only, width).why_not(conclusion_id)


class _Proof(ProofText):
    def __init__(self, report: Report, ascii_only: bool, width: int) -> None:
        super().__init__(report.kb, report.diagnosis.derived, report.language, ascii_only, width)
        self.diagnosis: Diagnosis = report.diagnosis

    def why(self, name: str) -> str:
        results = self.heading(name)
        silent = self.silent(name)
        for result in results:
            self.signature(result, failed_only=False)
        if silent:
            self.out.append("")
            self.line(1, "not in play: " + ", ".join(dict.fromkeys(one.signature.id for one in silent)))
        return self.end(results, silent)

    def why_not(self, name: str) -> str:
        results = self.heading(name)
        silent = self.silent(name)
        for result in results:
            self.signature(result, failed_only=True)
        if silent:
            self.out.append("")
        for one in silent:
            self.not_in_play(one)
        return self.end(results, silent)

    def heading(self, name: str) -> tuple[SignatureResult, ...]:
        spec = self.kb.conclusions[name]
        found = next((one for one in (*self.diagnosis.conclusions, *self.diagnosis.ruled_out) if one.id == name), None)
        self.line(0, f"{LABELS[found.status] if found else 'NOT IN PLAY'}  {name}  {say(spec.says, self.language)}")
        if found is not None and found.contradicted:
            self.line(1, f"but: {found.contradicted}")
        return found.results if found else ()

    def silent(self, name: str) -> list[SignatureResult]:
        return not_in_play(self.kb, self.diagnosis, name, self.language)

    def end(self, results: object, silent: object) -> str:
        if not results and not silent:
            self.line(1, "no rule concludes this")
        return self.finish()

    def signature(self, result: SignatureResult, failed_only: bool) -> None:
        rule = result.signature
        assert result.status is not None
        about = "" if result.entity.kind in ("host", "job") else f" for {result.entity.path}"
        self.out.append("")
        self.line(1, f"{rule.id} {rule.version} ({rule.status}){about}: {LABELS[result.status]}")
        self.line(2, result.because or say(rule.title, self.language))
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
