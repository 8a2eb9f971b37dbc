"""What a filled form stands for: the same piece of work as the command line makes of the same words."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gpuwhy.engine.selection import choose
from gpuwhy.kb.load import load
from gpuwhy.tui import choice_text
from gpuwhy.tui.choosing import WorkError, from_form
from gpuwhy.tui.cli import main


def test_the_form_and_the_command_line_choose_alike() -> None:
    written = {
        "task": "finetune", "params": "7B", "method": "lora", "sequence": "1024", "hours": "48", "interruptible": "yes",
    }  # fmt: skip
    words = "--task finetune --params 7B --method lora --sequence 1024 --hours 48 --interruptible"
    done = CliRunner().invoke(main, ["select", *words.split()])
    kb = load()
    assert choice_text.text(kb, choose(kb, from_form(load(), written, None))) == done.output


def test_what_a_diagnosis_found_is_carried_over() -> None:
    assert from_form(load(), {"task": "train", "params": "25M"}, "input").bound_by == "input"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"task": "train"}, "how large is the model"),
        ({"task": "train", "params": "big"}, "parameters: big is no number above 0"),
        ({"task": "train", "params": "7B", "hours": "-1"}, "hours: -1 is no number above 0"),
        ({"task": "train", "params": "7B", "batch": "1.5"}, "batch: 1.5 is no number above 0"),
        ({"task": "train", "params": "7B", "budget": "nan"}, "budget/h: nan is no number above 0"),
        ({"task": "serve", "params": "7B", "method": "lora"}, "does not go with"),
    ],
    ids=["size", "no-number", "negative", "fraction", "nan", "contradiction"],
)
def test_a_line_that_cannot_be_taken_is_told_with_what_could(written: dict[str, str], says: str) -> None:
    with pytest.raises(WorkError, match=says):
        from_form(load(), written, None)
