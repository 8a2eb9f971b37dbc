"""Lines as one running text, each position traced back to its line."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.flow import Flow, neighbourhoods, without_prefix
from tests.probes.artefacts.helpers import text_of


@pytest.mark.parametrize(
    "line",
    [
        "[rank0]: boom",
        "  > boom",
        "[default3]:boom",
        "(EngineCore_DP0 pid=77) ERROR 06-01 12:00:00 [core.py:12] boom",
        "[1,0]<stderr>: boom",
        "2024-05-01T10:00:00.123Z stderr F boom",
    ],
)
def test_prefixes_of_launchers_and_loggers_are_left_out(line: str) -> None:
    assert without_prefix(line) == "boom"


def test_a_position_leads_back_to_its_line() -> None:
    flow = Flow.of(text_of("one\n[rank1]: two\nthree").lines)
    assert flow.text == "one\ntwo\nthree\n"
    assert flow.number(flow.text.index("two")) == 2
    assert flow.numbers(flow.text.index("two"), len(flow.text)) == {2, 3}


def test_glued_lines_put_a_cut_word_together() -> None:
    first = "x" * 75 + " alloc"
    assert "allocate" in Flow.of(text_of(first + "\nate").lines, glued=True).text
    assert "allocate" not in Flow.of(text_of(first + "\nate").lines).text


def test_neighbourhoods_that_touch_are_one() -> None:
    lines = text_of("\n".join("hit" if number in (5, 7, 20) else "-" for number in range(30))).lines
    runs = neighbourhoods(lines, ("hit",), 1, 2)
    # hits stand on lines 6, 8 and 21: one line before, two after
    assert [(run[0].number, run[-1].number) for run in runs] == [(5, 10), (20, 23)]
