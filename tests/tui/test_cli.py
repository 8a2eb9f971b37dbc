"""The command line as people and scripts meet it: exit status, what goes where, and input that nobody meant."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from gpuwhy.probes.artefacts.large_scan import LARGE_BYTES
from gpuwhy.tui import cli
from gpuwhy.tui.wording import columns
from tests.tui.pack import OOM, too_wide

STEPS = "\n".join(f"step {n}: loss 2.{n} data_time 0.300 batch_time 0.400" for n in range(1, 40))
FORMATS = ("text", "json", "md")


def gpuwhy(*arguments: str | Path, stdin: str | bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "gpuwhy", *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=120,
        env=os.environ | environment,
    )


def invoke(*arguments: str | Path, stdin: str | bytes = b"") -> Result:
    return CliRunner().invoke(cli.main, [str(one) for one in arguments], input=stdin)


@pytest.fixture
def oom(tmp_path: Path) -> Path:
    path = tmp_path / "oom.txt"
    path.write_text(OOM)
    return path


# exit status


def test_a_cause_that_was_found_is_status_1(rules: Path, oom: Path) -> None:
    done = gpuwhy("diagnose", "--rules", rules, oom)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"LIKELY      oom.fragmentation")


def test_something_normal_is_status_0(rules: Path) -> None:
    assert invoke("diagnose", "--rules", rules, "--answer", "oom.recovered=true", "-").exit_code == 0


def test_nothing_that_decides_is_status_3_and_never_healthy(rules: Path) -> None:
    for content in ("", "nothing known\n", "all GPUs are fine, nothing to see\n"):
        done = invoke("diagnose", "--rules", rules, stdin=content)
        assert done.exit_code == 3
        assert "CANNOT TELL" in done.stdout


def test_a_missing_file_is_status_2_and_named(rules: Path, oom: Path) -> None:
    done = gpuwhy("diagnose", "--rules", rules, oom, "no-such.txt")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no-such.txt: no such file or folder" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--answer", "oom.request_byte=2 GiB"), "did you mean oom.request_bytes"),
        (("--answer", "oom.request_bytes"), "write FACT=VALUE"),
        (("--answer", "oom.request_bytes=lots"), "is a number in bytes"),
        (("--answer", f"oom.request_bytes={'9' * 400}"), f"not `{'9' * 40}…`"),
        (("--what-if", "oom.request_bytes=1e400"), "is a number in bytes"),
        (("--what-if", "oom.request_bytes=1e308 TiB"), "is a number in bytes"),
        (("--answer", "oom.request_bytes=NaN"), "is a number in bytes"),
        (("--answer", "loader.workers=-inf"), "is a whole number"),
        (("--answer", "loader.workers=\u00b2"), "is a whole number"),
        (("--answer", "tested.shapes_vary=perhaps"), "yes or no, not `perhaps`"),
        (("--answer", "oom.allocator=numpy"), "is one of pytorch, "),
        (("--what-if", "zzz.zzz=1"), "`gpuwhy facts` lists them"),
        (("--why", "oom.fragmentatoin"), "did you mean oom.fragmentation"),
        (("--why-not", "slow.io_wall"), "did you mean slow.io-wall"),
        (("--rules", "/no/such/pack"), "pack.yaml is missing"),
        (("--format", "html"), "'html' is not one of"),
        (("--colour",), "No such option"),
    ],
)
def test_an_unusable_argument_is_status_2_and_says_what_would_do(
    rules: Path, oom: Path, arguments: tuple[str, ...], told: str
) -> None:
    done = invoke("diagnose", "--rules", rules, oom, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr


def test_rules_that_do_not_hold_are_told_with_all_their_problems(tmp_path: Path, oom: Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "pack.yaml").write_text("name: mine\nversion: 1\nsummary: x\n")
    (tmp_path / "facts" / "a.yaml").write_text("facts:\n  - {id: a.b, id: c.d}\n")
    done = invoke("diagnose", "--rules", tmp_path, oom)
    assert done.exit_code == 2
    assert "pack.yaml:2:10" in done.stderr
    assert "facts/a.yaml:2:15: duplicate key `id`" in done.stderr


def test_a_defect_is_neither_a_finding_nor_silent(monkeypatch: pytest.MonkeyPatch, oom: Path) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(cli, "_show", broken)
    done = invoke("diagnose", oom)
    assert done.exit_code == 70
    assert "ZeroDivisionError: a defect" in done.stderr


# what is read


def test_standard_input_is_read_with_a_dash_and_without(rules: Path) -> None:
    for arguments in (("-",), ()):
        done = gpuwhy("diagnose", "--rules", rules, "--format", "json", *arguments, stdin=OOM)
        assert done.returncode == 1
        sources = {fact["origin"]["source"] for fact in json.loads(done.stdout)["facts"]}
        assert "standard input" in sources


def test_a_long_pipe_is_read_as_a_large_file_is(rules: Path) -> None:
    lines = b"".join(b"%08d something else that a program prints\n" % n for n in range(LARGE_BYTES // 40))
    done = gpuwhy("diagnose", "--rules", rules, "--format", "json", stdin=lines + OOM.encode() + b"\n" + lines)
    report = json.loads(done.stdout)
    read = {fact["id"]: fact for fact in report["facts"]}
    assert read["oom.request_bytes"]["value"] == 1.5 * 2**30
    assert read["oom.request_bytes"]["origin"]["line"] == LARGE_BYTES // 40 + 1
    assert any("large" in one["reason"] for one in report["not_understood"])


def test_the_output_of_a_command_can_stand_for_a_file(rules: Path, oom: Path) -> None:
    command = f"{sys.executable} -m gpuwhy diagnose --rules {rules} --format json <(cat {oom}) <(echo more)"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"")
    assert "oom.request_bytes" in {fact["id"] for fact in json.loads(done.stdout)["facts"]}


def test_a_folder_is_all_its_files_and_one_diagnosis(rules: Path, tmp_path: Path) -> None:
    (tmp_path / "job" / "deep").mkdir(parents=True)
    (tmp_path / "job" / "deep" / "oom.txt").write_text(OOM)
    (tmp_path / "job" / "train.log.gz").write_bytes(gzip.compress(STEPS.encode()))
    (tmp_path / "job" / ".hidden").write_text(OOM.replace("1.50", "3.00"))
    done = gpuwhy("diagnose", "--rules", rules, "--format", "json", tmp_path / "job")
    report = json.loads(done.stdout)
    found = {one["id"]: one["status"] for one in report["conclusions"]}
    assert found["oom.fragmentation"] == "likely"
    assert found["slow.io-wall"] == "confirmed"
    assert {one["artefact"] for one in report["formats"]} == {"deep/oom.txt", "train.log.gz"}


def test_files_of_one_name_are_told_apart(rules: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"node{number}").mkdir()
        (tmp_path / f"node{number}" / "oom.txt").write_text(OOM.replace("1.50", f"{number}.50"))
    done = invoke(
        "diagnose", "--rules", rules, "--format", "json", tmp_path / "node1/oom.txt", tmp_path / "node2/oom.txt"
    )
    sources = {
        fact["origin"]["source"] for fact in json.loads(done.stdout)["facts"] if fact["id"] == "oom.request_bytes"
    }
    assert sources == {"oom.txt", str(tmp_path / "node2/oom.txt")}


def test_an_answer_is_about_the_only_failure_there_is(rules: Path, oom: Path) -> None:
    done = invoke("diagnose", "--rules", rules, "--format", "json", "--what-if", "oom.request_bytes=6 GiB", oom)
    report = json.loads(done.stdout)
    assert "oom.fragmentation" in {one["id"] for one in report["ruled_out"]}
    assert {fact["entity"] for fact in report["facts"] if fact["id"] == "oom.request_bytes"} == {"gpu:0/failure:1"}


def test_why_and_why_not_show_the_proof(rules: Path, oom: Path) -> None:
    done = invoke("diagnose", "--rules", rules, oom, "--why", "oom.fragmentation", "--why-not", "oom.other-process")
    assert "sig.oom.pieces 2.1.0" in done.stdout
    assert "RULED OUT  oom.other-process" in done.stdout
    plain = invoke("diagnose", "--rules", rules, oom, "--why", "oom.leak", "--format", "json")
    (proof,) = json.loads(plain.stdout)["proofs"]
    assert (proof["id"], proof["status"]) == ("oom.leak", "possible")


def test_facts_and_formats_can_be_looked_up() -> None:
    assert "oom.request_bytes  bytes" in invoke("facts", "request_bytes").stdout.splitlines()
    assert "pytorch" in invoke("formats").stdout


# what comes out


def test_no_colour_unless_a_terminal_shows_it(rules: Path, oom: Path) -> None:
    for environment in ({}, {"NO_COLOR": "1"}, {"TERM": "xterm-256color", "FORCE_COLOR": ""}):
        assert b"\x1b" not in gpuwhy("diagnose", "--rules", rules, oom, **environment).stdout


def in_a_terminal(*arguments: str | Path, **environment: str) -> str:
    """What the command writes where standard output is a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuwhy", *map(str, arguments)], stdout=theirs, env=os.environ | environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break  # Linux: the other end is closed
        if not piece:
            break
        shown += piece
    os.close(ours)
    process.wait(timeout=60)
    return shown.decode()


def test_a_terminal_gets_colour_and_no_color_turns_it_off(rules: Path, oom: Path) -> None:
    assert "\x1b[1;33mLIKELY\x1b[0m" in in_a_terminal("diagnose", "--rules", rules, oom)
    assert "\x1b" not in in_a_terminal("diagnose", "--rules", rules, oom, NO_COLOR="1")


@pytest.mark.parametrize("form", FORMATS)
def test_any_locale_will_do(rules: Path, oom: Path, form: str) -> None:
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = gpuwhy("diagnose", "--rules", rules, "--format", form, oom, "--why", "oom.fragmentation", **plain)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.isascii()
    assert b"oom.fragmentation" in done.stdout


HOSTILE = {
    "escape sequences": f"\x1b]0;owned\x07\x1b[2J\x1b[31m{OOM}\x1b[0m\x1bP+q\x1b\\ \x9b31m\n",
    "markup": f"[bold red]{OOM}[/] <img src=x onerror=alert(1)> [link=file:///etc]x[/link]\n",
    "bidi": f"\u202e{OOM}\u202c \u2066x\u2069 \u200b\n",
    "NULs": OOM.replace("Tried", "\x00T\x00ried") + "\n",
    "a line of a megabyte": "x" * 1_000_000 + f" {OOM} " + "y" * 100_000 + "\n",
    "progress bar": "".join(f"\r{n}% {'#' * 40}" for n in range(1000)) + f"\n{OOM}\n",
    "not UTF-8": OOM.encode("utf-16").decode("latin-1"),
    "template": "{oom.request_bytes} {0} %s %(x)s ${HOME} `id` $(id)\n" + OOM,
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_steers_nothing(rules: Path, tmp_path: Path, kind: str, form: str) -> None:
    path = tmp_path / "a\x1b[31m\u202eb\x07.txt"
    path.write_text(HOSTILE[kind], encoding="utf-8")
    why = invoke("diagnose", "--rules", rules, "--format", form, path, "--why", "oom.fragmentation")
    done = invoke("diagnose", "--rules", rules, "--format", form, path)
    for shown in (done.stdout, done.stderr, why.stdout):
        assert done.exit_code in (1, 3)
        odd = {sign for sign in shown if sign != "\n" and unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")}
        assert odd == set()
    if form == "text":
        assert max(map(columns, done.stdout.splitlines())) <= 80
    if form == "json":
        json.loads(done.stdout)


def test_hostile_arguments_are_shown_harmlessly() -> None:
    done = invoke("diagnose", "/no/\x1b[31mfile\u202e", "--answer", "oom.recovered=true")
    assert done.exit_code == 2
    assert not {"\x1b", "\u202e"} & set(done.stderr)
    done = invoke("diagnose", "--answer", "\x1b[31m=1")
    assert done.exit_code == 2
    assert "\x1b" not in done.stderr


def test_a_name_that_is_no_text_does_not_stop_it(rules: Path, tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
    with open(path, "wb") as file:
        file.write(OOM.encode())
    for form in FORMATS:
        done = gpuwhy("diagnose", "--rules", rules, "--format", form, tmp_path)
        assert (done.returncode, done.stderr) == (1, b"")


def test_a_reader_that_leaves_early_is_no_defect(rules: Path, oom: Path) -> None:
    command = f"{sys.executable} -m gpuwhy diagnose --rules {rules} --format json {oom} | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("content", ["", OOM, STEPS, f"{OOM}\n\n{STEPS}\n\n" + "unknown line\n\n" * 30])
def test_the_shipped_rules_fit_the_terminal(tmp_path: Path, content: str) -> None:
    path = tmp_path / ("artefact-" * 12 + ".txt")
    path.write_text(content)
    assert too_wide(invoke("diagnose", path).stdout) == []


def every_help_text() -> list[list[str]]:
    return [["--help"], *([name, "--help"] for name in cli.main.list_commands(click.Context(cli.main)))]


@pytest.mark.parametrize("arguments", every_help_text(), ids=" ".join)
def test_every_command_has_help(arguments: list[str]) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 0
    assert "Usage:" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
