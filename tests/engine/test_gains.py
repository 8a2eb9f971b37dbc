"""Amdahl's law over the measured shares of a step: what removing the first wall gains at most, and what comes next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwhy.engine.gains import expected_gain
from gpuwhy.engine.model import Gain
from gpuwhy.engine.view import World
from gpuwhy.kb.facts import JOB, Fact, FactBase, Origin, OriginKind
from gpuwhy.kb.model import FactSpec, KnowledgeBase, Stage
from tests.engine.small import knowledge

NAMES = ("input", "exchange", "compute")
SPECS = {f"step.{name}": FactSpec(f"step.{name}", "job", "number", name, "share") for name in NAMES}
KB: KnowledgeBase = replace(
    knowledge(specs=SPECS), pipeline=tuple(Stage(name, f"step.{name}", f"slow.{name}", name) for name in NAMES)
)


def gain(**shares: float) -> Gain | None:
    origin = Origin(OriginKind.MEASURED, "test")
    facts = [Fact(f"step.{name}", share, "share", JOB, origin) for name, share in shares.items()]
    return expected_gain(KB, World(SPECS, FactBase.of(facts)))


def test_the_largest_wall_is_first_and_the_next_share_is_of_the_shorter_step() -> None:
    found = gain(input=0.4, exchange=0.12, compute=0.48)
    assert found is not None
    assert (found.first.id, found.first_share) == ("input", 0.4)
    assert found.at_most == pytest.approx(1 / 0.6)  # 100 ms become 60 ms: 1.67 times faster
    assert found.then is not None
    assert found.then.id == "compute"
    assert found.then_share == pytest.approx(0.8)  # 48 of the 60 ms that are left


def test_computing_is_no_wall_to_remove() -> None:
    found = gain(input=0.1, compute=0.9)
    assert found is not None
    assert found.first.id == "input"
    assert gain(compute=0.9) is None


def test_shares_that_overlap_never_come_to_more_than_the_whole() -> None:
    found = gain(input=0.6, compute=0.7)  # prefetching: waiting and computing overlap
    assert found is not None
    assert found.then_share == 1.0


def test_without_a_known_share_nothing_is_promised() -> None:
    assert gain() is None
    assert gain(input=0.0, exchange=1.0) is None


def test_without_a_next_share_the_next_wall_is_unknown() -> None:
    found = gain(input=0.5)
    assert found is not None
    assert (found.at_most, found.then, found.then_share) == (2.0, None, None)
