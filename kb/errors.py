"""Errors in knowledge, each with file, line, column and what to do; always collected, never one at a time."""

from __future__ import annotations

from collections.abc import Iterable

from gpuwhy.kb.records import dataclass


@dataclass(frozen=True, order=True)
class Location:
    """A place in a knowledge file; line and column count from 1."""

    path: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, order=True)
class Problem:
    """One defect of a knowledge file: where, what is wrong, what to do about it, and the code of its kind."""

    location: Location
    message: str
    hint: str = ""
    code: str = "unusable"

    def __str__(self) -> str:
        return f"{self.location}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class KnowledgeError(Exception):
    """Knowledge that cannot be used. `problems` holds every defect of every file, in file order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))
