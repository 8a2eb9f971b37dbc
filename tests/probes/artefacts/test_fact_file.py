"""Facts files as artefacts: recognised by themselves, read with the line of each fact, never trusted blindly."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, Absent, Entity, Fact, Origin, OriginKind, gpu
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.attach import attach
from gpuwhy.probes.artefacts.contract import FileFormat
from gpuwhy.probes.artefacts.fact_file import FORMAT

NVML = Origin(OriginKind.MEASURED, "nvml", None, "median of 12 samples")
FACTS = [
    Fact("gpu.count", 2, "count", HOST, NVML),
    Fact("gpu.power_watts", 391.25, "watts", gpu(1), NVML, "2026-11-30T02:15:06.356Z", 18.0),
    Fact("process.gpu_memory_bytes", 4e10, "bytes", Entity("process", "4242", gpu(1)), NVML),
]
ABSENT = [Absent("gpu.fan_share", gpu(1), "not supported (NVML 3)", Origin(OriginKind.MEASURED, "nvml"))]


def test_it_is_a_format_of_whole_files() -> None:
    assert isinstance(FORMAT, FileFormat)
    assert FORMAT.name == "gpuwhy-facts"


@pytest.mark.parametrize(
    ("head", "accepted"),
    [
        (dump(FACTS).encode(), True),
        (b"\xef\xbb\xbf  \n" + dump([]).encode(), True),
        (json.dumps(json.loads(dump(FACTS)), indent=4).encode(), True),
        (b'{"schema": 1, "conclusions": []}', False),
        (b'{"traceEvents": []}', False),
        (b'[{"format": "gpuwhy-facts"}]', False),
        (b"gpuwhy-facts", False),
        (b"", False),
    ],
)
def test_it_is_recognised_by_what_it_calls_itself(head: bytes, accepted: bool) -> None:
    assert FORMAT.accepts(head, "x.txt") is accepted


@pytest.mark.parametrize("pack", [lambda raw: raw, gzip.compress, lambda raw: b"\xef\xbb\xbf" + raw])
def test_facts_come_back_with_entity_unit_time_and_line(tmp_path: Path, pack: object) -> None:
    raw = dump(FACTS, ABSENT).encode()
    path = tmp_path / "facts.json"
    path.write_bytes(pack(raw) if callable(pack) else raw)
    extract = FORMAT.read(path, "facts.json")
    assert extract == FORMAT.read(path.read_bytes(), "facts.json")
    assert extract.troubles == ()
    facts, absent, odd = attach([("facts.json", extract)], load().facts)
    assert odd == []
    assert [(one.id, one.value, one.unit, one.entity) for one in facts] == [
        (one.id, one.value, one.unit, one.entity) for one in FACTS
    ]
    assert (facts[1].observed_at, facts[1].window_seconds) == ("2026-11-30T02:15:06.356Z", 18.0)
    assert facts[1].origin.text == "nvml: median of 12 samples"
    lines = raw.decode().splitlines()
    places = [*((one.id, one.origin) for one in facts), *((one.id, one.origin) for one in absent)]
    for name, origin in places:
        assert origin.line is not None
        assert f'"{name}"' in lines[origin.line - 1]
    assert [(one.id, one.reason, one.entity) for one in absent] == [(one.id, one.reason, one.entity) for one in ABSENT]


def test_a_file_that_another_tool_wrote_anew_is_read_as_well() -> None:
    extract = FORMAT.read(json.dumps(json.loads(dump(FACTS, ABSENT))).encode(), "x")
    assert [one.fact for one in extract.readings] == [one.id for one in FACTS]
    assert len(extract.missing) == 1


def test_words_that_the_vocabulary_lacks_are_told_and_not_lost() -> None:
    unknown = Fact("gpu.word_of_tomorrow", 1, None, gpu(0), NVML)
    lacking = Absent("gpu.other_word", gpu(0), "why not", NVML)
    extract = FORMAT.read(dump([*FACTS, unknown], [lacking]).encode(), "x")
    facts, _, odd = attach([("x", extract)], load().facts)
    assert len(facts) == len(FACTS)
    assert [message for _, _, message in odd] == ["`gpu.word_of_tomorrow` = 1 does not fit the vocabulary"]
    assert [one.message for one in extract.troubles] == ["`gpu.other_word` is no word of the vocabulary"]


def test_a_number_in_another_unit_is_not_taken_for_one_of_ours() -> None:
    milliwatts = Fact("gpu.power_watts", 391250, "milliwatts", gpu(0), NVML)
    extract = FORMAT.read(dump([milliwatts, FACTS[0]]).encode(), "x")
    assert [one.fact for one in extract.readings] == ["gpu.count"]
    (trouble,) = extract.troubles
    assert trouble.message == "`gpu.power_watts` is in milliwatts, and the vocabulary has it in watts"
    assert trouble.line is not None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (dump(FACTS).replace('"schema": 1', '"schema": 9').encode(), "schema 9"),
        (dump(FACTS).encode()[:200], "not a facts file"),
        (dump(FACTS).encode() + b"\xff", "not read"),
        (gzip.compress(dump(FACTS).encode(), mtime=0)[:60], "not read"),
        (b"", "not a facts file"),
    ],
)
def test_what_cannot_be_read_is_told(content: bytes, told: str) -> None:
    extract = FORMAT.read(content, "x")
    assert extract.readings == ()
    assert told in extract.troubles[0].message


def test_hostile_texts_steer_nothing() -> None:
    steering = "A\x1b]0;x\x07B\u202e\nC\ud800"
    hostile = Fact("gpu.name", steering, None, Entity("gpu", steering, HOST), Origin(OriginKind.MEASURED, steering))
    lacking = Absent("gpu.fan_share", gpu(0), steering, NVML)
    extract = FORMAT.read(dump([hostile], [lacking], ascii_only=True).encode(), "x")
    (reading,), (missing,) = extract.readings, extract.missing
    for text in (reading.value, reading.text, reading.entity.name, missing.reason):
        assert isinstance(text, str)
        assert text.isprintable()
