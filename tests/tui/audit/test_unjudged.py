"""What could not be looked at is told by cause, with the number of hosts and the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuwhy.kb.fact_file import dump
from gpuwhy.kb.facts import HOST, Absent, Fact, Origin, OriginKind, gpu
from tests.tui.audit.test_audit import audit

pytest.importorskip("polars")
MEASURED = Origin(OriginKind.MEASURED, "nvml")
ECC = ("gpu.ecc_uncorrected_count", "gpu.ecc_uncorrected_lifetime_count", "gpu.remap_failed")


def write(folder: Path, host: str, reason: str, read: int = 0) -> None:
    """A host at work, the first so many of whose readings of ECC were taken, the others not for this reason."""
    facts = [Fact("host.instance_type", "p4d.24xlarge", None, HOST, MEASURED)]
    facts.append(Fact("gpu.utilization_share", 0.95, "share", gpu(0), MEASURED))
    facts += [Fact(one, 0, "count", gpu(0), MEASURED) for one in ECC[:read]]
    absent = [Absent(one, gpu(0), reason, MEASURED) for one in ECC[read:]]
    (folder / f"{host}.facts.json").write_text(dump(facts, absent), "utf-8")


def test_hosts_that_could_not_be_judged_are_counted_with_the_reason(tmp_path: Path) -> None:
    for number in range(37):
        write(tmp_path, f"denied-{number}", "no permission")
    write(tmp_path, "read", "no permission", read=1)  # one reading decides
    write(tmp_path, "old", "N/A")  # a card without ECC hides nothing
    document = json.loads(audit(tmp_path, "--format", "json").output)
    assert {"conclusion": "hardware.memory-errors", "hosts": 37} in document["undecided"]
    told = [one for one in document["unread"] if one["conclusion"] == "hardware.memory-errors"]
    assert {(one["fact"], one["reason"], one["hosts"]) for one in told} == {
        ("gpu.ecc_uncorrected_count", "no permission", 37),
        ("gpu.remap_failed", "no permission", 37),
    }
    lines = [line.split() for line in audit(tmp_path).output.splitlines()]
    assert ["37", "hardware.memory-errors"] in lines
    assert ["37", "gpu.ecc_uncorrected_count:", "no", "permission"] in lines


def test_a_cause_that_needs_more_than_what_is_absent_is_not_named(tmp_path: Path) -> None:
    write(tmp_path, "denied", "no permission")
    document = json.loads(audit(tmp_path, "--format", "json").output)
    assert not [one for one in document["undecided"] if one["conclusion"].startswith("oom.")]
