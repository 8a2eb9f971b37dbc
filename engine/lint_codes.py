"""The kinds of findings about rules: code, severity, and what to do where nothing more specific is known."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gpuwhy.kb.errors import Location
from gpuwhy.kb.records import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of finding: how grave it is, what it means, and what to do."""

    severity: str
    says: str
    hint: str = ""


@dataclass(frozen=True, order=True)
class Finding:
    """One finding: where, of which kind, what exactly, and what to do."""

    location: Location
    code: str
    message: str
    hint: str = ""

    @property
    def severity(self) -> str:
        """error, warning or note."""
        return CODES[self.code].severity

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.location}: {self.severity}: {self.message}{hint} [{self.code}]"


def finding(where: Location, code: str, message: str, hint: str = "") -> Finding:
    """A finding with the hint of its kind unless it has one of its own."""
    return Finding(where, code, message, hint or CODES[code].hint)


_ERRORS = {
    "yaml": ("A file cannot be read strictly.", ""),
    "schema": ("A file does not hold to its JSON Schema.", ""),
    "unusable": ("A pack or file cannot be used.", ""),
    "unknown-fact": ("A fact that the vocabulary does not have.", "add it to facts/"),
    "unknown-conclusion": ("A conclusion that the vocabulary does not have.", "add it to conclusions/"),
    "unknown-reference": ("A reference that does not exist.", "add it to references/"),
    "unknown-chip": ("A chip, family, work or claim that the catalogue does not have.", ""),
    "duplicate-id": ("An id is used twice.", ""),
    "id-path": ("An id that does not follow the path of its file.", "--fix writes it"),
    "bad-fact": ("A fact whose type, choices or unit do not go together.", ""),
    "bad-comparison": ("A comparison that does not fit its fact.", ""),
    "bad-value": ("A value that does not fit its fact.", ""),
    "bad-formula": ("A formula that is not of the grammar, or reads what is no number.", ""),
    "unit-mismatch": ("Quantities of different units are joined.", ""),
    "no-source": ("A number is judged without a source.", ""),
    "cycle": ("Derivations that need one another.", ""),
    "reads-itself": ("A derivation that reads what it gives.", ""),
    "unreachable-target": ("A derivation for an entity that its fact does not belong to.", ""),
    "bad-case": ("A test case that cannot be read.", ""),
    "impossible": ("A condition that no readings can meet.", "look for two bounds that leave nothing between them"),
    "engine-range": ("A pack that is not for this version of gpuwhy.", ""),
    "namespace": ("A word, file or pack outside the namespace that it may use.", ""),
    "unknown-rule": ("A rule that is to be set aside and does not exist.", ""),
    "bad-override": ("A rule that cannot stand for the one it overrides.", ""),
    "bad-waiver": ("A waiver that cannot be read.", ""),
}
_WARNINGS = {
    "always": ("A condition that is true of all readings.", "remove it, or write the bound that was meant"),
    "redundant": ("A part that follows from the others.", "remove it"),
    "dead-exclusion": ("An exclusion that cannot hold where the rule does.", "remove it, or write what was meant"),
    "duplicate-rule": ("Two rules with the same logic.", "merge them"),
    "shadowed": ("A rule that says nothing which another does not say before it.", "remove it, or raise its priority"),
    "share-range": ("A share is compared with a number above 1: per cent?", "write it as `25 %`"),
    "dead-fact": (
        "A fact that no parser, probe, derivation, catalogue or question supplies.",
        "supply it, or drop the condition",
    ),
    "unreachable-conclusion": ("A conclusion that no signature concludes.", "add a signature, or remove it"),
    "no-fix": ("A cause without anything to do.", "add a fix, or say in `collect` what to gather"),
    "no-address": ("A reference whose file does not exist.", "correct the path"),
    "unused-reference": ("A reference that nothing rests on.", "remove it, or name it as `source`"),
    "review-overdue": (
        "A reference that was to be looked at again.",
        "read it again and set `accessed`",
    ),
    "untested": ("A rule without test cases.", "add <slug>.test.yaml beside it"),
    "thin-tests": ("A rule whose cases show too little of it.", "add the case that is missing"),
    "stray-test": ("Test cases without a rule.", "rename or remove the file"),
    "schema-line": ("A file without the line that names its schema to editors.", "--fix adds it"),
    "whitespace": ("Spaces at the end of a line, or no newline at the end.", "--fix removes them"),
    "unused-waiver": ("A waiver that waives nothing.", "remove it"),
    "expired-waiver": ("A waiver whose time is over.", "mend what it waives, or say why it may stay"),
}

CODES: Mapping[str, Kind] = MappingProxyType(
    {code: Kind("error", says, hint) for code, (says, hint) in _ERRORS.items()}
    | {code: Kind("warning", says, hint) for code, (says, hint) in _WARNINGS.items()}
)
