"""Lines that a terminal cut in the middle of a word."""

from __future__ import annotations

import pytest

from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.read import gather
from gpuwhy.probes.artefacts.unwrapping import rejoined
from tests.probes.artefacts.helpers import text_of

MESSAGE = (
    "[rank1]:[E210 02:06:33.347 ProcessGroupNCCL.cpp:1595] [PG ID 2 Rank 1] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=1522789, OpType=ALLREDUCE, NumelIn=298960, NumelOut=298960, Timeout(ms)=600000) ran for "
    "600003 milliseconds before timing out."
)


def wrapped(text: str, width: int) -> str:
    """The text as a terminal of this width shows it."""
    return "\n".join(text[at : at + width] for at in range(0, len(text), width)) + "\n"


@pytest.mark.parametrize("word", ["SeqNum", "collective", "milliseconds"])
def test_a_message_cut_in_a_word_is_read(word: str) -> None:
    content = wrapped(MESSAGE, MESSAGE.index(word) + 1)
    found = gather([("log", content.encode())], load().facts)
    values = {fact.id: fact.value for fact in found.facts}
    assert values["comm.sequence"] == 1522789
    assert values["comm.timeout_seconds"] == 600.0


def test_the_numbers_of_all_pieces_are_told() -> None:
    whole = rejoined(text_of("short\n" + "x" * 80 + "\ny next\nOther line\n"))
    assert whole is not None
    assert [(line.number, line.text) for line in whole.text.lines] == [(2, "x" * 80 + "y next")]
    assert whole.pieces == {2: frozenset({2, 3})}


@pytest.mark.parametrize(
    "content",
    [
        "a word\nand another\n",  # too short for a terminal
        "| " + "x" * 70 + " |\n| " + "y" * 70 + " |\n",  # a table
        "x" * 70 + "\n    indented\n",
        "x" * 70 + "\n" + "Y" * 70 + "\n",  # the next line begins anew
        "x" * 70 + "\nand\n" + "z" * 74 + "\n",  # shorter than its neighbour: ended at a space
        "",
    ],
)
def test_other_lines_stay_as_they_are(content: str) -> None:
    assert rejoined(text_of(content)) is None


def test_what_the_text_said_as_it_stands_is_not_replaced() -> None:
    prose = "The model has num_workers set to four and the loss falls, but the steps take\nlonger than before\n"
    content = prose + MESSAGE + "\n"
    plain = gather([("log", (MESSAGE + "\n").encode())], load().facts)
    mixed = gather([("log", content.encode())], load().facts)
    assert {fact.id for fact in plain.facts} <= {fact.id for fact in mixed.facts}
