"""Sizes, durations and numbers as tools print them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.quantities import (
    join_lines,
    parse_duration,
    parse_number,
    parse_share,
    parse_size,
    whole_number,
)
from tests.probes.artefacts.helpers import text_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.30 GiB", 2.30 * 1073741824),
        ("478.00 MiB", 501219328.0),
        ("512MB", 536870912.0),
        ("5.5KiB", 5632.0),
        ("1,024 MiB", 1073741824.0),
        ("0 bytes", 0.0),
        ("1 byte", 1.0),
        ("24 G", 25769803776.0),
        ("123", 123.0),
        ("12345678kB", 12641974272.0),
    ],
)
def test_sizes_are_bytes_with_powers_of_1024(text: str, expected: float) -> None:
    assert parse_size(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), (" 42 ", 42), ("007", 7), ("9" * 18, 10**18 - 1), ("9" * 19, None), ("9" * 5000, None)]
    + [(text, None) for text in ("", "-1", "1.0", "1,000", "1_000", "\u00b2", "\u0663")],
)
def test_whole_numbers_are_plain_digits(text: str, expected: int | None) -> None:
    assert whole_number(text) == expected


def test_decimal_sizes_use_powers_of_1000_unless_the_unit_is_binary() -> None:
    assert parse_size("1 kB", decimal=True) == 1000.0
    assert parse_size("1 KiB", decimal=True) == 1024.0


@pytest.mark.parametrize(
    "text", ["", "GiB", "3 xB", "-1 MB", "1.2.3 MB", "N/A", "5 seconds", "1e999 GB", "NaN", "1 iB"]
)
def test_what_is_no_size_is_none(text: str) -> None:
    assert parse_size(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.228ms", 0.001228),
        ("12 us", 12e-6),
        ("9 µs", 9e-6),
        ("830 ns", 830e-9),
        ("3 min", 180.0),
        ("1.5 h", 5400.0),
        ("1:02:03", 3723.0),
        ("02:03.5", 123.5),
    ],
)
def test_durations_are_seconds(text: str, expected: float) -> None:
    assert parse_duration(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["12", "1 M", "a:b", "1:2:3:4", "12:", "5 MiB"])
def test_what_is_no_duration_is_none(text: str) -> None:
    assert parse_duration(text) is None


def test_numbers_with_group_separators_and_exponents() -> None:
    assert parse_number("1,234.5") == 1234.5
    assert parse_number("-3") == -3.0
    assert parse_number("1e-06") == 1e-06
    assert parse_number("12,34") is None
    assert parse_number("inf") is None


def test_a_percentage_is_a_share_of_one() -> None:
    assert parse_share("44 %") == pytest.approx(0.44)
    assert parse_share("44") is None


def test_wrapped_lines_join_until_an_empty_line() -> None:
    lines = text_of("> Tried to allocate\n>   2 GiB.\n\nelse").lines
    assert join_lines(lines, 0, 9) == "Tried to allocate 2 GiB."
    assert join_lines(lines, 0, 1) == "Tried to allocate"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for value in (parse_size(text), parse_duration(text), parse_number(text), parse_share(text)):
        assert value is None or value == value
