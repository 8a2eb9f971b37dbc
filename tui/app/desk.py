"""What screens may ask of the application."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, cast

from textual.dom import DOMNode

if TYPE_CHECKING:
    from gpuwhy.engine.model import Question
    from gpuwhy.tui.incident.verification import Verification


class Desk(Protocol):
    """The application, as screens know it."""

    def record_answer(self, asked: Question, value: str | None) -> None:
        """An answer to a question; None is "don't know"."""

    def record_change(self, fact: str, value: str | None) -> None:
        """Another answer to what was asked before; `fact` as in the journal."""

    def suppose(self, fact: str, value: str) -> None:
        """What if a fact were this."""

    def withdraw(self, fact: str) -> None:
        """Take an answer or a supposition back."""

    def checker(self, fact: str) -> Callable[[str], str]:
        """What is wrong with a value of a fact."""

    def understood(self, text: str) -> tuple[str, ...]:
        """What a text holds, in lines for a person. Called from a thread: it takes a while."""

    def show_fixes(self, name: str) -> None:
        """The fixes of a conclusion."""

    def record_applied(self, fix: str, conclusion: str) -> None:
        """A fix was carried out."""

    def verify(self, fix: str, conclusion: str) -> Verification:
        """Before and after a fix."""


def desk(node: DOMNode) -> Desk:
    """The application that a screen or widget belongs to."""
    return cast(Desk, node.app)
