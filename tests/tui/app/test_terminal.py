"""What is written to a terminal that shows ASCII alone, and which terminals those are."""

from __future__ import annotations

import pytest

from gpuwhy.tui.app.screens.gather import SIGNS as STEP_SIGNS
from gpuwhy.tui.app.terminal import calm, plain, plain_signs, theme
from gpuwhy.tui.app.widgets import MARKS, SHAPES


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("╭─┤ ┃ ╰━", "+-+ | +-"),
        ("▁▄█ 71 °C", "_=# 71  C"),
        ("● ◐ ◌ ✗ Δ …", "* + ? x ~ ."),
        ("é 中 \u0301", "e ?? "),
        ("\x1b[1m✔\x1b[0m", "\x1b[1m+\x1b[0m"),
    ],
)
def test_signs_become_plain_ones_of_the_same_width(text: str, wanted: str) -> None:
    assert plain(text) == wanted


@pytest.mark.parametrize("signs", [SHAPES.values(), MARKS.values()], ids=["statuses", "verdicts"])
def test_statuses_stay_apart_in_plain_signs(signs: list[str]) -> None:
    assert len({plain(one) for one in signs}) == len(signs)


def test_a_probe_that_is_done_differs_from_one_that_is_not() -> None:
    assert len({plain(one) for one in STEP_SIGNS.values()}) == 3  # under way, done, nothing seen


def test_the_linux_console_and_a_switch_ask_for_plain_signs() -> None:
    assert plain_signs({"TERM": "linux"})
    assert plain_signs({"GPUWHY_ASCII": "1", "TERM": "xterm"})
    assert not plain_signs({"GPUWHY_ASCII": "0", "TERM": "linux"})


@pytest.mark.parametrize(
    ("told", "wanted"),
    [("0;15", "ansi-light"), ("15;0", "ansi-dark"), ("", "ansi-dark"), ("0;default;15", "ansi-light")],
)
def test_a_light_terminal_gets_the_light_theme(told: str, wanted: str) -> None:
    assert theme({"COLORFGBG": told}) == wanted


def test_nothing_moves_over_ssh() -> None:
    assert calm({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    assert not calm({})
