"""Accepted risks and the comparison with an earlier audit; the report as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.tui.audit.test_audit import audit, write

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
    assert any("not judged now" in note for note in document["notes"])


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
