"""What a reader sees of an artefact's bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.cleaning import KEPT_UPDATES, LINE_LIMIT, clean, decode, numbered


def test_colours_titles_and_links_are_gone() -> None:
    raw = b"\x1b[1;31mError\x1b[0m: no \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 here\x1b[K\n\x1b[2J\x1b(Bdone\n"
    assert clean(raw) == ["Error: no link here", "done"]


def test_colour_codes_whose_escape_was_lost_are_gone_but_durations_stay() -> None:
    assert clean(b"[1;36m(Worker)[0;0m ready [0m rate(x[5m])\n") == ["(Worker) ready  rate(x[5m])"]


def test_escape_shown_by_cat_v_is_gone() -> None:
    assert clean(b"^[[4mGPU0^[[0m\tX\n") == ["GPU0\tX"]


def test_controls_and_direction_marks_are_gone() -> None:
    assert clean("a\x00b\x07c\u202eevil\u2066\ufeff d\n".encode()) == ["abcevil d"]


def test_device_index_printed_as_a_raw_character_becomes_a_number() -> None:
    assert clean(b"GPU \x00 has a total capacity of 44.34 GiB\n") == ["GPU 0 has a total capacity of 44.34 GiB"]
    assert clean(b"GPU \x01 has a total capacty of 6.00 GiB\n") == ["GPU 1 has a total capacty of 6.00 GiB"]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings(codec: str) -> None:
    text = "temperature 65 °C\nfree memory: 3 GiB\n"
    assert clean(text.encode(codec)) == ["temperature 65 °C", "free memory: 3 GiB"]


def test_a_character_cut_in_two_at_the_end_keeps_the_rest_as_it_is() -> None:
    assert decode("98 µs ▏".encode()[:-1]).startswith("98 µs ")


def test_line_ends_of_all_systems() -> None:
    assert clean(b"one\r\ntwo\r\r\nthree\n") == ["one", "two", "three"]
    assert clean(b"one\rtwo\rthree") == ["one", "two", "three"]
    assert clean(b"") == [""]
    assert clean(b"a\n\nb") == ["a", "", "b"]


def test_progress_bar_keeps_a_few_states_under_one_line_number() -> None:
    bar = b"\r".join(b"%d/1000 [00:01<00:02]" % step for step in range(1001))
    lines = numbered(b"start\n" + bar + b"\nend\n")
    assert [line.number for line in lines] == [1] + [2] * KEPT_UPDATES + [3]
    assert lines[1].text.startswith("0/1000")
    assert lines[-2].text.startswith("1000/1000")
    assert clean(b"start\n" + bar + b"\nend\n") == ["start", "1000/1000 [00:01<00:02]", "end"]


def test_backspaces_overwrite_like_carriage_returns() -> None:
    assert clean(b"1/3 [=>..]" + b"\x08" * 10 + b"2/3 [==>.]\nnext\n") == ["2/3 [==>.]", "next"]


def test_a_very_long_line_is_cut_and_says_so() -> None:
    (line,) = clean(b"x" * (LINE_LIMIT + 5))
    assert line.startswith("x" * LINE_LIMIT)
    assert str(LINE_LIMIT + 5) in line


def test_numbers_start_where_asked() -> None:
    assert [line.number for line in numbered(b"a\nb\n", 40)] == [40, 41]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_give_lines_without_controls(raw: bytes) -> None:
    for line in numbered(raw):
        assert not {"\x00", "\x1b", "\r", "\n", "\u202e"} & set(line.text)
