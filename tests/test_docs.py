"""The documentation says what the product does: its examples run, its commands and links exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gpuwhy.kb.load import rules_folder
from gpuwhy.kb.schema import violations
from gpuwhy.kb.strict_yaml import loads
from gpuwhy.tui.cli import main
from gpuwhy.tui.exit_codes import ExitCode
from tests.conftest import ROOT
from tests.tui.audit.fake_prometheus import server, sound
from tests.tui.pack import OOM

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
README = (ROOT / "README.md").read_text("utf-8")


def test_the_example_in_the_readme_is_what_gpuwhy_prints() -> None:
    done = subprocess.run([sys.executable, ROOT / ".ci" / "refresh-readme", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("line", re.findall(r"^gpuwhy .*$", README, re.MULTILINE))
def test_the_commands_of_the_readme_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job-4711").mkdir()
    for name in ("oom.txt", "nvidia-smi.txt", "train.log", "facts.json", "job-4711/oom.txt"):
        (tmp_path / name).write_text(OOM)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").write_text("#!/bin/sh\nexit 255\n")
    (tmp_path / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.chdir(tmp_path)
    words = [re.sub(r"^\d+s$", "0.2s", word) for word in shlex.split(line, comments=True)[1:]]
    words = [str(os.getpid()) if word == "4711" else word for word in words]  # a process that exists
    with server(sound) as prometheus:
        done = CliRunner().invoke(main, [prometheus if word == "http://prom:9090" else word for word in words])
    assert done.exit_code in (0, 1, 3), done.stderr


def test_every_exit_status_is_in_the_readme() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert listed == {code.value for code in ExitCode} - {ExitCode.INTERRUPTED}


def test_every_command_is_in_the_readme() -> None:
    assert {name for name in main.list_commands(click.Context(main)) if f"gpuwhy {name}" not in README} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    for address in re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8")):
        if "://" not in address:
            assert (page.parent / address).exists(), address


@pytest.mark.parametrize("target", re.findall(r"make ([a-z]+)", README + (ROOT / "CONTRIBUTING.md").read_text("utf-8")))
def test_every_make_target_that_is_named_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def rule_examples() -> list[tuple[str, str]]:
    page = (ROOT / "docs" / "rules.md").read_text("utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    kinds = {
        "id: sig": "signature",
        "id: fix": "fix",
        "id: derive": "derivation",
        "id: select": "selection",
        "cases:": "test",
        "facts:": "facts",
    }
    return [(kind, block) for block in blocks for start, kind in kinds.items() if block.startswith(start)]


@pytest.mark.parametrize(("kind", "block"), rule_examples(), ids=lambda value: value if len(value) < 20 else "")
def test_the_examples_of_rules_hold_to_their_schemas(kind: str, block: str) -> None:
    document = loads(block.encode(), "docs/rules.md")
    assert violations(document, kind, rules_folder() / "schema" / "v1") == []


def test_there_is_an_example_of_every_kind_of_rule() -> None:
    assert {kind for kind, _ in rule_examples()} == {"signature", "fix", "derivation", "selection", "test", "facts"}
