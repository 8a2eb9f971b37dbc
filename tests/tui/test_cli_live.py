"""Looking at the machine from the command line: what is shown and written, the status, what an interrupt leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuwhy.kb.fact_file import load
from gpuwhy.tui import cli
from gpuwhy.tui.durations import duration
from gpuwhy.tui.wording import columns
from tests.conftest import ROOT
from tests.probes.nvml.conftest import compiled
from tests.probes.nvml.live import SCENARIOS, environment


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a recent driver."""
    return compiled(tmp_path_factory.mktemp("nvml-cli"))


def gpuwhy(library: Path, scenario: str, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpuwhy", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(library, scenario, **more),
        stdin=subprocess.DEVNULL,
    )


# how long


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20s", 20.0), ("2m", 120.0), ("500ms", 0.5), ("1.5min", 90.0), ("1h", 3600.0), ("7", 7.0), (" 3 s ", 3.0)],
)
def test_a_length_of_time_is_written_as_people_do(text: str, seconds: float) -> None:
    context = cli.main.make_context("gpuwhy", ["formats"])
    assert duration(context, context.command.params[0], text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-3s", "0s", "2h", "1e3", "3 s s", "nan", "9" * 400])
@pytest.mark.parametrize("command", [("probe", "--for"), ("diagnose", "--live")])
def test_any_other_is_refused_at_once(command: tuple[str, str], text: str) -> None:
    done = CliRunner().invoke(cli.main, [*command, text])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert command[1] in done.stderr


# what is shown


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENARIOS.glob("*.scn") if path.stem != "hangs"))
def test_the_summary_fits_a_terminal_and_claims_no_health(library: Path, name: str) -> None:
    done = gpuwhy(library, name, "probe", "--for", "0.2s")
    assert done.stderr == ""
    assert max(map(columns, done.stdout.splitlines())) <= 80
    assert "healthy" not in done.stdout
    assert done.returncode == (3 if name in ("zero-gpus", "silent") else 0)


def test_the_summary_says_what_a_person_looks_for(library: Path) -> None:
    lines = " ".join(gpuwhy(library, "healthy-busy", "probe", "--for", "1s").stdout.split())
    for part in (
        "GPU 0 NVIDIA A100-SXM4-80GB",
        "busy 97 %",
        "memory 39.06 GiB of 80.00 GiB",  # 41943040000 and 85899345920 bytes
        "power 391 W of 400 W",
        "SM clock 1,275 MHz of 1,410 MHz under load",
        "heat 71 °C, slows down at 89 °C",
        "PCIe link generation 4 of 4, 16 of 16 lanes, under load",
        "4194311 /usr/bin/python3, 38.18 GiB, 95 % busy",  # 41000000000 bytes
        "short: what comes and goes shows from 30 s on",
    ):
        assert part in lines


def test_the_summary_leads_with_what_is_broken(library: Path) -> None:
    lines = " ".join(gpuwhy(library, "lost-midway", "probe", "--for", "1s").stdout.split())
    assert "GPU 1 NVIDIA A100-SXM4-80GB error gpu-lost: the GPU is lost (NVML 15)" in lines
    assert "Xid 79, 154 while watched" in lines
    lines = " ".join(gpuwhy(library, "power-brake", "probe", "--for", "1s").stdout.split())
    assert "power brake 100 %; hardware slowdown 100 % of the samples" in lines


def test_without_a_driver_the_reason_is_the_answer(library: Path) -> None:
    done = gpuwhy(library, "idle", "probe", "--for", "0.2s", LD_LIBRARY_PATH="/no/such/folder")
    assert done.returncode == 3
    lines = " ".join(done.stdout.split())
    assert lines.startswith("NO ANSWER library-missing: the driver's library libnvidia-ml.so.1 is missing (NVML 12)")
    assert "HOST watched" in lines  # which can be seen all the same
    assert done.stderr == ""


def test_any_locale_will_do(library: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = gpuwhy(library, "healthy-busy", "probe", "--for", "0.2s", **plain)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


# what is written


def test_the_facts_are_written_to_a_file_and_shown(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text("old")
    done = gpuwhy(library, "idle", "probe", "--for", "0.2s", "--json", path)
    assert done.returncode == 0
    facts, absent = load(path.read_text())
    assert {one.id: one.value for one in facts}["gpu.name"] == "NVIDIA A10"
    assert absent
    assert "NVIDIA A10" in done.stdout
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_told_before_the_watch(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "facts.json"):
        done = CliRunner().invoke(cli.main, ["probe", "--for", "1h", "--json", str(path)])
        assert done.exit_code == 2
        assert "--json" in done.stderr


def test_a_link_is_followed_and_stays(library: Path, tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("real.json")
    assert gpuwhy(library, "idle", "probe", "--for", "0.2s", "--json", tmp_path / "link.json").returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert load((tmp_path / "real.json").read_text())[0]


# interrupts and waiting


def test_ctrl_c_ends_the_watch_and_keeps_what_was_seen(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuwhy", "probe", "--for", "1h", "--json", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(library, "healthy-busy", FAKE_NVML_DEBUG="1"),
    )
    assert process.stderr is not None
    asked = 0
    for line in process.stderr:
        asked += "nvmlDeviceGetUtilizationRates" in line
        if asked == 2:
            break
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "ended early" in shown
    facts = {one.id: one.value for one in load(path.read_text())[0]}
    assert facts["gpu.utilization_share"] == 0.97
    assert facts["gpu.lost"] is False


def shown_to_a_terminal(library: Path, seconds: str) -> str:
    """What stands on standard error where that is a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuwhy", "probe", "--for", seconds, "--json", "-"],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment(library, "idle"),
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
    assert process.wait(timeout=60) == 0
    return shown.decode()


def test_a_long_watch_shows_its_progress_and_wipes_it(library: Path) -> None:
    shown = shown_to_a_terminal(library, "2.1s")
    assert "watching  [" in shown
    assert "of 2 s" in shown
    assert shown.endswith("\r")
    assert max(map(len, shown.split("\r"))) <= 80
    assert shown_to_a_terminal(library, "0.2s") == ""


# a diagnosis of the machine itself


def live_facts(library: Path, scenario: str, *arguments: str | Path) -> tuple[int, dict[str, object]]:
    done = gpuwhy(library, scenario, "diagnose", "--live", "0.4s", "--format", "json", *arguments)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert [one["format"] for one in report["formats"] if one["artefact"] == "this machine"] == ["nvml", "host"]
    return done.returncode, {one["id"]: one for one in report["facts"]}


def test_a_diagnosis_can_look_at_the_machine_alone(library: Path) -> None:
    status, facts = live_facts(library, "idle")
    assert facts["gpu.link_generation"] is not None
    done = gpuwhy(library, "idle", "diagnose", "--live", "0.4s")
    assert "hardware.idle-link-downshift" in done.stdout
    assert done.returncode == status == 0


def test_a_diagnosis_puts_the_machine_beside_artefacts(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "steps.txt"
    path.write_text("\n".join(f"step {n}: loss 2.{n} data_time 0.300 batch_time 0.400" for n in range(1, 40)))
    _, facts = live_facts(library, "idle", path)
    assert "gpu.utilization_share" in facts
    assert any(name.startswith("step.") for name in facts)


def test_a_diagnosis_without_a_driver_cannot_tell(library: Path) -> None:
    done = gpuwhy(library, "idle", "diagnose", "--live", "0.2s", LD_LIBRARY_PATH="/no/such/folder")
    assert done.returncode == 3
    assert not {"CONFIRMED", "LIKELY"} & set(done.stdout.split())


def test_facts_of_a_watch_can_be_diagnosed_later(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    assert gpuwhy(library, "idle", "probe", "--for", "0.4s", "--json", path).returncode == 0
    done = gpuwhy(library, "idle", "diagnose", path, LD_LIBRARY_PATH="/no/such/folder")
    assert (done.returncode, done.stderr) == (0, "")
    assert "CONFIRMED   hardware.idle-link-downshift" in done.stdout
    assert "NOT READ" not in done.stdout


def test_probe_gives_the_facts_of_the_rules_it_is_told_to_use(library: Path, tmp_path: Path) -> None:
    """A pack whose vocabulary has fewer words: what has none is told and left out."""
    rules = tmp_path / "rules"
    shutil.copytree(ROOT / "rules", rules, ignore=shutil.ignore_patterns("signatures", "fixes", "derivations"))
    text = (rules / "facts" / "gpu.yaml").read_text("utf-8")
    (rules / "facts" / "gpu.yaml").write_text(text.replace("id: gpu.name,", "id: gpu.called,"), "utf-8")
    done = gpuwhy(library, "idle", "probe", "--for", "0.1s", "--json", "-", "--rules", rules)
    assert "gpu.name" not in {fact.id for fact in load(done.stdout)[0]}
    assert "gpu.utilization_share" in {fact.id for fact in load(done.stdout)[0]}
    assert "gpu.name" in done.stderr


def test_probe_with_rules_that_are_none_is_refused_at_once(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli.main, ["probe", "--for", "1h", "--rules", str(tmp_path)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "pack.yaml is missing" in done.stderr
