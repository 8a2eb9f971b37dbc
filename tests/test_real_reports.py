"""Recorded reports, where they are at hand: whatever they hold is read without a crash, and the report fits the page.

Set GPUWHY_REAL_CASES to a folder of YAML files with an `artefact` each; without one these tests are skipped.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

import pytest
import yaml

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.facts import FactBase
from gpuwhy.kb.load import load
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.probes.artefacts.read import gather
from gpuwhy.tui import report_json, report_markdown, report_text
from gpuwhy.tui.report import Report
from tests.conftest import real_reports
from tests.tui.pack import too_wide


def artefacts() -> list[Path]:
    folder = real_reports()
    return sorted(folder.glob("*.yaml")) if folder else []


@cache
def knowledge() -> KnowledgeBase:
    return load()


@pytest.mark.skipif(not artefacts(), reason="no recorded reports at hand")
@pytest.mark.parametrize("path", artefacts(), ids=lambda path: path.stem)
def test_a_recorded_report_is_read_diagnosed_and_shown(path: Path) -> None:
    artefact = yaml.safe_load(path.read_text("utf-8")).get("artefact")
    if artefact is None:
        pytest.skip("holds no artefact")
    gathered = gather([("report", artefact.encode())], knowledge().facts)
    assert not any("does not fit the vocabulary" in one.reason for one in gathered.not_understood)
    base = FactBase.of(gathered.facts, gathered.absent)
    made = Report(knowledge(), gathered, diagnose(knowledge(), base))
    text = report_text.render(made)
    assert {one for one in text if unicodedata.category(one) == "Cc"} <= {"\n"}
    assert too_wide(text) == []
    assert report_markdown.render(made)
    report_json.dump(report_json.document(made))
