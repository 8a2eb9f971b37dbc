"""Accepted risks and the comparison with an earlier audit; the report as a page."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, Fact, gpu
from gpuwhy.kb.load import load
from gpuwhy.tui.audit.history import Waiver, with_waivers
from gpuwhy.tui.audit.model import Audit, Finding, Host
from tests.tui.audit.test_audit import MEASURED, audit, write

pytest.importorskip("polars")

WAIVER = """waivers:
  - conclusion: hardware.gpu-lost
    host: "bad-*"
    reason: waits for a spare part
    owner: ops
    until: "{until}"
"""


def write_waiver(folder: Path, until: str) -> Path:
    path = folder / "waivers.yaml"
    path.write_text(WAIVER.format(until=until), "utf-8")
    return path


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    folder = tmp_path / "hosts"
    folder.mkdir()
    write(folder, "bad-1", lost=True)
    write(folder, "ok-1")
    return folder


def test_an_accepted_risk_is_shown_but_fails_nothing(hosts: Path, tmp_path: Path) -> None:
    found = audit(hosts, "--waivers", write_waiver(tmp_path, "2999-01-01"), "--fail-on", "confirmed")
    assert found.exit_code != 1
    assert "waits for a spare part (ops, until 2999-01-01)" in re.sub(r"\s+", " ", found.output)


def test_an_acceptance_that_is_over_counts_no_more(hosts: Path, tmp_path: Path) -> None:
    found = audit(hosts, "--waivers", write_waiver(tmp_path, "2020-01-01"))
    assert found.exit_code == 1
    assert "ended on 2020-01-01" in found.output


def test_a_host_whose_risks_are_all_accepted_is_none_that_nobody_can_judge(hosts: Path, tmp_path: Path) -> None:
    (hosts / "ok-1.facts.json").unlink()
    waivers = write_waiver(tmp_path, "2999-01-01")
    found = audit(hosts, "--waivers", waivers, "--format", "json")
    document = json.loads(found.output)
    assert found.exit_code == 0
    assert (document["counts"]["accepted"], document["counts"]["cannot tell"]) == (1, 0)
    assert "1  with accepted risks only" in audit(hosts, "--waivers", waivers).output


def test_what_an_accepted_cause_explains_is_accepted_with_it() -> None:
    kb = load()
    cause = Finding("a", "hardware.gpu-lost", "cause", "confirmed")
    consequences = [
        Finding("a", "slow.straggler", "cause", "likely", explained_by="slow.host-degraded"),
        Finding("a", "slow.host-degraded", "cause", "likely", explained_by="hardware.gpu-lost"),
        Finding("b", "slow.host-degraded", "cause", "likely"),
    ]
    day = datetime.date(2026, 1, 1)
    accepted = [Waiver("hardware.gpu-lost", "a", "spare part", "ops", day)]
    findings = (*consequences, cause)
    found = with_waivers(Audit(kb, {name: Host(name) for name in "ab"}, findings), accepted, day)
    assert [bool(one.waived) for one in found.findings] == [True, True, False, True]
    assert found.verdicts() == {"a": "accepted", "b": "cause"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("hardware.gpu-lost", "hardware.gpu-lots", "did you mean hardware.gpu-lost"),
        ("owner:", "ower:", "`ower` is none of them, `owner` is missing"),
        ("    owner: ops\n", "", "`owner` is missing"),
    ],
    ids=["conclusion", "key", "left out"],
)
def test_a_mistake_in_a_waiver_is_named(old: str, new: str, says: str, hosts: Path, tmp_path: Path) -> None:
    path = tmp_path / "waivers.yaml"
    path.write_text(WAIVER.format(until="2999-01-01").replace(old, new), "utf-8")
    found = audit(hosts, "--waivers", path)
    assert found.exit_code == 2
    assert says in found.output


@pytest.mark.parametrize(
    "text", ["waivers: 3", "waivers: [{conclusion: hardware.gpu-lost}]", "a: [", WAIVER.format(until="soon")]
)
def test_a_waiver_file_that_is_not_complete_is_refused(hosts: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "waivers.yaml").write_text(text, "utf-8")
    assert audit(hosts, "--waivers", tmp_path / "waivers.yaml").exit_code == 2


def test_what_is_new_persisting_and_cleared(hosts: Path, tmp_path: Path) -> None:
    write(hosts, "bad-2", lost=True)
    write(hosts, "bad-3", lost=True)
    before = tmp_path / "before.parquet"
    assert audit(hosts, "--format", "parquet", "--out", before).exit_code == 1
    write(hosts, "bad-1", lost=False)  # repaired
    write(hosts, "ok-1", lost=True)  # broken since
    (hosts / "bad-3.facts.json").unlink()  # not looked at: it is not called repaired
    document = json.loads(audit(hosts, "--baseline", before, "--format", "json").output)
    lost = [row for row in document["findings"] if row["conclusion"] == "hardware.gpu-lost"]
    changes = {row["host"]: row["change"] for row in lost if row["status"] == "confirmed"}
    assert changes == {"ok-1": "new", "bad-2": "persisting"}
    assert {"host": "bad-1", "conclusion": "hardware.gpu-lost"} in document["cleared"]
    assert "bad-3" not in {one["host"] for one in document["cleared"]}
    assert any("not judged now: bad-3" in note for note in document["notes"])
    assert not any("other rules" in note for note in document["notes"])


@pytest.mark.parametrize("kind", ["files", "table"])
def test_what_no_reading_decides_any_more_is_not_called_cleared(kind: str, hosts: Path, tmp_path: Path) -> None:
    import polars

    write(hosts, "bad-2", lost=True)
    before, table = tmp_path / "before.parquet", tmp_path / "table.parquet"
    audit(hosts, "--format", "parquet", "--out", before)
    if kind == "files":
        write(hosts, "bad-1", lost=False)  # read again, and sound
        facts = [Fact("gpu.utilization_share", 0.5, "share", gpu(0), MEASURED)]
        (hosts / "bad-2.facts.json").write_text(dump(facts, []), "utf-8")  # whether it is lost was not read
    else:
        rows = {
            "host": ["bad-1", "bad-2"],
            "gpu": [0, 0],
            "gpu.lost": [False, None],
            "gpu.utilization_share": [0.5] * 2,
        }
        polars.DataFrame(rows).write_parquet(table)
    given = hosts if kind == "files" else table
    document = json.loads(audit(given, "--baseline", before, "--format", "json").output)
    assert [one["host"] for one in document["cleared"]] == ["bad-1"]
    assert any("does not decide: hardware.gpu-lost on bad-2" in one for one in document["notes"])


def test_an_earlier_report_of_other_rules_is_told_to_be_one(hosts: Path, tmp_path: Path) -> None:
    import polars

    before = tmp_path / "before.parquet"
    audit(hosts, "--format", "parquet", "--out", before)
    report = polars.read_parquet(before)
    unknown = report.filter(polars.col("conclusion") == "hardware.gpu-lost")
    unknown = unknown.with_columns(polars.lit("hardware.of-another-pack").alias("conclusion"))
    polars.concat([report, unknown]).with_columns(polars.lit("0" * 12).alias("rules")).write_parquet(before)
    notes = json.loads(audit(hosts, "--baseline", before, "--format", "json").output)["notes"]
    assert any("was made with other rules" in one for one in notes)
    assert any("do not know, and that are not compared: hardware.of-another-pack" in one for one in notes)


def test_a_file_that_is_no_report_is_no_baseline(hosts: Path, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not really")
    assert audit(hosts, "--baseline", tmp_path / "x.parquet").exit_code == 2


def test_the_page_fetches_nothing_and_escapes_what_machines_say(hosts: Path) -> None:
    write(hosts, "bad-9", lost=True, machine="</script><img src=x onerror=alert(1)>")
    page = audit(hosts, "--format", "html").output
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:""", page)
    assert "<img" not in page
    data = re.search(r'id="rows">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    rows = json.loads(data.group(1))
    assert any(row[0] == "bad-9" and row[2] == "</script><img src=x onerror=alert(1)>" for row in rows)


def test_the_page_shows_what_is_grave_first_what_is_gone_and_what_is_accepted(hosts: Path, tmp_path: Path) -> None:
    write(hosts, "ok-1", lost=True)
    write(hosts, "zz-9", lost=True)
    (hosts / "cut.facts.json").write_text("{", "utf-8")
    before, waivers = tmp_path / "before.parquet", tmp_path / "waivers.yaml"
    audit(hosts, "--format", "parquet", "--out", before)
    write(hosts, "ok-1", lost=False)  # repaired
    waivers.write_text(
        'waivers:\n  - {conclusion: hardware.gpu-lost, host: bad-1, reason: known, owner: ops, until: "2999-01-01"}\n'
    )
    page = audit(hosts, "--baseline", before, "--waivers", waivers, "--format", "html").output
    assert "1 cleared" in page
    assert "<tr><td>ok-1<td>hardware.gpu-lost</tr>" in page
    assert "<tr><td>bad-1<td>hardware.gpu-lost<td>known (ops, until 2999-01-01)</tr>" in page
    names, data = (re.search(f'id="{name}">(.*?)</script>', page, re.DOTALL) for name in ("names", "rows"))
    assert names is not None
    assert data is not None
    conclusion = json.loads(names.group(1)).index("conclusion")
    found = [(row[0], row[conclusion]) for row in json.loads(data.group(1))]
    lost = [host for host, name in found if name == "hardware.gpu-lost"]
    assert "zz-9" in lost
    assert [name for _, name in found[: len(lost)]] == ["hardware.gpu-lost"] * len(lost)
    assert found[len(lost)][0] == "cut"


def test_the_page_says_where_the_causes_are_what_to_do_and_which_hosts_nothing_decides(hosts: Path) -> None:
    (hosts / "ok-1.facts.json").unlink()
    write(hosts, "bad-2", lost=True, machine="p4d.24xlarge")
    write(hosts, "dull-3")
    write_bad_memory(hosts, "forgets-4")
    page = audit(hosts, "--format", "html").output
    fields = re.findall(r'data-words="([a-z.-]+)">[^<]+</button>((?:<td(?: style="[^"]*")?>[\d,]*)+)</tr>', page)
    grid = {cause: re.findall(r"<td[^>]*>([\d,]*)", cells) for cause, cells in fields}
    types = re.findall(r"<th>([^<]+)", page.partition("<th>hosts")[2].partition("</tr>")[0])
    assert dict(zip(types, grid["hardware.gpu-lost"], strict=True)) == {"p5.48xlarge": "1", "p4d.24xlarge": "1"}
    assert dict(zip(types, grid["hardware.memory-errors"], strict=True)) == {"p5.48xlarge": "1", "p4d.24xlarge": ""}
    assert "Do first: Power-cycle the machine, or replace it" in page
    unsure = page.partition("<h2>Cannot tell</h2>")[2].partition("<h2>")[0]
    assert "dull-3" in unsure
    assert "bad-2" not in unsure


def test_the_page_of_no_host_and_of_no_cause_say_so(hosts: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "No host could be read." in audit(tmp_path / "empty", "--format", "html").output
    (hosts / "bad-1.facts.json").unlink()
    assert "No host has a cause to fix." in audit(hosts, "--format", "html").output


def write_bad_memory(folder: Path, host: str) -> None:
    """A host whose GPU could not repair its memory."""
    facts = [Fact("host.instance_type", "p5.48xlarge", None, HOST, MEASURED)]
    facts.append(Fact("gpu.remap_failed", True, None, gpu(0), MEASURED))
    (folder / f"{host}.facts.json").write_text(dump(facts, []), "utf-8")
