"""The Markdown report: the whole content, and nothing of an artefact that Markdown or HTML would act on."""

from __future__ import annotations

from pathlib import Path

from gpuwhy.tui import report_markdown
from tests.tui.pack import OOM, report


def lines(rules: Path, artefact: str, *answers: str, name: str = "oom.txt") -> list[str]:
    return report_markdown.render(report(rules, artefact, *answers, name=name)).splitlines()


def test_conclusion_fix_question_and_facts_are_there(rules: Path) -> None:
    shown = lines(rules, f"{OOM}\nunread\n")
    for line in (
        "## LIKELY: `oom.fragmentation`",
        "4.87 GiB is reserved and unused, the request was 1.50 GiB.",
        "### Let segments grow",
        "      export PYTORCH_ALLOC_CONF=expandable_segments:True",
        "- Undo: unset PYTORCH\\_ALLOC\\_CONF",
        "- Restart needed",
        "### Pad to a few lengths",
        "- Effect: most blocks are used again",
        "| oom.other-process | this process holds 23.28 GiB of 23.69 GiB |",
        "- Do input shapes vary between steps? (sets apart: `oom.fragmentation`, `oom.leak`)",
        "| line 2 of oom.txt | no known format |",
        "| oom.request\\_bytes | 1.50 GiB | gpu:0/failure:1 | oom.txt:1 |",
        "| tested.unused\\_share | 21 % | gpu:0/failure:1 | derive.oom.unused |",
    ):
        assert line in shown
    assert shown[-1].startswith("Rules tested 3.2.1, digest `")


def test_a_fix_that_would_not_help_says_why(rules: Path) -> None:
    assert "- Not: Let segments grow: segments already grow" in lines(rules, OOM, "tested.already_set=true")


def test_hostile_text_stays_text(rules: Path) -> None:
    hostile = "<script>alert(1)</script> [x](javascript:y) ![i](http://e/i.png) `a` | b\n# heading"
    shown = lines(rules, f"{OOM}\n", f"tested.word={hostile}", name="<b>*a*|b.txt")
    whole = "\n".join(shown)
    assert "<script>" not in whole
    assert "<b>" not in whole
    assert "](" not in whole.replace("\\](", "")
    row = next(line for line in shown if line.startswith("| tested.word"))
    assert row.replace("\\|", "").count("|") == 5  # four cells, whatever the value holds
