"""Readings become facts: typed and with units, about the right failure of the right card."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.kb.facts import HOST, JOB, Entity, Value, gpu
from gpuwhy.kb.model import FactSpec
from gpuwhy.probes.artefacts.attach import attach, typed
from gpuwhy.probes.artefacts.contract import Extract, Missing, Reading

SPECS = {
    spec.id: spec
    for spec in (
        FactSpec("oom.request_bytes", "failure", "number", "", "bytes"),
        FactSpec("oom.capacity_bytes", "failure", "number", "", "bytes"),
        FactSpec("oom.device_index", "failure", "integer", ""),
        FactSpec("gpu.memory_total_bytes", "gpu", "number", "", "bytes"),
        FactSpec("gpu.name", "gpu", "text", ""),
        FactSpec("job.container", "job", "boolean", ""),
        FactSpec("job.kind", "job", "choice", "", choices=("train", "serve")),
    )
}
GIB = 2.0**30


def failure(name: str, parent: Entity = JOB) -> Entity:
    return Entity("failure", name, parent)


def figures(name: str, request: float, capacity: float, parent: Entity = JOB) -> tuple[Reading, ...]:
    return (
        Reading("oom.request_bytes", request * GIB, 1, None, failure(name, parent)),
        Reading("oom.capacity_bytes", capacity * GIB, 1, None, failure(name, parent)),
    )


def paths(*extracts: Extract) -> list[str]:
    facts, _, _ = attach([(f"a{n}", one) for n, one in enumerate(extracts)], SPECS)
    return list(dict.fromkeys(fact.entity.path for fact in facts))


def test_a_fact_has_the_unit_of_the_vocabulary_and_the_place_of_the_reading() -> None:
    reading = Reading("oom.request_bytes", 5.0, 7, "5 B", failure("1"), "12:00", 2.0)
    (fact,), _, _ = attach([("log", Extract("f", (reading,)))], SPECS)
    assert (fact.value, fact.unit, fact.origin.where(), fact.origin.text) == (5.0, "bytes", "log:7", "5 B")
    assert (fact.observed_at, fact.window_seconds) == ("12:00", 2.0)


@pytest.mark.parametrize(
    ("fact", "value", "expected"),
    [
        ("oom.request_bytes", 5, 5),
        ("oom.request_bytes", 5.5, 5.5),
        ("oom.request_bytes", "5", None),
        ("oom.request_bytes", True, None),
        ("oom.request_bytes", float("nan"), None),
        ("oom.request_bytes", float("inf"), None),
        ("oom.request_bytes", 10**400, None),
        ("oom.device_index", 1.0, 1),
        ("oom.device_index", 1.5, None),
        ("oom.device_index", float("-inf"), None),
        ("job.container", True, True),
        ("job.container", 1, None),
        ("job.container", "yes", None),
        ("job.kind", "train", "train"),
        ("job.kind", "sing", None),
        ("gpu.name", "Tesla T4", "Tesla T4"),
        ("gpu.name", 4, None),
    ],
)
def test_a_value_fits_the_vocabulary_or_is_none(fact: str, value: Value, expected: Value | None) -> None:
    found = typed(value, SPECS[fact])
    assert (found, type(found)) == (expected, type(expected))


@given(st.sampled_from(sorted(SPECS)), st.booleans() | st.integers() | st.floats() | st.text(max_size=9))
def test_any_value_is_a_fact_or_odd(fact: str, value: Value) -> None:
    facts, _, odd = attach([("a", Extract("f", (Reading(fact, value, 3),)))], SPECS)
    assert len(facts) + len(odd) == 1
    assert not odd or odd[0][:2] == ("a", 3)


def test_what_does_not_fit_and_what_has_no_word_is_told() -> None:
    extract = Extract("f", (Reading("no.such_fact", 1, 4), Reading("job.container", "perhaps", 5)))
    facts, _, odd = attach([("log", extract)], SPECS)
    assert facts == []
    assert [(name, line) for name, line, _ in odd] == [("log", 4), ("log", 5)]
    assert "`no.such_fact` = 1 does not fit" in odd[0][2]


def test_a_number_that_none_is_that_large_is_told_without_its_digits() -> None:
    facts, _, odd = attach([("log", Extract("f", (Reading("oom.request_bytes", 10**400, 4),)))], SPECS)
    assert (facts, odd) == ([], [("log", 4, "`oom.request_bytes` is not readable: no number is that large")])


def test_a_missing_reading_keeps_its_reason() -> None:
    extract = Extract("f", missing=(Missing("gpu.name", "N/A", 2, gpu(0)), Missing("no.such_fact", "N/A", 3)))
    _, (absent,), _ = attach([("log", extract)], SPECS)
    assert (absent.id, absent.entity, absent.reason, absent.origin.where()) == ("gpu.name", gpu(0), "N/A", "log:2")


def test_failures_are_numbered_through_all_artefacts() -> None:
    first = Extract("f", (*figures("1", 1.5, 24, gpu(0)), *figures("2", 3, 24, gpu(0))))
    second = Extract("g", figures("1", 2, 40))
    assert paths(first, second) == ["gpu:0/failure:1", "gpu:0/failure:2", "job:this/failure:3"]


def test_the_same_failure_in_two_artefacts_is_one() -> None:
    assert paths(Extract("f", figures("1", 1.5, 24)), Extract("f", figures("9", 1.5, 24))) == ["job:this/failure:1"]


@pytest.mark.parametrize(
    ("printed", "listed", "path"),
    [
        (23.69, 24.0, "gpu:0/failure:1"),  # a message counts what the card leaves to programs: 1.3 % less
        (14.58, 15.0, "gpu:0/failure:1"),
        (79.15, 24.0, "job:this/failure:1"),
        (11.17, 24.0, "job:this/failure:1"),
    ],
)
def test_a_failure_belongs_to_a_listed_gpu_only_if_the_sizes_agree(printed: float, listed: float, path: str) -> None:
    table = Extract("smi", (Reading("gpu.memory_total_bytes", listed * GIB, 1, None, gpu(0)),))
    assert path in paths(table, Extract("oom", figures("1", 1.5, printed, gpu(0))))


def test_a_failure_of_a_gpu_that_no_table_lists_stays_with_it() -> None:
    table = Extract("smi", (Reading("gpu.memory_total_bytes", 24 * GIB, 1, None, gpu(0)),))
    assert "gpu:3/failure:1" in paths(table, Extract("oom", figures("1", 1.5, 79, gpu(3))))


def test_facts_of_the_host_stay_where_they_are() -> None:
    facts, _, _ = attach([("a", Extract("f", (Reading("job.container", True, 1, None, HOST),)))], SPECS)
    assert facts[0].entity == HOST
