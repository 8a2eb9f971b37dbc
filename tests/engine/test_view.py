"""What an entity sees: its own facts, those of what it belongs to, the only one of a kind, and aggregates."""

from __future__ import annotations

import pytest

from gpuwhy.engine.view import World
from gpuwhy.kb.facts import HOST, JOB, Absent, Entity, Fact, FactBase, Origin, OriginKind, Value, gpu
from tests.engine.small import SPECS, base, fact, ref, world

FAILURE = Entity("failure", "1", gpu(1))


def seen(made: World, name: str, entity: Entity) -> Value | None:
    found = made.get(ref(name), entity)
    return None if found is None else found.value


def test_a_gpu_sees_its_own_facts_and_those_of_its_host_and_of_the_job() -> None:
    made = world(
        fact("gpu.watts", 5.0, gpu(0)), fact("gpu.watts", 7.0, gpu(1)), fact("host.cores", 8), fact("job.share", 0.1)
    )
    assert [seen(made, name, gpu(1)) for name in ("gpu.watts", "host.cores", "job.share")] == [7.0, 8, 0.1]


def test_a_failure_sees_the_gpu_it_happened_on() -> None:
    made = world(fact("gpu.watts", 5.0, gpu(0)), fact("gpu.watts", 7.0, gpu(1)), fact("failure.size", 1.0, FAILURE))
    assert seen(made, "gpu.watts", FAILURE) == 7.0
    assert seen(made, "failure.size", gpu(1)) == 1.0  # the only failure there is


def test_a_job_sees_the_only_gpu_and_of_two_none_with_the_reason() -> None:
    assert seen(world(fact("gpu.watts", 5.0, gpu(3))), "gpu.watts", JOB) == 5.0
    two = world(fact("gpu.watts", 5.0, gpu(0)), fact("gpu.hot", True, gpu(1)))
    assert seen(two, "gpu.watts", JOB) is None
    assert two.why_unknown(ref("gpu.watts"), JOB) == "there are 2 of kind gpu"


def test_what_could_not_be_read_says_why() -> None:
    absent = Absent("gpu.watts", gpu(0), "[N/A]", Origin(OriginKind.ARTEFACT, "smi.txt", 4))
    made = World(SPECS, FactBase.of([fact("gpu.hot", True, gpu(0))], [absent]))
    assert made.why_unknown(ref("gpu.watts"), gpu(0)) == "could not be read: [N/A]"
    assert made.why_unknown(ref("gpu.limit"), gpu(0)) == "not known"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max(gpu.watts)", 8.0),
        ("min(gpu.watts)", 1.0),
        ("mean(gpu.watts)", 4.0),  # (1 + 3 + 4 + 8) / 4
        ("median(gpu.watts)", 3.5),  # between 3 and 4
        ("sum(gpu.watts)", 16.0),
        ("count(gpu.watts)", 4.0),
        ("count(gpu.hot)", 1.0),
        ("sum(gpu.limit)", None),
        ("count(gpu.limit)", None),
        ("max(job.mode)", None),
    ],
)
def test_aggregates_are_over_present_readings_and_the_same_from_everywhere(name: str, value: float | None) -> None:
    watts = [fact("gpu.watts", float(number), gpu(at)) for at, number in enumerate((3, 8, 1, 4))]
    made = world(*watts, fact("gpu.hot", True, gpu(7)), fact("job.mode", "train"))
    for entity in (HOST, JOB, gpu(0), gpu(7)):
        assert seen(made, name, entity) == value


def test_an_aggregate_of_one_reading_keeps_its_origin_and_of_several_says_of_how_many() -> None:
    one = fact("gpu.watts", 5.0, gpu(0))
    found = world(one).get(ref("max(gpu.watts)"), JOB)
    assert found is not None
    assert found.origin == one.origin
    found = world(one, fact("gpu.watts", 6.0, gpu(1))).get(ref("max(gpu.watts)"), JOB)
    assert found is not None
    assert found.origin.source == "max over 2 of kind gpu"


def test_a_sum_beyond_all_numbers_is_unknown() -> None:
    made = world(fact("gpu.watts", 1.7e308, gpu(0)), fact("gpu.watts", 1.7e308, gpu(1)))
    assert seen(made, "sum(gpu.watts)", JOB) is None
    assert seen(made, "max(gpu.watts)", JOB) == 1.7e308


def test_the_better_origin_wins_whichever_came_first_and_the_other_reading_is_kept() -> None:
    measured = fact("gpu.watts", 300.0, gpu(0), OriginKind.MEASURED)
    said = fact("gpu.watts", 200.0, gpu(0), OriginKind.PERSON)
    for order in ((measured, said), (said, measured)):
        made = base(*order)
        assert made.get("gpu.watts", gpu(0)) == measured
        assert [(one.kept, one.dropped) for one in made.contradictions] == [(measured, said)]


def test_of_two_equal_origins_the_later_reading_wins_and_rounding_is_no_contradiction() -> None:
    made = base(fact("gpu.watts", 300.0, gpu(0)), fact("gpu.watts", 302.0, gpu(0)))
    assert made.by_key[("gpu.watts", gpu(0))].value == 302.0
    assert made.contradictions == ()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_fact(value: float) -> None:
    with pytest.raises(ValueError, match="leave the fact out"):
        Fact("gpu.watts", value, "watts", gpu(0), Origin(OriginKind.MEASURED, "test"))


def test_there_is_always_a_host_and_a_job() -> None:
    assert (world().entities("host"), world().entities("job"), world().entities("gpu")) == ([HOST], [JOB], [])
