"""No artefact, however damaged, makes a reader raise, run away, or give what the vocabulary has no word for.

Everything goes through `gather`, and the parsers of all formats see everything: samples cut, doubled, spliced into each
other, sprinkled with foreign bytes, with lines of any length.
"""

from __future__ import annotations

import gzip
import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts.attach import typed
from gpuwhy.probes.artefacts.contract import FileFormat, Line, Text, TextFormat
from gpuwhy.probes.artefacts.read import DEFECT, Gathered, UnusableInput, gather
from gpuwhy.probes.artefacts.registry import all_formats
from gpuwhy.tui import report_json, report_markdown, report_text
from gpuwhy.tui.report import Report
from tests.probes.artefacts.helpers import text_of
from tests.probes.artefacts.samples import SAMPLES

SECONDS = 60
"""No example takes a second; only one that never ends takes this long."""

TEXT_FORMATS = tuple({one.name: one for one in all_formats() if isinstance(one, TextFormat)}.values())
FILE_FORMATS = tuple({one.name: one for one in all_formats() if isinstance(one, FileFormat)}.values())
MAGIC = {
    "nvidia-bug-report": b"____________________________________________\n\nStart of NVIDIA bug report log file.\n"
    b"____________________________________________\n\ndmesg:\n\n[ 1.5] NVRM: Xid (PCI:0000:0a:00): 79, pid=7, name=a",
    "gpuwhy-facts": b'{"format": "gpuwhy-facts", "version": 1, "facts": [{"id": "gpu.power_watts", "value": 30,',
    "flight-recorder": b'{"pg_config": {"0": {"ranks": "[0, 1]"}}, "entries": [{"collective_seq_id": 3, "profi',
    "kineto-trace": b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 5',
    "pytorch-memory-snapshot": b"\x80\x04\x95\x30\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x08segments\x94]\x94total_size",
    "nvbandwidth": b'{"nvbandwidth": {"testcases": [{"name": "host_to_device_memcpy_ce", "bandwidth_matrix": [["12.3"',
    "nsys-sqlite": b"SQLite format 3\0\x10\0\x01\x01\0@  \0\0\0\0CUPTI_ACTIVITY_KIND_KERNEL",
    "nvidia-smi-xml": SAMPLES["nvidia-smi-xml"].encode(),
    "superbench": b'{"node": "n1", "mem-bw/h2d_bw:0": 25.5, "nccl-bw/allreduce_8_busbw:0": 1e400',
    "xprof-page": b'[{"cols": [{"id": "stepnum"}], "rows": [{"c": [{"v": 1}]}], "p": {"statement": "input-bound",',
}
"""How a file of each whole-file format begins."""


@cache
def knowledge() -> KnowledgeBase:
    return load()


@contextmanager
def bounded() -> Iterator[None]:
    """Ends what never would, loudly."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read(content: bytes) -> Gathered:
    """What is read from it; everything must fit the vocabulary."""
    with bounded():
        try:
            gathered = gather([("artefact", content)], knowledge().facts)
        except UnusableInput:
            return Gathered()
    for fact in gathered.facts:
        spec = knowledge().facts[fact.id]
        assert typed(fact.value, spec) == fact.value
        assert fact.unit == spec.unit
        assert fact.origin.line is None or fact.origin.line >= 1
        assert fact.origin.text is None or len(fact.origin.text) <= 400
    reasons = [one.reason for one in gathered.not_understood]
    assert [one for one in reasons if DEFECT in one or "does not fit the vocabulary" in one] == []
    for absent in gathered.absent:
        assert absent.reason
    return gathered


def damaged(chance: random.Random) -> str:
    """Pieces of samples, damaged in one of the ways in which pasted artefacts are."""
    text = "".join(chance.choice(list(SAMPLES.values())) for _ in range(chance.randint(1, 3)))
    for _ in range(chance.randint(1, 4)):
        text = chance.choice(DAMAGES)(text, chance)
    return text[:60_000]


def cut(text: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    return text[start : start + chance.randrange(len(text) + 1)]


def doubled(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines) + 1)
    return "".join(lines[:at] + lines[max(0, at - chance.randint(1, 5)) :])


def spliced(text: str, chance: random.Random) -> str:
    other = chance.choice(list(SAMPLES.values()))
    at, start = chance.randrange(len(text) + 1), chance.randrange(len(other))
    return text[:at] + other[start:] + text[at:]


def sprinkled(text: str, chance: random.Random) -> str:
    signs = list(text)
    for _ in range(chance.randint(1, 12)):
        if signs:
            signs[chance.randrange(len(signs))] = chance.choice(
                "0123456789.,-%|:{}[]()\"'\\<>/=\n\t \x00\x1b\r\u202e漢é∞²½"
            )
    return "".join(signs)


def with_odd_numbers(text: str, chance: random.Random) -> str:
    odd = ("0", "-1", "1e999", "nan", "inf", "9" * 400, "1.2.3", "0x1F", "1,5", "", "٣", "²", "N/A", "1e-999", "-0.0")
    return "".join(chance.choice(odd) if sign.isdigit() and chance.random() < 0.1 else sign for sign in text)


HUGE = ("9" * 400, "9" * 5000, "1" + "0" * 309, "1e400", "1e308", "0." + "0" * 400 + "1")
WRITTEN = ("-0", "-1", "NaN", "inf", "-inf", "\u0663\u0663", "\u0661\u0662.\u0665", "\u00b2", "1_000")
NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def shuffled(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    chance.shuffle(lines)
    return "".join(lines)


def joined(text: str, _: random.Random) -> str:
    return text.replace("\n", " ")


def wrapped(text: str, chance: random.Random) -> str:
    width = chance.randint(7, 90)
    return "\n".join(line[at : at + width] for line in text.splitlines() for at in range(0, max(1, len(line)), width))


def quoted(text: str, chance: random.Random) -> str:
    prefix = chance.choice(
        ["> ", "    ", "[rank0]: ", "2026-11-30 02:15:06,123 INFO train.py:12 ", "| ", "\t", "* ", "E   "]
    )
    return "".join(prefix + line for line in text.splitlines(keepends=True))


DAMAGES: tuple[Callable[[str, random.Random], str], ...] = (
    cut, doubled, spliced, sprinkled, with_odd_numbers, shuffled, joined, wrapped, quoted,
)  # fmt: skip


def test_there_is_a_sample_of_every_text_format() -> None:
    assert set(SAMPLES) == {one.name for one in TEXT_FORMATS}
    assert set(MAGIC) == {one.name for one in FILE_FORMATS}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_recognised(name: str) -> None:
    if name == "nvidia-smi-xml":
        assert name in {found for _, found in read(b"# text around it\n" + SAMPLES[name].encode()).formats}
    assert name in {found for _, found in read(SAMPLES[name].encode()).formats}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_cut_anywhere(name: str) -> None:
    content = SAMPLES[name].encode()
    for length in range(0, len(content), max(1, len(content) // 30)):
        read(content[:length])
        read(content[length:])


@pytest.mark.parametrize("name", SAMPLES)
def test_numbers_that_no_tool_prints_are_read_or_told(name: str) -> None:
    """Everywhere at once, and some at one place: too large for a number, none at all, or in other digits."""
    text = SAMPLES[name]
    places = list(NUMBERS.finditer(text))
    chance = random.Random(name)
    for number in (*HUGE, *WRITTEN):
        diagnosed(NUMBERS.sub(number, text))
        if places and chance.random() < 0.4:
            place = chance.choice(places)
            diagnosed(text[: place.start()] + number + text[place.end() :])


def diagnosed(text: str) -> None:
    """Diagnose and report it; a number that is too large may be told, a defect may not."""
    with bounded():
        gathered = gather([("artefact", text.encode())], knowledge().facts)
        reasons = [one.reason for one in gathered.not_understood]
        assert [one for one in reasons if DEFECT in one or "does not fit the vocabulary" in one] == []
        found = diagnose(knowledge(), FactBase.of(gathered.facts, gathered.absent), ask=False)
        made = Report(knowledge(), gathered, found)
        assert report_text.render(made)
        assert report_json.dump(report_json.document(made))


@pytest.mark.parametrize("seed", range(60))
def test_damaged_artefacts(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        read(damaged(chance).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("seed", range(12))
def test_damaged_artefacts_are_diagnosed_and_reported(seed: int) -> None:
    chance = random.Random(1000 + seed)
    for _ in range(4):
        gathered = read(damaged(chance).encode("utf-8", "surrogatepass"))
        with bounded():
            found = diagnose(knowledge(), FactBase.of(gathered.facts, gathered.absent))
            made = Report(knowledge(), gathered, found)
            assert report_text.render(made)
            assert report_markdown.render(made)
            assert report_json.dump(report_json.document(made))


@given(st.binary(max_size=400), st.sampled_from(sorted(SAMPLES)), st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_foreign_bytes_anywhere(foreign: bytes, name: str, place: int) -> None:
    content = SAMPLES[name].encode()
    at = place % (len(content) + 1)
    read(content[:at] + foreign + content[at:])


@given(st.sampled_from(sorted(SAMPLES)), st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_foreign_text_between_lines(name: str, foreign: str) -> None:
    lines = SAMPLES[name].splitlines(keepends=True)
    read(f"{foreign}\n".join(lines).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("one", TEXT_FORMATS, ids=lambda one: one.name)
def test_a_parser_given_what_is_not_its_own_claims_only_lines_that_are_there(one: TextFormat) -> None:
    for content in SAMPLES.values():
        text = text_of(content)
        there = {line.number for line in text.lines}
        with bounded():
            for extract in one.scan(text):
                assert set(extract.claimed) <= there
                assert {reading.line for reading in extract.readings} - there <= {None}


@pytest.mark.parametrize("one", TEXT_FORMATS, ids=lambda one: one.name)
@pytest.mark.parametrize("part", [" ", "0", "a ", "1,", "| ", ": "])
def test_a_line_of_any_length_ends(one: TextFormat, part: str) -> None:
    """Twenty thousand characters are the longest line that the reader hands over."""
    long = (part * 20_000)[:20_000]
    lines = [long]
    for line in dict.fromkeys(SAMPLES[one.name].splitlines()):
        half = len(line) // 2
        lines += [line[:half] + long + line[half:], line + long, long + line]
    with bounded():
        list(one.scan(Text("t", tuple(Line(number, line) for number, line in enumerate(lines, 1)))))


@pytest.mark.parametrize("one", TEXT_FORMATS, ids=lambda one: one.name)
def test_hundreds_of_repetitions_end(one: TextFormat) -> None:
    with bounded():
        list(one.scan(text_of(SAMPLES[one.name] * 400)))


@pytest.mark.parametrize("name", MAGIC)
def test_files_that_only_begin_well(name: str) -> None:
    begin = MAGIC[name]
    chance = random.Random(7)
    for size in (0, 1, 10, 100, 5000):
        for content in (begin + bytes(size), begin + chance.randbytes(size), begin + b"[" * size, begin + b'"' * size):
            read(content)
            read(gzip.compress(content))
    for length in range(len(begin)):
        read(begin[:length])


@given(st.binary(max_size=2000))
@settings(max_examples=100, deadline=None)
def test_any_bytes(content: bytes) -> None:
    read(content)
