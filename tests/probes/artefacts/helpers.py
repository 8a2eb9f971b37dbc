"""Shared by the parser tests: a text as the reader hands it over, and look-ups in what a parser gave back."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.contract import Extract, Line, Text, TextFormat


def text_of(content: str, name: str = "t") -> Text:
    """The text of an artefact with these lines, numbered from 1."""
    return Text(name, tuple(Line(number, line) for number, line in enumerate(content.splitlines(), 1)))


def scan(format_: TextFormat, content: str) -> list[Extract]:
    """What one format finds in this content."""
    return list(format_.scan(text_of(content)))


def values(extracts: Iterable[Extract]) -> dict[tuple[str, str], Value]:
    """All readings by (fact id, entity path); a later reading of the same key replaces an earlier one."""
    return {(one.fact, one.entity.path): one.value for extract in extracts for one in extract.readings}


def missing(extracts: Iterable[Extract]) -> dict[tuple[str, str], str]:
    """The reasons of all missing readings by (fact id, entity path)."""
    return {(one.fact, one.entity.path): one.reason for extract in extracts for one in extract.missing}


def claimed(extracts: Iterable[Extract]) -> set[int]:
    """All line numbers that the extracts claim."""
    return {line for extract in extracts for line in extract.claimed}
