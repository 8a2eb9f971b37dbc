"""Facts files: what is written reads back the same, and what is not a sound facts file is refused or told."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gpuwhy.kb.fact_file import FactFileError, dump, load, parse
from gpuwhy.kb.facts import HOST, JOB, Absent, Entity, Fact, Origin, OriginKind, gpu
from tests.conftest import ROOT

SCHEMA = json.loads((ROOT / "tui" / "schema" / "facts-1.schema.json").read_text("utf-8"))
NVML = Origin(OriginKind.MEASURED, "nvml", None, "median of 12 samples")
FACT = Fact("gpu.power_watts", 391.25, "watts", gpu(0), NVML, "2026-11-30T02:15:06.356Z", 18.0)
ABSENT = Absent("gpu.fan_share", gpu(0), "not supported", Origin(OriginKind.MEASURED, "nvml"))


def changed(**keys: Any) -> str:
    """The file of one fact and one absent reading with other top-level keys; None takes a key out."""
    document = json.loads(dump([FACT], [ABSENT])) | keys
    return json.dumps({key: value for key, value in document.items() if value is not None})


def fact_with(**keys: Any) -> str:
    """The same with other keys of its fact."""
    return changed(facts=[json.loads(dump([FACT]))["facts"][0] | keys])


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
parents = st.sampled_from([HOST, JOB, gpu(0), gpu("0/process:1")])
entities = st.one_of(
    parents,
    st.builds(lambda name: Entity("process", name, gpu(0)), texts),
    st.builds(lambda name, index: Entity("partition", name, gpu(index)), texts, texts),
    st.builds(lambda name: Entity("failure", name, Entity("job", name, HOST)), texts),
)
values = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**64), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=40)
)
origins = st.builds(
    Origin, st.sampled_from(OriginKind), texts, st.none() | st.integers(1, 10**9), st.none() | st.text(max_size=40)
)
facts = st.builds(
    Fact, texts, values, st.none() | texts, entities, origins, st.none() | texts, st.none() | st.floats(0, 1e9)
)
absents = st.builds(Absent, texts, entities, texts, origins)


@given(st.lists(facts, max_size=6), st.lists(absents, max_size=4), st.booleans())
def test_what_is_written_reads_back_the_same(found: list[Fact], lacking: list[Absent], ascii_only: bool) -> None:
    text = dump(found, lacking, ascii_only)
    assert load(text) == (found, lacking)
    # true, 1 and 1.0 are equal in Python: the types must come back as well
    assert [type(one.value) for one in load(text)[0]] == [type(one.value) for one in found]
    assert not ascii_only or text.isascii()
    Draft202012Validator(SCHEMA).validate(json.loads(text))


def test_each_fact_stands_on_a_line_of_its_own() -> None:
    lines = dump([FACT, FACT], [ABSENT]).splitlines()
    assert sum('"gpu.power_watts"' in line for line in lines) == 2
    assert sum('"gpu.fan_share"' in line for line in lines) == 1


def test_an_empty_file_is_a_file() -> None:
    assert load(dump([])) == ([], [])


def test_entities_whose_paths_look_alike_stay_apart() -> None:
    # a GPU that is called `0/process:1`, and process 1 of GPU 0
    one, other = gpu("0/process:1"), Entity("process", "1", gpu(0))
    assert one.path == other.path
    found = [Fact("x.y", 1, None, one, NVML), Fact("x.y", 2, None, other, NVML)]
    assert load(dump(found))[0] == found


def test_facts_of_a_newer_vocabulary_are_kept() -> None:
    found = [Fact("gpu.word_of_tomorrow", 1.5, "furlongs", gpu(0), NVML)]
    assert load(dump(found))[0] == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a facts file"),
        ("[]", "not a facts file"),
        ("{", "not a facts file"),
        ("null", "not a facts file"),
        ("[" * 100_000, "nested too deeply"),
        ('{"schema": 1, "conclusions": []}', "not a facts file"),
        (changed(schema=2), "a facts file of schema 2, and this version reads 1: use a newer gpuwhy"),
        (changed(schema="1"), "schema '1'"),
        (changed(schema=True), "schema True"),
        (changed(schema=None), "schema None"),
        (changed(format="other"), "not a facts file"),
        ('{"format": "gpuwhy-facts", "format": "gpuwhy-facts", "schema": 1}', "a key stands twice"),
        ('{"format": "gpuwhy-facts", "schema": 1, "facts": [NaN]}', "NaN is no number"),
    ],
)
def test_what_is_no_facts_file_of_this_version_is_refused(text: str, told: str) -> None:
    with pytest.raises(FactFileError, match=told.replace("[", r"\[")):
        parse(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (changed(extra=1), "`extra` is no key of a facts file"),
        (changed(facts={}), "`facts` is no list"),
        (changed(facts=[1]), r"facts\[0\]: it is no object"),
        (changed(entities=[]), "`entities` is no object"),
        (changed(entities={"gpu:0": {"kind": "car", "name": "0", "parent": None}}), "`car` is no kind of entity"),
        (changed(entities={"gpu:0": {"kind": "gpu", "name": "0", "parent": "gpu:0"}}), "belongs to host, named before"),
        (fact_with(value=None), "`value` is missing"),
        (fact_with(value=[1]), "`value` is missing, or no finite"),
        (fact_with(value="x" * 5000), "`value` is missing, or no finite"),
        (fact_with(id=""), "`id` is missing"),
        (fact_with(entity="gpu:7"), "its entity 'gpu:7' is not among `entities`"),
        (fact_with(colour="red"), "`colour` is no key of it"),
        (fact_with(window_seconds=-1), "`window_seconds` is no length of time"),
        (fact_with(origin={"kind": "guess", "source": "x"}), "'guess' is no kind of origin"),
        (fact_with(origin={"kind": "measured", "source": "x", "line": 0}), "no line number"),
        (changed(absent=[{"id": "gpu.name", "entity": "gpu:0", "origin": {}}]), r"absent\[0\]: `reason` is missing"),
    ],
)
def test_what_is_not_sound_is_told_and_the_rest_is_read(text: str, told: str) -> None:
    with pytest.raises(FactFileError, match=told):
        load(text)
    found = parse(text)
    assert found.problems
    assert len(found.facts) + len(found.absent) <= 2


def test_a_sound_fact_beside_an_unsound_one_is_read() -> None:
    good = json.loads(dump([FACT]))["facts"][0]
    found = parse(changed(facts=[{"id": "x"}, good, 7]))
    assert found.facts == (FACT,)
    assert found.absent == (ABSENT,)
    assert len(found.problems) == 2


def test_a_number_too_large_to_be_one_is_no_value() -> None:
    assert math.isinf(json.loads("1e999"))
    assert parse(fact_with(value=1).replace('"value": 1', '"value": 1e999')).facts == ()


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("key", ["value", "window_seconds"])
def test_a_whole_number_too_large_to_reckon_with_is_told(key: str, digits: int) -> None:
    text = fact_with(**{key: 12345}).replace("12345", "9" * digits)
    found = parse(text)
    assert (found.facts, found.absent) == ((), (ABSENT,))
    assert found.problems in (
        ("facts[0]: `value` is missing, or no finite number, text, true or false",),
        ("facts[0]: `window_seconds` is no length of time",),
    )


def test_of_very_many_problems_the_first_are_told() -> None:
    assert len(parse(changed(facts=[1] * 10_000)).problems) < 100
