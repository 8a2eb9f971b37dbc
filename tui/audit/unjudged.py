"""Causes that no rule could judge on a host because readings that would open one could not be taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.ruleset import Outline, opens

Reason = tuple[str, str]
"""A fact, and why it could not be read."""


class Unjudged:
    """Says which causes were not judged for want of readings. Hosts resemble each other: a pattern is worked once."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._derivations = kb.derivations.outlines
        self._by_cause: dict[str, list[Outline]] = {}
        for one in kb.signatures.outlines:
            for name in one.about:
                if kb.conclusions[name].kind == "cause":
                    self._by_cause.setdefault(name, []).append(one)
        self._gates = {name: frozenset(self._opening(found)) for name, found in self._by_cause.items()}
        self._open: dict[tuple[frozenset[str], str], bool] = {}
        self._known: dict[tuple[frozenset[str], frozenset[Reason]], Mapping[str, frozenset[Reason]]] = {}

    def of(self, base: FactBase) -> Mapping[str, frozenset[Reason]]:
        """The causes of which no rule could come into play, with the readings that could not be taken."""
        lacking = frozenset((one.id, one.reason) for one in base.absent if not _has_none(one.reason))
        if not lacking:
            return {}
        known = frozenset(name for name, _ in base.by_key)
        pattern = (known, lacking)
        if pattern not in self._known:
            self._known[pattern] = dict(self._find(known, lacking))
        return self._known[pattern]

    def could_judge(self, known: frozenset[str], name: str) -> bool:
        """True if these facts bring a rule of a cause into play."""
        if (known, name) not in self._open:
            closed = self._closed(known)
            self._open[known, name] = any(opens(one.gate, closed) for one in self._by_cause.get(name, ()))
        return self._open[known, name]

    def _find(self, read: frozenset[str], lacking: frozenset[Reason]) -> Iterator[tuple[str, frozenset[Reason]]]:
        known = self._closed(read)
        could_be = self._closed(read | {fact for fact, _ in lacking})
        for name, outlines in self._by_cause.items():
            closed = not any(opens(one.gate, known) for one in outlines)
            if closed and any(opens(one.gate, could_be) for one in outlines):
                yield name, frozenset(one for one in lacking if one[0] in self._gates[name] and one[0] not in known)

    def _closed(self, read: Iterable[str]) -> set[str]:
        """These facts, and all that may be derived of them."""
        known = set(read)
        for one in self._derivations:
            if opens(one.gate, known):
                known.update(one.about)
        return known

    def _opening(self, outlines: Iterable[Outline]) -> set[str]:
        """The facts that open the gates of these rules, and those that open what gives them."""
        found: set[str] = set()
        waiting = {fact for one in outlines for fact in _facts(one.gate)}
        while waiting:
            found |= waiting
            given = (one for one in self._derivations if waiting.intersection(one.about))
            waiting = {fact for one in given for fact in _facts(one.gate)} - found
        return found


def _has_none(reason: str) -> bool:
    """True for a reading that a card does not have at all: that it could not be taken hides nothing."""
    return reason.strip(" []").lower() in ("n/a", "not available", "not supported", "not applicable", "not active")


def _facts(gate: Any) -> Iterator[str]:
    """The facts that a gate names."""
    if isinstance(gate, str):
        yield gate
    else:
        for part in gate[1:]:
            yield from _facts(part)
