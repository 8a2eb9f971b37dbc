"""Units: what a quantity in a rule or an answer means, and how a value is shown to a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwhy.kb.units import UNITS, dimension, factor, parse_quantity, show


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("2 GiB", "bytes", 2_147_483_648),
        ("2GB", "bytes", 2_000_000_000),
        ("1.5 MiB", "bytes", 1_572_864),
        ("3 KB", "bytes", 3_000),
        ("7 B", "bytes", 7),
        ("20 %", "share", 0.2),
        ("20%", "share", 0.2),
        ("0.5 %", "share", 0.005),
        ("120 ms", "seconds", 0.12),
        ("50 us", "seconds", 5e-5),
        ("100 ns", "seconds", 1e-7),
        ("2 min", "seconds", 120),
        ("1.5 h", "seconds", 5400),
        ("25 GB/s", "bytes_per_second", 25e9),
        ("1 GiB/s", "bytes_per_second", 1_073_741_824),
        ("3 /s", "per_second", 3),
        ("300 W", "watts", 300),
        ("83 °C", "celsius", 83),
        ("1.98 GHz", "megahertz", 1980),
        ("312 TFLOPS", "flops", 312e12),
        ("-3 ms", "seconds", -0.003),
        ("1e3 B", "bytes", 1000),
        ("  4   GiB ", "bytes", 4_294_967_296),
        ("12 count", "count", 12),
    ],
)
def test_a_quantity_is_read_in_the_unit_of_its_fact(text: str, unit: str, value: float) -> None:
    assert parse_quantity(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("2 GiB", "seconds"),
        ("2 GiB", None),
        ("2", "bytes"),
        ("GiB", "bytes"),
        ("2 gib", "bytes"),
        ("2 GiB more", "bytes"),
        ("", "bytes"),
        ("1,5 GiB", "bytes"),
        ("nan GiB", "bytes"),
        ("20 percent", "share"),
        ("2 GiB", "no such unit"),
    ],
)
def test_what_is_no_quantity_of_the_unit_is_none(text: str, unit: str | None) -> None:
    assert parse_quantity(text, unit) is None


@given(st.sampled_from(sorted(UNITS)), st.integers(-1000, 1000), st.data())
def test_every_spelling_is_its_factor(unit: str, number: int, data: st.DataObject) -> None:
    spelling = data.draw(st.sampled_from(sorted(UNITS[unit].spellings)))
    scale = factor(spelling, unit)
    assert scale is not None
    assert parse_quantity(f"{number} {spelling}", unit) == pytest.approx(number * scale)


@pytest.mark.parametrize(("text", "share"), [("95 %", 0.95), ("7 %", 0.07), ("29 %", 0.29)])
def test_a_percentage_is_the_share_that_is_written_so(text: str, share: float) -> None:
    assert parse_quantity(text, "share") == share  # exactly: a reading of 0.95 is at the threshold of 95 %


@given(st.text(max_size=40), st.sampled_from([*UNITS, None]))
def test_any_text_is_a_quantity_or_none(text: str, unit: str | None) -> None:
    found = parse_quantity(text, unit)
    assert found is None or isinstance(found, float)


def test_dimensions() -> None:
    assert dimension("bytes_per_second") == (("byte", 1), ("second", -1))
    assert dimension(None) == dimension("share") == dimension("count") == ()


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (2.3 * 2**30, "bytes", "2.30 GiB"),
        (411 * 2**20, "bytes", "411 MiB"),
        (8.8 * 2**20, "bytes", "8.8 MiB"),
        (1536, "bytes", "1.5 KiB"),
        (0, "bytes", "0 B"),
        (-2 * 2**30, "bytes", "-2.00 GiB"),
        (1.5 * 2**40, "bytes", "1.50 TiB"),
        (0.44, "share", "44 %"),
        (0.027, "share", "2.7 %"),
        (0, "share", "0 %"),
        (1, "share", "100 %"),
        (0.0005, "share", "0.05 %"),
        (0.12, "seconds", "120 ms"),
        (5e-5, "seconds", "50 µs"),
        (2.5e-7, "seconds", "250 ns"),
        (1.25, "seconds", "1.25 s"),
        (1200, "seconds", "1200 s"),
        (7200, "seconds", "2.0 h"),
        (0, "seconds", "0 s"),
        (25.5e9, "bytes_per_second", "25.5 GB/s"),
        (300, "watts", "300 W"),
        (83, "celsius", "83 °C"),
        (1980, "megahertz", "1,980 MHz"),
        (4, "count", "4"),
        (1234567, "count", "1,234,567"),
        (20034, None, "20034"),
        (140e12, "flops", "140 TFLOP/s"),
        (18.36e9, "flops", "18.4 GFLOP/s"),
        (0.123456, None, "0.123"),
        (True, None, "yes"),
        (False, None, "no"),
        ("expandable", None, "expandable"),
    ],
)
def test_a_value_is_shown_as_a_person_reads_it(value: bool | float | str, unit: str | None, shown: str) -> None:
    assert show(value, unit) == shown


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([*UNITS, None]))
def test_any_finite_number_can_be_shown(value: float, unit: str | None) -> None:
    assert show(value, unit)
