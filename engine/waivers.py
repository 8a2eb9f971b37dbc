"""Findings that a pack lives with on purpose: `waivers.yaml`, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

from gpuwhy.engine.lint_codes import Finding, finding
from gpuwhy.kb.errors import KnowledgeError, Location
from gpuwhy.kb.load import rules_folder
from gpuwhy.kb.records import dataclass
from gpuwhy.kb.schema import violations
from gpuwhy.kb.strict_yaml import load

FILE = "waivers.yaml"


@dataclass(frozen=True)
class Waiver:
    """One waiver: findings of a code in a file, whose message holds `about`; until a day, or for good."""

    code: str
    file: str
    about: str
    reason: str
    until: date | None
    location: Location


def read(folder: Path) -> tuple[list[Waiver], list[Finding]]:
    """The waivers of a pack, and what is wrong with its file of waivers."""
    path = folder / FILE
    if not path.is_file():
        return [], []
    name = f"{folder.name}/{FILE}"
    schemas = folder / "schema" / "v1"
    try:
        document = load(path, name)
        problems = violations(document, "waivers", schemas if schemas.is_dir() else rules_folder() / "schema" / "v1")
    except KnowledgeError as error:
        problems = list(error.problems)
    if problems:
        return [], [finding(one.location, "bad-waiver", one.message, one.hint) for one in problems]
    made = [
        Waiver(
            plain["code"],
            f"{folder.name}/{plain['file']}",
            plain.get("about", ""),
            plain["reason"],
            date.fromisoformat(plain["until"]) if "until" in plain else None,
            document.at("waivers", index),
        )
        for index, plain in enumerate(document.data["waivers"])
    ]
    return made, []


def apply(
    findings: Iterable[Finding], waivers: Iterable[Waiver], today: date, whole: bool = True
) -> tuple[list[Finding], list[tuple[Finding, str]]]:
    """The findings that stand, with those about the waivers themselves, and the waived ones with the reasons.

    Where not the whole pack can be read, a waiver may be for what could not be looked at: it is not called unused.
    """
    kept: list[Finding] = []
    waived: list[tuple[Finding, str]] = []
    used: set[Location] = set()
    every = list(waivers)
    for one in findings:
        fitting = [waiver for waiver in every if _fits(waiver, one)]
        used.update(waiver.location for waiver in fitting)
        if any(waiver.until is None or waiver.until >= today for waiver in fitting):
            waived.append((one, fitting[0].reason))
        else:
            kept.append(one)
    for waiver in every:
        if waiver.location not in used:
            if whole:
                kept.append(finding(waiver.location, "unused-waiver", f"no finding {waiver.code} in {waiver.file}"))
        elif waiver.until is not None and waiver.until < today:
            kept.append(finding(waiver.location, "expired-waiver", f"it was to last until {waiver.until}"))
    return sorted(kept), waived


def _fits(waiver: Waiver, one: Finding) -> bool:
    return waiver.code == one.code and waiver.file == one.location.path and waiver.about in one.message
