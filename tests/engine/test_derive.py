"""Derived facts: to any depth, with what they came from, and never over a reading."""

from __future__ import annotations

import pytest

from gpuwhy.engine.derive import derive, target_of
from gpuwhy.kb.conditions import Not
from gpuwhy.kb.facts import HOST, JOB, Entity, Fact, OriginKind, Value, gpu
from gpuwhy.kb.model import Derivation
from tests.engine.small import derivation, fact, is_, world


def values(rules: list[Derivation], *facts: Fact) -> dict[str, Value]:
    made = world(*facts)
    found = derive(rules, made)
    return {f"{name} {entity.path}": made.base.by_key[(name, entity)].value for name, entity in found}


SPARE = derivation("gpu.spare", "gpu", "gpu.limit - gpu.watts")


def test_each_gpu_gets_its_own_and_chains_go_to_any_depth() -> None:
    rules = [
        SPARE,
        derivation("job.total", "job", "sum_over(gpu.spare)"),
        derivation("job.share", "job", "job.total / sum_over(gpu.limit)"),
        derivation("job.flag", "job", when=is_("job.share", "gt", 0.2), value=True),
    ]
    facts = [fact("gpu.limit", 400.0, gpu(n)) for n in range(2)] + [
        fact("gpu.watts", 300.0 - 50 * n, gpu(n)) for n in range(2)
    ]
    assert values(rules, *facts) == {
        "gpu.spare gpu:0": 100.0,
        "gpu.spare gpu:1": 150.0,
        "job.total job:this": 250.0,
        "job.share job:this": 0.3125,  # 250 of 800
        "job.flag job:this": True,
    }


def test_a_derived_fact_says_what_it_came_from() -> None:
    limit, watts, hot = (
        fact("gpu.limit", 400.0, gpu(0)),
        fact("gpu.watts", 300.0, gpu(0)),
        fact("gpu.hot", True, gpu(0)),
    )
    rule = derivation("gpu.spare", "gpu", "gpu.limit - gpu.watts", when=is_("gpu.hot", "eq", True))
    made = world(limit, watts, hot)
    found = derive([rule], made)[("gpu.spare", gpu(0))]
    assert (found.derivation, set(found.inputs)) == (rule, {limit, watts, hot})
    origin = made.base.by_key[("gpu.spare", gpu(0))].origin
    assert (origin.kind, origin.source) == (OriginKind.DERIVED, "derive.gpu.spare")


@pytest.mark.parametrize("kind", [OriginKind.MEASURED, OriginKind.PERSON, OriginKind.CATALOGUE])
def test_a_fact_that_is_known_is_left_alone(kind: OriginKind) -> None:
    facts = [fact("gpu.limit", 400.0, gpu(0)), fact("gpu.watts", 300.0, gpu(0)), fact("gpu.spare", 1.0, gpu(0), kind)]
    assert values([SPARE], *facts) == {}


def test_of_two_derivations_the_first_that_gives_something_wins() -> None:
    first = derivation("job.share", "job", "1 / job.total", name="derive.first")
    second = derivation("job.share", "job", "job.total", name="derive.second")
    assert values([first, second], fact("job.total", 4.0)) == {"job.share job:this": 0.25}
    assert values([first, second], fact("job.total", 0.0)) == {"job.share job:this": 0.0}


@pytest.mark.parametrize(("flag", "mode"), [(True, "train"), (False, "serve"), (None, None)])
def test_a_value_follows_its_condition_and_unknown_gives_nothing(flag: bool | None, mode: str | None) -> None:
    rule = derivation("job.mode", "job", when=is_("job.flag", "eq", True), value="train", otherwise="serve")
    known = [] if flag is None else [fact("job.flag", flag)]
    assert values([rule], *known) == ({} if mode is None else {"job.mode job:this": mode})


def test_a_formula_needs_its_condition() -> None:
    rule = derivation("job.total", "job", "host.cores * 2", when=Not(is_("job.flag", "eq", True)))
    assert values([rule], fact("host.cores", 4), fact("job.flag", False)) == {"job.total job:this": 8.0}
    assert values([rule], fact("host.cores", 4), fact("job.flag", True)) == {}
    assert values([rule], fact("host.cores", 4)) == {}


def test_an_integer_fact_is_a_whole_number() -> None:
    (value,) = values([derivation("job.whole", "job", "job.total / 3")], fact("job.total", 8.0)).values()
    assert (value, type(value)) == (3, int)  # 2.67


def test_a_deprecated_derivation_gives_nothing() -> None:
    assert values([derivation("job.total", "job", "1", status="deprecated")]) == {}


def test_what_a_gpu_derives_about_the_job_is_about_the_job_and_a_job_derives_nothing_about_a_gpu() -> None:
    assert values([derivation("job.total", "gpu", "gpu.watts")], fact("gpu.watts", 5.0, gpu(1))) == {
        "job.total job:this": 5.0
    }
    assert values([derivation("gpu.spare", "job", "gpu.watts")], fact("gpu.watts", 5.0, gpu(1))) == {}
    failure = Entity("failure", "1", gpu(1))
    assert [target_of(kind, failure) for kind in ("failure", "gpu", "host", "job", "process")] == [
        failure,
        gpu(1),
        HOST,
        JOB,
        None,
    ]
