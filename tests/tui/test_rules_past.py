"""`diagnose --kb`: a report made again by the rules it was made with, or the reason why that cannot be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpuwhy.tui.cli import main
from gpuwhy.tui.rules_store import store_folder
from tests.engine.rule_pack import write

ANSWERS = ("--answer", "job.on=true", "--answer", "job.name=x")


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "pack")


def git(*words: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *names, *words], check=True, capture_output=True)


def diagnose(*words: str) -> Result:
    Path("note.txt").write_text("nothing of interest\n")
    return CliRunner().invoke(main, ["diagnose", "note.txt", *ANSWERS, "--rules", "pack", "--format", "json", *words])


def change(pack: Path) -> None:
    path = pack / "signatures/oom/pieces.yaml"
    path.write_text(path.read_text().replace('"10 %"', '"11 %"'))


def test_a_git_revision_gives_the_report_of_then(pack: Path) -> None:
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    then = diagnose().stdout
    change(pack)
    now = diagnose().stdout
    assert (now != then, diagnose("--kb", "HEAD").stdout) == (True, then)


def test_kept_rules_are_found_by_version_and_by_digest(pack: Path) -> None:
    then = diagnose().stdout
    done = CliRunner().invoke(main, ["rules", "lock", "--keep", "--rules", "pack"])
    assert done.exit_code == 0
    (entry,) = store_folder().iterdir()
    change(pack)
    for named in ("1.0.0", entry.name, entry.name[:8]):
        assert diagnose("--kb", named).stdout == then
    rule = entry / "0/signatures/oom/pieces.yaml"
    rule.write_text(rule.read_text().replace('"10 %"', '"12 %"'))
    done = diagnose("--kb", "1.0.0")
    assert (done.exit_code, f"({entry.name[:12]}) were changed" in done.stderr) == (2, True)


def test_what_cannot_be_had_is_told_with_what_there_is(pack: Path) -> None:
    done = diagnose("--kb", "9.9.9")
    assert done.exit_code == 2
    assert "no rules `9.9.9`: the rules of now are " in done.stderr
    assert "`gpuwhy rules lock --keep` keeps those of now; git: not a git repository" in done.stderr
    assert CliRunner().invoke(main, ["rules", "lock", "--keep", "--rules", "pack"]).exit_code == 0
    assert "kept are small 1.0.0 (" in diagnose("--kb", "9.9.9").stderr
    change(pack)
    assert CliRunner().invoke(main, ["rules", "lock", "--keep", "--rules", "pack"]).exit_code == 0
    assert "`1.0.0` is kept with 2 contents" in diagnose("--kb", "1.0.0").stderr
