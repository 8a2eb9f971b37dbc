"""Bottlenecks migrate: the most that removing the first wall can gain, and the wall that comes next."""

from __future__ import annotations

from gpuwhy.engine.model import Gain
from gpuwhy.engine.view import World
from gpuwhy.kb.conditions import FactRef
from gpuwhy.kb.facts import JOB
from gpuwhy.kb.model import KnowledgeBase

COMPUTE = "compute"


def expected_gain(kb: KnowledgeBase, world: World) -> Gain | None:
    """From measured shares of the step; None where no wall's share is known or nothing but computing is left.

    Amdahl's law: with a share s of the step removed, the step is at most 1 / (1 - s) times faster.
    """
    shares = []
    for stage in kb.pipeline:
        fact = world.get(FactRef(stage.share), JOB)
        if fact is not None and not isinstance(fact.value, (str, bool)) and 0 < fact.value < 1:
            shares.append((float(fact.value), stage))
    walls = sorted((one for one in shares if one[1].id != COMPUTE), key=lambda one: -one[0])
    if not walls:
        return None
    share, first = walls[0]
    rest = sorted((one for one in shares if one[1] is not first), key=lambda one: -one[0])
    left = 1 - share
    then = rest[0] if rest else None
    return Gain(
        first=first,
        first_share=share,
        at_most=1 / left,
        then=then[1] if then else None,
        then_share=min(1.0, then[0] / left) if then else None,
    )
