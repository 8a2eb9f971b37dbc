"""The steps of the GitHub action and of the GitLab job, run by bash in a clone of a scratch repository.

Only what leads out of the machine stands in: pip, gh and curl write down what they are asked. The services themselves
were not asked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from gpuwhy.kb.strict_yaml import loads
from tests.kb import team_pack

ROOT = Path(__file__).resolve().parents[2]
ACTION = loads((ROOT / ".github/actions/rules/action.yml").read_bytes(), "action").data
JOB = loads((ROOT / "examples/rules-ci/gitlab.yml").read_bytes(), "job").data["rules"]
SHELLS = {"bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]}
"""As the documentation of GitHub's workflow syntax has it."""
CONDITIONS = {
    "": True,
    "${{ !cancelled() }}": True,
    "${{ !cancelled() && (inputs.base != '' || github.base_ref != '') }}": True,
}
"""The conditions of steps and how they end on a pull request."""
QUEUED = "rules/signatures/oom/queued.yaml"
WORDS = [(QUEUED, "Waited in", "It waited in"), (QUEUED, "1.0.0", "1.0.1")]
FLIP = [(QUEUED, "10 s", "9 s"), (QUEUED, "1.0.0", "1.0.1")]

TOOLS = {
    "gpuwhy": 'exec "$TEST_PYTHON" -m gpuwhy "$@"',
    "pip": 'echo "pip $*" >> "$CALLS/log"',
    "python": 'echo "python $*" >> "$CALLS/log"',
    # no comment was written before, so that none can be edited
    "gh": 'echo "gh $*" >> "$CALLS/log"; case "$*" in *--edit-last*) exit 1;; esac; cp "${@: -1}" "$CALLS/comment"',
    "curl": 'echo "curl $*" >> "$CALLS/log"',
}


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *names, *words], check=True, capture_output=True)


class Runner:
    """A fresh clone of a branch, and the tools of a runner."""

    def __init__(self, folder: Path, edits: list[tuple[str, str, str]]) -> None:
        origin, self.clone, tools = folder / "origin", folder / "clone", folder / "tools"
        self.calls = folder / "calls"
        for one in (origin, tools, self.calls):
            one.mkdir()
        team_pack.write(origin / "rules")
        git(origin, "init", "-q", "-b", "main")
        git(origin, "add", ".")
        git(origin, "commit", "-qm", "one")
        git(origin, "switch", "-qc", "change")
        for name, before, after in edits:
            path = origin / name
            assert before in path.read_text()
            path.write_text(path.read_text().replace(before, after))
        git(origin, "commit", "-qam", "two", "--allow-empty")
        git(folder, "clone", "-q", "--depth=1", "--branch=change", f"file://{origin}", str(self.clone))
        for name, text in TOOLS.items():
            (tools / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
            (tools / name).chmod(0o755)
        self.variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CI", "GIT", "GH", "RULES"))},
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(folder / "config"),
            "TEST_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "CALLS": str(self.calls),
        }

    def run(self, shell: list[str], text: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A piece of script in the clone, with more variables."""
        variables = {**self.variables, **more}
        return subprocess.run(
            [*shell, text], cwd=self.clone, env=variables, capture_output=True, text=True, check=False
        )

    @property
    def log(self) -> list[str]:
        """What the tools that lead out of the machine were asked."""
        path = self.calls / "log"
        return path.read_text().splitlines() if path.is_file() else []


def steps(
    runner: Runner, only: tuple[str, ...] = (), **inputs: str
) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
    """The steps of the action on a pull request, as GitHub runs them, with their names."""
    known = {f"inputs.{name}": str(one["default"]) for name, one in ACTION["inputs"].items()}
    known |= {"github.base_ref": "main", "github.event.pull_request.number": "7", "github.token": "secret"}
    known |= {f"inputs.{name}": value for name, value in inputs.items()}

    def filled(text: object) -> str:
        while isinstance(text, str) and "${{" in text:
            text = re.sub(r"\$\{\{ *([a-z_.]+) *\}\}", lambda found: known[found[1]], text)
        return str(text)

    for step in ACTION["runs"]["steps"]:
        if CONDITIONS[step.get("if", "")] and (not only or step["name"] in only):
            variables = {name: filled(value) for name, value in step.get("env", {}).items()}
            summary = str(runner.calls / "summary")
            yield step["name"], runner.run(SHELLS[step["shell"]], step["run"], GITHUB_STEP_SUMMARY=summary, **variables)


def test_the_action_on_a_sound_change(tmp_path: Path) -> None:
    runner = Runner(tmp_path, WORDS)
    ends = {name: done.returncode for name, done in steps(runner)}
    assert ends == {"install": 0, "lint": 0, "test": 0, "diff": 0}
    assert runner.log == [
        "python -m pip install gpuwhy",
        "gh pr comment 7 --edit-last --body-file rules-diff.md",
        "gh pr comment 7 --body-file rules-diff.md",
    ]
    comment = (runner.calls / "comment").read_text()
    assert "| `acme:sig.oom.queued` | 1.0.0 → 1.0.1 | patch | patch | words only |" in comment.splitlines()
    assert comment == (runner.calls / "summary").read_text()
    assert 'failures="0"' in (runner.clone / "rules-junit.xml").read_text()


def test_the_action_on_a_change_that_is_not_sound(tmp_path: Path) -> None:
    """A verdict flips under a patch, a case no longer holds, and a reference is not used: each step says its part."""
    unused = '  - {id: other, title: O, address: "https://wiki.example/o", accessed: 2026-11-30, strength: measured}\n'
    path = "rules/references/queue.yaml"
    runner = Runner(tmp_path, [*FLIP, (path, "references:\n", f"references:\n{unused}")])
    found = dict(steps(runner))
    assert {name: done.returncode for name, done in found.items()} == {"install": 0, "lint": 1, "test": 1, "diff": 1}
    (place,) = re.findall(r"^::(?:error|warning) file=([^,]+),line=(\d+),", found["lint"].stdout, re.MULTILINE)
    assert "id: other" in (runner.clone / place[0]).read_text().splitlines()[int(place[1]) - 1]
    assert 'failures="1"' in (runner.clone / "rules-junit.xml").read_text()
    row = "| `acme:sig.oom.queued` | 1.0.0 → 1.0.1 | major | patch ❌ | 1 old case judged otherwise |"
    assert row in (runner.calls / "comment").read_text().splitlines()


def test_the_action_compares_with_a_revision_and_comments_only_if_asked_to(tmp_path: Path) -> None:
    runner = Runner(tmp_path, FLIP)
    found = dict(steps(runner, ("install", "diff"), base="HEAD", comment="false", gpuwhy="gpuwhy==1.0"))
    assert found["diff"].returncode == 0
    assert runner.log == ["python -m pip install gpuwhy==1.0"]
    assert "0 changed, 0 added, 0 removed" in (runner.calls / "summary").read_text()


def test_the_action_fails_where_nothing_can_be_compared(tmp_path: Path) -> None:
    runner = Runner(tmp_path, [("rules/pack.yaml", "version: 1.2.0\n", "")])
    found = dict(steps(runner, ("diff",)))
    assert found["diff"].returncode == 2
    assert [line for line in runner.log if line.startswith("gh")] == []
    assert "`version` is a required property" in found["diff"].stderr


GITLAB = {
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
    "CI_DEFAULT_BRANCH": "main",
    "CI_MERGE_REQUEST_IID": "7",
    "CI_API_V4_URL": "https://gitlab.example/api/v4",
    "CI_PROJECT_ID": "3",
}


def job(runner: Runner, **more: str) -> int:
    """The script of the job as a GitLab runner runs it: its lines one after the other in one bash."""
    given = {name: str(value) for name, value in JOB["variables"].items()}
    lines = "\n".join(["set -eo pipefail", *JOB["script"]])
    return runner.run(["bash", "-c"], lines, **given, **GITLAB, **more).returncode


def test_the_job_on_a_sound_change_comments_with_a_token(tmp_path: Path) -> None:
    runner = Runner(tmp_path, WORDS)
    assert job(runner, RULES_TOKEN="secret") == 0
    assert "| patch | patch | words only |" in (runner.clone / "rules-diff.md").read_text()
    install, said = runner.log
    assert install == "pip install gpuwhy"
    place = "https://gitlab.example/api/v4/projects/3/merge_requests/7/notes"
    assert said.endswith(f"--data-urlencode body@rules-diff.md {place}")
    assert "PRIVATE-TOKEN: secret" in said


def test_the_job_on_a_change_that_is_not_sound_leaves_its_comparison_as_an_artifact(tmp_path: Path) -> None:
    runner = Runner(tmp_path, FLIP)
    assert job(runner) == 1
    (kept,) = JOB["artifacts"]["paths"]
    assert "| major | patch ❌ | 1 old case judged otherwise |" in (runner.clone / kept).read_text()
    assert 'failures="1"' in (runner.clone / JOB["artifacts"]["reports"]["junit"]).read_text()
    assert runner.log == ["pip install gpuwhy"]
