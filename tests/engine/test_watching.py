"""Facts that come window after window: judged where they changed enough, told once when a cause appears or clears."""

from __future__ import annotations

import pytest

from gpuwhy.engine.changes import Changes
from gpuwhy.engine.watching import COST_SHARE, STALE_SECONDS, Watching
from gpuwhy.kb.conditions import All
from gpuwhy.kb.facts import Fact, gpu
from gpuwhy.kb.model import KnowledgeBase
from tests.engine.small import fact, is_, knowledge, signature

HOT = signature("a", "gpu", All((is_("gpu.hot", "eq", True), is_("gpu.watts", "ge", 300.0))))


@pytest.fixture
def kb() -> KnowledgeBase:
    return knowledge(signatures=[HOT])


class Clock:
    """CPU time that goes on by `cost` with every look."""

    def __init__(self, cost: float = 0.0) -> None:
        self.now = 0.0
        self.cost = cost

    def __call__(self) -> float:
        self.now += self.cost
        return self.now


def window(watts: float, hot: bool = True, index: int = 0) -> list[Fact]:
    return [fact("gpu.watts", watts, gpu(index)), fact("gpu.hot", hot, gpu(index))]


def feed(
    watching: Watching, windows: list[list[Fact]], cost: float = 0.0, begin: float = 0.0
) -> list[tuple[str, bool]]:
    clock, turns = Clock(cost), []
    for number, facts in enumerate(windows):
        for turn in watching.take(facts, begin + 5.0 * number, clock):
            turns.append((turn.key[1], turn.appeared))
    return turns


def test_a_cause_is_told_once_for_each_gpu_and_once_when_it_clears(kb: KnowledgeBase) -> None:
    hot = [*window(350.0), *window(360.0, index=1)]
    turns = feed(Watching(kb), [hot] * 10 + [window(350.0) + window(360.0, False, 1)] * 5)
    assert turns == [("gpu:0", True), ("gpu:1", True), ("gpu:1", False)]


def test_a_window_that_is_as_the_last_one_is_not_judged_again(kb: KnowledgeBase) -> None:
    watching = Watching(kb)
    assert feed(watching, [window(350.0 + number) for number in range(10)]) == [("gpu:0", True)]
    assert (watching.windows, watching.evaluations) == (10, 1)  # a few watts of 350, never across 300
    feed(watching, [window(299.0)], begin=50.0)
    assert watching.evaluations == 2


def test_facts_are_judged_anew_after_a_while(kb: KnowledgeBase) -> None:
    watching = Watching(kb)
    feed(watching, [window(350.0)] * int(STALE_SECONDS / 5 + 1))
    assert watching.evaluations == 2


def test_judging_that_costs_much_waits_and_counts_for_nothing_meanwhile(kb: KnowledgeBase) -> None:
    watching = Watching(kb)
    # Each judgement costs 0.04 s: the next one may come after 20 s, the fifth window.
    assert pytest.approx(0.04 / COST_SHARE) == 20.0
    flapping = [window(350.0), window(250.0), window(350.0), window(250.0), window(350.0)]
    assert feed(watching, flapping, cost=0.04) == [("gpu:0", True)]  # first, third and fifth are as it was judged
    assert watching.evaluations == 1
    feed(watching, [window(250.0)], cost=0.04, begin=25.0)
    assert watching.evaluations == 2


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        ([fact("gpu.watts", 350.0, gpu(0))], [fact("gpu.watts", 351.0, gpu(0))], False),
        ([fact("gpu.watts", 350.0, gpu(0))], [fact("gpu.watts", 400.0, gpu(0))], True),
        ([fact("gpu.watts", 301.0, gpu(0))], [fact("gpu.watts", 300.0, gpu(0))], True),
        ([fact("gpu.watts", 300.0, gpu(0))], [fact("gpu.watts", 299.9, gpu(0))], True),
        ([fact("gpu.hot", True, gpu(0))], [fact("gpu.hot", False, gpu(0))], True),
        ([fact("gpu.watts", 350.0, gpu(0))], [fact("gpu.watts", 350.0, gpu(1))], True),
        ([fact("gpu.watts", 350.0, gpu(0))], [], True),
        ([fact("job.share", 0.1)], [fact("job.share", 0.9)], False),
    ],
    ids=["little", "a-tenth", "onto-a-threshold", "below-it", "a-word", "another-gpu", "gone", "nobody-reads-it"],
)
def test_what_counts_as_a_change(kb: KnowledgeBase, before: list[Fact], now: list[Fact], moved: bool) -> None:
    changes = Changes(kb)
    changes.judged(changes.of(before))
    assert bool(list(changes.since(changes.of(now)))) is moved
