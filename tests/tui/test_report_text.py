"""The text report: the answer first, commands that can be copied, 80 columns whatever comes in."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from gpuwhy.kb.load import load
from gpuwhy.kb.records import replace
from gpuwhy.probes.artefacts.read import NotUnderstood
from gpuwhy.tui import report_text
from gpuwhy.tui.report import places
from gpuwhy.tui.wording import columns, command_lines, encodable, visible, wrapped
from tests.tui.pack import OOM, report

STEPS = "\n".join(f"step {n}: loss 2.{n} data_time 0.300 batch_time 0.400" for n in range(1, 40))


def text(rules: Path, artefact: str, *answers: str) -> str:
    made = report(rules, artefact, *answers)
    return report_text.render(replace(made, kb=replace(made.kb, digest="0123456789abcdef")))


def test_a_cause_with_its_reason_fix_rival_and_question_on_one_screen(rules: Path) -> None:
    assert (
        text(rules, f"{OOM}\nsomething else\n")
        == """\
LIKELY      oom.fragmentation  Enough memory is reserved but in pieces that do
            not fit the request.
            4.87 GiB is reserved and unused, the request was 1.50 GiB.
  do        Set it before the first import of torch.
              export PYTORCH_ALLOC_CONF=expandable_segments:True
  not if    segments already grow
  effect    up to 4.87 GiB becomes usable
  risk      none known; restart needed
  undo      unset PYTORCH_ALLOC_CONF
  verify    allocator retries stay 0 over 500 steps
              grep -c retries train.log
  or        Pad to a few lengths
              pad_to = -(-length // 64) * 64
  proof     --why oom.fragmentation; --format md has all about every fix
POSSIBLE    oom.leak  with shapes that never vary, use should be the same in
            every step
RULED OUT   oom.other-process  this process holds 23.28 GiB of 23.69 GiB
ASK NEXT    Do input shapes vary between steps?  (sets apart: oom.fragmentation,
            oom.leak)
  how       print(batch.shape) for 20 steps
  answer    --answer tested.shapes_vary=true  (or false)
NOT READ    line 2 of oom.txt: no known format
RULES       tested 3.2.1; digest 0123456789ab
"""
    )


def test_an_answer_settles_it_and_is_not_asked_for_again(rules: Path) -> None:
    shown = text(rules, OOM, "tested.shapes_vary=true")
    assert shown.startswith("CONFIRMED   oom.fragmentation")
    assert "ASK NEXT" not in shown


def test_a_fix_that_would_not_help_is_refused_with_the_reason(rules: Path) -> None:
    shown = text(rules, OOM, "tested.already_set=true")
    assert "  not       Let segments grow: segments already grow" in shown
    assert "export" not in shown


def test_the_largest_wall_of_the_step_has_its_bound(rules: Path) -> None:
    # 0.300 of 0.400 s is 75 %; without it the step is at most 1 / (1 - 0.75) = 4 times faster.
    shown = " ".join(text(rules, STEPS).split())
    assert "CONFIRMED slow.io-wall" in shown
    assert "GAIN waiting for data takes 75 % of the time; without it at most 4.0x faster." in shown


def test_two_readings_that_differ_are_both_shown(rules: Path) -> None:
    shown = " ".join(text(rules, OOM, "oom.free_bytes=9 GiB").split())
    assert (
        "CONFLICT oom.free_bytes of gpu:0/failure:1: 411 MiB (oom.txt:1) is used, not 9.00 GiB (your answer)" in shown
    )


def test_nothing_to_go_on_is_said_as_such(rules: Path) -> None:
    shown = text(rules, "")
    assert shown.startswith("CANNOT TELL evidence.insufficient")
    assert "no known format was found; `gpuwhy formats` lists what is read" in " ".join(shown.split())


@pytest.mark.parametrize("artefact", ["", OOM, STEPS, f"{OOM}\n{STEPS}\n{'漢字' * 90}\n", "odd\n\nodd\n" * 40])
@pytest.mark.parametrize("name", ["oom.txt", "長い名前" * 30 + ".txt", "n" * 300])
def test_no_line_is_wider_than_the_terminal(rules: Path, artefact: str, name: str) -> None:
    for width in (60, 80):
        shown = report_text.render(report(rules, artefact, name=name), width=width)
        assert max(map(columns, shown.splitlines())) <= width


def test_places_not_read_for_one_reason_stand_together() -> None:
    ranges = [(3, 3), (5, 6), (8, 8), (10, 20), (30, 30)]  # 1 + 2 + 1 + 11 + 1 = 16 lines
    found = [NotUnderstood("a.log", first, last, "no known format") for first, last in ranges]
    found += [NotUnderstood("b.bin", None, None, "binary file"), NotUnderstood("a.log", 40, 41, "cut short")]
    assert places(found) == [
        ("line 3, lines 5-6, line 8 and 2 more places (16 lines in all) of a.log", "no known format"),
        ("b.bin", "binary file"),
        ("lines 40-41 of a.log", "cut short"),
    ]


def test_colour_is_put_on_top_of_the_same_text(rules: Path) -> None:
    made = report(rules, f"{OOM}\nunread\n", name="a\x1b[31mb.txt")
    coloured = report_text.render(made, colour=True)
    assert "\x1b[1;33mLIKELY\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == report_text.render(made)


def test_every_shipped_command_fits_as_far_as_its_words_do() -> None:
    kb = load()
    commands = [step.command for fix in kb.fixes for step in fix.steps]
    commands += [fix.verify.command for fix in kb.fixes if fix.verify]
    commands += [one.command for spec in kb.facts.values() for one in spec.obtain]
    for line in (line for command in commands for line in command_lines(command, " " * 14, 80)):
        assert columns(line) <= 80 or len(shlex.split(line.removesuffix(" \\"), comments=True)) <= 1, line


def test_a_long_command_continues_after_a_backslash_and_means_the_same() -> None:
    command = (
        "torchrun --nproc-per-node 4 train.py --name 'a name with  spaces' --learning-rate 0.001 --batch 8  # note it"
    )
    lines = command_lines(command, "    ", 50)
    assert len(lines) > 1
    joined = "\n".join(lines).replace("\\\n", "")
    assert shlex.split(joined, comments=True) == shlex.split(command, comments=True)


def test_a_script_in_double_quotes_continues_between_its_statements() -> None:
    command = "python -c \"import os; print('a  b', end=''); print(len('c d'))\""
    lines = command_lines(command, "      ", 40)
    assert max(map(len, lines)) <= 40
    done = subprocess.run(["sh", "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout == "a  b3\n"


def test_a_word_longer_than_a_line_stays_whole_and_moves_left() -> None:
    word = "--query=" + "x" * 60
    assert command_lines(f"tool {word}", " " * 14, 70) == ["  tool \\", f"    {word}"]
    assert command_lines("a" * 90, " " * 14, 80) == ["  " + "a" * 90]


def test_a_snippet_keeps_its_lines_and_indents() -> None:
    assert command_lines("for x in y:\n    print(x)", "  ", 80) == ["  for x in y:", "      print(x)"]


def test_wrapping_counts_columns_and_keeps_the_gap_after_a_label() -> None:
    assert wrapped("one  two three", "- ", "  ", 10) == ["- one  two", "  three"]
    assert wrapped("漢字漢字 漢字", "", "", 8) == ["漢字漢字", "漢字"]
    assert wrapped("x" * 25, "", "  ", 10) == ["x" * 8, "  " + "x" * 8, "  " + "x" * 8, "  x"]
    assert wrapped("", "label", "", 10) == ["label"]


def test_signs_that_an_encoding_lacks_become_plain_ones() -> None:
    assert encodable("… 5 µs “x” 漢", "ascii") == '... 5 us "x" ?'
    assert encodable("… 漢", "utf-8") == "… 漢"
    assert visible("a\x07b\u202ec\n") == "a\ufffdb\ufffdc\n"
