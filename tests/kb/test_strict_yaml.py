"""The strict reader of YAML: what it gives is what a reviewer reads; what YAML lets slip it refuses, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuwhy.kb.errors import KnowledgeError, Location
from gpuwhy.kb.strict_yaml import MAX_BYTES, MAX_DEPTH, load, loads


def problems(raw: str | bytes) -> list[str]:
    with pytest.raises(KnowledgeError) as caught:
        loads(raw.encode() if isinstance(raw, str) else raw, "f.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_plain_values_are_those_of_yaml_1_2() -> None:
    raw = """
    whole: 12
    negative: -3
    zero: 0
    fraction: 0.25
    exponent: 1e3
    truth: true
    lie: false
    nothing: null
    empty:
    tilde: ~
    word: some words
    date: 2026-11-30
    version: 1.2.0
    quantity: 2 GiB
    quoted number: "12"
    quoted yes: 'yes'
    list: [1, two, 3.0]
    """
    assert loads(raw.encode(), "f").data == {
        "whole": 12,
        "negative": -3,
        "zero": 0,
        "fraction": 0.25,
        "exponent": 1000.0,
        "truth": True,
        "lie": False,
        "nothing": None,
        "empty": None,
        "tilde": None,
        "word": "some words",
        "date": "2026-11-30",
        "version": "1.2.0",
        "quantity": "2 GiB",
        "quoted number": "12",
        "quoted yes": "yes",
        "list": [1, "two", 3.0],
    }


def test_an_integer_stays_an_integer_and_a_fraction_a_fraction() -> None:
    data = loads(b"[12, 12.0, 1e1]", "f").data
    assert [type(one) for one in data] == [int, float, float]


def test_every_value_keeps_its_place() -> None:
    document = loads(b"top:\n  - one\n  - key: value\n", "f.yaml")
    assert document.at("top", 1, "key") == Location("f.yaml", 3, 10)
    assert document.at("top", 1, "no such key") == Location("f.yaml", 3, 5)  # the mapping around it
    assert document.at() == Location("f.yaml", 1, 1)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: duplicate key `a` (keep one of them)"),
        ("a: {b: 1, b: 1}\n", "f.yaml:1:11: duplicate key `b` (keep one of them)"),
        ("a: 1\n'a': 2\n", "f.yaml:2:1: duplicate key `a` (keep one of them)"),
        ("a: &x 1\nb: *x\n", "f.yaml:1:4: aliases are not allowed (write the value out again)"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "f.yaml:1:4: aliases are not allowed (write the value out again)"),
        (
            "a: !!python/object:os.system x\n",
            "f.yaml:1:4: tags are not allowed (tag:yaml.org,2002:python/object:os.system)",
        ),
        ("a: !!str 5\n", "f.yaml:1:4: tags are not allowed (tag:yaml.org,2002:str) (remove the tag)"),
        ("a: ! 5\n", "f.yaml:1:4: tags are not allowed (!) (remove the tag)"),
        ("a: !mine [1]\n", "f.yaml:1:4: tags are not allowed (!mine) (remove the tag)"),
        ("? [a]\n: b\n", "f.yaml:1:3: a key must be a plain word"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: not YAML: expected a single document in the stream"),
        ("a: [1\nb: 2\n", "f.yaml:2:2: not YAML"),
        ("a: b: c\n", "f.yaml:1:5: not YAML: mapping values are not allowed"),
        ("a: .nan\n", "f.yaml:1:4: `.nan` is no usable number (leave the key out)"),
        ("a: .NaN\n", "f.yaml:1:4: `.NaN` is no usable number"),
        ("a: -.inf\n", "f.yaml:1:4: `-.inf` is no usable number"),
        ("a: 1e999\n", "f.yaml:1:4: `1e999` is too large for a number"),
        ("a: -1.5e+999\n", "f.yaml:1:4: `-1.5e+999` is too large for a number"),
        (f"a: {'9' * 30}\n", "f.yaml:1:4: number too long"),
        ("a: \x07\n", "f.yaml:1:1: not YAML"),
    ],
)
def test_what_yaml_lets_slip_is_refused_at_its_place(raw: str, told: str) -> None:
    assert any(problem.startswith(told) or told in problem for problem in problems(raw)), problems(raw)


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "y", "n", "Yes", "NO", "On", "OFF", "True", "FALSE"])
def test_words_that_yaml_1_1_takes_for_booleans(word: str) -> None:
    (problem,) = problems(f"a: {word}\n")
    assert problem == (
        f"f.yaml:1:4: `{word}` is a boolean in YAML 1.1 and a word in 1.2 (write true or false, or quote it)"
    )


@pytest.mark.parametrize("number", ["012", "-07", "0x1F", "0o17", "0b11", "1_000", "00"])
def test_numbers_that_yaml_1_1_and_1_2_read_differently(number: str) -> None:
    (problem,) = problems(f"a: {number}\n")
    assert problem == (
        f"f.yaml:1:4: `{number}` is read differently by YAML 1.1 and 1.2 (write a plain decimal, or quote it)"
    )


def test_all_problems_of_a_file_come_at_once_in_their_order() -> None:
    places = [problem.split(": ")[0] for problem in problems("a: yes\nb: 012\nc: {d: 1, d: 2}\ne: !x 1\n")]
    assert places == ["f.yaml:1:4", "f.yaml:2:4", "f.yaml:3:11", "f.yaml:4:4"]


def test_a_bomb_of_aliases_is_refused_without_being_unfolded() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    assert all("aliases are not allowed" in problem for problem in problems("\n".join(lines)))


@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 900, 20_000])
def test_depth_is_bounded(depth: int) -> None:
    assert problems("[" * depth + "]" * depth)
    assert problems("{a: " * depth + "1" + "}" * depth)


def test_the_deepest_allowed_nesting_is_read() -> None:
    data = loads(("[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH).encode(), "f").data
    for _ in range(MAX_DEPTH):
        (data,) = data
    assert data == 1


def test_size_is_bounded() -> None:
    assert problems(b"a: " + b"x" * MAX_BYTES) == [f"f.yaml:1:1: larger than {MAX_BYTES} bytes (split the file)"]
    assert len(loads(b"a: " + b"x" * (MAX_BYTES - 3), "f").data["a"]) == MAX_BYTES - 3


def test_bytes_that_are_not_utf_8_are_named_with_their_line() -> None:
    assert problems(b"a: 1\nb: caf\xe9\n") == ["f.yaml:2:1: not UTF-8 (save the file as UTF-8)"]
    assert problems("a: 1\n".encode("utf-16")) == ["f.yaml:1:1: not UTF-8 (save the file as UTF-8)"]


def test_a_mark_of_byte_order_is_no_part_of_the_first_key() -> None:
    assert loads(b"\xef\xbb\xbfa: 1\n", "f").data == {"a": 1}


def test_an_exclamation_mark_in_a_text_is_no_tag() -> None:
    assert loads(b"a: stop!\nb: '!x'\nc: [ok, 'a !b']\n", "f").data == {"a": "stop!", "b": "!x", "c": ["ok", "a !b"]}


def test_an_empty_file_is_nothing() -> None:
    assert loads(b"", "f").data is None
    assert loads(b"# only a comment\n", "f").data is None


def test_a_file_that_cannot_be_read_is_a_problem_too(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=r"missing\.yaml:1:1: cannot be read: No such file"):
        load(tmp_path / "missing.yaml", "missing.yaml")
    path = tmp_path / "there.yaml"
    path.write_text("a: 1\n")
    assert load(path).data == {"a": 1}
