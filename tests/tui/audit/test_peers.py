"""An audit compares GPUs with those of other hosts: what a host alone does not show."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, JOB, Fact, Origin, OriginKind, gpu
from gpuwhy.kb.load import load
from tests.tui.audit.test_audit import audit

polars = pytest.importorskip("polars")
MEASURED = Origin(OriginKind.MEASURED, "nvml")
A100 = "NVIDIA A100-SXM4-40GB"
Row = Mapping[str, Any]
Write = Callable[[Path, list[Row]], None]


def host(name: str, clock: float, power: float = 300.0, machine: str = "p4d.24xlarge") -> list[Row]:
    """A host with two GPUs at work at this clock, as rows of a table."""
    return [
        {
            "host": name,
            "gpu": number,
            "host.instance_type": machine,
            "gpu.name": A100,
            "gpu.utilization_share": 0.95,
            "gpu.sm_clock_megahertz": clock,
            "gpu.power_watts": power,
            "gpu.power_limit_watts": 400.0,
        }
        for number in range(2)
    ]


def as_files(folder: Path, rows: list[Row]) -> None:
    """A facts file for each host."""
    specs = load().facts
    for name in dict.fromkeys(row["host"] for row in rows):
        found: dict[Any, Fact] = {}
        for row in (row for row in rows if row["host"] == name):
            for fact, value in row.items():
                if fact in specs and value is not None:
                    entity = {"host": HOST, "job": JOB}.get(specs[fact].entity, gpu(row["gpu"]))
                    found.setdefault((fact, entity), Fact(fact, value, specs[fact].unit, entity, MEASURED))
        (folder / f"{name}.facts.json").write_text(dump(found.values()), "utf-8")


def as_parquet(folder: Path, rows: list[Row]) -> None:
    polars.DataFrame(rows, infer_schema_length=None).write_parquet(folder / "fleet.parquet")


def as_lines(folder: Path, rows: list[Row]) -> None:
    polars.DataFrame(rows, infer_schema_length=None).write_ndjson(folder / "fleet.ndjson")


def as_two_tables(folder: Path, rows: list[Row]) -> None:
    """Two hosts in a table, the others in another: medians are those of both."""
    polars.DataFrame(rows[:4], infer_schema_length=None).write_parquet(folder / "a.parquet")
    polars.DataFrame(rows[4:], infer_schema_length=None).write_parquet(folder / "b.parquet")


def as_both(folder: Path, rows: list[Row]) -> None:
    """Two hosts as files, the others in a table."""
    as_files(folder, rows[:4])
    as_parquet(folder, rows[4:])


def as_both_turned(folder: Path, rows: list[Row]) -> None:
    """The last two hosts as files, the others in a table."""
    as_files(folder, rows[-4:])
    as_parquet(folder, rows[:-4])


FORMS = {
    "files": as_files,
    "parquet": as_parquet,
    "ndjson": as_lines,
    "two-tables": as_two_tables,
    "files-and-table": as_both,
    "table-and-files": as_both_turned,
}


@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    ("clock", "power", "slow"),
    [(846, 300, True), (1200, 300, False), (846, 390, False)],
    ids=["far-below", "alike", "at-its-power-limit"],
)
def test_a_host_whose_gpus_are_all_slower_than_its_type(
    clock: float, power: float, slow: bool, write: Write, tmp_path: Path
) -> None:
    alike = [row for number in range(3) for row in host(f"n{number}", 1410)]
    write(tmp_path, alike + host("odd", clock, power))
    document = json.loads(audit(tmp_path, "--format", "json").output)
    assert (document["counts"]["hosts"], document["counts"]["gpus"]) == (4, 8)
    found = [one for one in document["causes"] if one["id"] == "slow.straggler"]
    assert bool(found) is slow
    if slow:
        # six of the eight GPUs run at 1410
        assert found[0]["types"] == [
            {"type": "p4d.24xlarge", "hosts": [{"host": "odd", "entities": ["gpu 0", "gpu 1"]}]}
        ]
        assert "the median of its machine type is 1,410 MHz" in found[0]["example"]


@pytest.mark.parametrize("write", [as_files, as_parquet], ids=["files", "parquet"])
def test_a_host_alone_has_no_peers(write: Write, tmp_path: Path) -> None:
    write(tmp_path, host("one", 846, machine="a"))
    assert not json.loads(audit(tmp_path, "--format", "json").output)["causes"]


@pytest.mark.parametrize("write", [as_files, as_parquet], ids=["files", "parquet"])
def test_where_a_type_has_too_few_gpus_the_same_cards_of_the_fleet_are_the_peers(write: Write, tmp_path: Path) -> None:
    write(tmp_path, host("one", 846, machine="a") + host("two", 1410, machine="b"))
    (found,) = json.loads(audit(tmp_path, "--format", "json").output)["causes"]
    assert (found["id"], found["status"]) == ("slow.straggler", "likely")
    assert [one["host"] for group in found["types"] for one in group["hosts"]] == ["one"]
    # 846, 846, 1410 and 1410: the median is 1128, and 846 is 0.75 of it
    assert "the median of the fleet's is 1,128 MHz" in found["example"]


@pytest.mark.parametrize("write", [as_files, as_parquet], ids=["files", "parquet"])
def test_one_host_is_explained_with_its_comparison(write: Write, tmp_path: Path) -> None:
    at_rest: list[Row] = [{**row, "gpu.utilization_share": 0.0} for row in host("idle", 210)]
    alike = [row for number in range(3) for row in host(f"n{number}", 1410)]
    write(tmp_path, alike + host("slow", 705) + at_rest)
    found = audit(tmp_path, "--explain", "slow")
    compared = found.output.split("COMPARED WITH OTHER HOSTS")[1]
    assert found.exit_code == 1
    assert "slow.straggler" in compared
    # eight GPUs at work, six of them at 1410 MHz: 705 is half of the median
    assert "gpu.sm_clock_type_ratio = 0.5" in compared
    for sound in ("n0", "idle"):
        assert "COMPARED" not in audit(tmp_path, "--explain", sound).output


@pytest.mark.parametrize("write", [as_files, as_parquet], ids=["files", "parquet"])
def test_what_other_readings_leave_possible_does_not_hide_a_comparison(write: Write, tmp_path: Path) -> None:
    alike = [row for number in range(3) for row in host(f"n{number}", 1410)]
    unread = {**host("odd", 846)[0], "gpu": 2, "gpu.sm_clock_megahertz": None}
    write(tmp_path, [*alike, *host("odd", 846), unread])
    document = json.loads(audit(tmp_path, "--format", "json").output)
    assert [one["id"] for one in document["causes"]] == ["slow.straggler"]
    told = [one for one in document["findings"] if one["conclusion"] == "slow.straggler"]
    assert [(one["status"], one["entities"]) for one in told] == [("likely", "gpu 0 gpu 1")]


def test_a_table_that_breaks_off_does_not_spoil_the_comparison_of_the_others(tmp_path: Path) -> None:
    as_parquet(tmp_path, [row for number in range(3) for row in host(f"n{number}", 1410)] + host("odd", 846))
    polars.DataFrame(host("other", 300)).write_parquet(tmp_path / "cut.parquet", compression="uncompressed")
    whole = bytearray((tmp_path / "cut.parquet").read_bytes())
    whole[4:200] = bytes(196)  # the pages of its first columns; what stands at its end still names them all
    (tmp_path / "cut.parquet").write_bytes(whole)
    document = json.loads(audit(tmp_path, "--format", "json").output)
    assert (document["counts"]["hosts"], document["counts"]["broken"]) == (5, 1)
    (found,) = document["causes"]
    assert "the median of its machine type is 1,410 MHz" in found["example"]


@pytest.mark.parametrize("seed", range(4))
def test_a_table_is_compared_as_the_files_of_its_hosts_are(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows: list[Row] = []
    for number in range(40):
        machine = chance.choice(["p4d.24xlarge", "g5.xlarge", None])
        for device in range(chance.randint(1, 4)):
            clock, power = chance.choice([700, 900, 1200, 1300, 1410]), chance.choice([120.0, 300.0, 395.0])
            row = {
                "host": f"h{number:02}",
                "gpu": device,
                "host.instance_type": None if device else machine,  # what one row tells of its host, all of them tell
                "gpu.name": chance.choice([A100, "NVIDIA A10G", None]),
                "gpu.utilization_share": chance.choice([None, 0.49, 0.5, 0.9, 0.9]),
                "gpu.sm_clock_megahertz": None if chance.random() < 0.1 else float(clock),
                "gpu.power_watts": power,
                "gpu.power_limit_watts": chance.choice([None, 400.0]),
                "gpu.event_software_power_cap": chance.choice([None, False, False, True]),
            }
            rows.append(row)

    def told(write: Write, folder: str) -> dict[str, str]:
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, rows)
        findings = json.loads(audit(tmp_path / folder, "--format", "json").output)["findings"]
        held = [one for one in findings if one["conclusion"] == "slow.straggler" and one["status"] != "possible"]
        return {one["host"]: one["entities"] for one in held}

    found = told(as_files, "files")
    assert len(found) > 3
    assert told(as_parquet, "table") == found
