"""Facts of other hosts: through real ssh and sshd on the loopback address, each host for what it is."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpuwhy.kb.fact_file import load
from gpuwhy.kb.facts import HOST, gpu
from gpuwhy.tui import cli
from gpuwhy.tui.wording import columns
from tests.probes.ssh.servers import Servers, fake_driver

HOSTS = ("good", "down", "hanging", "bare", "changed")
"""What each host is called is what it is; `bare` has no Python."""

SOON = ("--ssh-option", "ConnectTimeout=3")
"""For hosts that never answer."""

CHATTY = "echo 'Welcome to good! <<gpuwhy is not a frame'; PATH={driver}:$PATH; export PATH\n"
RUN = 'sh -c "$SSH_ORIGINAL_COMMAND"; status=$?; echo; echo "Goodbye."; exit $status\n'
BARE_TOOLS = ("sh", "cat", "wc", "sha256sum", "timeout", "grep", "tail", "df", "sleep")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Five hosts: one good, one down, one that hangs, one without Python, one with another key than is known."""
    folder = tmp_path_factory.mktemp("ssh")
    servers = Servers(folder)
    driver = fake_driver(folder / "driver")
    bare = folder / "bare"
    bare.mkdir()
    for tool in BARE_TOOLS:
        (bare / tool).symlink_to(str(shutil.which(tool)))
    try:
        servers.serve("good", CHATTY.format(driver=driver) + RUN, f"Banner {_banner(folder)}")
        servers.serve("bare", f"PATH={bare}:{driver}; export PATH\n" + RUN)
        servers.serve("changed", RUN)
        servers.serve("unknown", RUN)
        servers.serve("closed-account", "echo 'This account is currently not available.'; exit 1\n")
        servers.serve("cut", 'sh -c "$SSH_ORIGINAL_COMMAND" | head -c 3000\n')
        servers.serve("locked", RUN, "AllowUsers nobody-at-all")
        servers.down("down")
        servers.hang("hanging")
        for host in ("good", "bare", "closed-account", "cut", "locked"):
            servers.know(host, host)
        servers.know("changed", "good")
        yield servers
    finally:
        servers.close()


def _banner(folder: Path) -> Path:
    path = folder / "banner"
    path.write_text("Authorised use only.\nroot@other: Permission denied (publickey).\n")
    return path


def collect(servers: Servers, out: Path, *arguments: str) -> Result:
    given = ["collect", "--ssh-config", str(servers.configuration), "--out", str(out), *arguments]
    return CliRunner().invoke(cli.main, given)


def by_host(done: Result) -> dict[str, dict[str, Any]]:
    return {one["host"]: one for one in json.loads(done.stdout)["hosts"]}


@pytest.fixture(scope="module")
def run(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]], Result]:
    """All five hosts at once."""
    out = tmp_path_factory.mktemp("collected")
    done = collect(servers, out, *HOSTS, *SOON, "--json")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return out, by_host(done), done


def test_each_host_is_reported_for_what_it_is(run: tuple[Path, dict[str, dict[str, Any]], Result]) -> None:
    out, hosts, done = run
    assert done.exit_code == 3  # some hosts were not collected
    said = {host: one.get("reason") or one["status"] for host, one in hosts.items()}
    assert said == {
        "good": "collected",
        "bare": "collected",
        "down": "down",
        "hanging": "timeout",
        "changed": "host-key-changed",
    }
    assert hosts["good"]["note"] is None
    assert hosts["bare"]["note"] == "no-python-fallback-used"
    assert sorted(path.name for path in out.iterdir()) == [
        "bare.facts.json",
        "changed.failed.json",
        "down.failed.json",
        "good.facts.json",
        "hanging.failed.json",
    ]


@pytest.mark.parametrize("host", ["good", "bare"])
def test_what_the_host_tells_becomes_facts(run: tuple[Path, dict[str, dict[str, Any]], Result], host: str) -> None:
    facts, _ = load((run[0] / f"{host}.facts.json").read_text())
    known = {(one.id, one.entity): one.value for one in facts}
    assert known["gpu.name", gpu(0)] == "NVIDIA A10"
    assert known["gpu.memory_total_bytes", gpu(0)] == 23028 * 1024**2
    assert known["gpu.power_watts", gpu(0)] == 15.9
    assert known["host.driver_version", HOST] == "535.104.05"
    total = next(line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line)
    assert known["host.memory_total_bytes", HOST] == int(total) * 1024


def test_a_failure_says_why_for_machines_and_for_people(run: tuple[Path, dict[str, dict[str, Any]], Result]) -> None:
    document = json.loads((run[0] / "changed.failed.json").read_text())
    assert (document["format"], document["host"]) == ("gpuwhy-collect-failure", "changed")
    assert document["reason"] == "host-key-changed"
    assert "another" in document["says"] or "not the known one" in document["says"]
    assert document["older_facts"] is None


def test_the_facts_are_for_their_owner_alone(run: tuple[Path, dict[str, dict[str, Any]], Result]) -> None:
    assert {path.stat().st_mode & 0o777 for path in run[0].iterdir()} == {0o600}


def test_a_collected_host_can_be_diagnosed(run: tuple[Path, dict[str, dict[str, Any]], Result]) -> None:
    done = CliRunner().invoke(cli.main, ["diagnose", str(run[0] / "good.facts.json")])
    assert done.exit_code in (0, 1, 3)
    assert "NOT READ" not in done.stdout


def test_the_summary_groups_hosts_by_reason(servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = collect(servers, Path("facts"), *HOSTS, *SOON)
    text = " ".join(done.stdout.split())
    assert done.exit_code == 3
    assert max(map(columns, done.stdout.splitlines())) <= 80
    assert "COLLECTED 1 host good" in text
    assert "no-python-fallback-used" in text
    for reason in ("down", "timeout", "host-key-changed"):
        assert f"FAILED 1 host; {reason}:" in text
    assert "2 of 5 hosts collected" in text
    assert done.stderr == ""  # no progress where nobody watches


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("unknown", "host-key-unknown"),
        ("closed-account", "collector-error"),
        ("cut", "truncated"),
        ("locked", "auth"),
    ],
)
def test_other_failures_have_their_own_reason(servers: Servers, tmp_path: Path, host: str, reason: str) -> None:
    done = collect(servers, tmp_path, host, "--json")
    assert by_host(done)[host]["reason"] == reason
    assert done.exit_code == 3
    if host == "closed-account":
        assert "not available" in by_host(done)[host]["detail"]


def test_the_known_hosts_file_is_not_written(servers: Servers, tmp_path: Path) -> None:
    before = servers.known.read_bytes()
    collect(servers, tmp_path, "unknown", "changed", "good")
    assert servers.known.read_bytes() == before


def test_host_keys_are_checked_even_where_the_configuration_says_otherwise(servers: Servers, tmp_path: Path) -> None:
    loose = tmp_path / "loose"
    loose.write_text("Host *\n  StrictHostKeyChecking no\n" + servers.configuration.read_text())
    given = ["collect", "unknown", "--ssh-config", str(loose), "--out", str(tmp_path / "out"), "--json"]
    assert by_host(CliRunner().invoke(cli.main, given))["unknown"]["reason"] == "host-key-unknown"


def test_fresh_files_are_skipped_and_that_is_said(servers: Servers, tmp_path: Path) -> None:
    assert collect(servers, tmp_path, "good").exit_code == 0
    before = (tmp_path / "good.facts.json").read_bytes()
    done = collect(servers, tmp_path, "good", "down", "--resume")
    assert "SKIPPED 1 host" in " ".join(done.stdout.split())
    assert "1 skipped" in done.stdout
    assert (tmp_path / "good.facts.json").read_bytes() == before
    os.utime(tmp_path / "good.facts.json", (1, 1))
    assert by_host(collect(servers, tmp_path, "good", "--resume", "--json"))["good"]["status"] == "collected"


def test_a_damaged_file_is_not_fresh(servers: Servers, tmp_path: Path) -> None:
    (tmp_path / "down.facts.json").write_text('{"format": "gpuwhy-fa')
    done = collect(servers, tmp_path, "down", "--resume", "--json")
    assert by_host(done)["down"]["reason"] == "down"


def test_a_host_that_answers_again_loses_its_failure(servers: Servers, tmp_path: Path) -> None:
    (tmp_path / "good.failed.json").write_text("{}")
    assert collect(servers, tmp_path, "good").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["good.facts.json"]


def test_a_host_that_fails_keeps_its_older_facts_and_says_so(servers: Servers, tmp_path: Path) -> None:
    (tmp_path / "down.facts.json").write_text("old")
    collect(servers, tmp_path, "down")
    assert json.loads((tmp_path / "down.failed.json").read_text())["older_facts"] == "down.facts.json"
    assert (tmp_path / "down.facts.json").read_text() == "old"


def test_nothing_is_left_behind_on_the_host(servers: Servers, tmp_path: Path) -> None:
    listed = {path.name for path in Path("/tmp").iterdir()}
    home = {path.name for path in Path.home().iterdir()}
    assert collect(servers, tmp_path, "good", "bare").exit_code == 0
    assert {name for name in {path.name for path in Path("/tmp").iterdir()} - listed if "gpuwhy" in name} == set()
    assert {path.name for path in Path.home().iterdir()} == home


def test_ctrl_c_keeps_what_was_collected_and_ends_every_ssh(servers: Servers, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gpuwhy", "collect", "good", "hanging", "--out", str(tmp_path), "--timeout", "10m"),
            *("--ssh-config", str(servers.configuration), "--ssh-option", "ConnectTimeout=600"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    facts = tmp_path / "good.facts.json"
    while process.poll() is None and not facts.exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in shown
    assert "1 of 2 hosts collected" in shown
    assert not [line for line in _command_lines() if str(servers.configuration) in line and "hanging" in line]


def _command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_text(errors="replace")


# arguments


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--", "-oProxyCommand=true"),
        ("a host",),
        ("good", "--ssh-option", "StrictHostKeyChecking=no"),
        ("good", "--ssh-option", "stricthostkeychecking accept-new"),
        ("good", "--ssh-option", "nonsense"),
        ("good", "--ssh-config", "/no/such/file"),
        ("good", "--parallel", "0"),
        ("good", "--out", "/dev/null/facts"),
    ],
    ids=lambda arguments: "_".join(arguments) or "none",
)
def test_unusable_arguments_are_refused_before_anything_runs(arguments: tuple[str, ...], tmp_path: Path) -> None:
    out = () if "--out" in arguments else ("--out", str(tmp_path / "out"))
    done = CliRunner().invoke(
        cli.main,
        ["collect", *out, "--", *arguments]
        if arguments[:1] == ("-oProxyCommand=true",)
        else ["collect", *out, *arguments],
    )
    assert done.exit_code == 2
    assert done.stdout == ""


def test_what_would_run_is_shown_and_not_run() -> None:
    done = CliRunner().invoke(cli.main, ["collect", "--show-collector", "--ssh-option", "Port=2222"])
    assert done.exit_code == 0
    assert "StrictHostKeyChecking=yes" in done.stdout
    assert "Port=2222" in done.stdout
    for name in ("remote_collector.py", "remote_collector.sh"):
        assert (Path(cli.__file__).resolve().parent.parent / "probes" / name).read_text("utf-8") in done.stdout


def test_a_missing_ssh_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = CliRunner().invoke(cli.main, ["collect", "good", "--out", str(tmp_path / "out"), "--json"])
    assert by_host(done)["good"]["reason"] == "ssh-missing"


def test_a_list_of_hosts_is_read_from_a_file_with_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no ssh: all fail at once
    (tmp_path / "hosts").write_text("# all\none two # old\n\ntwo\nadmin@three\n")
    given = ["collect", "four", "--hosts", str(tmp_path / "hosts"), "--out", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(cli.main, given)
    assert sorted(by_host(done)) == ["admin@three", "four", "one", "two"]
