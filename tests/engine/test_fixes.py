"""In which order fixes are offered: for this case first, then what may be, last what would not help."""

from __future__ import annotations

from dataclasses import replace

from gpuwhy.engine.fixes import offers
from gpuwhy.engine.view import World
from gpuwhy.kb import outlines
from gpuwhy.kb.conditions import Condition
from gpuwhy.kb.facts import JOB, Fact
from gpuwhy.kb.model import Exclusion, Fix
from tests.engine.small import SPECS, base, fact, is_, knowledge

FLAG = is_("job.flag", "eq", True)


def fix(name: str, order: int, when: Condition | None = None, *unless: Exclusion) -> Fix:
    return Fix(
        id=name, version="1.0.0", status="stable", title=name, file="", conclusions=("slow.one",), order=order,
        scope="job", when=when, unless=unless,
    )  # fmt: skip


FIXES = (fix("fix.special", 1, FLAG), fix("fix.general", 2), fix("fix.useless", 0, None, Exclusion(FLAG, "it is set")))


def offered(*facts: Fact) -> list[tuple[str, bool]]:
    kb = replace(knowledge(), fixes=outlines.of_fixes(FIXES))
    return [(one.fix.id, one.offered) for one in offers(kb, "slow.one", World(SPECS, base(*facts)), JOB)]


def test_what_is_for_this_case_comes_in_its_order_and_what_would_not_help_last() -> None:
    assert offered(fact("job.flag", True)) == [("fix.special", True), ("fix.general", True), ("fix.useless", False)]


def test_what_nothing_says_is_for_this_case_comes_after_what_is() -> None:
    assert [name for name, _ in offered()] == ["fix.useless", "fix.general", "fix.special"]


def test_what_is_for_another_case_is_not_offered() -> None:
    assert [name for name, _ in offered(fact("job.flag", False))] == ["fix.useless", "fix.general"]
