"""Tables of facts in an audit: judged in portions, with what does not fit told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuwhy.engine.xids import of_xids
from gpuwhy.kb.facts import Fact, FactBase, Origin, OriginKind, gpu
from gpuwhy.kb.load import load
from gpuwhy.probes import fleet_tables
from tests.tui.audit.test_audit import audit

polars = pytest.importorskip("polars")


@pytest.fixture
def rows() -> Any:
    """Thirty hosts of two GPUs; the second GPU of every tenth host is lost."""
    return polars.DataFrame(
        {
            "host": [f"h{row // 2:02}" for row in range(60)],
            "gpu": [row % 2 for row in range(60)],
            "host.instance_type": ["p5.48xlarge"] * 60,
            "gpu.lost": [row % 20 == 1 for row in range(60)],
            "nonsense": [1] * 60,
        }
    )


@pytest.mark.parametrize("ending", ["parquet", "ndjson", "arrow"])
@pytest.mark.parametrize("portion", [1, 7, 1000])
def test_every_kind_of_table_in_portions_of_any_size(
    rows: Any, tmp_path: Path, ending: str, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_tables, "ROWS", portion)
    path = tmp_path / f"fleet.{ending}"
    {"parquet": rows.write_parquet, "ndjson": rows.write_ndjson, "arrow": rows.write_ipc}[ending](path)
    document = json.loads(audit(path, "--format", "json").output)
    assert (document["counts"]["hosts"], document["counts"]["gpus"]) == (30, 60)
    lost = next(one for one in document["causes"] if one["id"] == "hardware.gpu-lost")
    assert sorted(one["host"] for one in lost["types"][0]["hosts"]) == ["h00", "h10", "h20"]
    assert lost["types"][0]["hosts"][0]["entities"] == ["gpu 1"]
    assert any("nonsense" in note for note in document["notes"])


@pytest.mark.parametrize("portion", [4, 1000])
def test_gpus_without_a_number_are_counted_within_their_host(
    rows: Any, tmp_path: Path, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_tables, "ROWS", portion)
    rows.drop("gpu").write_parquet(tmp_path / "fleet.parquet")
    document = json.loads(audit(tmp_path / "fleet.parquet", "--format", "json").output)
    lost = [one for one in document["findings"] if one["conclusion"] == "hardware.gpu-lost"]
    assert [(one["host"], one["entities"]) for one in lost] == [(host, "gpu 1") for host in ("h00", "h10", "h20")]


@pytest.mark.parametrize("wanted", [1, 5, 1000])
@pytest.mark.parametrize("size", [1, 3, 60])
def test_batches_are_joined_to_portions_of_whole_hosts(rows: Any, size: int, wanted: int) -> None:
    batches = [rows.slice(first, size) for first in range(0, len(rows), size)]
    portions = list(fleet_tables.whole_hosts(batches, wanted))
    assert polars.concat(portions).equals(rows)
    hosts = [name for one in portions for name in one.get_column("host").unique(maintain_order=True)]
    assert hosts == [f"h{number:02}" for number in range(30)]  # none is in two portions


def test_lines_that_are_no_json_are_named_and_the_others_judged(rows: Any, tmp_path: Path) -> None:
    lines = rows.write_ndjson().splitlines()
    lines[10] = lines[10][:20]  # of h05
    lines.insert(20, "Traceback (most recent call last):")
    lines[30] = lines[30].replace('"nonsense":1', '"nonsense":NaN')
    (tmp_path / "fleet.ndjson").write_text("\n".join(lines), encoding="utf-8")
    document = json.loads(audit(tmp_path / "fleet.ndjson", "--format", "json").output)
    assert (document["counts"]["hosts"], document["counts"]["gpus"], document["counts"]["broken"]) == (30, 59, 0)
    lost = next(one for one in document["causes"] if one["id"] == "hardware.gpu-lost")
    assert sorted(one["host"] for one in lost["types"][0]["hosts"]) == ["h00", "h10", "h20"]
    assert any(note.endswith("2 lines are no JSON object, and left out: 11, 21") for note in document["notes"])
    assert "gpu.lost = yes" in audit(tmp_path / "fleet.ndjson", "--explain", "h10").output


def test_a_number_without_an_end_is_unknown(rows: Any, tmp_path: Path) -> None:
    odd = rows.with_columns(polars.lit(float("inf")).alias("gpu.power_watts"))
    odd.write_parquet(tmp_path / "fleet.parquet")
    document = json.loads(audit(tmp_path / "fleet.parquet", "--format", "json").output)
    assert [one["id"] for one in document["causes"]] == ["hardware.gpu-lost"]


def test_a_host_of_a_table_is_explained(rows: Any, tmp_path: Path) -> None:
    rows.write_parquet(tmp_path / "fleet.parquet")
    assert "gpu.lost = yes" in audit(tmp_path, "--explain", "h10").output


def test_a_damaged_table_and_one_without_hosts_are_rows(rows: Any, tmp_path: Path) -> None:
    rows.write_parquet(tmp_path / "good.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    rows.drop("host").write_parquet(tmp_path / "nameless.parquet")
    document = json.loads(audit(tmp_path, "--format", "json").output)
    broken = {row["host"] for row in document["findings"] if row["state"] == "broken"}
    assert broken == {"cut.parquet", "nameless.parquet"}
    assert document["counts"]["cause"] == 3


@pytest.mark.parametrize("most", [7, 1000], ids=["read several times", "read once more"])
@pytest.mark.parametrize("order", [["gpu", "host"], ["mixed"]], ids=["by GPU", "mixed"])
def test_rows_of_a_host_need_not_stand_together(
    rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, order: list[str]
) -> None:
    monkeypatch.setattr(fleet_tables, "ROWS", 10)
    monkeypatch.setattr(fleet_tables, "MOST_ROWS", most)
    mixed = polars.Series("mixed", [number * 37 % 60 for number in range(60)])
    rows.with_columns(mixed).sort(order).drop("mixed").write_parquet(tmp_path / "fleet.parquet")
    document = json.loads(audit(tmp_path, "--format", "json").output)
    assert (document["counts"]["hosts"], document["counts"]["gpus"], document["counts"]["cause"]) == (30, 60, 3)
    lost = next(one for one in document["causes"] if one["id"] == "hardware.gpu-lost")
    assert {one["host"]: one["entities"] for one in lost["types"][0]["hosts"]} == {
        host: ["gpu 1"] for host in ("h00", "h10", "h20")
    }


def test_a_host_of_more_rows_than_a_portion_is_not_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_tables, "ROWS", 3)
    hosts = ["a"] * 2 + ["b"] * 8 + ["c"] + ["d"] * 4
    lost = [False] * 9 + [True] + [False] * 5  # the last GPU of b
    polars.DataFrame({"host": hosts, "gpu": range(15), "gpu.lost": lost}).write_parquet(tmp_path / "fleet.parquet")
    document = json.loads(audit(tmp_path, "--format", "json").output)
    assert (document["counts"]["hosts"], document["counts"]["gpus"], document["counts"]["cause"]) == (4, 15, 1)


def test_a_column_of_another_type_than_its_fact_is_not_used(rows: Any, tmp_path: Path) -> None:
    rows.with_columns(polars.lit("yes").alias("gpu.lost")).write_parquet(tmp_path / "fleet.parquet")
    document = json.loads(audit(tmp_path, "--format", "json").output)
    assert document["counts"]["cause"] == 0
    assert any("gpu.lost" in note for note in document["notes"])


def test_event_codes_without_a_number_give_no_xid() -> None:
    told = Fact("gpu.xid_event_codes", "none", None, gpu(0), Origin(OriginKind.MEASURED, "nvml"))
    assert list(of_xids(load(), FactBase.of([told]))) == []


def test_a_table_of_sound_hosts_only_has_nothing_to_fix(tmp_path: Path) -> None:
    path = tmp_path / "sound.parquet"
    row = {"host": "a", "gpu": 0, "gpu.utilization_share": 0.0, "gpu.sm_clock_megahertz": 210.0}
    row |= {"gpu.sm_clock_max_megahertz": 1980.0, "gpu.performance_state": 8, "gpu.power_watts": 70.0}
    polars.DataFrame([row]).write_parquet(path)
    assert audit(path).exit_code == 0
