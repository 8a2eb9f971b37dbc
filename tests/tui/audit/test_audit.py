"""An audit: the verdict of each host is that of its diagnosis, and nothing that is broken ends it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpuwhy.engine.diagnose import diagnose
from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, Absent, Fact, FactBase, Origin, OriginKind, gpu
from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.read import gather
from gpuwhy.probes.fleet_inputs import find_fleet, stem
from gpuwhy.tui import cli_audit
from gpuwhy.tui.audit.model import Audit, Finding, Host
from gpuwhy.tui.audit.run import run
from gpuwhy.tui.audit.text import render
from gpuwhy.tui.cli import main
from gpuwhy.tui.exit_codes import of

pytest.importorskip("polars")

MEASURED = Origin(OriginKind.MEASURED, "nvml")
CAPTURES = Path(os.environ.get("GPUWHY_CAPTURES", "no-captures"))
EXIT = {"cause": 1, "nothing to fix": 0, "cannot tell": 3}


def write(folder: Path, host: str, lost: bool = False, denied: bool = False, machine: str = "p5.48xlarge") -> None:
    """A facts file of a host with two GPUs, the second one lost or not."""
    facts = [Fact("host.instance_type", machine, None, HOST, MEASURED)]
    for number in range(2):
        facts.append(Fact("gpu.name", "NVIDIA H100 80GB HBM3", None, gpu(number), MEASURED))
        facts.append(Fact("gpu.utilization_share", 0.0, "share", gpu(number), MEASURED))
        facts.append(Fact("gpu.lost", lost and number == 1, None, gpu(number), MEASURED))
    absent = [Absent("gpu.row_remap_pending", gpu(0), "no permission", MEASURED)] if denied else []
    (folder / f"{host}.facts.json").write_text(dump(facts, absent), "utf-8")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three sound hosts, one with a lost GPU, one cut file, one that could not be collected, one of no format."""
    for number in range(3):
        write(tmp_path, f"ok-{number}")
    write(tmp_path, "bad-1", lost=True, machine="p4d.24xlarge")
    whole = (tmp_path / "ok-0.facts.json").read_text("utf-8")
    (tmp_path / "cut.facts.json").write_text(whole[: len(whole) // 2], "utf-8")
    failure = {"format": "gpuwhy-collect-failure", "schema": 1, "host": "gone", "says": "no route to it"}
    (tmp_path / "gone.failed.json").write_text(json.dumps(failure), "utf-8")
    (tmp_path / "odd.txt").write_bytes(bytes(range(256)))
    return tmp_path


def audit(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["audit", *map(str, arguments)], catch_exceptions=False)


def of_files(*paths: Path) -> Audit:
    kb = load()
    return run(kb, find_fleet([str(one) for one in paths], kb.facts)).audit()


def test_a_broken_host_is_a_row_and_never_the_end(fleet: Path) -> None:
    found = audit(fleet, "--format", "json")
    document = json.loads(found.output)
    verdicts = {row["host"]: row["verdict"] for row in document["findings"]}
    assert found.exit_code == 1
    assert document["counts"]["hosts"] == 7
    assert {host for host, verdict in verdicts.items() if verdict == "broken"} == {"cut", "gone", "odd"}
    assert verdicts["bad-1"] == "cause"
    says = {row["host"]: row["says"] for row in document["findings"]}
    assert says["gone"] == "was not collected: no route to it"


def test_causes_are_grouped_by_machine_type_and_name_the_gpu(fleet: Path) -> None:
    document = json.loads(audit(fleet, "--format", "json").output)
    lost = next(one for one in document["causes"] if one["id"] == "hardware.gpu-lost")
    assert lost["types"] == [{"type": "p4d.24xlarge", "hosts": [{"host": "bad-1", "entities": ["gpu 1"]}]}]
    assert (lost["hosts"], lost["gpus"]) == (1, 1)


def test_every_host_has_the_verdict_of_its_diagnosis(fleet: Path) -> None:
    kb, made = load(), of_files(fleet)
    verdicts = made.verdicts()
    for host in ("ok-0", "bad-1"):
        found = gather([(host, fleet / f"{host}.facts.json")], kb.facts)
        assert EXIT[verdicts[host]] == of(diagnose(kb, FactBase.of(found.facts, found.absent)))


def test_the_table_says_what_is_wrong_within_80_columns(fleet: Path) -> None:
    lines = audit(fleet).output.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "7 hosts, 8 GPUs"
    assert any(line.startswith("CONFIRMED   hardware.gpu-lost") for line in lines)
    assert any(line.split(maxsplit=1) == ["1", "p4d.24xlarge: bad-1 (gpu 1)"] for line in lines)


def test_every_cause_has_a_proof_and_what_to_do_first(fleet: Path) -> None:
    causes = json.loads(audit(fleet, "--format", "json").output)["causes"]
    assert {one["id"]: (one["example"], one["next"]) for one in causes} == {
        "hardware.gpu-lost": ("bad-1: the driver says that the GPU is lost", "Power-cycle the machine, or replace it")
    }
    assert "  do        Power-cycle the machine, or replace it" in audit(fleet).output


def test_hosts_of_which_nothing_decides_are_named_with_what_to_do(fleet: Path) -> None:
    lines = audit(fleet).output.splitlines()
    assert "        3  cannot tell" in lines
    assert "        3  ok-0, ok-1, ok-2" in lines
    assert any("--explain HOST" in line for line in lines)


def test_the_first_screen_names_every_cause() -> None:
    kb = load()
    ids = sorted(name for name, one in kb.conclusions.items() if one.kind == "cause")[:5]
    findings = tuple(Finding(f"h{n}", name, "cause", "confirmed") for n, name in enumerate(ids))
    lines = render(Audit(kb, {one.host: Host(one.host) for one in findings}, findings)).splitlines()
    assert all(any(name in line for line in lines[:24]) for name in ids)
    assert max(map(len, lines)) <= 80


def test_one_host_is_explained_by_its_diagnosis(fleet: Path) -> None:
    found = audit(fleet, "--explain", "bad-1")
    assert found.exit_code == 1  # as its diagnosis
    assert "hardware.gpu-lost" in found.output
    assert "gpu.lost = yes" in found.output  # the proof, down to the reading
    unknown = audit(fleet, "--explain", "bad-2")
    assert unknown.exit_code == 2
    assert "did you mean bad-1" in unknown.output


@pytest.mark.parametrize(("fail_on", "status"), [("likely", 1), ("confirmed", 1), ("never", 0)])
def test_fail_on_decides_the_exit_status(fleet: Path, fail_on: str, status: int) -> None:
    assert audit(fleet, "--fail-on", fail_on).exit_code == status


def test_hosts_that_cannot_be_read_are_not_called_healthy(fleet: Path) -> None:
    assert audit(fleet / "odd.txt").exit_code == 3


def test_the_csv_has_a_row_for_every_host_and_holds_no_formula(fleet: Path) -> None:
    write(fleet, "=cmd()", lost=True)
    rows = list(csv.DictReader(io.StringIO(audit(fleet, "--format", "csv").output)))
    assert {row["host"] for row in rows} >= {"bad-1", "ok-0", "cut", "'=cmd()"}


def test_sarif_and_junit_tell_causes_and_broken_hosts(fleet: Path) -> None:
    sarif = json.loads(audit(fleet, "--format", "sarif").output)["runs"][0]
    told = [(one["ruleId"], one["level"]) for one in sarif["results"]]
    assert ("hardware.gpu-lost", "error") in told
    junit = ElementTree.fromstring(audit(fleet, "--format", "junit").output)  # noqa: S314 - written here
    text = "The GPU fell off the bus. (gpu 1) Power-cycle the machine, or replace it."
    assert [one.text for one in junit.iter("failure")] == [text]
    assert [one["help"]["text"] for one in sarif["tool"]["driver"]["rules"]] == [
        "Power-cycle the machine, or replace it"
    ]
    assert sum(int(one.get("errors", 0)) for one in junit) == 3
    assert sum(int(one.get("failures", 0)) for one in junit) == 1
    assert sum(int(one.get("tests", 0)) for one in junit) == 7


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("gpu-01.facts.json", "gpu-01"),
        ("gpu-01.example.com.xml.gz", "gpu-01.example.com"),
        ("aws__g5.xlarge.xml", "aws__g5.xlarge"),
        ("plain", "plain"),
    ],
)
def test_a_file_is_of_the_host_that_its_name_says(name: str, host: str) -> None:
    assert stem(name) == host


def test_files_of_one_name_in_several_folders_are_of_several_hosts(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, "smi")
    kb = load()
    files = [str(tmp_path / folder / "smi.facts.json") for folder in ("a", "b")]
    assert [one.name for one in find_fleet(files, kb.facts).hosts] == ["a/smi", "b/smi"]
    assert [one.name for one in find_fleet([str(tmp_path)], kb.facts).hosts] == ["a", "b"]


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="GPUWHY_CAPTURES names no folder")
def test_captures_of_real_machines_have_the_verdicts_of_their_diagnoses() -> None:
    kb = load()
    paths = [one for one in sorted(CAPTURES.iterdir()) if one.stat().st_size < 1 << 20 and "kineto" not in one.name]
    hosts = {f"{number} {path.name}": path for number, path in enumerate(paths)}
    from gpuwhy.engine.fleet import judge_hosts

    bases = {}
    for name, path in hosts.items():
        found = gather([(path.name, path)], kb.facts)
        bases[name] = FactBase.of(found.facts, found.absent)
    ranks: dict[str, dict[str, int]] = {name: {} for name in bases}
    for host, conclusion, rank in judge_hosts(kb, bases).select("host", "conclusion", "rank").iter_rows():
        ranks[host][conclusion] = min(rank, ranks[host].get(conclusion, rank))
    for name, base in bases.items():
        made = diagnose(kb, base, ask=False)
        assert (name, ranks[name]) == (name, {one.id: one.status.rank for one in made.conclusions if one.lead})


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="GPUWHY_CAPTURES names no folder")
def test_no_healthy_machine_has_a_confirmed_cause() -> None:
    made = of_files(*sorted(CAPTURES.glob("sc-smi-*.xml")))
    assert len(made.hosts) > 20
    assert [(one.host, one.conclusion) for one in made.findings if one.level == "error"] == []


def test_results_with_a_line_for_each_node_are_a_host_each(tmp_path: Path) -> None:
    """One GPU of one node is reached with half the bandwidth both ways; one line is cut."""
    sound = {f"mem-bw/{way}_bw:{number}": 25.0 for way in ("h2d", "d2h") for number in range(4)}
    slow = {**sound, "mem-bw/h2d_bw:2": 12.0, "mem-bw/d2h_bw:2": 12.0}
    lines = [json.dumps({"node": f"vm-{number}", **(slow if number == 3 else sound)}) for number in range(5)]
    (tmp_path / "results-summary.jsonl").write_text("\n".join([*lines, lines[0][:8]]), "utf-8")
    made: Audit = run(load(), find_fleet([str(tmp_path)], load().facts)).audit()
    assert sorted(made.hosts) == ["line 6", "vm-0", "vm-1", "vm-2", "vm-3", "vm-4"]
    caused = [one for one in made.causes() if one.id == "hardware.link-degraded"]
    assert [each.host for group in caused[0].groups for each in group.hosts] == ["vm-3"]
    proof = audit("--explain", "vm-3", tmp_path).output
    assert "12.0 GB/s" in proof


def test_what_holds_nothing_is_a_row_and_a_file_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "facts"
    (folder / "bare").mkdir(parents=True)
    write(folder, "bad-1", lost=True)
    write(folder, "ok-1")
    (folder / "gone.xml").symlink_to(tmp_path / "nowhere.xml")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    given = (folder, "facts/bad-1.facts.json", "facts/*.json", "empty", "nothing-*")
    document = json.loads(audit(*given, "--format", "json").output)
    says = {row["host"]: row["says"] for row in document["findings"] if row["verdict"] == "broken"}
    assert says == {
        "bare": "a folder without files",
        "gone": "a link to a file that is not there",
        "empty": "a folder without files",
        "nothing-*": "no such file or folder",
    }
    assert document["counts"]["hosts"] == 6
    assert document["counts"]["gpus"] == 4


def test_a_host_of_two_inputs_is_told(fleet: Path, tmp_path: Path) -> None:
    import polars

    table = tmp_path / "table.parquet"
    polars.DataFrame({"host": ["ok-1", "other"], "gpu": [0, 0], "gpu.utilization_share": [0.0, 0.0]}).write_parquet(
        table
    )
    notes = json.loads(audit(fleet, table, "--format", "json").output)["notes"]
    assert "1 host is in more than one input and counted in each: ok-1" in notes
    assert not json.loads(audit(table, "--format", "json").output)["notes"]


def test_why_a_host_could_not_be_read_is_its_explanation(fleet: Path) -> None:
    found = audit(fleet, "--explain", "gone")
    assert found.exit_code == 3
    assert "COULD NOT BE READ  gone: was not collected: no route to it" in found.output


def test_hosts_that_could_be_meant_are_named(tmp_path: Path) -> None:
    import polars

    table = tmp_path / "table.parquet"
    polars.DataFrame({"host": ["rack7-1", "rack7-2"], "gpu": [0, 0]}).write_parquet(table)
    assert "did you mean rack7-1" in audit(table, "--explain", "rack71").output
    assert "it has rack7-1, rack7-2" in audit(table, "--explain", "?").output


def test_the_rate_of_false_alarms_of_a_fleet_that_is_known_to_be_sound(fleet: Path) -> None:
    # 7 hosts, 3 of them cannot be read; of the 4 that can, one has a cause
    found = audit(fleet, "--known-sound")
    says = "FALSE ALARMS  1 of 4 hosts that could be read (25.0 %): 1 confirmed, 0 likely; of 3 nothing decides"
    assert says in " ".join(found.output.split(" ")).replace("\n            ", " ")
    assert json.loads(audit(fleet, "--known-sound", "--format", "json").output)["false_alarm_share"] == 0.25
    assert json.loads(audit(fleet, "--format", "json").output)["false_alarm_share"] is None
    assert "false alarms: 1 of 4 hosts" in audit(fleet, "--known-sound", "--format", "html").output


def test_hosts_that_could_not_be_read_for_one_reason_stand_together() -> None:
    hosts = {f"h{n:02}": Host(f"h{n:02}", "broken", says="no answer within 60 s") for n in range(10)}
    lines = render(Audit(load(), hosts | {"x": Host("x", "broken", says="cut")}, ())).splitlines()
    at = lines.index("COULD NOT BE READ  11 hosts")
    assert lines[at + 1 :] == [
        "       10  no answer within 60 s: h00, h01, h02, h03, h04, h05, h06, h07 and 2",
        "            more",
        "            x: cut",
    ]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_the_progress_bar_keeps_to_one_line(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_audit, "_columns", lambda: columns)
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    with cli_audit._bar(1_000_000) as bar:
        cli_audit._advance(bar, 400_000)
        cli_audit._advance(bar, 600_000)
    parts = re.split(r"[\r\n]", re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", shown.getvalue()))
    assert "audit" in shown.getvalue()
    assert max(map(len, parts)) < columns


class Terminal(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


def test_the_explanation_of_a_host_is_text_only(fleet: Path) -> None:
    assert audit(fleet, "--explain", "bad-1", "--format", "json").exit_code == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems have names of UTF-8 only")
@pytest.mark.parametrize("form", ["table", "json", "html", "csv", "parquet", "sarif", "junit"])
def test_names_that_are_no_utf8_are_told_and_end_nothing(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "facts"
    (folder / os.fsdecode(b"dir\xfe")).mkdir(parents=True)
    write(folder, "bad-1", lost=True)
    (folder / "bad-1.facts.json").rename(folder / os.fsdecode(b"bad-\xff.facts.json"))
    write(folder / os.fsdecode(b"dir\xfe"), "x")
    (folder / os.fsdecode(b"table\xfc.parquet")).write_bytes(b"PAR1")
    out = tmp_path / "report"
    assert audit(folder, "--format", form, "--out", out).exit_code == 1
    if form == "csv":
        told = {row["host"]: row["verdict"] for row in csv.DictReader(io.StringIO(out.read_text("utf-8")))}
        assert told == {r"bad-\xff": "cause", r"dir\xfe": "cannot tell", r"table\xfc.parquet": "broken"}
    assert audit(folder, "--explain", r"bad-\xff").exit_code == 1
