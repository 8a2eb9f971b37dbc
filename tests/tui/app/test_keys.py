"""What a terminal sends on a bad day, and paths typed in a hurry."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from gpuwhy.tui.app.driver import Keys, Pastes
from gpuwhy.tui.app.screens.open import meant


def received(chunks: Iterable[bytes]) -> list[str]:
    """Keys, and pastes as `paste:TEXT`, that the application gets."""
    keys, pastes, found = Keys(), Pastes(XTermParser().feed), []
    for chunk in chunks:
        for one in pastes.take(keys.take(chunk)):
            if isinstance(one, events.Paste):
                found.append(f"paste:{one.text}")
            elif isinstance(one, events.Key):
                found.append(one.key)
    return found


BEGIN, END = b"\x1b[200~", b"\x1b[201~"


@pytest.mark.parametrize("key", [b"\x03", b"\x11", b"\x04"], ids=["ctrl-c", "ctrl-q", "ctrl-d"])
def test_a_paste_whose_end_was_lost_does_not_swallow_every_key(key: bytes) -> None:
    found = received([BEGIN + b"half of", b" it", key, b"x"])
    assert found[0] == "paste:half of it"
    assert found[-1] == "x"
    assert len(found) == 3
    assert received([BEGIN + b"half of", b" it" + key, b"x"]) == found  # the same, where it comes with the last of it


def test_a_whole_paste_is_one_however_it_is_cut() -> None:
    whole = BEGIN + b"one\ntwo" + END + b"q"
    for at in range(1, len(whole)):
        assert received([whole[:at], whole[at:]]) == ["paste:one\ntwo", "q"], at


def test_what_is_typed_between_pastes_comes_in_its_order() -> None:
    assert received([b"a" + BEGIN + b"x" + END + b"b" + BEGIN + b"y\0z" + END + b"c"]) == [
        "a", "paste:x", "b", "paste:yz", "c",
    ]  # fmt: skip


def test_a_control_key_outside_of_a_paste_is_that_key() -> None:
    assert received([BEGIN + b"x" + END, b"\x03"]) == ["paste:x", "ctrl+c"]


def test_bytes_that_are_no_utf8_are_no_end_of_the_program() -> None:
    assert received([BEGIN + b"caf\xe9 \xff" + END, b"q"]) == ["paste:caf\ufffd \ufffd", "q"]


def test_a_sign_that_is_cut_is_whole_again() -> None:
    assert received([BEGIN + b"\xe2\x94", b"\x80" + END]) == ["paste:\u2500"]


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("/home/ada/", "/home/ada/"),
        ("/home/ada//var/log/x", "/var/log/x"),
        ("/home/ada/~/logs", "~/logs"),
        ("logs/a", "logs/a"),
        ("", ""),
    ],
)
def test_a_path_typed_behind_another_stands_for_itself(typed: str, path: str) -> None:
    assert meant(typed) == path
