"""`gpuwhy rules`: what a person who writes rules sees, without any Python."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from gpuwhy.kb.load import load, rules_folder
from gpuwhy.kb.strict_yaml import loads
from gpuwhy.tui.cli import main
from gpuwhy.tui.cli_rules import rules as rules_group
from gpuwhy.tui.rules_commands.schemas import words_schema
from tests.conftest import ROOT
from tests.engine.rule_pack import write
from tests.kb import team_pack


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "pack")


def ask(*words: str) -> Result:
    return CliRunner().invoke(main, ["rules", *words])


def test_list_names_rules_with_version_and_title() -> None:
    done = ask("list", "--rules", "pack")
    assert done.exit_code == 0
    assert "sig.oom.pieces 1.0.0\n    In pieces\n" in done.stdout
    (entry,) = json.loads(ask("list", "--rules", "pack", "--format", "json", "fix.*").stdout)
    assert entry == {
        "id": "fix.oom.grow",
        "version": "1.0.0",
        "status": "stable",
        "title": "Grow",
        "file": "fixes/oom/grow.yaml",
        "about": ["oom.pieces"],
    }


@pytest.mark.parametrize("name", ["sig.oom.pieces", "pack/signatures/oom/pieces.yaml", "sig.*"])
def test_show_says_conditions_and_what_their_numbers_rest_on(name: str) -> None:
    text = ask("show", name, "--rules", "pack").stdout
    assert "    oom.slack_share ge 10 %\n" in text
    assert "    oom.free_bytes ge oom.request_bytes\n" in text
    assert "  Guide (vendor, 2026-11-30)\n    https://example.com\n" in text
    assert "tests    3 cases" in text


def test_show_of_a_word_names_the_rules_that_use_it() -> None:
    assert (
        "derived by\n  derive.oom.slack\n\nread by\n  sig.oom.pieces\n"
        in ask("show", "oom.slack_share", "--rules", "pack").stdout
    )
    assert (
        "concluded by\n  sig.oom.pieces\n\nfixes\n  fix.oom.grow\n"
        in ask("show", "oom.pieces", "--rules", "pack").stdout
    )
    assert "used by\n  sig.oom.pieces\n" in ask("show", "guide", "--rules", "pack").stdout


def test_a_name_that_does_not_exist_is_told_with_the_nearest_one() -> None:
    done = ask("show", "sig.oom.piece", "--rules", "pack")
    assert (done.exit_code, "did you mean sig.oom.pieces" in done.stderr) == (2, True)


def test_test_runs_all_cases() -> None:
    done = ask("test", "--rules", "pack")
    assert (done.exit_code, done.stdout) == (0, "3 rules, 6 cases, 0 failed, 0 rules without cases\n")


def test_a_case_that_fails_is_told_with_its_place_and_in_junit(pack: Path) -> None:
    path = pack / "derivations/oom/slack.test.yaml"
    path.write_text(path.read_text().replace("50 %", "60 %"))
    done = ask("test", "--rules", "pack", "oom", "--junit", "junit.xml")
    assert done.exit_code == 1
    first = "pack/derivations/oom/slack.test.yaml:2:5: derive.oom.slack: a half: expected 0.6, got 0.5"
    assert done.stdout.splitlines()[0] == first
    suites = ElementTree.parse("junit.xml").getroot()  # noqa: S314 - written by us a moment ago
    assert (suites.get("tests"), suites.get("failures")) == ("6", "1")
    (failure,) = suites.iter("failure")
    assert failure.get("message") == "expected 0.6, got 0.5"


def test_a_rule_without_cases_fails_the_run(pack: Path) -> None:
    (pack / "fixes/oom/grow.test.yaml").unlink()
    done = ask("test", "--rules", "pack")
    assert done.exit_code == 1
    assert "pack/fixes/oom/grow.yaml:1:1: fix.oom.grow: no test cases\n" in done.stdout


def test_coverage_is_counted_and_gaps_are_named() -> None:
    text = ask("test", "--rules", "pack", "sig.oom.pieces", "--coverage").stdout
    assert "sig.oom.pieces: job.on eq True: no case where it is false\n" in text
    assert "condition 7 of 11 reached\nedge      0 of 4 reached\nunknown   1 of 6 reached\n" in text


def test_selftest_counts_rules_that_do_what_they_are_for() -> None:
    done = ask("selftest", "--rules", "pack")
    assert (done.exit_code, done.stdout.startswith("3 of 3 rules of 1.0.0 did")) == (0, True)


def test_every_command_about_rules_is_documented() -> None:
    page = (ROOT / "docs" / "rules-commands.md").read_text("utf-8")
    assert {one for one in rules_group.list_commands(click.Context(rules_group)) if f"rules {one}" not in page} == set()


def lint_pack(pack: Path, *words: str) -> Result:
    (pack / "fixes/oom/grow.test.yaml").unlink(missing_ok=True)
    return ask("lint", "--rules", "pack", *words)


def test_lint_tells_place_severity_what_to_do_and_code(pack: Path) -> None:
    done = lint_pack(pack)
    what = "warning: fix.oom.grow has no test cases (add <slug>.test.yaml beside it) [untested]"
    line = f"pack/fixes/oom/grow.yaml:1:5: {what}"
    assert (done.exit_code, line in done.stdout.splitlines()) == (1, True)


def test_lint_findings_as_json_sarif_and_annotations(pack: Path) -> None:
    (entry,) = [
        one for one in json.loads(lint_pack(pack, "--format", "json").stdout)["findings"] if one["code"] == "untested"
    ]
    assert (entry["path"], entry["line"], entry["column"]) == ("pack/fixes/oom/grow.yaml", 1, 5)
    (run,) = json.loads(lint_pack(pack, "--format", "sarif").stdout)["runs"]
    places = [one["locations"][0]["physicalLocation"] for one in run["results"] if one["ruleId"] == "untested"]
    assert places == [
        {"artifactLocation": {"uri": "pack/fixes/oom/grow.yaml"}, "region": {"startLine": 1, "startColumn": 5}}
    ]
    assert {one["ruleId"] for one in run["results"]} <= {one["id"] for one in run["tool"]["driver"]["rules"]}
    text = "::warning file=pack/fixes/oom/grow.yaml,line=1,col=5,title=untested::fix.oom.grow has no test cases "
    assert text in lint_pack(pack, "--format", "github").stdout


def test_lint_fix_mends_files(pack: Path) -> None:
    path = pack / "pack.yaml"
    path.write_text(path.read_text().replace("name: small", "name: small  "))
    assert "[whitespace]" in ask("lint", "--rules", "pack").stdout
    done = ask("lint", "--rules", "pack", "--fix")
    assert (done.stderr, "[whitespace]" in done.stdout) == ("mended pack/pack.yaml\n", False)


def test_lint_of_a_pack_that_cannot_be_read_tells_where(pack: Path) -> None:
    (pack / "pack.yaml").write_text("name: small\n")
    done = ask("lint", "--rules", "pack")
    assert done.exit_code == 1
    assert "pack/pack.yaml:1:1: error: `version` is a required property [schema]\n" in done.stdout


def test_mutate_names_changes_that_no_case_notices() -> None:
    done = ask("mutate", "--rules", "pack", "derive.*")
    assert (done.exit_code, done.stdout) == (0, "1 of 1 changes noticed (100 %)\n")
    done = ask("mutate", "--rules", "pack", "sig.oom.pieces")
    change = "requires: max(gpu.power_watts) lt 300: becomes 315"
    line = f"pack/signatures/oom/pieces.yaml: sig.oom.pieces: no case notices: {change}"
    assert (done.exit_code, line in done.stdout.splitlines()) == (1, True)
    assert ask("mutate", "--rules", "pack", "sig.oom.pieces", "--at-least", "10").exit_code == 0


def test_suggested_cases_are_shown_and_written_only_if_asked_for(pack: Path) -> None:
    path = pack / "signatures/oom/pieces.test.yaml"
    before = path.read_text()
    done = ask("suggest", "--rules", "pack", "sig.oom.pieces")
    assert done.exit_code == 1
    assert "pack/signatures/oom/pieces.test.yaml:\n  - {name: " in done.stdout
    assert path.read_text() == before
    assert ask("suggest", "--rules", "pack", "sig.oom.pieces", "--write").exit_code == 1
    assert path.read_text().startswith(before)
    done = ask("test", "--rules", "pack", "sig.oom.pieces")
    assert (done.exit_code, " 0 failed" in done.stdout) == (0, True), done.stdout
    done = ask("mutate", "--rules", "pack", "sig.oom.pieces")
    assert "becomes 315" not in done.stdout


def git(*words: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *names, *words], check=True, capture_output=True)


def test_diff_reads_git_revisions_without_a_checkout(pack: Path) -> None:
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    path = pack / "derivations/oom/slack.yaml"
    path.write_text(path.read_text().replace("version: 1.0.0", "version: 1.1.0").replace("title: Un", "title: "))
    git("commit", "-qam", "two")
    path.write_text(path.read_text().replace("formula: ", "formula: 2 * "))
    done = ask("diff", "HEAD~1..HEAD", "--rules", "pack")
    assert done.exit_code == 0
    assert "derive.oom.slack 1.0.0 -> 1.1.0: needs patch, given minor: ok\n  words only\n" in done.stdout
    done = ask("diff", "HEAD~1", "--rules", "pack", "--format", "md")
    assert done.exit_code == 1
    row = "| `derive.oom.slack` | 1.0.0 → 1.1.0 | major | minor ❌ | 1 old case judged otherwise |"
    assert row in done.stdout.splitlines()
    assert "- flips derive.oom.slack, a half: 0.5 -&gt; 1" in done.stdout.replace("->", "-&gt;")


def test_diff_of_a_release_counts_words_that_no_rule_has(pack: Path) -> None:
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    path = pack / "conclusions/all.yaml"
    path.write_text(path.read_text().replace("In pieces.", "In many pieces."))
    path = pack / "facts/all.yaml"
    path.write_text(path.read_text().replace('says: "On."', 'says: "On.", ask: "Is it on?"'))
    done = ask("diff", "HEAD", "--rules", "pack")
    assert done.exit_code == 0
    assert "job.on: the pack needs patch\n  words only\noom.pieces: the pack needs patch\n  words only\n" in done.stdout
    assert done.stdout.endswith(
        "2 words changed; 0 with too small a bump; the pack needs: patch, given: none (1.0.0)\n"
    )
    assert ask("diff", "HEAD", "--release", "--rules", "pack").exit_code == 1
    (pack / "pack.yaml").write_text("name: small\nversion: 1.0.1\n")
    done = ask("diff", "HEAD", "--release", "--rules", "pack")
    assert done.exit_code == 0
    assert done.stdout.endswith("the pack needs: patch, given: patch (1.0.0 -> 1.0.1)\n")


def test_diff_fails_closed(pack: Path) -> None:
    git("init", "-q")
    (pack / "pack.yaml").write_text("name: small\n")
    git("add", ".")
    git("commit", "-qm", "one")
    (pack / "pack.yaml").write_text("name: small\nversion: 1.0.0\n")
    assert ask("diff", "HEAD", "--rules", "pack").exit_code == 2
    assert ask("diff", "nowhere", "--rules", "pack").exit_code == 2
    assert ask("diff", "--output=x", "--rules", "pack").exit_code == 2


def test_new_writes_a_rule_whose_cases_hold_and_notice_every_change() -> None:
    words = ["--title", "Low power", "--concludes", "slow.input", "--fact", "gpu.power_watts", "--source", "guide"]
    for op in ("lt", "le", "gt", "ge"):
        done = ask("new", f"sig.slow.power-{op}", *words, "--op", op, "--value", "100", "--rules", "pack")
        assert done.exit_code == 0, done.stderr
    text = Path("pack/signatures/slow/power-lt.yaml").read_text()
    assert "requires: {fact: gpu.power_watts, op: lt, value: 100, source: guide}\n" in text
    assert ask("test", "slow", "--rules", "pack").stdout.startswith("4 rules, 12 cases, 0 failed")
    assert ask("new", "sig.slow.power-lt", *words, "--op", "lt", "--value", "1", "--rules", "pack").exit_code == 2


def test_new_adds_a_reference_and_a_conclusion_that_do_not_exist_yet(tmp_path: Path) -> None:
    folder = team_pack.write(tmp_path / "team")
    words = ["--title", "Warm", "--concludes", "acme.warm", "--fact", "gpu.utilization_share", "--op", "ge",
             "--value", "90 %", "--source", "hall", "--rules", str(folder)]  # fmt: skip
    done = ask("new", "sig.hardware.warm", *words)
    assert (done.exit_code, "no conclusion `acme.warm` (--says adds it" in done.stderr) == (2, True)
    done = ask("new", "sig.hardware.warm", *words, "--says", "The hall is warm.")
    assert (done.exit_code, "no reference `hall` (--address adds it" in done.stderr) == (2, True)
    assert not (folder / "signatures/hardware").exists()
    done = ask(
        "new", "sig.hardware.warm", *words, "--says", "The hall is warm.", "--address", "https://wiki.example/hall"
    )
    assert done.exit_code == 0, done.stderr
    assert "id: hall, title" in (folder / "references/hardware.yaml").read_text()
    assert 'value: "90 %", source: hall}' in (folder / "signatures/hardware/warm.yaml").read_text()
    assert ask("test", "hardware", "--rules", str(folder)).stdout.startswith("1 rules, 3 cases, 0 failed")
    assert "`acme.warm` has neither a fix nor a `collect` text" in ask("lint", "--rules", str(folder)).stdout
    done = ask("new", "sig.hardware.hot", *words, "--concludes", "acme.hot", "--says", "Hot.", "--collect", "sensors")
    assert done.exit_code == 0
    path = folder / "conclusions/hardware.yaml"
    path.write_text(path.read_text().replace('"The hall is warm."}', '"The hall is warm.", collect: "sensors"}'))
    assert ask("lint", "--rules", str(folder)).stdout == "10 files, 0 errors, 0 warnings, 0 waived\n"
    assert ask("mutate", "sig.hardware.warm", "--rules", str(folder)).stdout == "3 of 3 changes noticed (100 %)\n"


def test_commands_about_rules_work_on_a_teams_own_rules_alone(tmp_path: Path) -> None:
    folder = str(team_pack.write(tmp_path / "team"))
    assert ask("test", "--rules", folder).stdout == "2 rules, 7 cases, 0 failed, 0 rules without cases\n"
    assert ask("test", "sig.oom.queued", "--rules", folder).stdout.startswith("1 rules, 3 cases")
    assert ask("selftest", "--rules", folder).stdout.startswith("2 of 2 rules of 1.2.0 did")
    lock = json.loads(ask("lock", "--rules", folder).stdout)
    assert (lock["pack"], lock["version"], len(lock["rules"])) == ("acme", "1.2.0", 2)
    assert "acme:sig.oom.queued 1.0.0 (stable)" in ask("show", "acme:sig.oom.queued", "--rules", folder).stdout
    team_pack.write(tmp_path / "packs/one")
    team_pack.write(tmp_path / "packs/two", ("pack.yaml", "name: acme", "name: lab"))
    done = ask("test", "--rules", "packs")
    assert (done.exit_code, "name one of them: packs/one, packs/two" in done.stderr) == (2, True)


def test_a_pack_that_the_old_revision_does_not_have_is_all_new(tmp_path: Path) -> None:
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    done = ask("diff", "HEAD", "--rules", str(team_pack.write(tmp_path / "team")))
    assert done.stdout.endswith("0 changed, 2 added, 0 removed; 0 with too small a bump; the pack needs: minor\n")
    assert done.exit_code == 0


HOOKS = loads((ROOT / ".pre-commit-hooks.yaml").read_bytes(), "hooks").data


@pytest.mark.parametrize("hook", HOOKS, ids=lambda one: str(one["id"]))
def test_the_hooks_look_at_the_pack_of_their_repository(hook: dict[str, Any], tmp_path: Path) -> None:
    words = [*str(hook["entry"]).split()[1:], *hook["args"]]
    folder = team_pack.write(tmp_path / "rules")
    assert CliRunner().invoke(main, words).exit_code == 0
    (folder / "references/queue.yaml").write_text("references: []\n")
    assert CliRunner().invoke(main, words).exit_code in (1, 2)


def test_schemas_for_editors_know_the_words_of_all_packs(tmp_path: Path) -> None:
    team = team_pack.write(tmp_path / "team")
    assert ask("schemas", "schemas", "--rules", str(team)).exit_code == 0
    words = json.loads(Path("schemas/words.schema.json").read_text())["$defs"]
    assert {"acme.queue_seconds", "oom.request_bytes"} <= set(words["facts"]["enum"])
    assert {"acme.queued", "oom.fragmentation"} <= set(words["conclusions"]["enum"])
    assert {"runbook", "definition"} <= set(words["references"]["enum"])
    store = Registry().with_resources(
        (path.name, Resource.from_contents(json.loads(path.read_text()))) for path in Path("schemas").glob("*.json")
    )
    for name in ("signatures/oom/queued.yaml", "signatures/oom/pieces.yaml"):
        schema = json.loads(Path("schemas/signature.schema.json").read_text()) | {"$id": "signature.schema.json"}
        plain = loads((team / name).read_bytes(), name).data
        assert [
            *Draft202012Validator(schema | {"$id": "signature.schema.json"}, registry=store).iter_errors(plain)
        ] == []


def test_the_words_that_editors_complete_by_are_those_of_the_shipped_rules() -> None:
    """`make docs` writes them."""
    kept = json.loads((rules_folder() / "schema/v1/words.schema.json").read_text("utf-8"))
    assert kept == words_schema(load())


def test_new_asks_for_what_is_not_given() -> None:
    said = "Low power\nslow.input\ngpu.power_watts\nlt\n100\nguide\n"
    done = CliRunner().invoke(main, ["rules", "new", "sig.slow.asked", "--rules", "pack"], input=said)
    assert done.exit_code == 0
    assert Path("pack/signatures/slow/asked.test.yaml").is_file()


def test_new_asks_again_for_what_does_not_fit_and_for_what_new_words_say(tmp_path: Path) -> None:
    """Each word first as somebody mistypes it, then as it is meant; a mistyped reference is taken for a new one."""
    folder = team_pack.write(tmp_path / "team")
    said = ["Warm", "warm", "acme.warm", "The hall is warm.", "sensors"]
    said += ["gpu.tempreature", "gpu.name", "gpu.temperature_celsius", "above", "ge", "hot", "80 C"]
    said += ["runbok", "", "hall", "https://wiki.example/hall"]
    words = ["rules", "new", "sig.hardware.warm", "--rules", str(folder)]
    done = CliRunner().invoke(main, words, input="\n".join(said) + "\n")
    assert done.exit_code == 0, done.output
    for told in ("a new one: acme.warm", "did you mean gpu.temperature_celsius", "`gpu.name` is text, not a number",
                 "`above` is none of lt, le, gt, ge", "one of: celsius", "did you mean runbook"):  # fmt: skip
        assert told in done.output
    assert ask("lint", "--rules", str(folder)).stdout == "9 files, 0 errors, 0 warnings, 0 waived\n"
    assert ask("test", "hardware", "--rules", str(folder)).stdout.startswith("1 rules, 3 cases, 0 failed")
    assert 'says: "The hall is warm.", collect: "sensors"' in (folder / "conclusions/hardware.yaml").read_text()


def test_graph_goes_from_facts_to_fixes() -> None:
    text = ask("graph", "oom.pieces", "--rules", "pack", "--format", "dot").stdout
    for edge in (
        '"oom.free_bytes" -> "derive.oom.slack" [label="read"]',
        '"derive.oom.slack" -> "oom.slack_share" [label="gives"]',
        '"oom.slack_share" -> "sig.oom.pieces" [label="read"]',
        '"sig.oom.pieces" -> "oom.pieces" [label="concludes"]',
        '"oom.pieces" -> "fix.oom.grow" [label="fixed by"]',
        '"oom.pieces" -> "slow.input" [label="explains"]',
    ):
        assert edge in text
    assert ask("graph", "oom", "--rules", "pack").stdout.startswith("flowchart LR\n")
    assert ask("graph", "nothing", "--rules", "pack").exit_code == 2


def test_lock_tells_what_is_not_as_locked(pack: Path) -> None:
    Path("lock.json").write_text(ask("lock", "--rules", "pack").stdout)
    done = ask("lock", "--check", "lock.json", "--rules", "pack")
    assert (done.exit_code, done.stdout) == (0, "3 rules, 0 not as locked\n")
    path = pack / "derivations/oom/slack.yaml"
    path.write_text(path.read_text().replace("formula: ", "formula: 2 * "))
    done = ask("lock", "--check", "lock.json", "--rules", "pack")
    assert (done.exit_code, done.stdout) == (1, "derive.oom.slack: other logic\n3 rules, 1 not as locked\n")
