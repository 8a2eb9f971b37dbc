"""`--kb`: what commands say by rules as they were, or the reason why those cannot be had."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpuwhy.kb.load import rules_folder
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


def ask(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("rules", "list"), id="rules list"),
        pytest.param(("rules", "show", "fix.oom.grow"), id="rules show"),
        pytest.param(("rules", "graph", "oom"), id="rules graph"),
        pytest.param(("facts",), id="facts"),
        pytest.param(("catalog", "gpus"), id="catalog"),
        pytest.param(("audit", "hosts", "--format", "json"), id="audit"),
    ],
)
def test_commands_that_tell_of_rules_tell_of_them_as_they_were(words: tuple[str, ...], pack: Path) -> None:
    """A fact, a rule, a card and a conclusion of then are others now; each command shows one of them."""
    (pack / "catalogue").mkdir()
    card = "  - {names: [Card A], chip: one, values: {gpu.power_watts: {value: 300, source: guide}}}\n"
    chip = "chips:\n  - {id: one, values: {gpu.power_watts: {value: 300, source: guide}}}\n"
    cards = pack / "catalogue/gpus.yaml"
    cards.write_text(f"{chip}gpus:\n{card}")
    Path("hosts").mkdir()
    Path("hosts/a.txt").write_text("CUDA out of memory\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    then = ask(*words, "--rules", "pack").stdout
    cards.write_text(cards.read_text().replace("Card A", "Card B"))
    for name, before, after in (
        ("facts/all.yaml", "id: job.name", "id: job.kept, entity: job, type: text, says: Kept.}\n  - {id: job.name"),
        ("fixes/oom/grow.yaml", "title: Grow", "title: Shrink"),
        ("fixes/oom/grow.yaml", "id: fix.oom.grow", "id: fix.oom.shrink"),
    ):
        path = pack / name
        path.write_text(path.read_text().replace(before, after))
    (pack / "fixes/oom/grow.yaml").rename(pack / "fixes/oom/shrink.yaml")
    (pack / "fixes/oom/grow.test.yaml").rename(pack / "fixes/oom/shrink.test.yaml")
    now = ask(*words, "--rules", "pack")
    past = ask(*words, "--rules", "pack", "--kb", "HEAD")
    assert past.exception is None or isinstance(past.exception, SystemExit)
    assert (past.stdout == then, now.stdout != then, bool(then)) == (True, True, True)
    assert ask(*words, "--rules", "pack", "--kb", "nowhere").exit_code == 2


def test_a_site_of_the_rules_of_then(pack: Path) -> None:
    assert ask("rules", "lock", "--keep", "--rules", "pack").exit_code == 0
    path = pack / "fixes/oom/grow.yaml"
    path.write_text(path.read_text().replace("title: Grow", "title: Shrink"))
    assert ask("rules", "docs", "site", "--rules", "pack", "--kb", "1.0.0").exit_code == 0
    assert "<p>Grow</p>" in Path("site/rules/fix.oom.grow.html").read_text()


def test_rules_whose_words_are_others_choose_nothing() -> None:
    """Without the words in which work and machines are told no condition would hold, and everything would fit."""
    shutil.copytree(rules_folder(), "old", ignore=shutil.ignore_patterns("*.py", "__pycache__", "*.test.yaml"))
    for path in Path("old").rglob("*.yaml"):
        text = path.read_text()
        if "work.task" in text:
            path.write_text(text.replace("work.task", "work.kind_of_task"))
    for words in ((), ("--why", "gn7i")):
        done = ask("select", "--task", "serve", "--params", "70B", "--rules", "old", *words)
        assert (done.exit_code, "the rules do not know work.task" in done.stderr) == (2, True)
