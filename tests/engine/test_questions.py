"""The next best question: what separates most for its effort, about the right thing, and only what can be learnt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.engine.model import Question
from gpuwhy.kb.conditions import All, Not
from gpuwhy.kb.facts import HOST, JOB, Absent, Fact, Origin, OriginKind, gpu
from gpuwhy.kb.model import Answer, Derivation, Exclusion, FactSpec, Obtain, Signature
from tests.engine.small import SPECS, base, derivation, fact, is_, knowledge, signature


def askable(**efforts: str) -> dict[str, FactSpec]:
    """The vocabulary, where these facts (`__` for the dot) can be learnt with that effort."""
    found = dict(SPECS)
    for name, effort in efforts.items():
        spec = found[name.replace("__", ".")]
        how = Obtain(effort, f"look at {spec.id}", f"show {spec.id}")
        found[spec.id] = replace(spec, ask=f"What is {spec.id}?", obtain=(how,))
    return found


def asked(
    specs: dict[str, FactSpec], signatures: Iterable[Signature], *facts: Fact, derivations: Iterable[Derivation] = ()
) -> list[Question]:
    return list(diagnose(knowledge(derivations, signatures, specs=specs), base(*facts)).questions)


FLAG, TRAINS = is_("job.flag", "eq", True), is_("job.mode", "eq", "train")


def test_the_fact_that_separates_two_causes_is_asked() -> None:
    both = [signature("sig.a", "job", FLAG, "slow.a"), signature("sig.b", "job", Not(FLAG), "slow.b")]
    (question,) = asked(askable(job__flag="question"), both)
    assert (question.fact, question.entity, question.separates) == ("job.flag", JOB, ("slow.a", "slow.b"))
    assert (question.ask, question.how, question.command) == ("What is job.flag?", "look at job.flag", "show job.flag")


def test_the_question_that_settles_more_comes_first() -> None:
    some = [
        signature("sig.a", "job", FLAG, "slow.a"),
        signature("sig.b", "job", Not(FLAG), "slow.b"),
        signature("sig.c", "job", TRAINS, "slow.c"),
    ]
    found = asked(askable(job__flag="question", job__mode="question"), some)
    assert [one.fact for one in found] == ["job.flag", "job.mode"]


def test_a_free_reading_comes_before_a_restart() -> None:
    some = [signature("sig.a", "job", FLAG, "slow.a"), signature("sig.c", "job", TRAINS, "slow.c")]
    found = asked(askable(job__flag="restart", job__mode="reading"), some)
    assert [(one.fact, one.effort) for one in found] == [("job.mode", "reading"), ("job.flag", "restart")]


def test_the_cheapest_way_to_learn_it_is_told() -> None:
    specs = askable(job__flag="restart")
    cheap = Obtain("reading", "it is printed", "cat log")
    specs["job.flag"] = replace(specs["job.flag"], obtain=(*specs["job.flag"].obtain, cheap))
    (question,) = asked(specs, [signature("sig.a", "job", FLAG)])
    assert (question.effort, question.how, question.command) == ("reading", "it is printed", "cat log")


def test_what_nobody_can_learn_is_not_asked() -> None:
    assert asked(SPECS, [signature("sig.a", "job", FLAG)]) == []


def test_what_is_known_is_not_asked() -> None:
    assert asked(askable(job__flag="question"), [signature("sig.a", "job", FLAG)], fact("job.flag", True)) == []


def test_what_would_change_nothing_is_not_asked() -> None:
    never = signature("sig.a", "job", All((FLAG, is_("job.share", "gt", 0.5), is_("job.total", "gt", 1.0))))
    specs = askable(job__flag="question")
    found = asked(specs, [never])
    assert [one.fact for one in found] == ["job.flag"]  # "no" would rule it out
    assert asked(specs, [never], fact("job.share", 0.1)) == []  # ruled out already


def test_a_fact_that_a_derivation_needs_is_asked_for() -> None:
    steps = [derivation("job.share", "job", "job.total / 100")]
    found = asked(
        askable(job__total="reading"),
        [
            signature("sig.a", "job", is_("job.total", "gt", 5.0)),
            signature("sig.b", "job", is_("job.share", "gt", 0.5), "slow.b"),
        ],
        derivations=steps,
    )
    assert [one.fact for one in found] == ["job.total"]


def test_the_question_is_about_the_gpu_that_is_there() -> None:
    some = [signature("sig.a", "job", is_("gpu.hot", "eq", True))]
    (question,) = asked(askable(gpu__hot="reading"), some, fact("gpu.watts", 5.0, gpu(3)))
    assert question.entity == gpu(3)


def test_a_second_gpu_of_which_no_rule_reads_anything_is_not_forgotten() -> None:
    some = [signature("sig.a", "job", is_("gpu.hot", "eq", True))]
    facts = [fact("gpu.watts", 5.0, gpu(number)) for number in range(2)]
    # an answer about one of two says nothing of "the" GPU
    assert asked(askable(gpu__hot="reading"), some, *facts) == []


def test_the_question_about_one_gpu_of_two_is_about_that_one() -> None:
    some = [signature("sig.a", "gpu", is_("gpu.hot", "eq", True), given=is_("gpu.watts", "gt", 6.0))]
    facts = [fact("gpu.watts", 5.0, gpu(0)), fact("gpu.watts", 7.0, gpu(1))]
    (question,) = asked(askable(gpu__hot="reading"), some, *facts)
    assert question.entity == gpu(1)


def test_a_number_is_tried_on_both_sides_of_its_threshold() -> None:
    some = [
        signature("sig.a", "job", is_("host.cores", "lt", 8), "slow.a"),
        signature("sig.b", "job", is_("host.cores", "ge", 8), "slow.b"),
    ]
    (question,) = asked(askable(host__cores="reading"), some)
    assert (question.entity, question.separates) == (HOST, ("slow.a", "slow.b"))


def test_what_keeps_a_likely_cause_from_being_confirmed_is_asked() -> None:
    some = [signature("sig.a", "job", TRAINS, confirms=TRAINS, excludes=(Exclusion(FLAG, "flagged"),))]
    (question,) = asked(askable(job__flag="question"), some, fact("job.mode", "train"))
    assert question.fact == "job.flag"


def test_what_would_exclude_but_may_stay_unknown_is_not_waited_for() -> None:
    ignored = Exclusion(FLAG, "flagged", demotes=False)
    some = [signature("sig.a", "job", All((TRAINS, is_("job.share", "gt", 0.5))), excludes=(ignored,))]
    found = asked(askable(job__flag="question", job__share="reading"), some, fact("job.mode", "train"))
    assert [one.fact for one in found] == ["job.share"]


def test_the_answers_a_person_may_give_come_with_the_question() -> None:
    specs = askable(job__mode="question")
    answers = (Answer("train", "it trains"), Answer("serve", "it serves"))
    specs["job.mode"] = replace(specs["job.mode"], answers=answers)
    (question,) = asked(specs, [signature("sig.a", "job", TRAINS)])
    assert question.answers == (("train", "it trains"), ("serve", "it serves"))


def asked_about(
    specs: dict[str, FactSpec], areas: tuple[str, ...], *facts: Fact, derivations: Iterable[Derivation] = ()
) -> list[str]:
    found = diagnose(knowledge(derivations, GATED, specs=specs), base(*facts), areas=areas)
    return [one.fact for one in found.questions]


GATED = [
    signature("sig.a", "job", TRAINS, "slow.a", given=FLAG),
    signature("sig.b", "job", is_("job.share", "gt", 0.5), "slow.b", given=Not(FLAG)),
]


def test_where_nothing_is_known_the_trouble_says_what_is_asked_about() -> None:
    specs = askable(job__flag="question")
    assert asked_about(specs, ()) == []
    assert asked_about(specs, ("oom",)) == []
    assert asked_about(specs, ("slow",)) == ["job.flag"]  # it opens the way to either cause


def test_a_trouble_that_is_told_says_what_is_asked_about() -> None:
    specs = askable(job__flag="question")
    specs["job.mode"] = replace(specs["job.mode"], areas=("slow",))
    specs["gpu.hot"] = replace(specs["gpu.hot"], areas=("slow",))
    assert asked_about(specs, (), fact("job.mode", "train")) == ["job.flag"]
    assert asked_about(specs, ("oom",), fact("job.mode", "train")) == []  # whoever asks knows better
    assert asked_about(specs, (), fact("gpu.hot", False, gpu(0))) == []  # it is told not to be so


PARTS = [derivation("job.share", "job", "job.total / host.cores")]


@pytest.mark.parametrize("areas", [(), ("slow",)], ids=["no trouble named", "something is slow"])
def test_facts_that_decide_only_together_are_asked_where_none_decides_alone(areas: tuple[str, ...]) -> None:
    specs = askable(job__total="reading", host__cores="reading")
    unknown = fact("job.flag", False)
    assert set(asked_about(specs, areas, unknown, derivations=PARTS)) == {"job.total", "host.cores"}


def test_a_fact_that_decides_alone_is_asked_before_those_that_decide_together() -> None:
    specs = askable(job__total="reading", host__cores="reading", job__share="reading")
    assert asked_about(specs, (), fact("job.flag", False), derivations=PARTS) == ["job.share"]


def test_what_is_known_already_is_not_asked() -> None:
    specs = askable(job__total="reading", host__cores="reading")
    known = (fact("job.flag", False), fact("job.total", 4.0))
    assert asked_about(specs, (), *known, derivations=PARTS) == ["host.cores"]


def test_once_a_cause_stands_the_others_of_its_area_are_left_alone() -> None:
    specs = askable(job__share="reading", job__mode="question")
    assert asked_about(specs, ("slow",), fact("job.flag", True), fact("job.mode", "train")) == []


def not_known(*facts: str) -> tuple[Absent, ...]:
    """These facts of the job, to which the answer was "don't know"."""
    return tuple(Absent(one, JOB, "unknown", Origin(OriginKind.PERSON, "answer")) for one in facts)


def asked_after(specs: dict[str, FactSpec], signatures: list[Signature], *refused: str) -> list[str]:
    known = replace(base(), absent=not_known(*refused))
    return [one.fact for one in diagnose(knowledge((), signatures, specs=specs), known, areas=("slow",)).questions]


TOGETHER = [
    signature("sig.a", "job", TRAINS, "slow.a", given=FLAG),
    signature("sig.b", "job", is_("job.share", "gt", 0.5), "slow.b", given=is_("job.share", "known")),
]


def test_what_counts_only_beside_a_fact_that_nobody_knows_is_not_asked() -> None:
    specs = askable(job__flag="question", job__mode="question", job__share="reading")
    assert set(asked_after(specs, TOGETHER)) == {"job.flag", "job.mode", "job.share"}
    assert asked_after(specs, TOGETHER, "job.mode") == ["job.share"]  # without the mode slow.a cannot come to hold


def test_what_counts_only_beside_a_fact_that_nobody_can_be_asked_for_is_not_asked() -> None:
    specs = askable(job__flag="question", job__share="reading")
    assert asked_after(specs, TOGETHER) == ["job.share"]


def test_where_answers_decide_nothing_what_brings_a_cause_into_play_is_asked() -> None:
    gated = [signature("sig.a", "job", TRAINS, "slow.a", given=FLAG)]
    assert asked_after(askable(job__flag="question"), gated) == ["job.flag"]


def test_a_shorter_way_to_a_conclusion_is_gone_first() -> None:
    specs = askable(job__flag="question", job__mode="question", host__word="question")
    some = [
        signature("sig.a", "job", All((TRAINS, is_("host.word", "eq", "x"))), "slow.a"),
        signature("sig.b", "job", FLAG, "slow.b"),
    ]
    assert asked_after(specs, some)[0] == "job.flag"


def test_whoever_does_not_know_one_fact_of_a_kind_is_asked_for_another_kind_first() -> None:
    specs = askable(job__flag="question", job__mode="question", host__cores="question")
    some = [
        signature("sig.a", "job", FLAG, "slow.a"),
        signature("sig.b", "job", TRAINS, "slow.b"),
        signature("sig.c", "host", is_("host.cores", "lt", 4), "slow.c"),
    ]
    assert asked_after(specs, some)[:2] == ["job.flag", "job.mode"]  # a number has to be typed
    assert asked_after(specs, some, "job.flag", "job.whole") == ["host.cores", "job.mode"]


def test_what_is_seen_of_one_trouble_is_not_asked_about_another_or_about_none() -> None:
    specs = askable(job__flag="question", job__mode="question")
    specs["job.flag"] = replace(specs["job.flag"], areas=("oom",))
    some = [signature("sig.a", "job", FLAG, "slow.a"), signature("sig.b", "job", TRAINS, "slow.b")]
    assert asked_after(specs, some) == ["job.mode"]
    assert [one.fact for one in asked(specs, some)] == ["job.mode"]
